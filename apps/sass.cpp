#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "bitmma/apps/arguments.hpp"
#include "bitmma/apps/commands.hpp"
#include "bitmma/apps/listing.hpp"
#include "bitmma/apps/table.hpp"
#include "bitmma/isa/lowering.hpp"

namespace bitmma {
namespace {

struct Options {
  std::string file = "-";
  std::string arch;
  bool json = false;
};

std::vector<MatrixInstruction> read_listing(const std::string& file) {
  if (file == "-") return find_matrix_instructions(std::cin);
  std::ifstream listing(file);
  if (!listing) throw UsageError(fmt::format("{}: cannot be read", file));
  std::vector<MatrixInstruction> found = find_matrix_instructions(listing);
  if (listing.bad()) throw UsageError(fmt::format("{}: cannot be read to its end", file));
  return found;
}

/// The machine instruction of a wgmma row with the N of the listing: 64xNx16 for 64x128x16.
std::string with_any_n(const std::string& name) {
  const std::size_t first = name.find('x');
  const std::size_t second = first == std::string::npos ? first : name.find('x', first + 1);
  return second == std::string::npos ? name : name.substr(0, first) + "xN" + name.substr(second);
}

/// Where a machine instruction comes from: rows that become it on the target, native ones first.
std::vector<std::string> rows_behind(const std::string& machine, const Target& target) {
  std::vector<std::string> native, lowered;
  for (const Instruction& row : instruction_table) {
    if (!row.runs_on(target)) continue;
    const std::vector<std::string> code = machine_code(row, target);
    if (std::ranges::find(code, with_any_n(machine)) == code.end()) continue;
    if (is_native(row, target))
      native.push_back(short_name(row));
    else
      lowered.push_back(short_name(row) + " (lowered)");
  }
  native.insert(native.end(), lowered.begin(), lowered.end());
  return native;
}

std::string ptx_meaning(const Instruction& row, const Target& target) {
  if (!row.runs_on(target)) return "not on this target";
  return fmt::format("{}: {}", is_native(row, target) ? "native" : "lowered",
                     fmt::join(machine_code(row, target), ", "));
}

/// What an instruction of the listing means on a target.
std::string meaning(const MatrixInstruction& instruction, const Target& target) {
  if (instruction.kind == ListingKind::ptx) {
    const std::optional<Instruction> row = find_instruction(instruction.name);
    return row ? ptx_meaning(*row, target) : "not in the table";
  }
  const std::vector<std::string> rows = rows_behind(instruction.name, target);
  return rows.empty() ? "no row of the table becomes it" : fmt::format("{}", fmt::join(rows, ", "));
}

/// Targets with the same meaning share a line: "sm_80 to sm_89".
std::vector<std::pair<std::string, std::string>> meanings(const MatrixInstruction& instruction,
                                                          const std::string& arch) {
  if (!arch.empty()) return {{arch, meaning(instruction, target_argument(arch))}};
  std::vector<std::pair<std::string, std::string>> lines;
  for (const Target& target : target_table) {
    const std::string here = meaning(instruction, target);
    if (!lines.empty() && lines.back().second == here)
      lines.back().first = fmt::format(
          "{} to {}", lines.back().first.substr(0, lines.back().first.find(' ')), target.name);
    else
      lines.emplace_back(target.name, here);
  }
  return lines;
}

void print_text(const std::vector<MatrixInstruction>& found, const Options& options) {
  for (const MatrixInstruction& instruction : found) {
    fmt::print("{} × {} (first in line {})\n", instruction.count, instruction.name,
               instruction.first_line);
    for (const auto& [targets, text] : meanings(instruction, options.arch))
      fmt::print("  {:<18} {}\n", targets, text);
  }
  if (found.empty()) fmt::print("No matrix instruction: this code does not use tensor cores.\n");
}

void print_json(const std::vector<MatrixInstruction>& found, const Options& options) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const MatrixInstruction& instruction : found) {
    nlohmann::ordered_json targets = nlohmann::ordered_json::array();
    for (const auto& [names, text] : meanings(instruction, options.arch))
      targets.push_back({{"targets", names}, {"meaning", text}});
    all.push_back({{"name", instruction.name},
                   {"kind", instruction.kind == ListingKind::ptx ? "ptx" : "sass"},
                   {"count", instruction.count},
                   {"first_line", instruction.first_line},
                   {"targets", targets}});
  }
  fmt::print("{}\n", all.dump(2));
}

void run(const Options& options) {
  if (!options.arch.empty()) target_argument(options.arch);
  const std::vector<MatrixInstruction> found = read_listing(options.file);
  options.json ? print_json(found, options) : print_text(found, options);
}

}  // namespace

void add_sass(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "sass",
      "The matrix instructions in a PTX or SASS listing, and what each is on every target\n"
      "example: bitmma sass kernel.ptx --arch sm_90\n"
      "example: cuobjdump -sass kernel.o | bitmma sass");
  command->add_option("FILE", options->file, "listing; - or nothing is standard input");
  command->add_option("--arch", options->arch, "only this target: " + target_names());
  command->add_flag("--json", options->json, "an array of objects");
  command->callback([options] { run(*options); });
}

}  // namespace bitmma
