#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "bitmma/apps/arguments.hpp"
#include "bitmma/apps/campaign_run.hpp"
#include "bitmma/apps/commands.hpp"
#include "bitmma/apps/cuda_device.hpp"
#include "bitmma/apps/file.hpp"
#include "bitmma/apps/kernel_arguments.hpp"
#include "bitmma/apps/record_file.hpp"
#include "bitmma/apps/verify_report.hpp"
#include "bitmma/isa/instruction.hpp"
#include "bitmma/isa/target.hpp"
#include "bitmma/kernels/batch.hpp"
#include "bitmma/kernels/campaign.hpp"
#include "bitmma/kernels/device.hpp"
#include "bitmma/kernels/golden.hpp"
#include "bitmma/kernels/instruction_kernel.hpp"
#include "bitmma/kernels/merge.hpp"
#include "bitmma/kernels/record.hpp"

namespace bitmma {
namespace {

struct Options {
  KernelOptions kernel;
  std::string family = "all";
  std::uint64_t count = 1'000'000;
  std::uint64_t seed = 1;
  std::string shard = "1/1";
  std::optional<std::uint64_t> tile;
  std::optional<std::uint64_t> seconds;
  std::string record;
  std::vector<std::string> merge;
  std::string golden;
  std::size_t golden_rows = 300;
  bool json = false;
};

Shard shard_argument(const std::string& text) {
  return record_argument([&] { return parse_shard(text); }, "--shard: ");
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  char text[16];
  std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&now));
  return text;
}

Provenance provenance_of(const DeviceInfo& device, const Target& target) {
  return {device.name,
          std::string(target.name),
          device.driver,
          device.runtime,
          std::string(kernel_compiler_version()),
          BITMMA_VERSION,
          today()};
}

std::vector<NamedFamily> family_argument(const std::string& name) {
  std::vector<NamedFamily> families = campaign_families();
  if (name != "all")
    std::erase_if(families, [&](const NamedFamily& family) { return family.name != name; });
  return families;
}

/// Throws UsageError for an option that is 0 or above `most`.
void check_count(const char* option, std::uint64_t value, std::uint64_t most) {
  if (value == 0 || value > most)
    throw UsageError(fmt::format("{} {}: choose 1 to {}", option, value, most));
}

/// The kernel of the options whose tiles have the most outputs.
Instruction largest_row(const KernelOptions& options) {
  constexpr int largest_n = 256;  // of wgmma
  std::vector<Instruction> rows(std::begin(instruction_table), std::end(instruction_table));
  if (options.names_one()) rows = {instruction_argument(options.instr)};
  for (Instruction& row : rows)
    if (row.n == 0) row.n = largest_n;
  return std::ranges::max(rows, {}, outputs_of_a_tile);
}

void check_tile(const Options& options) {
  if (!options.tile) return;
  const Instruction row = largest_row(options.kernel);
  const std::uint64_t last = tiles_of(row, most_outputs) - 1;
  if (*options.tile > last)
    throw UsageError(fmt::format("--tile {}: choose 0 to {}, the last tile of {}", *options.tile,
                                 last, short_name(row)));
}

/// On stderr, so that the result stands alone on stdout.
void say_not_written(const std::string& file, std::string_view reason) {
  std::fputs(fmt::format("bitmma: {}: not written, {}\n", file, reason).c_str(), stderr);
}

/// None after a mismatch: what a GPU that erred returns is no reference.
void write_golden_file(const Options& options, const Provenance& provenance,
                       std::span<const CampaignKernel> kernels, bool is_equal) {
  if (options.golden.empty()) return;
  if (!is_equal) return say_not_written(options.golden, "for there is a mismatch");
  std::ostringstream text;
  write_golden(text, provenance, options.seed, kernels, family_argument(options.family),
               options.golden_rows, cuda_device());
  write_file(options.golden, {text.str()});
}

std::string unfinished_text(const Options& options) {
  return options.record.empty()
             ? "\nstopped before the end\n"
             : fmt::format("\nstopped before the end; the same command goes on from {}\n",
                           options.record);
}

/// What needs no GPU to be refused. Throws UsageError.
void check_options(const Options& options) {
  constexpr std::uint64_t most_seconds = 1'000'000'000;
  constexpr std::uint64_t most_rows = 1'000'000;
  check_count("--count", options.count, most_outputs);
  check_count("--golden-rows", options.golden_rows, most_rows);
  if (options.seconds) check_count("--seconds", *options.seconds, most_seconds);
  check_a_from(options.kernel);
  if (options.kernel.names_one()) instruction_argument(options.kernel.instr);
  for (const std::string& file : {options.record, options.golden})
    if (!file.empty()) check_writable(file);
  check_tile(options);
  if (!options.golden.empty() && !options.record.empty() &&
      is_same_file(options.golden, options.record))
    throw UsageError(
        fmt::format("--golden {}: is --record's file; name another one", options.golden));
}

CampaignRun run_argument(const Options& options) {
  if (!options.seconds) return {options.record, std::nullopt};
  return {options.record, std::chrono::seconds(*options.seconds)};
}

void print_result(const Options& options, const Record& record,
                  const std::optional<Mismatch>& mismatch) {
  if (options.json) {
    fmt::print("{}\n", record_json(record, mismatch));
    return;
  }
  fmt::print("{}", totals_text(record));
  if (mismatch)
    fmt::print("\n{}", mismatch_text(*mismatch, options.seed));
  else if (!is_complete(record))
    fmt::print("{}", unfinished_text(options));
}

int verify(const Options& options) {
  check_options(options);
  CampaignCases cases{options.seed, options.count, shard_argument(options.shard)};
  cases.tile = options.tile;
  const CudaDevice device = require_cuda_device();
  const std::vector<CampaignKernel> kernels = kernel_arguments(options.kernel, device.target);
  const Record planned{provenance_of(device.info, device.target), cases,
                       plan_campaign(kernels, family_argument(options.family), cases)};
  if (planned.lines.empty())
    throw UsageError(
        fmt::format("--family {}: does not apply to the operands of {}; --family all "
                    "takes those that do",
                    options.family, options.kernel.instr));
  Record record = resume(options.record, planned);
  const std::optional<Mismatch> mismatch = run_record(run_argument(options), record, cuda_device());
  write_golden_file(options, record.provenance, kernels, !mismatch);
  print_result(options, record, mismatch);
  return mismatch ? 1 : 0;
}

/// The sum may replace an older one, but no other file, and no record that it is made of.
void check_sum_file(const Options& options) {
  const std::string& sum = options.record;
  if (sum.empty()) return;
  check_writable(sum);
  for (const std::string& file : options.merge)
    if (is_same_file(sum, file))
      throw UsageError(
          fmt::format("--record {}: is one of the records to add up; name another file", sum));
  if (!std::filesystem::exists(sum)) return;
  try {
    read_record_file(sum);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}; --record replaces a record alone", error.what()));
  }
}

void write_sum(const Options& options, const Merge& merged) {
  if (options.record.empty()) return;
  if (is_contradictory(merged))
    return say_not_written(options.record, "for the records contradict each other");
  write_record_file(options.record, merged.record);
}

int merge(const Options& options) {
  check_sum_file(options);
  std::vector<NamedRecord> files;
  for (const std::string& name : options.merge) files.push_back({name, read_record_file(name)});
  const Merge merged = record_argument([&] { return merge_records(files); });
  const std::string text =
      options.json ? merge_json(merged, files) + "\n" : merge_text(merged, files);
  write_sum(options, merged);
  fmt::print("{}", text);
  const bool equal = total_of(merged.record).mismatches == 0;
  return equal && merged.gaps.empty() && merged.overlaps.empty() ? 0 : 1;
}

std::vector<std::string> family_choices() {
  std::vector<std::string> families{"all"};
  for (const NamedFamily& family : input_families) families.emplace_back(family.name);
  return families;
}

/// Which cases run, on which kernels.
void add_case_options(CLI::App& command, Options& options) {
  command
      .add_option("--instr", options.kernel.instr,
                  "an instruction, all, or a pattern such as 'm*.f64.*'; wgmma without an N stands "
                  "for every N")
      ->capture_default_str();
  add_a_from_option(command, options.kernel);
  command.add_option("--family", options.family, "family of operands")
      ->check(CLI::IsMember(family_choices()))
      ->capture_default_str();
  command.add_option("--count", options.count, "outputs of each kernel in each family, at least")
      ->check(whole_number_error)
      ->capture_default_str();
  command.add_option("--seed", options.seed, "of the operands")
      ->check(whole_number_error)
      ->capture_default_str();
  command
      .add_option("--shard", options.shard,
                  fmt::format("I/N: part I, from 1, of N, which is at most {}", most_shards))
      ->capture_default_str();
  command
      .add_option("--tile", options.tile,
                  "the instruction with that tile alone: a mismatch run again")
      ->check(whole_number_error)
      ->excludes("--shard")
      ->excludes("--count");
}

/// Where the results go.
void add_result_options(CLI::App& command, Options& options) {
  command
      .add_option(
          "--record", options.record,
          "file for the totals; where it exists, the campaign goes on. With --merge the file "
          "for the sum, which replaces an older record")
      ->excludes("--tile");
  command
      .add_option("--seconds", options.seconds,
                  "stop after that time, with exit status 0 if there was no mismatch so far")
      ->check(whole_number_error);
  command
      .add_option("--golden", options.golden,
                  "file for measured output elements; not written after a mismatch")
      ->excludes("--tile");
  command.add_option("--golden-rows", options.golden_rows, "lines of each instruction in it")
      ->check(whole_number_error)
      ->needs("--golden")
      ->capture_default_str();
  command.add_flag("--json", options.json, "the result as one object");
}

/// After all others, most of which it excludes.
void add_merge_option(CLI::App& command, Options& options) {
  CLI::Option* merge = command.add_option(
      "--merge", options.merge,
      "add up records of one campaign, say which tiles are missing or there twice; --record names "
      "the sum, which is not written if records contradict each other. Exit status 1 for gaps, "
      "overlaps and mismatches");
  for (const char* other : {"--instr", "--a-from", "--family", "--count", "--seed", "--shard",
                            "--seconds", "--tile", "--golden"})
    merge->excludes(other);
}

}  // namespace

void add_verify(CLI::App& app, int& status) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "verify",
      "Compares this machine's GPU with the emulator, bit for bit, on seeded operands; exit status "
      "0 no mismatch,\n1 a mismatch, 2 wrong usage or no CUDA device. Shards run on any machines, "
      "in any order; CUDA_VISIBLE_DEVICES\nchooses the GPU\n"
      "example: bitmma verify --count 100000000 --seed 7 --shard $SLURM_ARRAY_TASK_ID/8 --record "
      "part$SLURM_ARRAY_TASK_ID.txt\n         bitmma verify --merge part*.txt --record whole.txt");
  add_case_options(*command, *options);
  add_result_options(*command, *options);
  add_merge_option(*command, *options);
  command->callback(
      [options, &status] { status = options->merge.empty() ? verify(*options) : merge(*options); });
}

}  // namespace bitmma
