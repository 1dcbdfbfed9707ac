/// Fragment layouts: which element of a tile each lane holds, as mixed-radix numerals.
///
/// A layout is an ordered list of digits {radix, axis, weight}, least significant first: the lane
/// number's digits, then those of the element index within the lane. A coordinate is the sum of
/// digit × weight over the digits of its axis; a digit is coordinate / weight % radix. Both
/// directions follow, and there is no second formula.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>

#include "bitmma/isa/host_device.hpp"

namespace bitmma {

/// `copy` numbers the places of one element, where WMMA holds it in several.
enum class Axis : std::uint8_t { row, column, block, copy };

inline constexpr Axis all_axes[] = {Axis::row, Axis::column, Axis::block, Axis::copy};

struct Digit {
  int radix;
  Axis axis;
  int weight;
};

/// Row and column inside the tile; which tile: the quad pair of m8n8k4, else 0; and which of the
/// cell's copies.
struct Coordinates {
  int row;
  int column;
  int block;
  int copy = 0;
  friend constexpr bool operator==(const Coordinates&, const Coordinates&) = default;
};

/// The coordinate of an axis.
BITMMA_HD constexpr int Coordinates::*coordinate_of(Axis axis) {
  switch (axis) {
    case Axis::row:
      return &Coordinates::row;
    case Axis::column:
      return &Coordinates::column;
    case Axis::block:
      return &Coordinates::block;
    case Axis::copy:
      break;
  }
  return &Coordinates::copy;
}

/// Lane number and element index within that lane's fragment.
struct FragmentPosition {
  int lane;
  int index;
  friend constexpr bool operator==(const FragmentPosition&, const FragmentPosition&) = default;
};

struct Layout {
  static constexpr int max_digits = 8;
  Digit digits[max_digits]{};
  int lane_digits = 0;
  int digit_count = 0;

  constexpr Layout() = default;
  constexpr Layout(std::initializer_list<Digit> lane, std::initializer_list<Digit> index) {
    for (const Digit& digit : lane) append(digit);
    lane_digits = digit_count;
    for (const Digit& digit : index) append(digit);
  }

  /// Adds a digit above the others, to the lane's where lane_digits is set after it. Digits of
  /// radix 1 carry nothing and are dropped, so that one rule serves every shape.
  constexpr void append(const Digit& digit) {
    if (digit.radix != 1) digits[digit_count++] = digit;
  }

  BITMMA_HD constexpr int lanes() const { return product(0, lane_digits); }
  /// Elements that each lane holds.
  BITMMA_HD constexpr int elements() const { return product(lane_digits, digit_count); }
  /// Number of cells along an axis.
  BITMMA_HD constexpr int extent(Axis axis) const {
    int cells = 1;
    for (int i = 0; i < digit_count; ++i)
      if (digits[i].axis == axis) cells *= digits[i].radix;
    return cells;
  }

 private:
  BITMMA_HD constexpr int product(int first, int last) const {
    int value = 1;
    for (int i = first; i < last; ++i) value *= digits[i].radix;
    return value;
  }
};

/// The cell that element `index` of `lane` stands for. Total: the numbers wrap at lanes() and
/// elements().
BITMMA_HD constexpr Coordinates coordinates(const Layout& layout, int lane, int index) {
  Coordinates cell{0, 0, 0, 0};
  int rest = lane;
  for (int i = 0; i < layout.digit_count; ++i) {
    if (i == layout.lane_digits) rest = index;
    const Digit& digit = layout.digits[i];
    cell.*coordinate_of(digit.axis) += rest % digit.radix * digit.weight;
    rest /= digit.radix;
  }
  return cell;
}

/// The lane and element that hold a cell: the inverse of coordinates().
BITMMA_HD constexpr FragmentPosition position(const Layout& layout, const Coordinates& cell) {
  FragmentPosition at{0, 0};
  int place = 1;
  for (int i = 0; i < layout.digit_count; ++i) {
    if (i == layout.lane_digits) place = 1;
    const Digit& digit = layout.digits[i];
    (i < layout.lane_digits ? at.lane : at.index) +=
        cell.*coordinate_of(digit.axis) / digit.weight % digit.radix * place;
    place *= digit.radix;
  }
  return at;
}

/// True if the weights on every axis run 1, r0, r0·r1, …: then each copy of each cell has exactly
/// one lane and element, and each lane and element has a cell. A cell is held extent(Axis::copy)
/// times.
constexpr bool is_bijective(const Layout& layout) {
  for (const Axis axis : all_axes) {
    int covered = 1;
    for (bool found = true; found;) {
      found = false;
      for (int i = 0; i < layout.digit_count && !found; ++i) {
        const Digit& digit = layout.digits[i];
        if (digit.axis != axis || digit.weight != covered) continue;
        covered *= digit.radix;
        found = true;
      }
    }
    if (covered != layout.extent(axis)) return false;
  }
  return true;
}

/// The layout of the transposed tile.
constexpr Layout transposed(Layout layout) {
  for (Digit& digit : layout.digits) {
    if (digit.axis == Axis::row || digit.axis == Axis::column)
      digit.axis = digit.axis == Axis::row ? Axis::column : Axis::row;
  }
  return layout;
}

/// The offset of a cell in its tile stored row after row, blocks one after another.
BITMMA_HD constexpr int fragment_offset(const Layout& layout, int lane, int index) {
  const Coordinates cell = coordinates(layout, lane, index);
  const int rows = layout.extent(Axis::row);
  const int columns = layout.extent(Axis::column);
  return (cell.block * rows + cell.row) * columns + cell.column;
}

/// The inverse of fragment_offset().
BITMMA_HD constexpr FragmentPosition fragment_decode(const Layout& layout, int offset) {
  const int rows = layout.extent(Axis::row);
  const int columns = layout.extent(Axis::column);
  return position(layout, {offset / columns % rows, offset % columns, offset / columns / rows});
}

/// The offset of a lane's element in a row-major matrix whose rows are row_stride elements apart,
/// for a tile whose first element stands at (tile_row, tile_column). Empty if that does not fit in
/// 64 bits, so that a bad stride cannot wrap into a plausible offset.
constexpr std::optional<std::uint64_t> fragment_matrix_offset(const Layout& layout, int lane,
                                                              int index, std::uint64_t tile_row,
                                                              std::uint64_t tile_column,
                                                              std::uint64_t row_stride) {
  constexpr std::uint64_t limit = std::numeric_limits<std::uint64_t>::max();
  const Coordinates cell = coordinates(layout, lane, index);
  const auto row_in_tile = static_cast<std::uint64_t>(cell.row);
  const auto column_in_tile = static_cast<std::uint64_t>(cell.column);
  if (tile_row > limit - row_in_tile || tile_column > limit - column_in_tile) return std::nullopt;
  const std::uint64_t row = tile_row + row_in_tile;
  const std::uint64_t column = tile_column + column_in_tile;
  if (row_stride != 0 && row > (limit - column) / row_stride) return std::nullopt;
  return row * row_stride + column;
}

// The rules. A register holds `packed` = 32 / element bits elements that are neighbours along k; an
// f64 stands alone in two. Warps hold 16 rows of A and C, or the 8 that there are; the four of a
// warpgroup (wgmma's m = 64) are stacked.
// Source: PTX ISA, "Matrix Fragments for mma.m8n8k4 … mma.m16n8k256" and for wgmma.

constexpr Layout a_fragment(int m, int k, int packed) {
  const int halves = m == 8 ? 1 : 2;
  return {{{4, Axis::column, packed}, {8, Axis::row, 1}, {m / (8 * halves), Axis::row, 16}},
          {{packed, Axis::column, 1},
           {halves, Axis::row, 8},
           {k / (4 * packed), Axis::column, 4 * packed}}};
}

constexpr Layout b_fragment(int k, int packed) {
  return {{{4, Axis::row, packed}, {8, Axis::column, 1}},
          {{packed, Axis::row, 1}, {k / (4 * packed), Axis::row, 4 * packed}}};
}

/// C and D, of every type alike.
constexpr Layout accumulator_fragment(int m, int n) {
  const int halves = m == 8 ? 1 : 2;
  return {{{4, Axis::column, 2}, {8, Axis::row, 1}, {m / (8 * halves), Axis::row, 16}},
          {{2, Axis::column, 1}, {halves, Axis::row, 8}, {n / 8, Axis::column, 8}}};
}

// m8n8k4: lanes 4p..4p+3 and 4p+16..4p+19 form quad pair p, which multiplies a tile of its own.

/// A's .row and B's .col: a lane holds four neighbours along k. `outer` is the other axis.
constexpr Layout quad_pair_along_k(Axis outer, Axis k_axis) {
  return {{{4, outer, 1}, {4, Axis::block, 1}, {2, outer, 4}}, {{4, k_axis, 1}}};
}

/// A's .col and B's .row: a lane holds one k and four neighbours along `outer`.
constexpr Layout quad_pair_across_k(Axis outer, Axis k_axis) {
  return {{{4, k_axis, 1}, {4, Axis::block, 1}, {2, outer, 4}}, {{4, outer, 1}}};
}

inline constexpr Layout quad_pair_accumulator_f16{
    {{4, Axis::row, 1}, {4, Axis::block, 1}, {2, Axis::row, 4}}, {{8, Axis::column, 1}}};

inline constexpr Layout quad_pair_accumulator_f32{
    {{2, Axis::row, 1}, {2, Axis::column, 2}, {4, Axis::block, 1}, {2, Axis::row, 4}},
    {{2, Axis::column, 1}, {2, Axis::row, 2}, {2, Axis::column, 4}}};

}  // namespace bitmma
