#include "bitmma/apps/lane_address.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "bitmma/apps/arguments.hpp"
#include "bitmma/apps/file.hpp"

namespace bitmma {
namespace {

/// A number of at most 32 bits.
std::optional<std::uint32_t> parse_address(std::string_view text) {
  const std::optional<std::uint64_t> value = parse_number(text);
  if (!value || *value > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  return static_cast<std::uint32_t>(*value);
}

std::string address_error(const std::string& text) {
  if (parse_address(text)) return "";
  return fmt::format("{} is no number of 32 bits such as 1024 or 0x400", text);
}

/// The value of an option that address_error() checked.
std::uint32_t value_or_zero(const std::string& text) { return parse_address(text).value_or(0); }

LaneAddresses read_addresses(const std::string& name) {
  std::ifstream file = with_file_name(name, [&] { return open_file(name); });
  LaneAddresses addresses{};
  std::size_t count = 0;
  for (std::string word; file >> word; ++count) {
    const std::optional<std::uint32_t> address = parse_address(word);
    if (!address) throw UsageError(fmt::format("{}: {}", name, address_error(word)));
    if (count < addresses.size()) addresses[count] = *address;
  }
  if (count != addresses.size())
    throw UsageError(fmt::format("{}: {} addresses; write one for each of 32 lanes", name, count));
  return addresses;
}

LaneAddresses strided_addresses(std::uint32_t base, std::uint32_t stride) {
  LaneAddresses addresses{};
  for (std::uint64_t lane = 0; lane < addresses.size(); ++lane) {
    const std::uint64_t address = base + lane * stride;
    if (address > std::numeric_limits<std::uint32_t>::max())
      throw UsageError(fmt::format(
          "--stride {}: lane {}'s address exceeds 32 bits; choose a smaller one", stride, lane));
    addresses[lane] = static_cast<std::uint32_t>(address);
  }
  return addresses;
}

std::optional<LaneAddresses> given_addresses(const AddressOptions& options) {
  if (options.file.empty() && options.stride.empty()) {
    if (options.base.empty() && options.size.empty()) return std::nullopt;
    throw UsageError("--base and --size describe memory for --addresses or --stride: give one");
  }
  if (options.size.empty())
    throw UsageError("--size is required with --addresses and --stride: the bytes of the memory");
  if (!options.file.empty()) return read_addresses(options.file);
  return strided_addresses(value_or_zero(options.base), value_or_zero(options.stride));
}

std::string use_text(const LaneAddress& lane) {
  if (lane.row) return fmt::format("{}", lane.row->row);
  return lane.checked ? "unused, but must be valid" : "ignored";
}

}  // namespace

void add_address_options(CLI::App& command, AddressOptions& options) {
  CLI::Option* file =
      command.add_option("--addresses", options.file,
                         "check these addresses of ldmatrix or stmatrix: a file of 32 numbers");
  command.add_option("--stride", options.stride, "or check BASE + lane · STRIDE")
      ->check(address_error)
      ->excludes(file);
  command.add_option("--base", options.base, "first address of the memory, 0 if left out")
      ->check(address_error);
  command.add_option("--size", options.size, "bytes of the memory")->check(address_error);
}

bool any_given(const AddressOptions& options) {
  return std::ranges::any_of(
      std::initializer_list<const std::string*>{&options.file, &options.base, &options.stride,
                                                &options.size},
      [](const std::string* text) { return !text->empty(); });
}

const Target& movement_target(const DataMovement& row, const std::string& arch) {
  const Target& target = arch.empty() ? *(std::end(target_table) - 1) : target_argument(arch);
  if (!row.runs_on(target))
    throw UsageError(
        fmt::format("--arch {}: {} needs {} or later", arch, short_name(row), row.first_target));
  return target;
}

std::vector<LaneAddress> lane_addresses(const DataMovement& row, const Target& target,
                                        const AddressOptions& options) {
  const std::optional<LaneAddresses> addresses = given_addresses(options);
  std::vector<LaneAddress> lanes;
  for (int lane = 0; lane < warp_lanes; ++lane) {
    lanes.push_back({lane, provided_row(row, lane), lane < checked_lanes(row, target), {}, {}});
    if (addresses) lanes.back().address = (*addresses)[static_cast<std::size_t>(lane)];
  }
  if (!addresses) return lanes;
  const AddressRange memory{value_or_zero(options.base), value_or_zero(options.size)};
  for (AddressFault& fault : address_faults(row, target, memory, *addresses)) {
    const auto lane = static_cast<std::size_t>(fault.lane);
    lanes[lane].fault = std::move(fault);
  }
  return lanes;
}

Table address_table(const std::vector<LaneAddress>& lanes) {
  const bool with_addresses = !lanes.empty() && lanes.front().address;
  std::vector<std::string> head{"lane", "matrix", "row"};
  if (with_addresses) head.insert(head.end(), {"address", "fault"});
  Table table(head);
  for (const LaneAddress& lane : lanes) {
    std::vector<std::string> cells{fmt::format("{}", lane.lane),
                                   lane.row ? fmt::format("{}", lane.row->matrix) : "",
                                   use_text(lane)};
    if (lane.address) cells.push_back(fmt::format("{:#x}", *lane.address));
    if (lane.fault) cells.push_back(lane.fault->message);
    table.add(cells);
  }
  return table;
}

nlohmann::ordered_json address_json(const std::vector<LaneAddress>& lanes) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const LaneAddress& lane : lanes) {
    nlohmann::ordered_json entry{
        {"lane", lane.lane}, {"matrix", nullptr}, {"row", nullptr}, {"checked", lane.checked}};
    if (lane.row) {
      entry["matrix"] = lane.row->matrix;
      entry["row"] = lane.row->row;
    }
    if (lane.address) {
      entry["address"] = *lane.address;
      entry["fault"] = nullptr;
    }
    if (lane.fault)
      entry["fault"] = {{"rule", rule_name(lane.fault->rule)}, {"message", lane.fault->message}};
    all.push_back(std::move(entry));
  }
  return all;
}

}  // namespace bitmma
