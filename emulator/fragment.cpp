#include "bitmma/emulator/fragment.hpp"

#include <array>

namespace bitmma {
namespace {

/// Calls visit(register index, shift, tile offset) for each element of an operand's fragment.
template <class Visit>
void for_each_element(const Instruction& row, Operand operand, Visit visit) {
  const Layout layout = fragment_layout(row, operand);
  const int bits = row.format(operand).storage_bits;
  const int per_register = 32 / bits;
  const int registers = fragment_registers(row, operand);
  for (int lane = 0; lane < layout.lanes(); ++lane)
    for (int index = 0; index < layout.elements(); ++index)
      visit(static_cast<std::size_t>(lane * registers + index / per_register),
            index % per_register * bits,
            static_cast<std::size_t>(fragment_offset(layout, lane, index)));
}

}  // namespace

FragmentRegisters to_fragment(const Instruction& row, Operand operand,
                              std::span<const Code> codes) {
  const auto lanes = static_cast<std::size_t>(fragment_layout(row, operand).lanes());
  FragmentRegisters registers(lanes * static_cast<std::size_t>(fragment_registers(row, operand)));
  for_each_element(row, operand, [&](std::size_t at, int shift, std::size_t offset) {
    registers[at] |= static_cast<std::uint32_t>(codes[offset] << shift);
  });
  return registers;
}

TileCodes from_fragment(const Instruction& row, Operand operand,
                        std::span<const std::uint32_t> registers) {
  const Layout layout = fragment_layout(row, operand);
  TileCodes codes(static_cast<std::size_t>(layout.lanes() * layout.elements()));
  const std::uint32_t mask = ~std::uint32_t{0} >> (32 - row.format(operand).storage_bits);
  for_each_element(row, operand, [&](std::size_t at, int shift, std::size_t offset) {
    codes[offset] = registers[at] >> shift & mask;
  });
  return codes;
}

FragmentRegisters mma_fragments(const Execution& execution, std::span<const std::uint32_t> a,
                                std::span<const std::uint32_t> b,
                                std::span<const std::uint32_t> c) {
  const Instruction& row = execution.instruction;
  const TileCodes a_tile = from_fragment(row, Operand::a, a);
  const TileCodes b_tile = from_fragment(row, Operand::b, b);
  TileCodes tile = from_fragment(row, Operand::c, c);
  NoObserver observer;
  std::array<Code, max_k> column{};
  for (int block = 0; block < row.blocks(); ++block)
    for (int j = 0; j < row.n; ++j) {
      for (int k = 0; k < row.k; ++k)
        column[static_cast<std::size_t>(k)] =
            b_tile[static_cast<std::size_t>((block * row.k + k) * row.n + j)];
      for (int i = 0; i < row.m; ++i) {
        const auto line = static_cast<std::size_t>(block * row.m + i);
        Code& element = tile[line * static_cast<std::size_t>(row.n) + static_cast<std::size_t>(j)];
        element =
            run_element(execution.program, a_tile.data() + line * static_cast<std::size_t>(row.k),
                        column.data(), element, observer);
      }
    }
  return to_fragment(row, Operand::d, tile);
}

}  // namespace bitmma
