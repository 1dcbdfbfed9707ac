#include "bitmma/emulator/fragment.hpp"

#include <doctest/doctest.h>

#include <random>

#include "bitmma/emulator/matrix.hpp"

using namespace bitmma;

namespace {

TileCodes random_tile(std::mt19937_64& random, const Instruction& row, Operand operand) {
  const Layout layout = fragment_layout(row, operand);
  TileCodes codes(static_cast<std::size_t>(layout.lanes() * layout.elements()));
  const Format& format = row.format(operand);
  for (Code& code : codes) code = random() & (2 * format.sign_mask() - 1);
  return codes;
}

MatrixView block_view(const TileCodes& codes, int block, int rows, int columns) {
  const auto first = static_cast<std::size_t>(block * rows * columns);
  return {reinterpret_cast<const std::byte*>(codes.data() + first), 8, columns * 8, 8};
}

}  // namespace

TEST_CASE("registers and tiles convert both ways") {
  std::mt19937_64 random(1);
  for (Instruction row : instruction_table) {
    if (row.n == 0) row.n = 8;
    CAPTURE(short_name(row));
    for (const Operand operand : {Operand::a, Operand::b, Operand::c, Operand::d}) {
      if (!has_fragment(row, operand)) continue;
      const TileCodes tile = random_tile(random, row, operand);
      CHECK(from_fragment(row, operand, to_fragment(row, operand, tile)) == tile);
    }
  }
}

TEST_CASE("elements of lower index take the lower bits of a register") {
  const Instruction row = find_instruction("m16n8k16.f32.f16.f16.f32").value();
  TileCodes a(16 * 16);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = i;
  const FragmentRegisters registers = to_fragment(row, Operand::a, a);
  // lane 5: group 1, thread 1: a0, a1 are (1, 2), (1, 3); a2, a3 row 9; a4 column 10
  CHECK(registers[5 * 4 + 0] == ((16 + 3) << 16 | (16 + 2)));
  CHECK(registers[5 * 4 + 1] == ((9 * 16 + 3) << 16 | (9 * 16 + 2)));
  CHECK(registers[5 * 4 + 2] == ((16 + 11) << 16 | (16 + 10)));
}

TEST_CASE("an instruction on fragments is the instruction on matrices, quad pairs included") {
  std::mt19937_64 random(2);
  for (const Target& target : target_table)
    for (const Instruction& row : instruction_table) {
      if (row.family != Family::mma_sync || !row.runs_on(target)) continue;
      CAPTURE(target.name);
      CAPTURE(short_name(row));
      const Execution execution = resolve(row, target);
      const TileCodes a = random_tile(random, row, Operand::a);
      const TileCodes b = random_tile(random, row, Operand::b);
      const TileCodes c = random_tile(random, row, Operand::c);
      const TileCodes d = from_fragment(
          row, Operand::d,
          mma_fragments(execution, to_fragment(row, Operand::a, a), to_fragment(row, Operand::b, b),
                        to_fragment(row, Operand::c, c)));
      TileCodes expected(c.size());
      const ProductShape shape{static_cast<std::size_t>(row.m), static_cast<std::size_t>(row.n),
                               static_cast<std::size_t>(row.k)};
      for (int block = 0; block < row.blocks(); ++block)
        multiply_matrices(execution, shape, block_view(a, block, row.m, row.k),
                          block_view(b, block, row.k, row.n), block_view(c, block, row.m, row.n),
                          expected.data() + block * row.m * row.n);
      CHECK(d == expected);
    }
}

TEST_CASE("swapped A registers, as in a real bug report, give the reported result") {
  // A[r][k] = 16 r + k, B = identity over k < 8: with A registers 1 and 2 swapped 64 of 128 are
  // wrong and D[8][0] is 8 instead of 128 (imp issue 352).
  const Instruction row = find_instruction("m16n8k16.f32.f16.f16.f32").value();
  const Execution execution = resolve(row, *find_target("sm_80"));
  TileCodes a(16 * 16), b(16 * 8), c(16 * 8);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = from_double(f16, static_cast<double>(i));
  for (std::size_t k = 0; k < 8; ++k) b[k * 8 + k] = from_double(f16, 1);
  FragmentRegisters a_registers = to_fragment(row, Operand::a, a);
  const FragmentRegisters b_registers = to_fragment(row, Operand::b, b);
  const FragmentRegisters c_registers = to_fragment(row, Operand::c, c);
  const auto run = [&] {
    return from_fragment(row, Operand::d,
                         mma_fragments(execution, a_registers, b_registers, c_registers));
  };
  const TileCodes right = run();
  CHECK(to_double(f32, right[8 * 8]) == 128);
  for (std::size_t lane = 0; lane < 32; ++lane)
    std::swap(a_registers[lane * 4 + 1], a_registers[lane * 4 + 2]);
  const TileCodes wrong = run();
  CHECK(to_double(f32, wrong[8 * 8]) == 8);
  int different = 0;
  for (std::size_t i = 0; i < right.size(); ++i) different += right[i] != wrong[i];
  CHECK(different == 64);
}
