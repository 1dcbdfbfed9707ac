/// Compares the GPU with the emulator, bit by bit, on seeded operands.
///
///     bitmma_campaign [--instr NAME|all] [--family NAME|all] [--count OUTPUTS] [--seed SEED]
///                     [--record FILE] [--golden FILE --golden-rows ROWS]
///
/// Exit status: 0 all bits equal, 1 a difference, 2 wrong usage or a failed CUDA call, 3 no device.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <ctime>
#include <fstream>
#include <iostream>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "bitmma/kernels/batch.hpp"
#include "bitmma/kernels/campaign_report.hpp"
#include "bitmma/kernels/device.hpp"
#include "bitmma/kernels/instruction_kernel.hpp"
#include "bitmma/kernels/measure.hpp"
#include "bitmma/kernels/slice.hpp"

namespace bitmma {
namespace {

struct Options {
  std::string instruction = "all";
  std::string family = "all";
  std::size_t count = 1'000'000;  ///< outputs of each kernel in each family
  std::uint64_t seed = 1;
  std::string record;
  std::string golden;
  std::size_t golden_rows = 0;  ///< of each instruction
};

/// Signed, so that CLI11 does not take −1 for a large number.
CLI::Range at_least(std::int64_t least) {
  return {least, std::numeric_limits<std::int64_t>::max()};
}

void add_options(CLI::App& app, Options& options) {
  std::vector<std::string> families{"all"};
  for (const NamedFamily& family : input_families) families.emplace_back(family.name);
  app.add_option("--instr", options.instruction, "a spelling with N stands for every N")
      ->capture_default_str();
  app.add_option("--family", options.family, "family of operands")
      ->check(CLI::IsMember(families))
      ->capture_default_str();
  app.add_option("--count", options.count, "outputs of each kernel in each family, at least")
      ->check(at_least(1))
      ->capture_default_str();
  app.add_option("--seed", options.seed, "of the operands")
      ->check(at_least(0))
      ->capture_default_str();
  app.add_option("--record", options.record, "file for the totals of each kernel");
  CLI::Option* golden = app.add_option("--golden", options.golden, "file for measured elements");
  CLI::Option* golden_rows =
      app.add_option("--golden-rows", options.golden_rows, "lines of each instruction in it")
          ->check(at_least(1))
          ->needs(golden);
  golden->needs(golden_rows);
}

/// An instruction with the kernels that were built for it, one for each place of A.
struct ChosenInstruction {
  Instruction row;
  std::vector<ASource> a_sources;
};

/// The row that the option names, or nothing for "all".
std::optional<Instruction> wanted_row(const std::string& name) {
  if (name == "all") return std::nullopt;
  const std::optional<Instruction> row = find_instruction(name);
  if (!row) throw std::invalid_argument("no such instruction: " + name);
  return row;
}

/// A wanted row of wgmma without an N stands for every N.
bool is_wanted(const std::optional<Instruction>& wanted, Instruction row) {
  if (!wanted) return true;
  if (wanted->n == 0) row.n = 0;
  return short_name(row) == short_name(*wanted);
}

/// What the option names, as far as the target runs it.
std::vector<ChosenInstruction> chosen_instructions(const std::string& name, const Target& target) {
  const std::optional<Instruction> wanted = wanted_row(name);
  std::vector<ChosenInstruction> chosen;
  std::string runnable;
  for (const InstructionKernel& kernel : instruction_kernels()) {
    const Instruction row = find_instruction(kernel.name).value();
    if (!row.runs_on(target)) continue;
    if (kernel.a_source == ASource::registers) runnable.append("\n  ").append(kernel.name);
    if (!is_wanted(wanted, row)) continue;
    if (chosen.empty() || short_name(chosen.back().row) != kernel.name) chosen.push_back({row, {}});
    chosen.back().a_sources.push_back(kernel.a_source);
  }
  if (chosen.empty())
    throw std::invalid_argument("no kernel for " + name + " on " + std::string(target.name) +
                                "; there are:" + runnable);
  return chosen;
}

/// The table begins with plain random values and ends with the families aimed at edge cases: those
/// come first here.
std::vector<NamedFamily> chosen_families(const std::string& name) {
  std::vector<NamedFamily> chosen;
  for (const NamedFamily& family : input_families)
    if (name == "all" || name == family.name) chosen.push_back(family);
  std::ranges::reverse(chosen);
  return chosen;
}

/// Matched elements, tile by tile.
void write_golden(std::ostream& out, const Batch& batch, const std::vector<Code>& d,
                  std::size_t rows, const Target& target) {
  const auto matched = static_cast<std::size_t>(std::min(batch.row.m, batch.row.n));
  for (std::size_t i = 0; i < rows; ++i) {
    const std::size_t index = matched_element(batch.row, i / matched, i % matched);
    out << operand_line(batch, index, target) << " " << code_text(*batch.row.d, d[index]) << "\n";
  }
}

/// The first `sampled` outputs of every slice go through the host as well, which checks the GPU
/// build of the emulator and of the operands against theirs.
constexpr std::size_t sampled = 20'000;

std::string difference_line(const Batch& batch, std::size_t index, const Target& target, Code gpu,
                            Code emulator) {
  return "  first: " + operand_line(batch, index, target) + " gpu " + code_text(*batch.row.d, gpu) +
         " emulator " + code_text(*batch.row.d, emulator);
}

/// Differences of outputs that the GPU measured and the host emulated.
SliceResult compare_on_host(const std::vector<Code>& gpu, const std::vector<Code>& emulator) {
  SliceResult result{gpu.size(), 0, std::nullopt};
  for (std::size_t i = 0; i < gpu.size(); ++i)
    if (gpu[i] != emulator[i] && result.mismatches++ == 0) result.first_mismatch = i;
  return result;
}

/// Makes the tile of a slice's differing output again and prints the line that replays it.
void print_difference(const Execution& execution, const Slice& slice, std::uint64_t output,
                      const Target& target) {
  const Instruction& row = execution.instruction;
  const auto blocks = static_cast<std::uint64_t>(row.blocks());
  const auto elements = static_cast<std::uint64_t>(row.m * row.n);
  const std::uint64_t first = slice.first_tile + output / (elements * blocks) * blocks;
  const Batch batch = make_batch(row, slice.family, slice.seed, first, row.blocks());
  const std::size_t index = output % (elements * blocks);
  std::cout << difference_line(batch, index, target, measure(batch, slice.a_source)[index],
                               emulate(execution, batch)[index])
            << std::endl;
}

/// Runs a slice, prints its line and its first difference, and adds it to the kernel's total.
void run_family(const Execution& execution, const Slice& slice, std::string_view family,
                const Target& target, KernelTotal& total) {
  const SliceResult result = run_slice(execution, slice);
  std::cout << total.instruction << " " << a_source_name(total.a_source) << " " << family << " "
            << result.outputs << " " << result.mismatches << std::endl;
  if (result.first_mismatch) print_difference(execution, slice, *result.first_mismatch, target);
  total.outputs += result.outputs;
  total.mismatches += result.mismatches;
}

/// The slice's first outputs by GPU and host emulator; a difference counts like any other.
void check_sample(const Batch& batch, const std::vector<Code>& emulated,
                  const std::vector<Code>& measured, const Target& target, KernelTotal& total) {
  const SliceResult result = compare_on_host(measured, emulated);
  if (!result.first_mismatch) return;
  const std::size_t index = *result.first_mismatch;
  std::cout << difference_line(batch, index, target, measured[index], emulated[index]) << std::endl;
  total.mismatches += result.mismatches;
}

/// One instruction over the families, by every kernel.
std::vector<KernelTotal> run_instruction(const ChosenInstruction& chosen, const Options& options,
                                         const std::vector<NamedFamily>& families,
                                         const Target& target, std::ostream& golden) {
  const Instruction& row = chosen.row;
  const Execution execution = resolve(row, target);
  std::vector<KernelTotal> totals;
  for (const ASource a_source : chosen.a_sources) totals.push_back({short_name(row), a_source});
  for (std::size_t i = 0; i < families.size(); ++i) {
    const std::size_t golden_rows =
        options.golden_rows / families.size() + (i < options.golden_rows % families.size() ? 1 : 0);
    const auto longer_side = static_cast<std::size_t>(std::max(row.m, row.n));
    const std::size_t on_host =
        std::max(std::min(options.count, sampled), golden_rows * longer_side);
    const Batch batch =
        make_batch(row, families[i].family, options.seed, 0, tiles_of(row, on_host));
    const std::vector<Code> emulated = emulate(execution, batch);
    for (KernelTotal& total : totals) {
      const std::vector<Code> measured = measure(batch, total.a_source);
      check_sample(batch, emulated, measured, target, total);
      if (&total == &totals.front()) write_golden(golden, batch, measured, golden_rows, target);
      run_family(
          execution,
          {total.a_source, families[i].family, options.seed, 0, tiles_of(row, options.count)},
          families[i].name, target, total);
    }
  }
  return totals;
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  char text[16];
  std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&now));
  return text;
}

Provenance find_provenance(const DeviceInfo& device, std::uint64_t seed) {
  const std::string name = "sm_" + std::to_string(device.sm);
  const Target* target = find_target(name);
  if (target == nullptr)
    throw std::runtime_error(device.name + " is " + name + ", an unknown target");
  return {*target, device, std::string(kernel_compiler_version()), today(), seed};
}

/// A file to write, or a stream that goes nowhere if there is no name.
std::ofstream open_output(const std::string& name) {
  std::ofstream file;
  if (name.empty()) return file;
  file.open(name);
  if (!file) throw std::runtime_error("cannot write " + name);
  return file;
}

void close_output(std::ofstream& file, const std::string& name) {
  if (name.empty()) return;
  file.close();
  if (!file) throw std::runtime_error("cannot write " + name);
}

/// The exit status.
int run_campaign(const Options& options) {
  const std::vector<DeviceInfo> found = devices();
  if (found.empty()) {
    std::cerr << "bitmma_campaign: no CUDA device\n";
    return 3;
  }
  const Provenance provenance = find_provenance(found.front(), options.seed);
  const std::vector<NamedFamily> families = chosen_families(options.family);
  std::ofstream record = open_output(options.record);
  std::ofstream golden = open_output(options.golden);
  write_golden_header(golden, provenance);

  std::vector<KernelTotal> totals;
  for (const ChosenInstruction& chosen :
       chosen_instructions(options.instruction, provenance.target))
    for (const KernelTotal& total :
         run_instruction(chosen, options, families, provenance.target, golden))
      totals.push_back(total);

  write_record(record, provenance, families, options.count, totals);
  close_output(record, options.record);
  close_output(golden, options.golden);
  write_summary(std::cout, provenance, totals);
  const bool equal =
      std::ranges::all_of(totals, [](const KernelTotal& total) { return total.mismatches == 0; });
  return equal ? 0 : 1;
}

}  // namespace
}  // namespace bitmma

int main(int argc, char** argv) {
  constexpr int usage_status = 2;
  CLI::App app("Compares the GPU with the emulator, bit by bit, on seeded operands.");
  bitmma::Options options;
  bitmma::add_options(app, options);
  try {
    app.parse(argc, argv);
    return bitmma::run_campaign(options);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : usage_status;  // 0: --help
  } catch (const std::exception& error) {
    std::cerr << "bitmma_campaign: " << error.what() << "\n";
    return usage_status;
  }
}
