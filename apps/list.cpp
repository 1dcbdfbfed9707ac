#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "bitmma/apps/arguments.hpp"
#include "bitmma/apps/commands.hpp"
#include "bitmma/apps/evidence_page.hpp"
#include "bitmma/apps/record_file.hpp"
#include "bitmma/apps/table.hpp"
#include "bitmma/isa/evidence.hpp"
#include "bitmma/isa/lowering.hpp"

namespace bitmma {
namespace {

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

void print_json(const Target* only) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const Target& target : target_table)
    for (const Instruction& row : instruction_table)
      if (row.runs_on(target) && (only == nullptr || only == &target))
        all.push_back(as_json(row, target));
  fmt::print("{}\n", all.dump(2));
}

struct Options {
  std::string arch;
  std::vector<std::string> records;
  bool markdown = false;
  bool json = false;
};

void print_markdown(const Options& options, const Target* only) {
  if (only == nullptr) return fmt::print("{}", evidence_index());
  std::vector<NamedRecord> records;
  for (const std::string& name : options.records) {
    records.push_back({name, read_record_file(name)});
    if (records.back().record.provenance.target != only->name)
      throw UsageError(fmt::format("{}: of {}; choose records of {}", name,
                                   records.back().record.provenance.target, only->name));
  }
  fmt::print("{}", evidence_page(*only, records));
}

void run(const Options& options) {
  const Target* only = options.arch.empty() ? nullptr : &target_argument(options.arch);
  if (options.json) return print_json(only);
  if (options.markdown) return print_markdown(options, only);
  if (only == nullptr) return print_all();
  fmt::print("{}", evidence_table_of(*only).text());
}

}  // namespace

void add_list(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("list",
                         "Instructions, what they run as, and the evidence for each\n"
                         "example: bitmma list --arch sm_90");
  CLI::Option* arch =
      command->add_option("--arch", options->arch, "only this target: " + target_names());
  CLI::Option* json = command->add_flag("--json", options->json, "an array of objects");
  CLI::Option* markdown = command
                              ->add_flag("--markdown", options->markdown,
                                         "a page of Markdown, such as docs/evidence has")
                              ->excludes(json);
  command->add_option("--records", options->records, "records of bitmma verify, for its page")
      ->needs(markdown)
      ->needs(arch);
  command->callback([options] { run(*options); });
}

}  // namespace bitmma
