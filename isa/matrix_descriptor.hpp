/// Operands of wgmma in shared memory: the 64-bit matrix descriptor, the swizzling modes, and the
/// address of every element.
///
/// Source: PTX ISA 8.7, "Asynchronous Warpgroup Level Matrix Shared Memory Layout" (major-ness,
/// swizzling modes, strides, matrix descriptor format), and the canonical layouts of CUTLASS,
/// cute/arch/mma_sm90_desc.hpp and cute/atom/mma_traits_sm90_gmma.hpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "bitmma/isa/instruction.hpp"

namespace bitmma {

/// What a swizzle moves as a whole, and the unit of a descriptor's addresses.
inline constexpr int chunk_bytes = 16;

/// Lines of a swizzle atom. Without swizzle the atom is the core matrix, 8 lines of one chunk.
inline constexpr int atom_lines = 8;

/// Bytes that one step of the base offset stands for.
inline constexpr int base_offset_bytes = 128;

/// Shared memory of an sm_90 block: 227 KiB behind 1 KiB that the system reserves (CUDA C++
/// Programming Guide, "Compute Capability 9.0", Shared Memory).
inline constexpr int shared_memory_bytes = 228 * 1024;

/// An atom is atom_lines lines of row_bytes, one after another.
struct SwizzleMode {
  std::string_view name;
  int code;  ///< in the descriptor
  int row_bytes;

  /// Also the distance after which the swizzle repeats.
  constexpr int atom_bytes() const { return atom_lines * row_bytes; }
  /// The bits of a byte address that name the chunk within a row. Each is XORed with the bit three
  /// places above it.
  constexpr int chunk_mask() const { return row_bytes - chunk_bytes; }
  constexpr bool is_none() const { return row_bytes == chunk_bytes; }
};

/// A mode's index is its code.
inline constexpr SwizzleMode swizzle_table[] = {
    {"none", 0, 16},
    {"128B", 1, 128},
    {"64B", 2, 64},
    {"32B", 3, 32},
};

/// A descriptor's fields; offsets are in bytes.
struct MatrixDescriptor {
  int start_address = 0;
  int leading_offset = 0;
  int stride_offset = 0;
  int base_offset = 0;
  int swizzle_code = 0;

  constexpr const SwizzleMode& swizzle() const { return swizzle_table[swizzle_code]; }
  friend constexpr bool operator==(const MatrixDescriptor&, const MatrixDescriptor&) = default;
};

struct DescriptorField {
  std::string_view name;
  int first_bit;
  int bits;
  int unit;  ///< what 1 in these bits stands for
  int MatrixDescriptor::*value;

  constexpr std::uint64_t mask() const { return ((std::uint64_t{1} << bits) - 1) << first_bit; }
  /// The bits as they stand in a descriptor, right-aligned.
  constexpr int raw(std::uint64_t descriptor) const {
    return static_cast<int>((descriptor & mask()) >> first_bit);
  }
};

inline constexpr DescriptorField descriptor_field_table[] = {
    {"start address", 0, 14, chunk_bytes, &MatrixDescriptor::start_address},
    {"leading dimension offset", 16, 14, chunk_bytes, &MatrixDescriptor::leading_offset},
    {"stride dimension offset", 32, 14, chunk_bytes, &MatrixDescriptor::stride_offset},
    {"base offset", 49, 3, 1, &MatrixDescriptor::base_offset},
    {"swizzle mode", 62, 2, 1, &MatrixDescriptor::swizzle_code},
};

/// The 64 bits. What a field cannot hold is cut, as PTX's matrix-descriptor-encode does:
/// (x & 0x3FFFF) >> 4.
constexpr std::uint64_t encode_descriptor(const MatrixDescriptor& descriptor) {
  std::uint64_t bits = 0;
  for (const DescriptorField& field : descriptor_field_table)
    bits |= static_cast<std::uint64_t>(descriptor.*field.value / field.unit) << field.first_bit &
            field.mask();
  return bits;
}

/// The fields of 64 bits; reserved bits are passed over.
constexpr MatrixDescriptor decode_descriptor(std::uint64_t bits) {
  MatrixDescriptor descriptor;
  for (const DescriptorField& field : descriptor_field_table)
    descriptor.*field.value = field.raw(bits) * field.unit;
  return descriptor;
}

/// The bits that no field has.
constexpr std::uint64_t reserved_descriptor_bits() {
  std::uint64_t reserved = ~std::uint64_t{0};
  for (const DescriptorField& field : descriptor_field_table) reserved &= ~field.mask();
  return reserved;
}

/// The axis along which neighbours stand side by side: K by default, M of A or N of B where the
/// instruction transposes (imm-trans-a, imm-trans-b).
enum class Major : std::uint8_t { k, mn };

/// An operand as an instruction reads it from shared memory. `outer` counts the rows of A or the
/// columns of B.
struct SharedTile {
  int outer = 0;
  int k = 0;
  int element_bytes = 0;
  Major major = Major::k;

  /// Bytes along the major axis, and lines across it.
  constexpr int line_bytes() const { return (major == Major::k ? k : outer) * element_bytes; }
  constexpr int lines() const { return major == Major::k ? outer : k; }
};

/// A or B of a wgmma row. Requires a concrete N.
constexpr SharedTile shared_tile(const Instruction& row, Operand operand, Major major) {
  return {operand == Operand::a ? row.m : row.n, row.k, row.format(operand).storage_bits / 8,
          major};
}

/// imm-trans-a and imm-trans-b exist for 16-bit elements alone; all others are K-major.
constexpr bool has_major(const SharedTile& tile) {
  return tile.major == Major::k || tile.element_bytes == 2;
}

/// Atoms along the major axis and across it. The last one along it may be used in part.
struct AtomCount {
  int along;
  int across;
};

constexpr AtomCount atom_count(const SwizzleMode& mode, const SharedTile& tile) {
  return {(tile.line_bytes() + mode.row_bytes - 1) / mode.row_bytes, tile.lines() / atom_lines};
}

/// The descriptor's member that holds the distance between atoms along, and across, the major axis.
struct AtomSteps {
  int MatrixDescriptor::*along;
  int MatrixDescriptor::*across;
};

/// The leading dimension offset leads along the major axis and the stride dimension offset across
/// it; without swizzle and MN-major it is the other way round.
constexpr AtomSteps atom_steps(const SwizzleMode& mode, Major major) {
  constexpr int MatrixDescriptor::*leading = &MatrixDescriptor::leading_offset;
  constexpr int MatrixDescriptor::*stride = &MatrixDescriptor::stride_offset;
  return mode.is_none() && major == Major::mn ? AtomSteps{stride, leading}
                                              : AtomSteps{leading, stride};
}

/// Where a byte address leads after the swizzle. The pattern starts at multiples of the atom's
/// bytes, moved by the base offset.
constexpr int swizzled_address(const MatrixDescriptor& descriptor, int address) {
  const int in_pattern = address - descriptor.base_offset * base_offset_bytes;
  return address ^ (in_pattern >> 3 & descriptor.swizzle().chunk_mask());
}

/// The byte address in shared memory of the element (outer, k).
constexpr int element_address(const MatrixDescriptor& descriptor, const SharedTile& tile, int outer,
                              int k) {
  const SwizzleMode& mode = descriptor.swizzle();
  const AtomSteps steps = atom_steps(mode, tile.major);
  const int along = (tile.major == Major::k ? k : outer) * tile.element_bytes;
  const int across = tile.major == Major::k ? outer : k;
  return swizzled_address(
      descriptor, descriptor.start_address + along / mode.row_bytes * descriptor.*steps.along +
                      along % mode.row_bytes + across / atom_lines * descriptor.*steps.across +
                      across % atom_lines * mode.row_bytes);
}

/// Calls visit(outer, k) for the first element of every chunk, line after line.
template <class Visit>
constexpr void for_each_chunk(const SharedTile& tile, Visit visit) {
  for (int line = 0; line < tile.lines(); ++line)
    for (int byte = 0; byte < tile.line_bytes(); byte += chunk_bytes) {
      const int along = byte / tile.element_bytes;
      tile.major == Major::k ? visit(line, along) : visit(along, line);
    }
}

/// Byte addresses from `first` to before `end`.
struct OperandBytes {
  int first;
  int end;
};

/// The range that an operand's elements lie in.
constexpr OperandBytes operand_bytes(const MatrixDescriptor& descriptor, const SharedTile& tile) {
  const int start = element_address(descriptor, tile, 0, 0);
  OperandBytes range{start, start};
  for_each_chunk(tile, [&](int outer, int k) {
    const int address = element_address(descriptor, tile, outer, k);
    range = {std::min(range.first, address), std::max(range.end, address + chunk_bytes)};
  });
  return range;
}

/// The descriptor of a tile whose atoms stand one after another, along the major axis first. An
/// offset that nothing uses is 16, as CUTLASS sets it.
constexpr MatrixDescriptor dense_descriptor(const SharedTile& tile, const SwizzleMode& mode,
                                            int start_address) {
  const AtomCount atoms = atom_count(mode, tile);
  const AtomSteps steps = atom_steps(mode, tile.major);
  MatrixDescriptor descriptor{start_address, 0, 0, 0, mode.code};
  descriptor.*steps.along = atoms.along > 1 ? mode.atom_bytes() : chunk_bytes;
  descriptor.*steps.across = atoms.across > 1 ? atoms.along * mode.atom_bytes() : chunk_bytes;
  return descriptor;
}

namespace detail {

consteval bool fields_are_apart() {
  std::uint64_t seen = 0;
  for (const DescriptorField& field : descriptor_field_table) {
    if ((seen & field.mask()) != 0) return false;
    seen |= field.mask();
  }
  return true;
}
static_assert(fields_are_apart());

consteval bool codes_are_indices() {
  int index = 0;
  for (const SwizzleMode& mode : swizzle_table)
    if (mode.code != index++) return false;
  return true;
}
static_assert(codes_are_indices());

}  // namespace detail

}  // namespace bitmma
