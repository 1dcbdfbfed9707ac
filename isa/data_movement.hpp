/// ldmatrix, stmatrix and movmatrix: one row a form, in PTX's own spelling. What each lane's
/// address stands for, and where each element lies in shared memory and in registers, derive from
/// the row.
///
/// Sources: PTX ISA, "ldmatrix", "stmatrix" and "movmatrix", their tables and figures of fragments.
/// The figure of stmatrix .m16n8 and the order of bytes that ldmatrix .m16n16 returns agree with
/// CUTLASS (cute/atom/copy_traits_sm100.hpp, cute/arch/copy_sm100.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "bitmma/isa/evidence.hpp"
#include "bitmma/isa/instruction.hpp"
#include "bitmma/isa/layout.hpp"
#include "bitmma/isa/target.hpp"

namespace bitmma {

/// Lanes of a warp.
inline constexpr int warp_lanes = 32;

/// Bytes of a matrix row in shared memory, padding included, and the alignment of its address.
inline constexpr int matrix_row_bytes = 16;

enum class MovementKind : std::uint8_t { load, store, move };

inline constexpr std::string_view movement_names[] = {"ldmatrix", "stmatrix", "movmatrix"};

/// An element's width in a register and in shared memory. A row of narrow elements begins with all
/// 16 of them, packed from the lowest bit on, and ends with padding, which is not read. Each is
/// extended to 8 bits by zeros above it: PTX says only that 8-bit elements have 4 or 2 bits of
/// padding; that these are the upper ones is what CUTLASS relies on (fp4_shift_A() moves the four
/// bits up by two for mma) and what the machine instruction is called (LDSM.U4x16P64TO8).
struct MovedElement {
  std::string_view name;  ///< PTX's types, without the first dot
  int register_bits;
  int memory_bits;
};

inline constexpr MovedElement moved_element_table[] = {
    {"b16", 16, 16}, {"b8", 8, 8}, {"b8x16.b6x16_p32", 8, 6}, {"b8x16.b4x16_p64", 8, 4}};

struct DataMovement {
  MovementKind kind = MovementKind::load;
  int rows = 0;     ///< of each matrix as registers hold it: PTX's m
  int columns = 0;  ///< PTX's n
  int count = 0;    ///< matrices: .x1, .x2 or .x4
  bool transposed = false;
  MovedElement element{};
  std::string_view first_target;  ///< sm_100a: later targets have it in their variants alone
  int first_cuda = 0;             ///< first toolkit whose ptxas accepts it: 1208 for CUDA 12.8

  /// Rows of 16 bytes that each matrix has in shared memory: its columns if transposed.
  constexpr int memory_rows() const { return transposed ? columns : rows; }
  /// Lanes whose addresses are used, from lane 0 on. The other lanes' are ignored.
  constexpr int providing_lanes() const {
    return kind == MovementKind::move ? 0 : count * memory_rows();
  }
  constexpr bool runs_on(const Target& target) const {
    return find_target(first_target)->sm <= target.sm;
  }
};

namespace detail {

/// Reads m8n8.
constexpr bool parse_matrix_shape(std::string_view text, DataMovement& row) {
  if (!take_prefix(text, "m")) return false;
  row.rows = take_number(text);
  if (!take_prefix(text, "n")) return false;
  row.columns = take_number(text);
  return text.empty() && row.rows > 0 && row.columns > 0;
}

/// A qualifier between .aligned and the types; each at most once.
constexpr bool parse_qualifier(std::string_view token, DataMovement& row, bool& shared) {
  if (token == "trans") return !std::exchange(row.transposed, true);
  if (token == "shared" || token == "shared::cta") return !std::exchange(shared, true);
  if (!take_prefix(token, "x")) return row.rows == 0 && parse_matrix_shape(token, row);
  return std::exchange(row.count, take_number(token)) == 0 && token.empty() && row.count > 0;
}

constexpr bool take_movement(std::string_view& text, DataMovement& row) {
  for (const MovementKind kind : {MovementKind::load, MovementKind::store, MovementKind::move}) {
    row.kind = kind;
    if (take_prefix(text, movement_names[static_cast<std::size_t>(kind)])) return true;
  }
  return false;
}

constexpr bool parse_moved_element(std::string_view text, DataMovement& row) {
  for (const MovedElement& element : moved_element_table) {
    if (element.name != text) continue;
    row.element = element;
    return true;
  }
  return false;
}

}  // namespace detail

/// Reads a spelling: PTX's own, or without .sync.aligned and .shared. The qualifiers may stand in
/// any order, as ptxas 13.0 takes them; what follows the first blank is ignored. Empty if the text
/// spells no such instruction; whether a row has it is find_data_movement()'s answer.
constexpr std::optional<DataMovement> parse_data_movement(std::string_view text) {
  DataMovement row;
  text = detail::first_word(text);
  if (!detail::take_movement(text, row) || !detail::take_prefix(text, ".")) return std::nullopt;
  detail::take_prefix(text, "sync.aligned.");
  bool shared = false;
  while (!detail::parse_moved_element(text, row))
    if (text.empty() || !detail::parse_qualifier(detail::take_token(text), row, shared))
      return std::nullopt;
  if (row.kind != MovementKind::move) return row;
  if (shared || std::exchange(row.count, 1) != 0) return std::nullopt;
  return row;
}

/// A table row. A spelling that does not parse stops the compilation.
consteval DataMovement data_movement(std::string_view ptx, std::string_view first_target,
                                     int first_cuda = 0) {
  DataMovement row = parse_data_movement(ptx).value();
  row.first_target = first_target;
  row.first_cuda = first_cuda;
  return row;
}

// Which targets and toolkits have a form: what ptxas 12.4 to 13.5 accept. From CUDA 12.9 on sm_100f
// has what sm_100a has.
inline constexpr DataMovement data_movement_table[] = {
    data_movement("ldmatrix.sync.aligned.m8n8.x1.shared.b16", "sm_75"),
    data_movement("ldmatrix.sync.aligned.m8n8.x2.shared.b16", "sm_75"),
    data_movement("ldmatrix.sync.aligned.m8n8.x4.shared.b16", "sm_75"),
    data_movement("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16", "sm_75"),
    data_movement("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16", "sm_75"),
    data_movement("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16", "sm_75"),
    data_movement("ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8", "sm_100a", 1208),
    data_movement("ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8", "sm_100a", 1208),
    data_movement("ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8x16.b6x16_p32", "sm_100a", 1208),
    data_movement("ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8x16.b6x16_p32", "sm_100a", 1208),
    data_movement("ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8x16.b4x16_p64", "sm_100a", 1208),
    data_movement("ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8x16.b4x16_p64", "sm_100a", 1208),
    data_movement("ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.b6x16_p32", "sm_100a", 1208),
    data_movement("ldmatrix.sync.aligned.m8n16.x2.shared.b8x16.b6x16_p32", "sm_100a", 1208),
    data_movement("ldmatrix.sync.aligned.m8n16.x4.shared.b8x16.b6x16_p32", "sm_100a", 1208),
    data_movement("ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.b4x16_p64", "sm_100a", 1208),
    data_movement("ldmatrix.sync.aligned.m8n16.x2.shared.b8x16.b4x16_p64", "sm_100a", 1208),
    data_movement("ldmatrix.sync.aligned.m8n16.x4.shared.b8x16.b4x16_p64", "sm_100a", 1208),
    data_movement("stmatrix.sync.aligned.m8n8.x1.shared.b16", "sm_90"),
    data_movement("stmatrix.sync.aligned.m8n8.x2.shared.b16", "sm_90"),
    data_movement("stmatrix.sync.aligned.m8n8.x4.shared.b16", "sm_90"),
    data_movement("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16", "sm_90"),
    data_movement("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16", "sm_90"),
    data_movement("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16", "sm_90"),
    data_movement("stmatrix.sync.aligned.m16n8.x1.trans.shared.b8", "sm_100a", 1208),
    data_movement("stmatrix.sync.aligned.m16n8.x2.trans.shared.b8", "sm_100a", 1208),
    data_movement("stmatrix.sync.aligned.m16n8.x4.trans.shared.b8", "sm_100a", 1208),
    data_movement("movmatrix.sync.aligned.m8n8.trans.b16", "sm_75"),
};

/// The row that a spelling names.
constexpr std::optional<DataMovement> find_data_movement(std::string_view text) {
  const std::optional<DataMovement> wanted = parse_data_movement(text);
  if (!wanted) return std::nullopt;
  for (const DataMovement& row : data_movement_table)
    if (row.kind == wanted->kind && row.rows == wanted->rows && row.columns == wanted->columns &&
        row.count == wanted->count && row.transposed == wanted->transposed &&
        row.element.name == wanted->element.name)
      return row;
  return std::nullopt;
}

namespace detail {

inline std::string spelling(const DataMovement& row, std::string_view prefix,
                            std::string_view space) {
  std::string name(movement_names[static_cast<std::size_t>(row.kind)]);
  name.append(prefix).append(".m").append(std::to_string(row.rows));
  name.append("n").append(std::to_string(row.columns));
  if (row.kind != MovementKind::move) name.append(".x").append(std::to_string(row.count));
  if (row.transposed) name.append(".trans");
  if (row.kind != MovementKind::move) name.append(space);
  return name.append(".").append(row.element.name);
}

}  // namespace detail

/// The short spelling: ldmatrix.m8n8.x4.trans.b16.
inline std::string short_name(const DataMovement& row) { return detail::spelling(row, "", ""); }

/// PTX's spelling: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16.
inline std::string ptx_name(const DataMovement& row) {
  return detail::spelling(row, ".sync.aligned", ".shared");
}

/// What stands behind a row: the 16-bit forms are drawn by the PTX ISA. So are the others, but
/// their bytes and bits within a register are partly read from CUTLASS, and no GPU was asked.
constexpr EvidenceLabel evidence_label(const DataMovement& row) {
  return row.element.register_bits == 16 ? EvidenceLabel::published : EvidenceLabel::unverified;
}

/// The elements that each lane's registers hold: rows and columns of a matrix, blocks are matrices.
/// movmatrix has it for its source and for its destination.
constexpr Layout fragment_layout(const DataMovement& row) {
  const int neighbours = row.columns / 4;
  return {
      {{4, Axis::column, neighbours}, {8, Axis::row, 1}},
      {{neighbours, Axis::column, 1}, {row.rows / 8, Axis::row, 8}, {row.count, Axis::block, 1}}};
}

/// 32-bit registers that one lane holds.
constexpr int fragment_registers(const DataMovement& row) {
  return fragment_layout(row).elements() * row.element.register_bits / 32;
}

/// A row of a matrix as it lies in shared memory.
struct MemoryRow {
  int matrix;
  int row;
  friend constexpr bool operator==(const MemoryRow&, const MemoryRow&) = default;
};

/// The row whose first byte the lane's address names; empty for a lane whose address is ignored.
constexpr std::optional<MemoryRow> provided_row(const DataMovement& row, int lane) {
  if (lane >= row.providing_lanes()) return std::nullopt;
  return MemoryRow{lane / row.memory_rows(), lane % row.memory_rows()};
}

/// Lanes whose addresses must be valid, from lane 0 on: all of a warp up to sm_75, even where they
/// are not used (PTX ISA, "ldmatrix", note).
constexpr int checked_lanes(const DataMovement& row, const Target& target) {
  return row.providing_lanes() != 0 && target.sm <= 75 ? warp_lanes : row.providing_lanes();
}

/// Where an element lies in shared memory: the lane that provides its row's address, and its lowest
/// bit, counted from there.
struct MemoryPlace {
  int lane;
  int bit;
  friend constexpr bool operator==(const MemoryPlace&, const MemoryPlace&) = default;
};

/// The place of a matrix's element. Requires a load or a store.
constexpr MemoryPlace memory_place(const DataMovement& row, const Coordinates& cell) {
  const int memory_row = row.transposed ? cell.column : cell.row;
  const int element = row.transposed ? cell.row : cell.column;
  return {cell.block * row.memory_rows() + memory_row, element * row.element.memory_bits};
}

/// Every fragment is a bijection, fills whole registers, and its rows fit their 16 bytes and lanes.
/// A test asserts it at compile time, once for all who include this.
consteval bool every_movement_is_consistent() {
  for (const DataMovement& row : data_movement_table) {
    const int row_elements = row.transposed ? row.rows : row.columns;
    const int bits = fragment_layout(row).elements() * row.element.register_bits;
    if (!detail::fits(fragment_layout(row), warp_lanes, row.rows, row.columns, row.count) ||
        bits != 32 * fragment_registers(row) || row.providing_lanes() > warp_lanes ||
        row_elements * row.element.memory_bits > 8 * matrix_row_bytes ||
        row.runs_on(*find_target("sm_70")))
      return false;
  }
  return true;
}

}  // namespace bitmma
