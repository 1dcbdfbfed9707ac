/// Where an instruction's operands stand when a kernel runs it, in 32-bit words.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bitmma/isa/instruction.hpp"
#include "bitmma/isa/packing.hpp"

namespace bitmma {

/// Where an instruction reads A: wgmma from either, mma.sync from registers alone.
enum class ASource : std::uint8_t { registers, shared_memory };

// Source: PTX ISA, "Asynchronous Warpgroup Level Matrix Shared Memory Layout". Without swizzle a
// K-major tile is a sequence of core matrices, 8 rows of 16 bytes each; wgmma's K is two of them.
inline constexpr int core_matrix_rows = 8;
inline constexpr int core_matrix_row_bytes = 16;
inline constexpr int core_matrix_bytes = core_matrix_rows * core_matrix_row_bytes;
inline constexpr int core_matrices_along_k = 2;

/// A tile in shared memory as a layout of one lane: the rows of a core matrix, the two core
/// matrices along k, then those along `outer`, A's rows or B's columns.
constexpr Layout core_matrix_layout(Axis outer, int outer_extent, int element_bits) {
  const Axis along_k = outer == Axis::row ? Axis::column : Axis::row;
  const int row_elements = core_matrix_row_bytes * 8 / element_bits;
  return Layout({}, {{row_elements, along_k, 1},
                     {core_matrix_rows, outer, 1},
                     {core_matrices_along_k, along_k, row_elements},
                     {outer_extent / core_matrix_rows, outer, core_matrix_rows}});
}

/// The layout of an operand in the registers of a warp or a warpgroup, or in shared memory.
/// Requires a concrete N.
constexpr Layout operand_layout(const Instruction& row, ASource a_source, Operand operand) {
  const int bits = row.format(operand).storage_bits;
  if (!has_fragment(row, operand)) return core_matrix_layout(Axis::column, row.n, bits);
  if (operand == Operand::a && a_source == ASource::shared_memory)
    return core_matrix_layout(Axis::row, row.m, bits);
  return fragment_layout(row, operand);
}

/// 32-bit words of an operand that one instruction reads or writes, over all lanes.
constexpr std::size_t operand_words(const Instruction& row, ASource a_source, Operand operand) {
  const Layout layout = operand_layout(row, a_source, operand);
  return static_cast<std::size_t>(layout.lanes() * layout.elements() *
                                  row.format(operand).storage_bits / 32);
}

/// One instruction's codes and words of an operand. Lines are rows of A, C and D and columns of B,
/// so that products run along them.
inline Packing operand_packing(const Instruction& row, ASource a_source, Operand operand) {
  return layout_packing(operand_layout(row, a_source, operand), row.format(operand).storage_bits,
                        operand == Operand::b ? Axis::column : Axis::row);
}

}  // namespace bitmma
