#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "bitmma/apps/campaign_run.hpp"
#include "bitmma/apps/record_file.hpp"
#include "bitmma/apps/usage_error.hpp"
#include "bitmma/apps/verify_report.hpp"
#include "bitmma/kernels/device.hpp"
#include "bitmma/tests/apps/program.hpp"
#include "bitmma/tests/kernels/emulated_campaign.hpp"

namespace bitmma::test {
namespace {

constexpr std::uint64_t shards = 3;

void store_record(const Program& program, const std::string& name, const Record& record) {
  std::ostringstream text;
  write_record(text, record);
  program.store_text(name, text.str());
}

/// part1.txt to part3.txt of a finished campaign.
void store_shards(const Program& program) {
  for (std::uint64_t index = 1; index <= shards; ++index)
    store_record(program, "part" + std::to_string(index) + ".txt",
                 finished_record({1, 2000, {index, shards}}));
}

TEST_CASE("verify: --merge adds shards up to the record of one run") {
  const Program program;
  store_shards(program);
  store_record(program, "expected.txt", finished_record({1, 2000, {}}));
  const std::string text =
      output_of(program, "verify --merge part3.txt part1.txt part2.txt --record whole.txt");
  CHECK(
      text.starts_with("3 records: NVIDIA H200 (sm_90), driver 580.159.04, CUDA 13.0, nvcc "
                       "13.0.88, bitmma 0.1.0, 2026-11-30\nseed 1, 2000 outputs"));
  CHECK(text.find("no gaps, no overlaps") != std::string::npos);
  const auto files = program.files();
  CHECK(files.at((program.work() / "whole.txt").string()) ==
        files.at((program.work() / "expected.txt").string()));
}

TEST_CASE("verify: --merge names the missing shard, gaps and overlaps, and exits 1") {
  const Program program;
  store_shards(program);
  const std::string gaps = output_of(program, "verify --merge part1.txt part3.txt", 1);
  CHECK(gaps.find("missing shards:\n  2/3\n") != std::string::npos);
  CHECK(gaps.find("m8n8k4.f16.f16.f16.f16 registers ties: tiles ") != std::string::npos);
  CHECK(gaps.find("and 1 more") != std::string::npos);

  const std::string twice =
      output_of(program, "verify --merge part1.txt part2.txt part3.txt part2.txt", 1);
  CHECK(twice.find("in part2.txt and part2.txt") != std::string::npos);
}

TEST_CASE("verify: --merge --json has the totals, the gaps and the overlaps") {
  const Program program;
  store_shards(program);
  const auto whole = nlohmann::json::parse(
      output_of(program, "verify --json --merge part1.txt part2.txt part3.txt"));
  CHECK(whole["complete"] == true);
  CHECK(whole["gaps"].empty());
  CHECK(whole["mismatches"] == 0);
  CHECK(whole["kernels"].size() == 3);
  CHECK(whole["kernels"][2]["a"] == "shared");
  const auto part =
      nlohmann::json::parse(output_of(program, "verify --json --merge part1.txt part1.txt", 1));
  CHECK(whole["missing_shards"].empty());
  CHECK(part["complete"] == false);
  CHECK(part["missing_shards"] == nlohmann::json{"2/3", "3/3"});
  CHECK(part["gaps"][0]["instr"] == "m8n8k4.f16.f16.f16.f16");
  CHECK(part["overlaps"][0]["files"] == nlohmann::json{"part1.txt", "part1.txt"});
  CHECK(part["overlaps"][0]["contradicts"] == false);
}

/// The message of the error that resuming the plan from the file gives.
std::string resume_error(const std::filesystem::path& file, const Record& planned) {
  try {
    resume(file.string(), planned);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

TEST_CASE("verify: a stopped campaign goes on from its file and ends as one run does") {
  const Program program;
  const std::filesystem::path file = program.work() / "r.txt";
  const CampaignDevice device = faultless_device(*find_target("sm_90"));
  Record record = resume(file.string(), small_record({1, 2000, {}}));
  CHECK_FALSE(run_record({file.string(), std::chrono::seconds(0)}, record, device));
  CHECK(std::ranges::count_if(record.lines, &RecordLine::is_complete) == 1);

  Record again = small_record({1, 2000, {}});
  again.provenance.date = "2026-12-24";
  again = resume(file.string(), again);
  CHECK(again.lines == record.lines);
  CHECK_FALSE(run_record({file.string(), std::nullopt}, again, device));
  const Record kept = read_record_file(file.string());
  CHECK(kept.lines == finished_record({1, 2000, {}}).lines);
  CHECK(kept.provenance.date == "2026-11-30");
}

TEST_CASE("verify: a file with another campaign is not gone on with") {
  const Program program;
  store_record(program, "r.txt", small_record({1, 2000, {}}));
  const std::filesystem::path file = program.work() / "r.txt";
  CHECK(resume_error(file, small_record({1, 2000, {}})) == "no error");
  const std::string other = file.string() +
                            ": holds another campaign (seed 1, count 2000, shard 1/1, NVIDIA H200, "
                            "driver 580.159.04, nvcc 13.0.88, bitmma 0.1.0)";
  for (const CampaignCases& cases :
       {CampaignCases{2, 2000, {}}, CampaignCases{1, 2001, {}}, CampaignCases{1, 2000, {1, 2}},
        CampaignCases{1, 2000, {}, cases_version + 1}})
    CHECK(resume_error(file, small_record(cases)).starts_with(other));
  Record planned = small_record({1, 2000, {}});
  planned.lines.pop_back();
  CHECK(resume_error(file, planned).starts_with(other));
  planned = small_record({1, 2000, {}});
  planned.provenance.driver = "600";
  CHECK(resume_error(file, planned).starts_with(other));

  Record found = finished_record({1, 2000, {}});
  found.lines[0].mismatches = 1;
  store_record(program, "r.txt", found);
  CHECK(resume_error(file, small_record({1, 2000, {}})) ==
        file.string() + ": ended with a mismatch; name another file to run it again");
}

/// The mismatch of a campaign whose device gets every last bit wrong.
Mismatch found_mismatch(Record& record) {
  const CampaignDevice device =
      emulated_device(*find_target("sm_90"), [](const Batch&, std::vector<Code>& d) {
        for (Code& code : d) code ^= 1;
      });
  return run_campaign(record, device, [](const RecordLine&) { return true; }).value();
}

TEST_CASE("verify: a mismatch is shown with its replay, its case and its explanation") {
  Record record = small_record({9, 2000, {}});
  const Mismatch mismatch = found_mismatch(record);
  const std::string text = mismatch_text(mismatch, 9);
  const std::string replay =
      "bitmma verify --instr m8n8k4.f16.f16.f16.f16 --a-from registers --family ties --seed 9 "
      "--tile 0";
  CHECK(text.starts_with(
      "MISMATCH m8n8k4.f16.f16.f16.f16 registers ties, tile 0, row 0, column 0: GPU 0x"));
  CHECK(text.find(replay + "\n") != std::string::npos);
  CHECK(text.find("correctly rounded") != std::string::npos);

  const std::size_t start = text.find("explain --cuda 13.0 --case");
  REQUIRE(start != std::string::npos);
  const std::string explained =
      output_of(Program(), text.substr(start, text.find('\n', start) - start));
  CHECK(explained.find(", DIFFERENT") != std::string::npos);

  const auto json = nlohmann::json::parse(record_json(record, mismatch))["first_mismatch"];
  CHECK(json["replay"] == replay);
  CHECK(json["tile"] == 0);
  CHECK(json["gpu"] != json["emulator"]);
  CHECK(json["explanation"]["result"] == json["emulator"]);
  CHECK(nlohmann::json::parse(record_json(record, std::nullopt))["first_mismatch"].is_null());
}

TEST_CASE("verify: a mismatch in a merged record exits 1") {
  const Program program;
  Record record = finished_record({1, 2000, {}});
  record.lines[0].mismatches = 1;
  store_record(program, "found.txt", record);
  output_of(program, "verify --merge found.txt", 1);
}

TEST_CASE("verify: files that cannot be merged are refused by name") {
  const Program program;
  store_shards(program);
  program.store_text("note.txt", "hello\n");
  store_record(program, "other.txt", small_record({2, 2000, {}}));
  check_refused(program, "verify --merge part1.txt note.txt",
                "note.txt: line 1: expected '# bitmma");
  check_refused(program, "verify --merge part1.txt other.txt",
                "other.txt: seed 2, but part1.txt has 1");
  check_refused(program, "verify --merge absent.txt", "absent.txt: no such file");
  check_refused(program, "verify --merge part1.txt --record no/such/folder.txt", "no/such/folder");
  check_refused(program, "verify --merge .", ".: is a folder; name a file to read");
  check_refused(program, "verify --merge /dev/null", "/dev/null: is not a regular file");
  Record older = small_record({1, 2000, {2, shards}});
  older.provenance.nvcc = "12.6.85";
  store_record(program, "older.txt", older);
  check_refused(program, "verify --merge part1.txt older.txt",
                "older.txt: nvcc 12.6.85, but part1.txt has 13.0.88");
}

TEST_CASE("verify: wrong arguments are refused with the choices") {
  const Program program;
  check_refused(program, "verify --count 0", "--count 0: choose 1 to 1000000000000000");
  check_refused(program, "verify --count -1", "-1 is no whole number");
  check_refused(program, "verify --shard 0/8", "--shard: 0/8 is no shard; choose 1/8 to 8/8");
  check_refused(program, "verify --shard 8", "--shard: 8 is no shard; choose I/N, such as 1/8");
  check_refused(program, "verify --family tied", "near_floor");
  check_refused(program, "verify --a-from memory", "registers");
  check_refused(program, "verify --instr m16n8k9", "unknown instruction");
  check_refused(program, "verify --seconds 99999999999", "--seconds 99999999999: choose 1 to");
  check_refused(program, "verify --merge r.txt --seed 3", "--merge");
  check_refused(program, "verify --tile 3 --record r.txt", "--tile");
  check_refused(program, "verify --golden g.txt --golden-rows 0", "--golden-rows 0");
  check_refused(program, "verify --golden r.txt --record ./r.txt",
                "--golden r.txt: is --record's file; name another one");
  check_refused(program, "verify --instr m16n8k8.f32.f16.f16.f32 --a-from shared",
                "--a-from shared: m16n8k8.f32.f16.f16.f32 takes A from registers");
}

TEST_CASE("verify: says where there is no CUDA device") {
  if (!devices().empty()) {
    MESSAGE("skipped: there is a CUDA device");
    return;
  }
  const Program program;
  check_refused(program, "verify --record r.txt", "no CUDA device");
}

}  // namespace
}  // namespace bitmma::test
