#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <optional>
#include <sstream>

#include "bitmma/apps/arguments.hpp"
#include "bitmma/apps/commands.hpp"
#include "bitmma/apps/cuda_device.hpp"
#include "bitmma/apps/file.hpp"
#include "bitmma/apps/kernel_arguments.hpp"
#include "bitmma/apps/progress.hpp"
#include "bitmma/apps/record_file.hpp"
#include "bitmma/apps/verify_report.hpp"
#include "bitmma/kernels/campaign.hpp"
#include "bitmma/kernels/device.hpp"
#include "bitmma/kernels/golden.hpp"
#include "bitmma/kernels/instruction_kernel.hpp"
#include "bitmma/kernels/merge.hpp"

namespace bitmma {
namespace {

using Clock = std::chrono::steady_clock;

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
  try {
    return parse_shard(text);
  } catch (const RecordError& error) {
    throw UsageError(fmt::format("--shard: {}", error.what()));
  }
}

void keep_record(const std::string& name, const Record& record) {
  if (!name.empty()) write_record_file(name, record);
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

/// The lines of the whole shard, or those of one instruction at --tile.
std::vector<RecordLine> planned_lines(const Options& options,
                                      std::span<const CampaignKernel> kernels,
                                      const CampaignCases& cases) {
  std::vector<RecordLine> lines = plan_campaign(kernels, family_argument(options.family), cases);
  if (!options.tile) return lines;
  for (RecordLine& line : lines) {
    const auto blocks =
        static_cast<std::uint64_t>(find_instruction(line.instruction).value().blocks());
    line.first_tile = *options.tile / blocks * blocks;
    line.tiles = blocks;
  }
  return lines;
}

bool same_plan(const RecordLine& x, const RecordLine& y) {
  return x.instruction == y.instruction && x.a_source == y.a_source && x.family == y.family &&
         x.first_tile == y.first_tile && x.tiles == y.tiles;
}

/// What is done of the record in the file, if there is one: the campaign goes on from there.
Record resume(const std::string& file, Record record) {
  if (file.empty() || !std::filesystem::exists(file)) return record;
  const Record before = read_record_file(file);
  record.provenance.date = before.provenance.date;
  if (before.provenance != record.provenance || before.cases != record.cases ||
      !std::ranges::equal(before.lines, record.lines, same_plan))
    throw UsageError(fmt::format(
        "{}: holds another campaign (seed {}, count {}, shard {}, {}, driver {}, nvcc {}); "
        "give its options on such a machine to go on with it, or name another file",
        file, before.cases.seed, before.cases.count, shard_text(before.cases.shard),
        before.provenance.gpu, before.provenance.driver, before.provenance.nvcc));
  if (std::ranges::any_of(before.lines, [](const RecordLine& line) { return line.mismatches > 0; }))
    throw UsageError(
        fmt::format("{}: ended with a mismatch; name another file to run it again", file));
  return before;
}

std::uint64_t outputs_planned(const Record& record) {
  std::uint64_t outputs = 0;
  for (const RecordLine& line : record.lines) {
    const Instruction row = find_instruction(line.instruction).value();
    outputs += line.tiles * static_cast<std::uint64_t>(row.m * row.n);
  }
  return outputs;
}

std::optional<std::chrono::seconds> time_limit(const Options& options) {
  if (!options.seconds) return std::nullopt;
  return std::chrono::seconds(*options.seconds);
}

/// Watches a campaign: shows how far it is, keeps the record's file, and ends it in time.
class Watcher {
 public:
  Watcher(const Options& options, const Record& record)
      : options_(options),
        record_(record),
        done_(total_of(record).outputs),
        progress_(outputs_planned(record) - done_, "outputs", time_limit(options)) {}

  bool operator()() {
    const std::uint64_t done = total_of(record_).outputs;
    progress_.advance(done - done_);
    done_ = done;
    const Clock::time_point now = Clock::now();
    if (now - saved_ > std::chrono::seconds(1)) {
      keep_record(options_.record, record_);
      saved_ = now;
    }
    const auto limit = time_limit(options_);
    return !limit || now - start_ < *limit;
  }

 private:
  const Options& options_;
  const Record& record_;
  std::uint64_t done_;
  Progress progress_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point saved_ = start_;
};

std::optional<Mismatch> run_record(const Options& options, Record& record) {
  Watcher watcher(options, record);
  const std::optional<Mismatch> mismatch =
      run_campaign(record, cuda_device(), [&](const RecordLine&) { return watcher(); });
  keep_record(options.record, record);
  return mismatch;
}

void write_golden_file(const Options& options, const Provenance& provenance,
                       std::span<const CampaignKernel> kernels) {
  if (options.golden.empty()) return;
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

int verify(const Options& options) {
  constexpr std::uint64_t most_seconds = 1'000'000'000;
  constexpr std::uint64_t most_rows = 1'000'000;
  check_count("--count", options.count, most_outputs);
  check_count("--golden-rows", options.golden_rows, most_rows);
  if (options.seconds) check_count("--seconds", *options.seconds, most_seconds);
  const CampaignCases cases{options.seed, options.count, shard_argument(options.shard)};
  for (const std::string& file : {options.record, options.golden})
    if (!file.empty()) check_writable(file);
  if (options.kernel.instr != "all") instruction_argument(options.kernel.instr);
  const CudaDevice device = require_cuda_device();
  const std::vector<CampaignKernel> kernels = kernel_arguments(options.kernel, device.target);
  Record record = resume(options.record, {provenance_of(device.info, device.target), cases,
                                          planned_lines(options, kernels, cases)});
  const std::optional<Mismatch> mismatch = run_record(options, record);
  if (!mismatch) write_golden_file(options, record.provenance, kernels);
  if (options.json) {
    fmt::print("{}\n", record_json(record, mismatch));
  } else {
    fmt::print("{}", totals_text(record));
    if (mismatch)
      fmt::print("\n{}", mismatch_text(*mismatch, options.seed));
    else if (!std::ranges::all_of(record.lines, &RecordLine::is_complete))
      fmt::print("{}", unfinished_text(options));
  }
  return mismatch ? 1 : 0;
}

Merge merged_records(std::span<const NamedRecord> files) {
  try {
    return merge_records(files);
  } catch (const RecordError& error) {
    throw UsageError(error.what());
  }
}

int merge(const Options& options) {
  if (!options.record.empty()) check_writable(options.record);
  std::vector<NamedRecord> files;
  for (const std::string& name : options.merge) files.push_back({name, read_record_file(name)});
  const Merge merged = merged_records(files);
  const std::string text = options.json ? merge_json(merged) + "\n" : merge_text(merged, files);
  keep_record(options.record, merged.record);
  fmt::print("{}", text);
  const bool equal = std::ranges::all_of(
      merged.record.lines, [](const RecordLine& line) { return line.mismatches == 0; });
  return equal && merged.gaps.empty() && merged.overlaps.empty() ? 0 : 1;
}

}  // namespace

void add_verify(CLI::App& app, int& status) {
  const auto options = std::make_shared<Options>();
  std::vector<std::string> families{"all"};
  for (const NamedFamily& family : input_families) families.emplace_back(family.name);
  CLI::App* command = app.add_subcommand(
      "verify",
      "Compares this machine's GPU with the emulator, bit for bit, on seeded operands; exit status "
      "0 equal,\n1 a mismatch, 2 wrong usage or no CUDA device. Shards run on any machines, in any "
      "order; CUDA_VISIBLE_DEVICES chooses the GPU:\n  bitmma verify --count 100000000 --seed 7 "
      "--shard $SLURM_ARRAY_TASK_ID/8 --record "
      "part$SLURM_ARRAY_TASK_ID.txt\n  bitmma verify --merge part*.txt --record whole.txt");
  command->add_option("--instr", options->kernel.instr, "wgmma without an N stands for every N")
      ->capture_default_str();
  add_a_from_option(*command, options->kernel);
  command->add_option("--family", options->family, "family of operands")
      ->check(CLI::IsMember(families))
      ->capture_default_str();
  command->add_option("--count", options->count, "outputs of each kernel in each family, at least")
      ->check(whole_number_error)
      ->capture_default_str();
  command->add_option("--seed", options->seed, "of the operands")
      ->check(whole_number_error)
      ->capture_default_str();
  CLI::Option* shard = command->add_option("--shard", options->shard, "I/N: part I, from 1, of N")
                           ->capture_default_str();
  CLI::Option* record = command->add_option(
      "--record", options->record, "file for the totals; where it exists, the campaign goes on");
  command->add_option("--seconds", options->seconds, "stop after that time")
      ->check(whole_number_error);
  command->add_option("--tile", options->tile, "one instruction alone: the replay of a mismatch")
      ->check(whole_number_error)
      ->excludes(shard)
      ->excludes(record);
  CLI::Option* golden =
      command->add_option("--golden", options->golden, "file for measured output elements");
  command->add_option("--golden-rows", options->golden_rows, "lines of each instruction in it")
      ->check(whole_number_error)
      ->needs(golden)
      ->capture_default_str();
  CLI::Option* merge_option = command->add_option(
      "--merge", options->merge,
      "add up records of one campaign, say which tiles are missing or there twice; --record names "
      "the sum. Exit status 1 for gaps, overlaps and mismatches");
  for (const char* other : {"--instr", "--a-from", "--family", "--count", "--seed", "--shard",
                            "--seconds", "--tile", "--golden"})
    merge_option->excludes(command->get_option(other));
  command->add_flag("--json", options->json, "the result as one object");
  command->callback(
      [options, &status] { status = options->merge.empty() ? verify(*options) : merge(*options); });
}

}  // namespace bitmma
