/// An instruction on fragments: 32 lanes' packed 32-bit registers in and out, as PTX has them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bitmma/emulator/instruction.hpp"

namespace bitmma {

/// One operand's registers, lane after lane: register r of a lane stands at
/// lane · fragment_registers(row, operand) + r. Within a register the element of lower index takes
/// the lower bits; an f64 stands in two registers, its low half first.
using FragmentRegisters = std::vector<std::uint32_t>;

/// One operand's codes, block after block (the quad pairs of m8n8k4), row after row.
using TileCodes = std::vector<Code>;

/// Distributes a tile over the lanes. Requires has_fragment() and codes of the tile's size.
FragmentRegisters to_fragment(const Instruction& row, Operand operand, std::span<const Code> codes);

/// Gathers a tile from the lanes' registers: the inverse of to_fragment().
TileCodes from_fragment(const Instruction& row, Operand operand,
                        std::span<const std::uint32_t> registers);

/// D's registers after one warp executed the mma.sync instruction on A's, B's and C's: for m8n8k4
/// each quad pair multiplies its own tile. Requires Family::mma_sync.
FragmentRegisters mma_fragments(const Execution& execution, std::span<const std::uint32_t> a,
                                std::span<const std::uint32_t> b, std::span<const std::uint32_t> c);

}  // namespace bitmma
