#include "bitmma/kernels/measure.hpp"

namespace bitmma {
namespace {

std::vector<std::uint32_t> packed_operand(const Batch& batch, ASource a_source, Operand operand) {
  const std::vector<Code>& codes = operand == Operand::a   ? batch.a
                                   : operand == Operand::b ? batch.b
                                                           : batch.c;
  const Packing packing = operand_packing(batch.row, a_source, operand);
  const std::size_t instances = codes.size() / packing.codes;
  std::vector<std::uint32_t> packed(instances * packing.words);
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < instances; ++i)
    pack(packing, std::span(codes).subspan(i * packing.codes, packing.codes),
         std::span(packed).subspan(i * packing.words, packing.words));
  return packed;
}

}  // namespace

std::vector<Code> measure(const Batch& batch, ASource a_source, const RunWords& run) {
  const Packing packing = operand_packing(batch.row, a_source, Operand::d);
  const std::size_t instances = batch.c.size() / packing.codes;
  const std::vector<std::uint32_t> words =
      run(batch.row, a_source, instances, packed_operand(batch, a_source, Operand::a),
          packed_operand(batch, a_source, Operand::b), packed_operand(batch, a_source, Operand::c));
  std::vector<Code> codes(batch.c.size());
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < instances; ++i)
    unpack(packing, std::span(words).subspan(i * packing.words, packing.words),
           std::span(codes).subspan(i * packing.codes, packing.codes));
  return codes;
}

}  // namespace bitmma
