#include "bitmma/apps/devices.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstddef>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "bitmma/apps/commands.hpp"
#include "bitmma/apps/cuda_device.hpp"
#include "bitmma/apps/table.hpp"
#include "bitmma/isa/instruction.hpp"
#include "bitmma/isa/lowering.hpp"
#include "bitmma/isa/target.hpp"
#include "bitmma/kernels/instruction_kernel.hpp"
#include "bitmma/kernels/record.hpp"

namespace bitmma {
namespace {

using Json = nlohmann::ordered_json;

/// The kernels of one row of the table.
struct RowKernels {
  std::set<int> n;
  std::set<std::string> a_sources;
};

RowKernels kernels_of(const Instruction& row, std::span<const CampaignKernel> kernels) {
  RowKernels found;
  for (const CampaignKernel& kernel : kernels)
    if (short_name(table_row(kernel.row)) == short_name(row)) {
      found.n.insert(kernel.row.n);
      found.a_sources.emplace(a_source_name(kernel.a_source));
    }
  return found;
}

std::string kernels_text(const Instruction& row, std::span<const CampaignKernel> kernels) {
  const RowKernels found = kernels_of(row, kernels);
  if (found.n.empty()) return "none in this build";
  if (row.family == Family::mma_sync) return "yes";
  return fmt::format("N = {}; A from {}", fmt::join(found.n, ", "),
                     fmt::join(found.a_sources, ", "));
}

/// What the target runs and how.
std::string target_text(const Target& target, std::span<const CampaignKernel> kernels) {
  Table table({"instruction", "runs", "kernel"});
  std::size_t native = 0;
  std::size_t lowered = 0;
  for (const Instruction& row : instruction_table) {
    if (!row.runs_on(target)) continue;
    ++(is_native(row, target) ? native : lowered);
    table.add({short_name(row), is_native(row, target) ? "native" : "lowered",
               kernels_text(row, kernels)});
  }
  const std::size_t absent = std::size(instruction_table) - native - lowered;
  return fmt::format("\n{} ({}): {} instructions native, {} lowered to others, {} absent\n\n{}",
                     target.name, architecture_name(target.architecture), native, lowered, absent,
                     table.text());
}

Json device_json(std::size_t index, const ListedDevice& listed) {
  const DeviceInfo& device = listed.info;
  const Target* target = find_target(device.sm);
  Json json{{"index", index},
            {"name", device.name},
            {"capability", fmt::format("{}.{}", device.sm / 10, device.sm % 10)},
            {"target", target == nullptr ? Json() : Json(target->name)},
            {"driver", device.driver},
            {"cuda", device.runtime},
            {"nvcc", kernel_compiler_version()},
            {"native", Json::array()},
            {"lowered", Json::array()},
            {"kernels", Json::array()}};
  if (target == nullptr) return json;
  for (const Instruction& row : instruction_table)
    if (row.runs_on(*target))
      json[is_native(row, *target) ? "native" : "lowered"].push_back(short_name(row));
  for (const CampaignKernel& kernel : listed.kernels)
    json["kernels"].push_back(
        {{"instr", short_name(kernel.row)}, {"a", a_source_name(kernel.a_source)}});
  return json;
}

}  // namespace

std::string devices_text(std::span<const ListedDevice> devices) {
  Table table({"GPU", "name", "capability", "target", "driver", "CUDA", "nvcc"});
  std::map<const Target*, const ListedDevice*> first_of;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const DeviceInfo& device = devices[i].info;
    const Target* target = find_target(device.sm);
    if (target != nullptr) first_of.try_emplace(target, &devices[i]);
    table.add({std::to_string(i), device.name, fmt::format("{}.{}", device.sm / 10, device.sm % 10),
               target == nullptr ? "unknown" : std::string(target->name), device.driver,
               device.runtime, std::string(kernel_compiler_version())});
  }
  std::string text = table.text();
  for (const auto& [target, device] : first_of) text += target_text(*target, device->kernels);
  return text;
}

std::string devices_json(std::span<const ListedDevice> devices) {
  Json json = Json::array();
  for (std::size_t i = 0; i < devices.size(); ++i) json.push_back(device_json(i, devices[i]));
  return json.dump(2);
}

std::vector<ListedDevice> listed_devices() {
  std::vector<ListedDevice> listed;
  for (const DeviceInfo& device : cuda_devices()) {
    const Target* target = find_target(device.sm);
    const auto index = static_cast<int>(listed.size());
    listed.push_back({device, target == nullptr ? std::vector<CampaignKernel>{}
                                                : runnable_kernels(*target, index)});
  }
  return listed;
}

void add_devices(CLI::App& app) {
  const auto json = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand(
      "devices",
      "The CUDA devices of this machine, what they run natively, and which kernels this\n"
      "build has for them; exit status 2 without a device\n"
      "example: bitmma devices --json");
  command->add_flag("--json", *json, "an array of objects");
  command->callback([json] {
    const std::vector<ListedDevice> found = listed_devices();
    fmt::print("{}", *json ? devices_json(found) + "\n" : devices_text(found));
  });
}

}  // namespace bitmma
