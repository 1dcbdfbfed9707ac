/// WMMA of one warp: the fragments and functions of nvcuda::wmma, on codes.
///
/// What the documentation demands is checked before anything is read, computed or written.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "bitmma/emulator/instruction.hpp"
#include "bitmma/isa/wmma.hpp"

namespace bitmma {

/// A call that WMMA does not allow; what() says in one line which rule, the value, and what would
/// be right. Nothing was changed.
struct WmmaError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// One operand's fragment on a target: x[i] of each lane.
struct WmmaFragment {
  WmmaInstruction instruction;
  Operand operand;
  const Target* target;
  Layout layout;
  std::vector<Code> elements;  ///< lane after lane

  int num_elements() const { return layout.elements(); }
  Code& x(int lane, int index) { return elements[offset({lane, index})]; }
  Code x(int lane, int index) const { return elements[offset({lane, index})]; }
  /// The element that stands for a cell of the tile, or for one of its copies.
  Code at(const Coordinates& cell) const { return elements[offset(position(layout, cell))]; }

 private:
  std::size_t offset(const FragmentPosition& at) const {
    return static_cast<std::size_t>(at.lane * num_elements() + at.index);
  }
};

/// What a load or store is given besides the memory that starts at the pointer.
struct WmmaPointer {
  std::uint64_t address;            ///< in bytes: the pointer's value on the GPU
  std::uint64_t leading_dimension;  ///< in elements, from a row to the next, or a column
  MatrixLayout layout;
};

/// The first rule that a load or store breaks, or nothing: the layout is the one that A or B was
/// declared with, the address a multiple of 32 bytes, the leading dimension one of 16 bytes and at
/// least the tile's extent, and the tile within the memory.
/// Source: CUDA C++ Programming Guide, "Warp Matrix Functions".
std::optional<std::string> wmma_memory_fault(const WmmaInstruction& row, Operand operand,
                                             std::size_t memory_bytes, const WmmaPointer& pointer);

/// A fragment of equal elements. Throws WmmaError if the target does not have the form.
WmmaFragment fill_fragment(const WmmaInstruction& row, Operand operand, const Target& target,
                           Code code);

/// The fragment of a tile in memory; elements are little-endian, those below a byte low bits
/// first. Throws WmmaError if the target does not have the form or a rule of wmma_memory_fault() is
/// broken.
WmmaFragment load_matrix_sync(const WmmaInstruction& row, Operand operand, const Target& target,
                              std::span<const std::byte> memory, const WmmaPointer& pointer);

/// Writes an accumulator to memory. Throws WmmaError if it is none or a rule is broken.
void store_matrix_sync(std::span<std::byte> memory, const WmmaPointer& pointer,
                       const WmmaFragment& fragment);

/// D = A · B + C, as the machine code of the target computes it. Throws WmmaError if the fragments
/// are not A, B and C (or a former D) of one form on one target, 32 lanes each.
WmmaFragment mma_sync(const WmmaFragment& a, const WmmaFragment& b, const WmmaFragment& c);

/// __float_to_tf32: an f32 code rounded to tf32, ties away from zero, as cvt.rna.tf32.f32 does.
constexpr Code float_to_tf32(Code code) { return convert(f32, code, tf32, Rounding::nearest_away); }

/// What one output element goes through. Requires row.runs_on(target). (sm_72 has a step that
/// mma.sync has from sm_75 on: an exact sum, which no datapath changes.)
constexpr ElementProgram wmma_program(const WmmaInstruction& row, const Target& target) {
  const Instruction step = wmma_step(row, target);
  ElementProgram program = resolve(step, target).program;
  program.step_products = std::min(program.step_products, program.k);
  program.k = row.k;
  if (*step.c != *row.c) {
    program.operations[0] = program::widen(2, c_slot);
    program.operations[1] = program::mma(2, 2);
    program.operation_count = 2;
  }
  if (*step.d != *row.d) program.operations[program.operation_count++] = program::narrow(2, 2);
  return program;
}

/// A test asserts it at compile time: every form is emulated, and as one mma operation, around
/// which wmma_program() puts the conversions.
consteval bool every_wmma_step_is_one_operation() {
  for (const Target& target : target_table)
    for (const WmmaInstruction& row : wmma_table) {
      if (!row.runs_on(target)) continue;
      if (find_lowering(wmma_step(row, target), target)) return false;
    }
  return true;
}

}  // namespace bitmma
