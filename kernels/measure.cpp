#include "bitmma/kernels/measure.hpp"

namespace bitmma {
namespace {

std::vector<std::uint32_t> packed_operand(const Batch& batch, ASource a_source, Operand operand) {
  const std::vector<Code>& codes = operand == Operand::a   ? batch.a
                                   : operand == Operand::b ? batch.b
                                                           : batch.c;
  const std::vector<PackedElement> elements = packed_elements(batch.row, a_source, operand);
  const std::size_t words = operand_words(batch.row, a_source, operand);
  const std::size_t instances = codes.size() / elements.size();
  std::vector<std::uint32_t> packed(instances * words);
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < instances; ++i)
    pack(elements, std::span(codes).subspan(i * elements.size(), elements.size()),
         std::span(packed).subspan(i * words, words));
  return packed;
}

}  // namespace

std::vector<Code> measure(const Batch& batch, ASource a_source, const RunWords& run) {
  const std::vector<PackedElement> elements = packed_elements(batch.row, a_source, Operand::d);
  const std::size_t instances = batch.c.size() / elements.size();
  const std::vector<std::uint32_t> words =
      run(batch.row, a_source, instances, packed_operand(batch, a_source, Operand::a),
          packed_operand(batch, a_source, Operand::b), packed_operand(batch, a_source, Operand::c));
  std::vector<Code> codes(batch.c.size());
  const std::size_t per_instance = operand_words(batch.row, a_source, Operand::d);
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < instances; ++i)
    unpack(elements, std::span(words).subspan(i * per_instance, per_instance),
           std::span(codes).subspan(i * elements.size(), elements.size()));
  return codes;
}

}  // namespace bitmma
