/// Many tiles of seeded operands for one instruction, run on the GPU and on the emulator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bitmma/emulator/instruction.hpp"
#include "bitmma/kernels/operand_layout.hpp"
#include "bitmma/kernels/tile_cases.hpp"

namespace bitmma {

/// Operands as lines of k codes, tile after tile: A's rows, B's columns; C row after row. A warp of
/// m8n8k4 takes four tiles, any other instruction one.
struct Batch {
  Instruction row;
  std::size_t tiles;
  std::vector<Code> a;
  std::vector<Code> b;
  std::vector<Code> c;
};

/// One output element's operands: k codes of a row of A and of a column of B, and c.
struct OutputElement {
  const Code* a;
  const Code* b;
  Code c;
};

/// The tiles of whole instructions with at least that many output elements.
std::size_t tiles_of(const Instruction& row, std::size_t outputs);

/// The operands of those tiles of the row, family and seed, as kernels/tile_cases.hpp makes them.
/// Requires whole instructions: tiles in fours for m8n8k4.
Batch make_batch(const Instruction& row, InputFamily family, std::uint64_t seed,
                 std::uint64_t first_tile, std::size_t tiles);

/// The element whose result stands at `index` of D, which is ordered as C.
OutputElement output_element(const Batch& batch, std::size_t index);

/// The index in D of a tile's matched element number `i`, less than the lesser of m and n.
std::size_t matched_element(const Instruction& row, std::size_t tile, std::size_t i);

/// D's codes by the emulator, on all host cores.
std::vector<Code> emulate(const Execution& execution, const Batch& batch);

}  // namespace bitmma
