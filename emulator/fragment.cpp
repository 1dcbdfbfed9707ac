#include "bitmma/emulator/fragment.hpp"

#include <array>

#include "bitmma/isa/packing.hpp"

namespace bitmma {
namespace {

Packing fragment_packing(const Instruction& row, Operand operand) {
  return layout_packing(fragment_layout(row, operand), row.format(operand).storage_bits, Axis::row);
}

}  // namespace

FragmentRegisters to_fragment(const Instruction& row, Operand operand,
                              std::span<const Code> codes) {
  const Packing packing = fragment_packing(row, operand);
  FragmentRegisters registers(packing.words);
  pack(packing, codes, registers);
  return registers;
}

TileCodes from_fragment(const Instruction& row, Operand operand,
                        std::span<const std::uint32_t> registers) {
  const Packing packing = fragment_packing(row, operand);
  TileCodes codes(packing.codes);
  unpack(packing, registers, codes);
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
