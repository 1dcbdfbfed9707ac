/// WMMA: the forms of wmma.mma, which element of a tile each lane's x[i] is on each target, and the
/// mma.sync that the machine code repeats.
///
/// PTX leaves the fragments unspecified. They were read off the loads, stores and tensor
/// instructions that ptxas emits: 12.4 and 12.9 for sm_70, 12.4 for sm_72, 13.0 for sm_75 and
/// later, and 12.4 for sm_75, 80, 89 and 90, which agrees.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "bitmma/isa/format.hpp"
#include "bitmma/isa/instruction.hpp"
#include "bitmma/isa/layout.hpp"
#include "bitmma/isa/target.hpp"

namespace bitmma {

struct WmmaInstruction {
  int m = 0;
  int n = 0;
  int k = 0;
  MatrixLayout a_layout = MatrixLayout::row;  ///< of A in memory, which Volta's fragments keep
  MatrixLayout b_layout = MatrixLayout::col;
  Modifier modifier = Modifier::none;
  const Format* d = nullptr;
  const Format* a = nullptr;  ///< and of B
  const Format* c = nullptr;
  int first_sm = 0;

  constexpr const Format& format(Operand operand) const {
    if (operand == Operand::c) return *c;
    return operand == Operand::d ? *d : *a;
  }
  constexpr bool runs_on(const Target& target) const { return first_sm <= target.sm; }
  friend constexpr bool operator==(const WmmaInstruction& x, const WmmaInstruction& y) {
    return x.m == y.m && x.n == y.n && x.k == y.k && x.a_layout == y.a_layout &&
           x.b_layout == y.b_layout && x.modifier == y.modifier && *x.d == *y.d && *x.a == *y.a &&
           *x.c == *y.c;
  }
};

namespace detail {

/// Reads .d.a.b.c, or .d.c, which is how PTX spells f16.
constexpr bool take_wmma_types(std::string_view& text, WmmaInstruction& row) {
  row.a = &f16;
  if (!take_format(text, row.d) || !take_format(text, row.c)) return false;
  if (text.empty()) return true;
  row.a = row.c;
  const Format* b = nullptr;
  return take_format(text, b) && *row.a == *b && take_format(text, row.c);
}

}  // namespace detail

/// Reads a spelling: PTX's own (wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32), or without its
/// qualifiers, or without .row.col, and with f16 as the types of A and B spelled out or not. Empty
/// if the text spells no form; whether the table has it is find_wmma()'s answer.
constexpr std::optional<WmmaInstruction> parse_wmma(std::string_view text) {
  WmmaInstruction row;
  if (!detail::take_prefix(text, "wmma.")) return std::nullopt;
  detail::take_prefix(text, "mma.");
  detail::take_modifier(text, true, row.modifier);
  detail::take_prefix(text, "sync.aligned.");
  if (detail::take_matrix_layout(text, row.a_layout) &&
      !detail::take_matrix_layout(text, row.b_layout))
    return std::nullopt;
  Instruction shape;
  if (!detail::parse_shape(detail::take_token(text), shape)) return std::nullopt;
  row.m = shape.m;
  row.n = shape.n;
  row.k = shape.k;
  if (row.modifier == Modifier::none) detail::take_modifier(text, false, row.modifier);
  if (row.modifier == Modifier::satfinite || !detail::take_wmma_types(text, row))
    return std::nullopt;
  if (row.modifier == Modifier::none &&
      detail::take_prefix(text, spelling_of(Modifier::satfinite).ptx))
    row.modifier = Modifier::satfinite;
  return text.empty() ? std::optional(row) : std::nullopt;
}

/// A table row, which stands for every layout of A and B and every modifier that its types have. A
/// spelling that does not parse stops the
/// compilation.
consteval WmmaInstruction wmma(std::string_view spelling, int first_sm) {
  WmmaInstruction row = parse_wmma(spelling).value();
  row.first_sm = first_sm;
  return row;
}

// Source: PTX ISA, "wmma.mma", and what ptxas 12.4 and 13.0 accept for each target.
inline constexpr WmmaInstruction wmma_table[] = {
    wmma("wmma.m16n16k16.f16.f16.f16.f16", 70),
    wmma("wmma.m16n16k16.f16.f16.f16.f32", 70),
    wmma("wmma.m16n16k16.f32.f16.f16.f16", 70),
    wmma("wmma.m16n16k16.f32.f16.f16.f32", 70),
    wmma("wmma.m8n32k16.f16.f16.f16.f16", 70),
    wmma("wmma.m8n32k16.f16.f16.f16.f32", 70),
    wmma("wmma.m8n32k16.f32.f16.f16.f16", 70),
    wmma("wmma.m8n32k16.f32.f16.f16.f32", 70),
    wmma("wmma.m32n8k16.f16.f16.f16.f16", 70),
    wmma("wmma.m32n8k16.f16.f16.f16.f32", 70),
    wmma("wmma.m32n8k16.f32.f16.f16.f16", 70),
    wmma("wmma.m32n8k16.f32.f16.f16.f32", 70),
    wmma("wmma.m16n16k16.f32.bf16.bf16.f32", 80),
    wmma("wmma.m8n32k16.f32.bf16.bf16.f32", 80),
    wmma("wmma.m32n8k16.f32.bf16.bf16.f32", 80),
    wmma("wmma.m16n16k8.f32.tf32.tf32.f32", 80),
    wmma("wmma.m8n8k4.f64.f64.f64.f64", 80),
    wmma("wmma.m16n16k16.s32.s8.s8.s32", 72),
    wmma("wmma.m16n16k16.s32.u8.u8.s32", 72),
    wmma("wmma.m8n32k16.s32.s8.s8.s32", 72),
    wmma("wmma.m8n32k16.s32.u8.u8.s32", 72),
    wmma("wmma.m32n8k16.s32.s8.s8.s32", 72),
    wmma("wmma.m32n8k16.s32.u8.u8.s32", 72),
    wmma("wmma.m8n8k32.s32.s4.s4.s32", 75),
    wmma("wmma.m8n8k32.s32.u4.u4.s32", 75),
    wmma("wmma.xor.popc.m8n8k128.s32.b1.b1.s32", 75),
    wmma("wmma.and.popc.m8n8k128.s32.b1.b1.s32", 80),
};

namespace detail {

/// PTX ISA, "wmma.mma": f64 has .rnd, and integers above a bit have .satfinite.
constexpr bool has_modifier(const WmmaInstruction& row, Modifier modifier) {
  switch (modifier) {
    case Modifier::rz:
    case Modifier::rm:
    case Modifier::rp:
      return *row.a == f64;
    case Modifier::satfinite:
      return row.a->is_integer() && *row.a != b1;
    case Modifier::none:
    case Modifier::xor_popc:
    case Modifier::and_popc:
      break;
  }
  return modifier == row.modifier;
}

}  // namespace detail

/// The form that a spelling names, with A's and B's layouts and the modifier as spelled. Elements
/// below a byte have .row.col alone.
constexpr std::optional<WmmaInstruction> find_wmma(std::string_view text) {
  std::optional<WmmaInstruction> wanted = parse_wmma(text);
  if (!wanted) return std::nullopt;
  for (WmmaInstruction row : wmma_table) {
    if (row.a->storage_bits >= 8) {
      row.a_layout = wanted->a_layout;
      row.b_layout = wanted->b_layout;
    }
    if (detail::has_modifier(row, wanted->modifier)) row.modifier = wanted->modifier;
    if (row == *wanted) return row;
  }
  return std::nullopt;
}

namespace detail {

/// b1's operation, which stands before the other qualifiers.
inline std::string wmma_operation(const WmmaInstruction& row) {
  const ModifierSpelling& modifier = spelling_of(row.modifier);
  return modifier.comes_last ? std::string(modifier.ptx).append(".") : "";
}

inline std::string wmma_layouts(const WmmaInstruction& row) {
  const auto name = [](MatrixLayout layout) { return layout == MatrixLayout::row ? "row" : "col"; };
  return std::string(name(row.a_layout)).append(".").append(name(row.b_layout)).append(".");
}

inline std::string wmma_shape(const WmmaInstruction& row) {
  std::string shape = "m";
  shape.append(std::to_string(row.m)).append("n").append(std::to_string(row.n));
  return shape.append("k").append(std::to_string(row.k));
}

/// What follows the shape: the types, a rounding before them and .satfinite behind them.
inline std::string wmma_types(const WmmaInstruction& row,
                              std::initializer_list<const Format*> types) {
  const ModifierSpelling& modifier = spelling_of(row.modifier);
  const bool saturates = row.modifier == Modifier::satfinite;
  std::string text;
  if (row.modifier != Modifier::none && !modifier.comes_last && !saturates)
    text.append(".").append(modifier.ptx);
  for (const Format* type : types) text.append(".").append(type->name);
  return saturates ? text.append(".").append(modifier.ptx) : text;
}

}  // namespace detail

/// The short spelling: wmma.m16n16k16.f32.f16.f16.f32; layouts are named unless they are .row.col.
inline std::string short_name(const WmmaInstruction& row) {
  std::string name = "wmma.";
  name.append(detail::wmma_operation(row));
  if (row.a_layout != MatrixLayout::row || row.b_layout != MatrixLayout::col)
    name.append(detail::wmma_layouts(row));
  name.append(detail::wmma_shape(row));
  return name.append(detail::wmma_types(row, {row.d, row.a, row.a, row.c}));
}

/// PTX's spelling: wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32, for f16; others name all types.
inline std::string ptx_name(const WmmaInstruction& row) {
  std::string name = "wmma.mma.";
  name.append(detail::wmma_operation(row)).append("sync.aligned.");
  name.append(detail::wmma_layouts(row)).append(detail::wmma_shape(row));
  return name.append(*row.a == f16 ? detail::wmma_types(row, {row.d, row.c})
                                   : detail::wmma_types(row, {row.d, row.a, row.a, row.c}));
}

/// One row: on these targets, wmma.mma of elements this wide runs as mma.sync of this tile, over
/// the whole of m, n and k, ascending in k. Where the tile has 16 rows and the form 8, the machine
/// code multiplies the transposed matrices: Dᵀ = Bᵀ · Aᵀ + Cᵀ.
struct WmmaTile {
  int first_sm;
  int last_sm;
  int element_bits;  ///< of A and B
  int m;
  int n;
  int k;
};

inline constexpr WmmaTile wmma_tile_table[] = {
    {70, 72, 16, 8, 8, 4},  // HMMA.884: one tile in each of the four quad pairs
    {75, 75, 16, 16, 8, 8},
    {80, any_later_sm, 16, 16, 8, 16},
    {80, any_later_sm, 32, 16, 8, 4},  // HMMA.1684, also where HMMA.1688 exists
    {80, any_later_sm, 64, 8, 8, 4},
    {72, 79, 8, 8, 8, 16},
    {80, any_later_sm, 8, 16, 8, 16},
    {75, any_later_sm, 4, 8, 8, 32},
    {75, any_later_sm, 1, 8, 8, 128},
};

/// Requires row.runs_on(target).
constexpr WmmaTile wmma_tile(const WmmaInstruction& row, const Target& target) {
  std::optional<WmmaTile> found;
  for (const WmmaTile& tile : wmma_tile_table)
    if (tile.first_sm <= target.sm && target.sm <= tile.last_sm &&
        tile.element_bits == row.a->storage_bits)
      found = tile;
  return found.value();
}

/// True where the form's tiles are those of Volta's quad pairs.
constexpr bool is_quad_pair(const WmmaTile& tile) { return tile.element_bits == 16 && tile.m == 8; }

/// The mma.sync that the machine code repeats over ascending k, or for sm_72's integers that of
/// sm_75, since mma.sync has none there. C in f16 with D in f32 is widened before it, but on Volta,
/// whose first instruction reads it as it is; D in f16 with C in f32 is rounded to nearest even
/// after it. Requires row.runs_on(target).
constexpr Instruction wmma_step(const WmmaInstruction& row, const Target& target) {
  const WmmaTile tile = wmma_tile(row, target);
  Instruction wanted{Family::mma_sync, tile.m, tile.n, tile.k};
  wanted.modifier = row.modifier;
  wanted.a = wanted.b = row.a;
  wanted.c = row.c;
  wanted.d = row.d;
  if (is_quad_pair(tile)) {
    wanted.a_layout = row.a_layout;
    wanted.b_layout = row.b_layout;
  } else if (*row.d == f32) {
    wanted.c = &f32;
  }
  if (*row.c == f32) wanted.d = &f32;
  return *std::ranges::find_if(instruction_table, [&](const Instruction& each) {
    return detail::same_spelling(each, wanted);
  });
}

namespace detail {

/// The digits by which a form goes beyond its tile: how an operand's index continues over k, m, n.
struct WmmaRepeats {
  Digit k;
  Digit m;
  Digit n;
};

/// An operand without an axis repeats along it: copies, or nothing.
constexpr WmmaRepeats wmma_repeats(const WmmaInstruction& row, const WmmaTile& tile,
                                   Operand operand) {
  const bool a = operand == Operand::a;
  const bool b = operand == Operand::b;
  const Digit k{a || b ? row.k / tile.k : 1, a ? Axis::column : Axis::row, tile.k};
  const Digit m{row.m / tile.m, b ? Axis::copy : Axis::row, b ? 1 : tile.m};
  const Digit n{row.n / tile.n, a ? Axis::copy : Axis::column, a ? 1 : tile.n};
  return {k, m, n};
}

/// Volta: the quad pairs, numbered by two digits of the lane, stand side by side in the form's m
/// and n. Each holds the rows of A and the columns of B that it needs, so that some are held twice
/// or four times.
constexpr Layout wmma_quad_pairs(const WmmaInstruction& row, const WmmaTile& tile,
                                 Operand operand) {
  Instruction one{Family::mma_sync, tile.m, tile.n, tile.k, row.a_layout, row.b_layout};
  one.a = one.b = row.a;
  one.c = row.c;
  one.d = row.d;
  const Layout quad_pair = fragment_layout(one, operand);
  const WmmaRepeats repeats = wmma_repeats(row, tile, operand);
  Layout layout;
  for (int i = 0; i < quad_pair.digit_count; ++i) {
    if (i == quad_pair.lane_digits) layout.lane_digits = layout.digit_count;
    if (quad_pair.digits[i].axis == Axis::block) {
      layout.append(repeats.m);
      layout.append(repeats.n);
    } else {
      layout.append(quad_pair.digits[i]);
    }
  }
  layout.append(repeats.k);
  return layout;
}

constexpr Layout wmma_tile_fragment(const WmmaTile& tile, Operand operand) {
  const int packed = tile.element_bits < 32 ? 32 / tile.element_bits : 1;
  if (operand == Operand::b) return b_fragment(tile.k, packed);
  if (operand == Operand::a) return a_fragment(tile.m, tile.k, packed);
  return accumulator_fragment(tile.m, tile.n);
}

/// Turing and later: one tile after another, k first.
constexpr Layout wmma_tiles(const WmmaInstruction& row, const WmmaTile& tile, Operand operand) {
  Layout layout = wmma_tile_fragment(tile, operand);
  const WmmaRepeats repeats = wmma_repeats(row, tile, operand);
  for (const Digit& digit : {repeats.k, repeats.m, repeats.n})
    if (digit.axis != Axis::copy) layout.append(digit);
  return layout;
}

/// PTX gives f16's A and B 16 elements in every shape: from Turing on the lane repeats its own.
inline constexpr int wmma_f16_elements = 16;

}  // namespace detail

/// Which element of its tile x[i] of each lane is; elements below a byte count one by one. An
/// element may be held several times (Axis::copy). Requires row.runs_on(target).
constexpr Layout wmma_fragment_layout(const WmmaInstruction& row, Operand operand,
                                      const Target& target) {
  const WmmaTile tile = wmma_tile(row, target);
  if (is_quad_pair(tile)) return detail::wmma_quad_pairs(row, tile, operand);
  const bool swapped = tile.m > row.m;
  WmmaInstruction computed = row;
  Operand role = operand;
  if (swapped) {
    computed.m = row.n;
    computed.n = row.m;
    if (operand == Operand::a || operand == Operand::b)
      role = operand == Operand::a ? Operand::b : Operand::a;
  }
  Layout layout = detail::wmma_tiles(computed, tile, role);
  if (swapped) layout = transposed(layout);
  const bool multiplied = operand == Operand::a || operand == Operand::b;
  if (multiplied && *row.a == f16)
    layout.append({detail::wmma_f16_elements / layout.elements(), Axis::copy, 1});
  return layout;
}

/// The copies of A's or B's elements that the product's element (row, column) is made of: on Volta
/// those of the quad pair that computes it, else the first.
constexpr int wmma_copy_read(const WmmaInstruction& row, Operand operand, const Target& target,
                             int i, int j) {
  const WmmaTile tile = wmma_tile(row, target);
  if (!is_quad_pair(tile)) return 0;
  return operand == Operand::a ? j / tile.n : i / tile.m;
}

namespace detail {

constexpr bool covers(const Layout& layout, int rows, int columns) {
  return is_bijective(layout) && layout.lanes() == 32 && layout.extent(Axis::row) == rows &&
         layout.extent(Axis::column) == columns && layout.extent(Axis::block) == 1;
}

constexpr bool every_operand_covers(const WmmaInstruction& row, const Target& target) {
  return covers(wmma_fragment_layout(row, Operand::a, target), row.m, row.k) &&
         covers(wmma_fragment_layout(row, Operand::b, target), row.k, row.n) &&
         covers(wmma_fragment_layout(row, Operand::c, target), row.m, row.n) &&
         covers(wmma_fragment_layout(row, Operand::d, target), row.m, row.n);
}

/// The newest target of a tile, which has every form that runs as it.
constexpr const Target& newest_target(const WmmaTile& tile) {
  const Target* newest = nullptr;
  for (const Target& target : target_table)
    if (tile.first_sm <= target.sm && target.sm <= tile.last_sm) newest = &target;
  return *newest;
}

}  // namespace detail

/// Every fragment, for every layout of A and B, holds each element of its tile exactly
/// extent(Axis::copy) times. Targets of one tile have the same fragments.
/// A test asserts it at compile time, once for all who include this.
consteval bool every_wmma_fragment_covers() {
  for (const WmmaTile& tile : wmma_tile_table)
    for (WmmaInstruction row : wmma_table) {
      const Target& target = detail::newest_target(tile);
      if (row.a->storage_bits != tile.element_bits || !row.runs_on(target)) continue;
      for (const MatrixLayout memory : {MatrixLayout::row, MatrixLayout::col}) {
        row.a_layout = row.b_layout = memory;
        if (!detail::every_operand_covers(row, target)) return false;
      }
    }
  return true;
}

}  // namespace bitmma
