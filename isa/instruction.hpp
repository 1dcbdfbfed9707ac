/// The instruction table: one row an instruction, in PTX's own spelling. Shapes, operand formats,
/// fragments and names derive from the spelling.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "bitmma/isa/format.hpp"
#include "bitmma/isa/layout.hpp"
#include "bitmma/isa/target.hpp"

namespace bitmma {

/// For instructions that every later target has.
inline constexpr int any_later_sm = 9999;

enum class Family : std::uint8_t { mma_sync, wgmma };

/// What stands before the shape, in full and short.
struct FamilySpelling {
  Family family;
  std::string_view ptx;
  std::string_view short_form;
};

inline constexpr FamilySpelling family_table[] = {
    {Family::wgmma, "wgmma.mma_async.sync.aligned.", "wgmma."},
    {Family::mma_sync, "mma.sync.aligned.", ""},
};

constexpr const FamilySpelling& spelling_of(Family family) {
  const FamilySpelling* row = family_table;
  while (row->family != family) ++row;
  return *row;
}

/// What an instruction does beside d = a · b + c.
enum class Modifier : std::uint8_t {
  none,       ///< f64 rounds to nearest even, as with .rn; integers wrap
  rz,         ///< f64 rounds toward zero
  rm,         ///< f64 rounds toward −Inf
  rp,         ///< f64 rounds toward +Inf
  satfinite,  ///< integers are clamped to the nearest that D has
  xor_popc,   ///< c plus how many bits differ
  and_popc,   ///< c plus how many bits are set in both
};

struct ModifierSpelling {
  Modifier modifier;
  std::string_view ptx;
  bool comes_last;  ///< behind the types, else before them
};

inline constexpr ModifierSpelling modifier_table[] = {
    {Modifier::none, "rn", false},
    {Modifier::rz, "rz", false},
    {Modifier::rm, "rm", false},
    {Modifier::rp, "rp", false},
    {Modifier::satfinite, "satfinite", false},
    {Modifier::xor_popc, "xor.popc", true},
    {Modifier::and_popc, "and.popc", true},
};

constexpr const ModifierSpelling& spelling_of(Modifier modifier) {
  const ModifierSpelling* row = modifier_table;
  while (row->modifier != modifier) ++row;
  return *row;
}

enum class MatrixLayout : std::uint8_t { row, col };
enum class Operand : std::uint8_t { a, b, c, d };

struct Instruction {
  Family family = Family::mma_sync;
  int m = 0;
  int n = 0;  ///< 0 in a row that stands for every N of wgmma: 8, 16, … 256
  int k = 0;
  MatrixLayout a_layout = MatrixLayout::row;
  MatrixLayout b_layout = MatrixLayout::col;
  Modifier modifier = Modifier::none;
  const Format* d = nullptr;
  const Format* a = nullptr;
  const Format* b = nullptr;
  const Format* c = nullptr;
  int first_sm = 0;
  int last_sm = any_later_sm;
  int first_cuda = 0;  ///< first toolkit whose ptxas accepts it: 1208 for CUDA 12.8; 0 for every
                       ///< one that its targets have

  constexpr const Format& format(Operand operand) const {
    switch (operand) {
      case Operand::a:
        return *a;
      case Operand::b:
        return *b;
      case Operand::c:
        return *c;
      case Operand::d:
        break;
    }
    return *d;
  }
  /// True for Volta's m8n8k4, which multiplies a tile in each of a warp's four quad pairs.
  constexpr bool is_quad_pair() const { return m == 8 && n == 8 && k == 4 && *a == f16; }
  /// Independent tiles that one warp multiplies.
  constexpr int blocks() const { return is_quad_pair() ? 4 : 1; }
  constexpr bool runs_on(const Target& target) const {
    return first_sm <= target.sm && target.sm <= last_sm;
  }
};

namespace detail {

/// A spelling without leading blanks and without what follows it: a pasted instruction's operands.
constexpr std::string_view first_word(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  return text.substr(0, text.find_first_of(" \t{;\r\n"));
}

/// Takes what stands before the next dot off the front of a spelling.
constexpr std::string_view take_token(std::string_view& rest) {
  const std::size_t dot = rest.find('.');
  const std::string_view token = rest.substr(0, dot);
  rest = dot == std::string_view::npos ? std::string_view{} : rest.substr(dot + 1);
  return token;
}

constexpr bool take_prefix(std::string_view& rest, std::string_view prefix) {
  if (!rest.starts_with(prefix)) return false;
  rest.remove_prefix(prefix.size());
  return true;
}

/// A number of one to three digits without leading zeros, or −1.
constexpr int take_number(std::string_view& rest) {
  int value = 0;
  if (rest.starts_with('0')) return -1;
  std::size_t digits = 0;
  for (; digits < 3 && digits < rest.size() && rest[digits] >= '0' && rest[digits] <= '9'; ++digits)
    value = value * 10 + (rest[digits] - '0');
  rest.remove_prefix(digits);
  return digits == 0 ? -1 : value;
}

/// Reads m16n8k16, or m64nNk16 for every N of wgmma.
constexpr bool parse_shape(std::string_view text, Instruction& row) {
  if (!take_prefix(text, "m")) return false;
  row.m = take_number(text);
  if (!take_prefix(text, "n")) return false;
  const bool any_n = take_prefix(text, "N");
  row.n = any_n ? 0 : take_number(text);
  if (!take_prefix(text, "k")) return false;
  row.k = take_number(text);
  return text.empty() && row.m > 0 && row.k > 0 && (any_n || row.n > 0);
}

constexpr bool take_matrix_layout(std::string_view& rest, MatrixLayout& layout) {
  std::string_view after = rest;
  const std::string_view token = take_token(after);
  if (token != "row" && token != "col") return false;
  layout = token == "row" ? MatrixLayout::row : MatrixLayout::col;
  rest = after;
  return true;
}

/// Not by find_format() != nullptr: gcc's undefined-behaviour sanitizer takes no such comparison
/// for a constant expression (gcc bug 71962).
constexpr bool take_format(std::string_view& rest, const Format*& format) {
  const std::string_view name = take_token(rest);
  const auto take = [&](const Format* row) {
    if (row->name == name) format = row;
    return row->name == name;
  };
  return std::ranges::any_of(format_table, take) || std::ranges::any_of(integer_format_table, take);
}

/// Takes a modifier of that place off the front, if one stands there.
constexpr void take_modifier(std::string_view& rest, bool comes_last, Modifier& modifier) {
  for (const ModifierSpelling& row : modifier_table) {
    std::string_view after = rest;
    if (row.comes_last != comes_last || !take_prefix(after, row.ptx) ||
        (!after.empty() && !take_prefix(after, ".")))
      continue;
    modifier = row.modifier;
    rest = after;
    return;
  }
}

/// Takes the family off the front, in full or short; mma.sync may go without.
constexpr Family take_family(std::string_view& rest) {
  for (const FamilySpelling& row : family_table)
    if (take_prefix(rest, row.ptx) || take_prefix(rest, row.short_form)) return row.family;
  return Family::mma_sync;
}

}  // namespace detail

/// Reads a spelling: PTX's own, or without its qualifiers, or without .row.col. What follows the
/// first blank (a pasted instruction's operands) and leading blanks are ignored. Empty if the text
/// spells no instruction; whether a row has it is find_instruction()'s answer.
constexpr std::optional<Instruction> parse_instruction(std::string_view text) {
  Instruction row;
  text = detail::first_word(text);
  row.family = detail::take_family(text);

  if (!detail::parse_shape(detail::take_token(text), row)) return std::nullopt;
  if (detail::take_matrix_layout(text, row.a_layout) &&
      !detail::take_matrix_layout(text, row.b_layout))
    return std::nullopt;
  detail::take_modifier(text, false, row.modifier);
  if (!detail::take_format(text, row.d) || !detail::take_format(text, row.a) ||
      !detail::take_format(text, row.b))
    return std::nullopt;
  row.c = row.d;  // wgmma has no type of its own for C
  if (row.family != Family::wgmma && !detail::take_format(text, row.c)) return std::nullopt;
  detail::take_modifier(text, true, row.modifier);
  return text.empty() ? std::optional(row) : std::nullopt;
}

/// Rows of the table whose spellings differ in what stands in braces, alternatives separated by
/// commas: "m8n8k4.{row,col}.col" stands for m8n8k4.row.col and m8n8k4.col.col.
struct InstructionPattern {
  std::string_view ptx;
  int first_sm;
  int last_sm = any_later_sm;
  int first_cuda = 0;
};

// Source: PTX ISA 8.7, "mma" and "wgmma.mma_async" with their notes on which version introduced
// what, and what ptxas 13.0 accepts for each target; ptxas 12.4 refuses the rows that are marked
// 1208 here.
// m8n8k4 of f16 is accepted everywhere, but is a tensor instruction on sm_70 to sm_75 alone
// (lowering.hpp).
inline constexpr InstructionPattern instruction_patterns[] = {
    {"mma.sync.aligned.m8n8k4.{row,col}.{row,col}.f16.f16.f16.f16", 70},
    {"mma.sync.aligned.m8n8k4.{row,col}.{row,col}.f32.f16.f16.f16", 70},
    {"mma.sync.aligned.m8n8k4.{row,col}.{row,col}.f32.f16.f16.f32", 70},
    {"mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16", 75, any_later_sm, 1002},
    {"mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", 75, any_later_sm, 1002},
    {"mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", 80},
    {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 80},
    {"mma.sync.aligned.{m16n8k8,m16n8k16}.row.col.f32.bf16.bf16.f32", 80},
    {"mma.sync.aligned.{m16n8k4,m16n8k8}.row.col.f32.tf32.tf32.f32", 80},
    {"mma.sync.aligned.m16n8k16.row.col.f16.{e4m3,e5m2}.{e4m3,e5m2}.f16", 89, any_later_sm, 1208},
    {"mma.sync.aligned.m16n8k16.row.col.f32.{e4m3,e5m2}.{e4m3,e5m2}.f32", 89, any_later_sm, 1208},
    {"mma.sync.aligned.m16n8k32.row.col.f16.{e4m3,e5m2}.{e4m3,e5m2}.f16", 89, any_later_sm, 1208},
    {"mma.sync.aligned.m16n8k32.row.col.f32.{e4m3,e5m2}.{e4m3,e5m2}.f32", 89, any_later_sm, 1204},
    {"mma.sync.aligned.m8n8k4.row.col{,.rz,.rm,.rp}.f64.f64.f64.f64", 80},
    {"mma.sync.aligned.{m16n8k4,m16n8k8,m16n8k16}.row.col{,.rz,.rm,.rp}.f64.f64.f64.f64", 90},
    {"mma.sync.aligned.m8n8k16.row.col{,.satfinite}.s32.{s8,u8}.{s8,u8}.s32", 75, any_later_sm,
     1002},
    {"mma.sync.aligned.{m16n8k16,m16n8k32}.row.col{,.satfinite}.s32.{s8,u8}.{s8,u8}.s32", 80},
    {"mma.sync.aligned.m8n8k32.row.col{,.satfinite}.s32.{s4,u4}.{s4,u4}.s32", 75, any_later_sm,
     1002},
    {"mma.sync.aligned.{m16n8k32,m16n8k64}.row.col{,.satfinite}.s32.{s4,u4}.{s4,u4}.s32", 80},
    {"mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.xor.popc", 75, any_later_sm, 1002},
    {"mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.and.popc", 80, any_later_sm, 1101},
    {"mma.sync.aligned.{m16n8k128,m16n8k256}.row.col.s32.b1.b1.s32.xor.popc", 80},
    {"mma.sync.aligned.{m16n8k128,m16n8k256}.row.col.s32.b1.b1.s32.and.popc", 80, any_later_sm,
     1101},
    {"wgmma.mma_async.sync.aligned.m64nNk16.{f16,f32}.f16.f16", 90, 90, 1200},
    {"wgmma.mma_async.sync.aligned.m64nNk16.f32.bf16.bf16", 90, 90, 1200},
    {"wgmma.mma_async.sync.aligned.m64nNk8.f32.tf32.tf32", 90, 90, 1200},
    {"wgmma.mma_async.sync.aligned.m64nNk32.{f16,f32}.{e4m3,e5m2}.{e4m3,e5m2}", 90, 90, 1200},
};

namespace detail {

/// Alternatives between two braces.
constexpr std::size_t alternatives(std::string_view braces) {
  return 1 + static_cast<std::size_t>(std::ranges::count(braces, ','));
}

/// A pattern's spelling number `index`, in which the last braces change fastest.
struct Expansion {
  char text[128] = {};
  std::size_t length = 0;

  constexpr void append(std::string_view piece) {
    for (const char c : piece) text[length++] = c;
  }
  constexpr std::string_view view() const { return {text, length}; }
};

constexpr std::size_t spellings(std::string_view pattern) {
  std::size_t count = 1;
  for (std::size_t open = pattern.find('{'); open != pattern.npos; open = pattern.find('{')) {
    pattern.remove_prefix(open + 1);
    count *= alternatives(pattern.substr(0, pattern.find('}')));
  }
  return count;
}

constexpr std::string_view alternative(std::string_view braces, std::size_t index) {
  for (; index > 0; --index) braces.remove_prefix(braces.find(',') + 1);
  return braces.substr(0, braces.find(','));
}

constexpr Expansion expand(std::string_view pattern, std::size_t index) {
  Expansion expansion;
  for (std::size_t open = pattern.find('{'); open != pattern.npos; open = pattern.find('{')) {
    const std::size_t close = pattern.find('}');
    const std::size_t rest = spellings(pattern.substr(close));
    expansion.append(pattern.substr(0, open));
    expansion.append(alternative(pattern.substr(open + 1, close - open - 1), index / rest));
    index %= rest;
    pattern.remove_prefix(close + 1);
  }
  expansion.append(pattern);
  return expansion;
}

consteval std::size_t all_spellings() {
  std::size_t count = 0;
  for (const InstructionPattern& pattern : instruction_patterns) count += spellings(pattern.ptx);
  return count;
}

/// A spelling that does not parse stops the compilation.
consteval std::array<Instruction, all_spellings()> expand_patterns() {
  std::array<Instruction, all_spellings()> rows;
  std::size_t filled = 0;
  for (const InstructionPattern& pattern : instruction_patterns)
    for (std::size_t i = 0; i < spellings(pattern.ptx); ++i) {
      Instruction row = parse_instruction(expand(pattern.ptx, i).view()).value();
      row.first_sm = pattern.first_sm;
      row.last_sm = pattern.last_sm;
      row.first_cuda = pattern.first_cuda;
      rows[filled++] = row;
    }
  return rows;
}

}  // namespace detail

inline constexpr auto instruction_table = detail::expand_patterns();

namespace detail {

/// wgmma's rows stand for every N.
constexpr bool same_n(const Instruction& row, const Instruction& wanted) {
  return row.n == 0 ? wanted.n % 8 == 0 && wanted.n <= 256 : row.n == wanted.n;
}

constexpr bool same_spelling(const Instruction& row, const Instruction& wanted) {
  return row.family == wanted.family && row.m == wanted.m && same_n(row, wanted) &&
         row.k == wanted.k && row.a_layout == wanted.a_layout && row.b_layout == wanted.b_layout &&
         row.modifier == wanted.modifier && *row.d == *wanted.d && *row.a == *wanted.a &&
         *row.b == *wanted.b && *row.c == *wanted.c;
}

}  // namespace detail

/// The row that a spelling names, with n as spelled.
constexpr std::optional<Instruction> find_instruction(std::string_view text) {
  std::optional<Instruction> wanted = parse_instruction(text);
  if (!wanted) return std::nullopt;
  for (const Instruction& row : instruction_table) {
    if (!detail::same_spelling(row, *wanted)) continue;
    wanted->first_sm = row.first_sm;
    wanted->last_sm = row.last_sm;
    wanted->first_cuda = row.first_cuda;
    return wanted;
  }
  return std::nullopt;
}

/// The row of the table that an instruction belongs to: wgmma's stand for every N.
constexpr Instruction table_row(Instruction row) {
  if (row.family == Family::wgmma) row.n = 0;
  return row;
}

namespace detail {

inline std::string spelling(const Instruction& row, std::string_view prefix, bool matrix_layouts) {
  const auto matrix_layout = [](MatrixLayout layout) {
    return layout == MatrixLayout::row ? ".row" : ".col";
  };
  const ModifierSpelling& modifier = spelling_of(row.modifier);
  const std::string dotted =
      row.modifier == Modifier::none ? "" : std::string(".").append(modifier.ptx);
  std::string name(prefix);
  name.append("m").append(std::to_string(row.m)).append("n");
  name.append(row.n == 0 ? "N" : std::to_string(row.n));
  name.append("k").append(std::to_string(row.k));
  if (matrix_layouts) name.append(matrix_layout(row.a_layout)).append(matrix_layout(row.b_layout));
  if (!modifier.comes_last) name.append(dotted);
  for (const Format* format : {row.d, row.a, row.b}) name.append(".").append(format->name);
  if (row.family != Family::wgmma) name.append(".").append(row.c->name);
  return modifier.comes_last ? name.append(dotted) : name;
}

}  // namespace detail

/// The short spelling: m16n8k16.f32.f16.f16.f32, wgmma.m64n8k32.f32.e4m3.e4m3; m8n8k4's layouts
/// are named unless they are .row.col.
inline std::string short_name(const Instruction& row) {
  return detail::spelling(row, spelling_of(row.family).short_form,
                          row.a_layout != MatrixLayout::row || row.b_layout != MatrixLayout::col);
}

/// PTX's spelling: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32.
inline std::string ptx_name(const Instruction& row) {
  return detail::spelling(row, spelling_of(row.family).ptx, row.family != Family::wgmma);
}

/// True if the operand is spread over lanes' registers. B of wgmma is read from shared memory.
constexpr bool has_fragment(const Instruction& row, Operand operand) {
  return row.family == Family::mma_sync || operand != Operand::b;
}

/// The layout of an operand's fragment over a warp (mma.sync) or a warpgroup (wgmma).
/// Requires has_fragment().
constexpr Layout fragment_layout(const Instruction& row, Operand operand) {
  const int packed = std::max(1, 32 / row.format(operand).storage_bits);
  if (row.family == Family::wgmma)
    return operand == Operand::a ? a_fragment(row.m, row.k, packed)
                                 : accumulator_fragment(row.m, row.n);
  if (row.is_quad_pair()) {
    if (operand == Operand::a)
      return row.a_layout == MatrixLayout::row ? quad_pair_along_k(Axis::row, Axis::column)
                                               : quad_pair_across_k(Axis::row, Axis::column);
    if (operand == Operand::b)
      return row.b_layout == MatrixLayout::col ? quad_pair_along_k(Axis::column, Axis::row)
                                               : quad_pair_across_k(Axis::column, Axis::row);
    return row.format(operand) == f16 ? quad_pair_accumulator_f16 : quad_pair_accumulator_f32;
  }
  if (operand == Operand::a) return a_fragment(row.m, row.k, packed);
  if (operand == Operand::b) return b_fragment(row.k, packed);
  return accumulator_fragment(row.m, row.n);
}

/// 32-bit registers that one lane holds of an operand.
constexpr int fragment_registers(const Instruction& row, Operand operand) {
  return fragment_layout(row, operand).elements() * row.format(operand).storage_bits / 32;
}

namespace detail {

constexpr bool fits(const Layout& layout, int lanes, int rows, int columns, int blocks) {
  return is_bijective(layout) && layout.lanes() == lanes && layout.extent(Axis::row) == rows &&
         layout.extent(Axis::column) == columns && layout.extent(Axis::block) == blocks;
}

}  // namespace detail

/// Every fragment is a bijection between (lane, element) and the cells of its tile.
/// A test asserts it at compile time, once for all who include this.
consteval bool every_fragment_is_bijective() {
  for (Instruction row : instruction_table) {
    if (row.n == 0) row.n = 256;
    const int lanes = row.family == Family::wgmma ? 128 : 32;
    const bool all =
        detail::fits(fragment_layout(row, Operand::a), lanes, row.m, row.k, row.blocks()) &&
        (!has_fragment(row, Operand::b) ||
         detail::fits(fragment_layout(row, Operand::b), lanes, row.k, row.n, row.blocks())) &&
        detail::fits(fragment_layout(row, Operand::c), lanes, row.m, row.n, row.blocks()) &&
        detail::fits(fragment_layout(row, Operand::d), lanes, row.m, row.n, row.blocks());
    if (!all) return false;
  }
  return true;
}

// The m16n8k16 accumulator by name: j counts the four elements of a lane, offsets the 16×8 tile.

inline constexpr Layout acc_layout = accumulator_fragment(16, 8);

// Device code cannot name a constant outside of functions but as a constant expression.
BITMMA_HD constexpr Coordinates acc_coords(int lane, int j) {
  constexpr Layout layout = acc_layout;
  return coordinates(layout, lane, j);
}
BITMMA_HD constexpr int acc_offset(int lane, int j) {
  constexpr Layout layout = acc_layout;
  return fragment_offset(layout, lane, j);
}
constexpr std::optional<std::uint64_t> acc_matrix_offset(int lane, int j, std::uint64_t tile_row,
                                                         std::uint64_t tile_column,
                                                         std::uint64_t row_stride) {
  return fragment_matrix_offset(acc_layout, lane, j, tile_row, tile_column, row_stride);
}
BITMMA_HD constexpr FragmentPosition acc_decode(int offset) {
  constexpr Layout layout = acc_layout;
  return fragment_decode(layout, offset);
}

}  // namespace bitmma
