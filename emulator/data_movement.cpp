#include "bitmma/emulator/data_movement.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "bitmma/isa/packing.hpp"

namespace bitmma {
namespace {

constexpr std::uint32_t alignment = matrix_row_bytes;

/// How a warp's registers hold the elements: codes are numbered matrix after matrix, row after row.
Packing register_packing(const DataMovement& row) {
  return layout_packing(fragment_layout(row), row.element.register_bits, Axis::row);
}

/// The number of a cell's code.
std::size_t code_number(const DataMovement& row, const Coordinates& cell) {
  return static_cast<std::size_t>((cell.block * row.rows + cell.row) * row.columns + cell.column);
}

/// Calls visit(cell) for each element of the matrices.
template <class Visit>
void for_each_cell(const DataMovement& row, Visit visit) {
  for (int matrix = 0; matrix < row.count; ++matrix)
    for (int i = 0; i < row.rows; ++i)
      for (int j = 0; j < row.columns; ++j) visit(Coordinates{i, j, matrix});
}

FragmentRegisters packed(const Packing& packing, const TileCodes& codes) {
  FragmentRegisters registers(packing.words);
  pack(packing, codes, registers);
  return registers;
}

TileCodes unpacked(const Packing& packing, std::span<const std::uint32_t> registers) {
  TileCodes codes(packing.codes);
  unpack(packing, registers, codes);
  return codes;
}

std::size_t warp_registers(const DataMovement& row) {
  return static_cast<std::size_t>(warp_lanes * fragment_registers(row));
}

/// `count` bits of a row from bit `first` on, little-endian; they lie in two neighbouring bytes.
Code read_bits(std::span<const std::byte> bytes, int first, int count) {
  const auto byte = static_cast<std::size_t>(first / 8);
  std::uint32_t both = std::to_integer<std::uint32_t>(bytes[byte]);
  if (byte + 1 < bytes.size()) both |= std::to_integer<std::uint32_t>(bytes[byte + 1]) << 8;
  return both >> first % 8 & (~Code{0} >> (64 - count));
}

/// Writes whole bytes of a row, little-endian.
void write_bits(std::span<std::byte> bytes, int first, int count, Code value) {
  for (int bit = 0; bit < count; bit += 8)
    bytes[static_cast<std::size_t>((first + bit) / 8)] = static_cast<std::byte>(value >> bit);
}

std::string hex(std::uint64_t value) {
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, 16).ptr;
  return std::string("0x").append(digits.data(), end);
}

std::string alignment_advice(std::uint32_t address) {
  const std::uint32_t below = address / alignment * alignment;
  return std::string("is no multiple of 16: the row before it begins at ").append(hex(below));
}

std::string range_advice(const AddressRange& memory) {
  const std::uint64_t first = (memory.base + std::uint64_t{alignment} - 1) / alignment * alignment;
  if (first + alignment > memory.end()) return "is outside a memory that holds no row of 16 bytes";
  const std::uint64_t last = (memory.end() - alignment) / alignment * alignment;
  return std::string("begins 16 bytes that are not all inside the memory: choose ")
      .append(hex(first))
      .append(" to ")
      .append(hex(last));
}

std::string overlap_advice(int other) {
  return std::string("is lane ")
      .append(std::to_string(other))
      .append("'s too, and nothing orders their stores: choose a row of its own");
}

/// The lane before this one that stores to the same row: rows are 16 bytes at multiples of 16, so
/// that those of different addresses do not meet.
std::optional<int> lane_with_same_address(const LaneAddresses& addresses, int lane) {
  const auto end = addresses.begin() + lane;
  const auto same = std::find(addresses.begin(), end, *end);
  if (same == end) return std::nullopt;
  return static_cast<int>(same - addresses.begin());
}

std::optional<AddressFault> address_fault(const DataMovement& row, const AddressRange& memory,
                                          const LaneAddresses& addresses, int lane) {
  const std::uint32_t address = addresses[static_cast<std::size_t>(lane)];
  const auto fault = [&](AddressRule rule, const std::string& advice) {
    std::string message = "lane ";
    message.append(std::to_string(lane)).append(": address ").append(hex(address));
    return AddressFault{lane, rule, message.append(" ").append(advice)};
  };
  if (address % alignment != 0) return fault(AddressRule::alignment, alignment_advice(address));
  if (!memory.contains(address, matrix_row_bytes))
    return fault(AddressRule::range, range_advice(memory));
  if (row.kind != MovementKind::store) return std::nullopt;
  const std::optional<int> other = lane_with_same_address(addresses, lane);
  if (!other) return std::nullopt;
  return fault(AddressRule::overlap, overlap_advice(*other));
}

[[noreturn]] void fail(const DataMovement& row, const std::string& reason) {
  throw DataMovementError(short_name(row).append(": ").append(reason));
}

void check_row(const DataMovement& row, const Target& target, MovementKind kind) {
  if (row.kind != kind)
    fail(row,
         std::string("choose a form of ").append(movement_names[static_cast<std::size_t>(kind)]));
  if (!row.runs_on(target))
    fail(row, std::string("not on ")
                  .append(target.name)
                  .append(": it needs ")
                  .append(row.first_target)
                  .append(" or later"));
}

void check_registers(const DataMovement& row, std::span<const std::uint32_t> registers) {
  if (registers.size() != warp_registers(row))
    fail(row, std::to_string(registers.size())
                  .append(" registers, but 32 lanes have ")
                  .append(std::to_string(warp_registers(row))));
}

void check_addresses(const DataMovement& row, const Target& target, const AddressRange& memory,
                     const LaneAddresses& addresses) {
  const std::vector<AddressFault> faults = address_faults(row, target, memory, addresses);
  if (faults.empty()) return;
  std::string reason = faults.front().message;
  if (faults.size() > 1)
    reason.append(" (faults of ").append(std::to_string(faults.size())).append(" lanes in all)");
  fail(row, reason);
}

}  // namespace

std::vector<AddressFault> address_faults(const DataMovement& row, const Target& target,
                                         const AddressRange& memory,
                                         const LaneAddresses& addresses) {
  std::vector<AddressFault> faults;
  for (int lane = 0; lane < checked_lanes(row, target); ++lane)
    if (std::optional<AddressFault> fault = address_fault(row, memory, addresses, lane))
      faults.push_back(std::move(*fault));
  return faults;
}

FragmentRegisters load_matrix(const DataMovement& row, const Target& target,
                              const SharedMemory& memory, const LaneAddresses& addresses) {
  check_row(row, target, MovementKind::load);
  check_addresses(row, target, memory.range(), addresses);
  const Packing packing = register_packing(row);
  TileCodes codes(packing.codes);
  for_each_cell(row, [&](const Coordinates& cell) {
    const MemoryPlace place = memory_place(row, cell);
    const auto bytes = memory.at(addresses[static_cast<std::size_t>(place.lane)], matrix_row_bytes);
    codes[code_number(row, cell)] = read_bits(bytes, place.bit, row.element.memory_bits);
  });
  return packed(packing, codes);
}

void store_matrix(const DataMovement& row, const Target& target, SharedMemory& memory,
                  const LaneAddresses& addresses, std::span<const std::uint32_t> registers) {
  check_row(row, target, MovementKind::store);
  check_registers(row, registers);
  check_addresses(row, target, memory.range(), addresses);
  const TileCodes codes = unpacked(register_packing(row), registers);
  for_each_cell(row, [&](const Coordinates& cell) {
    const MemoryPlace place = memory_place(row, cell);
    const auto bytes = memory.at(addresses[static_cast<std::size_t>(place.lane)], matrix_row_bytes);
    write_bits(bytes, place.bit, row.element.memory_bits, codes[code_number(row, cell)]);
  });
}

FragmentRegisters move_matrix(const DataMovement& row, const Target& target,
                              std::span<const std::uint32_t> registers) {
  check_row(row, target, MovementKind::move);
  check_registers(row, registers);
  const Packing packing = register_packing(row);
  const TileCodes codes = unpacked(packing, registers);
  TileCodes transposed(codes.size());
  for_each_cell(row, [&](const Coordinates& cell) {
    transposed[code_number(row, {cell.column, cell.row, cell.block})] =
        codes[code_number(row, cell)];
  });
  return packed(packing, transposed);
}

}  // namespace bitmma
