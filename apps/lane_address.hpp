/// The addresses that a warp's lanes give ldmatrix or stmatrix: what each stands for, and which are
/// at fault.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bitmma/apps/table.hpp"
#include "bitmma/emulator/data_movement.hpp"

namespace bitmma {

/// Texts as the user gave them; empty where an option is left out.
struct AddressOptions {
  std::string file;
  std::string base;
  std::string stride;
  std::string size;
};

void add_address_options(CLI::App& command, AddressOptions& options);

bool any_given(const AddressOptions& options);

/// What one lane's address operand stands for.
struct LaneAddress {
  int lane;
  std::optional<MemoryRow> row;          ///< empty where the address is not used
  bool checked;                          ///< it must be valid, used or not
  std::optional<std::uint32_t> address;  ///< if the options give addresses
  std::optional<AddressFault> fault;
};

/// The target that --arch names, the newest if it is left out. Throws UsageError if the target does
/// not have the instruction.
const Target& movement_target(const DataMovement& row, const std::string& arch);

/// All 32 lanes' on a target. Requires a load or a store. Throws UsageError for options that do not
/// fit.
std::vector<LaneAddress> lane_addresses(const DataMovement& row, const Target& target,
                                        const AddressOptions& options);

Table address_table(const std::vector<LaneAddress>& lanes);

nlohmann::ordered_json address_json(const std::vector<LaneAddress>& lanes);

}  // namespace bitmma
