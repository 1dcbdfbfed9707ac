#include "bitmma/kernels/operand_layout.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <span>

#include "bitmma/emulator/fragment.hpp"
#include "bitmma/kernels/batch.hpp"

namespace bitmma {
namespace {

using Words = std::vector<std::uint32_t>;

/// Every row of the table, wgmma's with an N that is not a power of two.
std::vector<Instruction> concrete_rows() {
  std::vector<Instruction> rows(std::begin(instruction_table), std::end(instruction_table));
  for (Instruction& row : rows)
    if (row.n == 0) row.n = 24;
  return rows;
}

Words packed(const Instruction& row, ASource a_source, Operand operand,
             std::span<const Code> codes) {
  Words words(operand_words(row, a_source, operand));
  pack(operand_packing(row, a_source, operand), codes, words);
  return words;
}

/// The codes of instruction number `instance` in a batch.
std::span<const Code> part(const std::vector<Code>& codes, const Batch& batch,
                           std::size_t instance) {
  const std::size_t instances = batch.tiles / static_cast<std::size_t>(batch.row.blocks());
  const std::size_t size = codes.size() / instances;
  return std::span(codes).subspan(instance * size, size);
}

TEST_CASE("packed elements are each tile element once, and unpack reverses pack") {
  for (const Instruction& row : concrete_rows())
    for (const ASource a_source : {ASource::registers, ASource::shared_memory})
      for (const Operand operand : {Operand::a, Operand::b, Operand::c, Operand::d}) {
        CAPTURE(short_name(row));
        const Packing packing = operand_packing(row, a_source, operand);
        std::vector<Code> codes(packing.codes);
        Random random(7);
        for (Code& code : codes) code = random.bits() & row.format(operand).code_mask();
        std::vector<Code> back(codes.size());
        unpack(packing, packed(row, a_source, operand, codes), back);
        CHECK(back == codes);
      }
}

TEST_CASE("a tile in shared memory is core matrices of 8 rows of 16 bytes") {
  for (const Instruction& row : concrete_rows()) {
    if (row.family != Family::wgmma) continue;
    for (const Operand operand : {Operand::a, Operand::b}) {
      CAPTURE(short_name(row));
      const int bytes = row.format(operand).storage_bits / 8;
      int element = 0;
      const Packing packing = operand_packing(row, ASource::shared_memory, operand);
      for (const PackedElement& packed : packing.elements) {
        const int byte = element++ * bytes;
        const int line = byte / 256 * 8 + byte / 16 % 8;
        const int k = (byte / 128 % 2 * 16 + byte % 16) / bytes;
        CHECK(packed.code == static_cast<std::size_t>(line * row.k + k));
        CHECK(packed.shift == byte % 4 * 8);
      }
    }
  }
}

TEST_CASE("a batch gives the same D by elements as by fragments") {
  const ASource registers = ASource::registers;
  for (const Instruction& row : concrete_rows()) {
    if (row.family != Family::mma_sync) continue;
    CAPTURE(short_name(row));
    const Execution execution = resolve(row, *find_target("sm_90"));
    const Batch batch = make_batch(row, InputFamily::any_finite_bits, 3, 0, tiles_of(row, 300));
    const std::vector<Code> d = emulate(execution, batch);
    for (std::size_t i = 0; i < 300 / (static_cast<std::size_t>(row.m * row.n * row.blocks())); ++i)
      CHECK(packed(row, registers, Operand::d, part(d, batch, i)) ==
            mma_fragments(execution, packed(row, registers, Operand::a, part(batch.a, batch, i)),
                          packed(row, registers, Operand::b, part(batch.b, batch, i)),
                          packed(row, registers, Operand::c, part(batch.c, batch, i))));
  }
}

TEST_CASE("a batch depends on the seed and the family alone") {
  const Instruction row = find_instruction("wgmma.m64n24k8.f32.tf32.tf32").value();
  const Batch batch = make_batch(row, InputFamily::ties, 5, 0, tiles_of(row, 4000));
  const Batch again = make_batch(row, InputFamily::ties, 5, 0, tiles_of(row, 4000));
  const Batch other = make_batch(row, InputFamily::ties, 6, 0, tiles_of(row, 4000));
  CHECK(batch.tiles == 3);
  CHECK(batch.a == again.a);
  CHECK(batch.b == again.b);
  CHECK(batch.c == again.c);
  CHECK(batch.a != other.a);
}

TEST_CASE("a tile depends on its number, not on the batch it is made in") {
  const Instruction row = find_instruction("m8n8k4.f32.f16.f16.f32").value();
  const Batch whole = make_batch(row, InputFamily::cancellation, 3, 0, 12);
  const Batch tail = make_batch(row, InputFamily::cancellation, 3, 8, 4);
  CHECK(std::ranges::equal(tail.a, std::span(whole.a).subspan(8 * 32)));
  CHECK(std::ranges::equal(tail.b, std::span(whole.b).subspan(8 * 32)));
  CHECK(std::ranges::equal(tail.c, std::span(whole.c).subspan(8 * 64)));
}

TEST_CASE("matched elements stand on the diagonal of their tile") {
  const Instruction row = find_instruction("m16n8k16.f32.f16.f16.f32").value();
  const Batch batch = make_batch(row, InputFamily::normal, 1, 0, tiles_of(row, 1000));
  for (std::size_t i = 0; i < 8; ++i) {
    const OutputElement element = output_element(batch, matched_element(row, 2, i));
    CHECK(element.a == &batch.a[(2 * 16 + i) * 16]);
    CHECK(element.b == &batch.b[(2 * 8 + i) * 16]);
    CHECK(element.c == batch.c[2 * 128 + i * 8 + i]);
  }
}

}  // namespace
}  // namespace bitmma
