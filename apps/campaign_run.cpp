#include "bitmma/apps/campaign_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "bitmma/apps/progress.hpp"
#include "bitmma/apps/record_file.hpp"
#include "bitmma/apps/usage_error.hpp"

namespace bitmma {
namespace {

using Clock = std::chrono::steady_clock;

bool same_plan(const RecordLine& x, const RecordLine& y) {
  return x.instruction == y.instruction && x.a_source == y.a_source && x.family == y.family &&
         x.first_tile == y.first_tile && x.tiles == y.tiles;
}

std::uint64_t outputs_planned(const Record& record) {
  std::uint64_t outputs = 0;
  for (const RecordLine& line : record.lines) {
    const Instruction row = find_instruction(line.instruction).value();
    outputs += line.tiles * static_cast<std::uint64_t>(row.m * row.n);
  }
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

Record resume(const std::string& file, Record planned) {
  if (file.empty() || !std::filesystem::exists(file)) return planned;
  const Record before = read_record_file(file);
  planned.provenance.date = before.provenance.date;
  if (before.provenance != planned.provenance || before.cases != planned.cases ||
      !std::ranges::equal(before.lines, planned.lines, same_plan))
    throw UsageError(fmt::format(
        "{}: holds another campaign (seed {}, count {}, shard {}, {}, driver {}, nvcc {}, bitmma "
        "{}); give its options on such a machine to go on with it, or name another file",
        file, before.cases.seed, before.cases.count, shard_text(before.cases.shard),
        before.provenance.gpu, before.provenance.driver, before.provenance.nvcc,
        before.provenance.bitmma));
  if (total_of(before).mismatches > 0)
    throw UsageError(
        fmt::format("{}: ended with a mismatch; name another file to run it again", file));
  return before;
}

std::optional<Mismatch> run_record(const CampaignRun& run, Record& record,
                                   const CampaignDevice& device) {
  Watcher watcher(run, record);
  std::optional<Mismatch> mismatch =
      run_campaign(record, device, [&](const RecordLine&) { return watcher(); });
  keep(run.file, record);
  return mismatch;
}

}  // namespace bitmma
