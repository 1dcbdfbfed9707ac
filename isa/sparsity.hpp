/// Structured sparsity of A in mma.sp and wgmma.mma_async.sp: how many neighbours are kept, what a
/// metadata field means, and which lane holds it.
///
/// A row of A falls into groups of neighbours along k, of which one half is kept. A metadata field
/// of four bits belongs to each group: two 2-bit indices, the first one in the low bits, that name
/// the quarters of the group that are kept. A quarter is one element of 8 or 16 bits, a pair of
/// 4-bit ones, or half of a 32-bit one.
/// Source: PTX ISA, "Sparse matrix storage", of mma.sp and of wgmma.mma_async.sp; the lanes were
/// measured on an H200 (docs/measurements.md).
#pragma once

#include <cstdint>

#include "bitmma/isa/host_device.hpp"
#include "bitmma/isa/layout.hpp"

namespace bitmma {

/// The rules for elements of one width in registers.
struct Sparsity {
  int element_bits;
  int group;        ///< neighbours along k that one metadata field speaks of
  int unit;         ///< neighbours that are kept or dropped together
  int lane_groups;  ///< groups of one row whose fields one lane holds

  /// Elements that are kept of a group.
  BITMMA_HD constexpr int kept() const { return group / 2; }

  friend constexpr bool operator==(const Sparsity&, const Sparsity&) = default;
};

inline constexpr Sparsity sparsity_table[] = {
    {4, 8, 2, 8},   // s4, u4
    {8, 4, 1, 8},   // s8, u8, FP8
    {16, 4, 1, 4},  // f16, bf16
    {32, 2, 1, 4},  // tf32
};

/// The row of that width, or nullptr.
constexpr const Sparsity* find_sparsity(int element_bits) {
  for (const Sparsity& row : sparsity_table)
    if (row.element_bits == element_bits) return &row;
  return nullptr;
}

using MetadataField = std::uint8_t;
inline constexpr int metadata_field_bits = 4;

/// What a spelling asks of the two indices of a field.
enum class MetadataOrder : std::uint8_t {
  any,        ///< mma.sp, wgmma.mma_async.sp: they differ
  ascending,  ///< mma.sp::ordered_metadata: the first is the smaller one
};

/// The first (0) or second (1) quarter of the group that is kept, 0 to 3.
BITMMA_HD constexpr int metadata_index(MetadataField field, int which) {
  return field >> (2 * which) & 3;
}

/// True if the field has a meaning; with any other the instruction's behaviour is undefined. A
/// 32-bit element takes two quarters: its halves, in order.
BITMMA_HD constexpr bool is_valid_metadata(const Sparsity& sparsity, MetadataOrder order,
                                           MetadataField field) {
  const int first = metadata_index(field, 0);
  const int second = metadata_index(field, 1);
  if (field >> metadata_field_bits != 0) return false;
  if (sparsity.group == 2) return first % 2 == 0 && second == first + 1;
  return order == MetadataOrder::ascending ? first < second : first != second;
}

/// The place in its group of kept element i < sparsity.kept(). Requires a valid field.
BITMMA_HD constexpr int kept_place(const Sparsity& sparsity, MetadataField field, int i) {
  const int quarter = sparsity.group / 2;  // in halves of an element, as what follows
  const int half = 2 * i;
  return (metadata_index(field, half / quarter) * quarter + half % quarter) / 2;
}

/// Metadata fields over the lanes of a warp, or of a warpgroup (`warps` = 4): row is A's row,
/// column the group along k, block the sparsity selector for which a lane's fields count. Element i
/// of a lane is bits 4i to 4i + 3 of its metadata register. The selector picks one of four
/// neighbouring lanes, a pair of them, or has no choice, depending on how many it takes to hold a
/// row. Requires k of a sparse instruction for that width.
constexpr Layout metadata_layout(const Sparsity& sparsity, int k, int warps = 1) {
  const int lane_groups = sparsity.lane_groups;
  const int lane_rows = 8 / lane_groups;
  const int row_lanes = 2 / lane_rows;
  const int group_lanes = k / sparsity.group / lane_groups;
  const int selectors = 4 / (row_lanes * group_lanes);
  return {{{row_lanes, Axis::row, 8},
           {group_lanes, Axis::column, lane_groups},
           {selectors, Axis::block, 1},
           {8, Axis::row, 1},
           {warps, Axis::row, 16}},
          {{lane_groups, Axis::column, 1}, {lane_rows, Axis::row, 8}}};
}

/// Sparsity selectors that an instruction accepts: 0 to selector_count() − 1.
constexpr int selector_count(const Layout& metadata) { return metadata.extent(Axis::block); }

/// True if the lane's metadata register is read with that selector.
constexpr bool contributes_metadata(const Layout& metadata, int selector, int lane) {
  return coordinates(metadata, lane, 0).block == selector;
}

}  // namespace bitmma
