#include "bitmma/apps/campaign_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string_view>

#include "bitmma/apps/progress.hpp"
#include "bitmma/apps/record_file.hpp"
#include "bitmma/apps/usage_error.hpp"

namespace bitmma {
namespace {

using Clock = std::chrono::steady_clock;

bool same_plan(const RecordLine& x, const RecordLine& y) {
  return kernel_and_family(x) == kernel_and_family(y) && x.first_tile == y.first_tile &&
         x.tiles == y.tiles;
}

std::string plan_text(const RecordLine& line) {
  return fmt::format("{} {} {} from tile {}, {} tiles", line.instruction,
                     a_source_name(line.a_source), line.family, line.first_tile, line.tiles);
}

/// The first difference of two plans: "seed 1, not 2". Empty if there is none but the date.
std::string difference(const Record& before, const Record& planned) {
  std::string text;
  const auto compare = [&](std::string_view name, const auto& found, const auto& wanted) {
    if (text.empty() && found != wanted) text = fmt::format("{} {}, not {}", name, found, wanted);
  };
  for (const ProvenanceField& field : provenance_fields)
    if (field.value != &Provenance::date)
      compare(field.name, before.provenance.*field.value, planned.provenance.*field.value);
  compare("seed", before.cases.seed, planned.cases.seed);
  compare("count", before.cases.count, planned.cases.count);
  compare("shard", shard_text(before.cases.shard), shard_text(planned.cases.shard));
  const auto [line, other] = std::ranges::mismatch(before.lines, planned.lines, same_plan);
  compare("line", line == before.lines.end() ? "of no kernel" : plan_text(*line),
          other == planned.lines.end() ? "of no kernel" : plan_text(*other));
  return text;
}

std::uint64_t outputs_planned(const Record& record) {
  std::uint64_t outputs = 0;
  for (const RecordLine& line : record.lines)
    outputs += line.tiles * outputs_of_a_tile(find_instruction(line.instruction).value());
  return outputs;
}

void keep(const std::string& file, const Record& record) {
  if (!file.empty()) write_record_file(file, record);
}

/// Shows how far a campaign is, keeps the record's file, and ends it in time.
class Watcher {
 public:
  Watcher(const CampaignRun& run, const Record& record)
      : run_(run),
        record_(record),
        done_(total_of(record).outputs),
        progress_(outputs_planned(record) - done_, "outputs", run.limit) {}

  bool operator()() {
    const std::uint64_t done = total_of(record_).outputs;
    progress_.advance(done - done_);
    done_ = done;
    const Clock::time_point now = Clock::now();
    if (now - saved_ > std::chrono::seconds(1)) {
      keep(run_.file, record_);
      saved_ = now;
    }
    return !run_.limit || now - start_ < *run_.limit;
  }

 private:
  const CampaignRun& run_;
  const Record& record_;
  std::uint64_t done_;
  Progress progress_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point saved_ = start_;
};

}  // namespace

Record resume(const std::string& file, const Record& planned) {
  if (file.empty() || !std::filesystem::exists(file)) return planned;
  Record before = read_record_file(file);
  if (before.cases.version != planned.cases.version)
    throw UsageError(fmt::format("{}: made with cases {}, this build makes {}; name another file",
                                 file, before.cases.version, planned.cases.version));
  if (const std::string other = difference(before, planned); !other.empty())
    throw UsageError(
        fmt::format("{}: holds another campaign, of {}; give its options on such a machine to go "
                    "on with it, or name another file",
                    file, other));
  if (total_of(before).mismatches > 0)
    throw UsageError(
        fmt::format("{}: ended with a mismatch; name another file to run it again", file));
  return before;
}

std::optional<Mismatch> run_record(const CampaignRun& run, Record& record,
                                   const CampaignDevice& device) {
  Watcher watcher(run, record);
  std::optional<Mismatch> mismatch = run_campaign(record, device, [&] { return watcher(); });
  keep(run.file, record);
  return mismatch;
}

}  // namespace bitmma
