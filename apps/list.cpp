#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "bitmma/apps/arguments.hpp"
#include "bitmma/apps/commands.hpp"
#include "bitmma/apps/table.hpp"
#include "bitmma/isa/evidence.hpp"
#include "bitmma/isa/lowering.hpp"

namespace bitmma {
namespace {

/// "2 × HMMA.16816.F32, FADD"
std::string with_counts(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t first = 0; first < names.size();) {
    std::size_t last = first;
    while (last < names.size() && names[last] == names[first]) ++last;
    text += first == 0 ? "" : ", ";
    text += last - first > 1 ? fmt::format("{} × {}", last - first, names[first]) : names[first];
    first = last;
  }
  return text;
}

nlohmann::ordered_json as_json(const Instruction& row, const Target& target) {
  const Evidence& evidence = find_evidence(row, target);
  return {{"instr", short_name(row)},
          {"ptx", ptx_name(row)},
          {"arch", target.name},
          {"native", is_native(row, target)},
          {"lowered_to",
           is_native(row, target) ? std::vector<std::string>{} : machine_code(row, target)},
          {"machine_code", machine_code(row, target)},
          {"evidence", label_name(evidence.label)},
          {"source", evidence.source}};
}

void print_target(const Target& target) {
  Table table({"instruction", "runs", "machine code", "evidence", "source"});
  for (const Instruction& row : instruction_table) {
    if (!row.runs_on(target)) continue;
    const Evidence& evidence = find_evidence(row, target);
    table.add({short_name(row), is_native(row, target) ? "native" : "lowered",
               with_counts(machine_code(row, target)), std::string(label_name(evidence.label)),
               std::string(evidence.source)});
  }
  fmt::print("{}", table.text());
}

void print_all() {
  std::vector<std::string> head{"instruction"};
  for (const Target& target : target_table) head.emplace_back(target.name.substr(3));
  Table table(head);
  for (const Instruction& row : instruction_table) {
    std::vector<std::string> cells{short_name(row)};
    for (const Target& target : target_table)
      cells.push_back(row.runs_on(target)
                          ? fmt::format("{}{}", is_native(row, target) ? 'N' : 'L',
                                        label_name(find_evidence(row, target).label).front())
                          : "");
    table.add(cells);
  }
  fmt::print(
      "{}\nN native, L lowered to other instructions ('bitmma list --arch sm_90' says which)"
      "\nevidence: h measured by this project, v equal on published rows, "
      "p published datapath, u unverified\n",
      table.text());
}

void run(const std::string& arch, bool json) {
  const Target* only = arch.empty() ? nullptr : &target_argument(arch);
  if (!json) return only == nullptr ? print_all() : print_target(*only);
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const Target& target : target_table)
    for (const Instruction& row : instruction_table)
      if (row.runs_on(target) && (only == nullptr || only == &target))
        all.push_back(as_json(row, target));
  fmt::print("{}\n", all.dump(2));
}

}  // namespace

void add_list(CLI::App& app) {
  struct Options {
    std::string arch;
    bool json = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("list",
                         "Instructions, what they run as, and the evidence for each\n"
                         "example: bitmma list --arch sm_90");
  command->add_option("--arch", options->arch, "only this target: " + target_names());
  command->add_flag("--json", options->json, "an array of objects");
  command->callback([options] { run(options->arch, options->json); });
}

}  // namespace bitmma
