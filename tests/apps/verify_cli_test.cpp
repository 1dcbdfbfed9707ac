#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

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
      text.starts_with("3 records: NVIDIA H200, sm_90, driver 580.159.04, CUDA 13.0, nvcc "
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

TEST_CASE("verify: --merge of records of two families has each kernel once, in either order") {
  const Program program;
  std::vector<std::string> names;
  for (const std::string name : {"every_n_normal.txt", "every_n_any_bits.txt"}) {
    names.push_back(name);
    std::filesystem::copy(std::filesystem::path(BITMMA_SOURCE_DIR) / "tests/vectors/sm_90" / name,
                          program.work() / name);
  }
  const auto merged = [&](const std::string& files, const std::string& sum) {
    const auto json = nlohmann::json::parse(
        output_of(program, "verify --json --merge " + files + " --record " + sum));
    CHECK(json["complete"] == true);
    CHECK(json["kernels"].size() == 804);
    CHECK(json["kernels"][0]["families"] == nlohmann::json{"any_bits", "normal"});
    return program.files().at((program.work() / sum).string());
  };
  const std::string sum = merged(names[0] + " " + names[1], "one.txt");
  CHECK(merged(names[1] + " " + names[0], "other.txt") == sum);
  CHECK(merged("one.txt", "again.txt") == sum);
}

TEST_CASE("verify: a sum with gaps is not complete, nor is the sum of that") {
  const Program program;
  store_shards(program);
  output_of(program, "verify --merge part1.txt part3.txt --record sum.txt", 1);
  const auto json = nlohmann::json::parse(output_of(program, "verify --json --merge sum.txt", 1));
  CHECK(json["complete"] == false);
  CHECK(json["missing_shards"].empty());
  CHECK(json["gaps"].size() == 9);
}

TEST_CASE("verify: records that contradict each other are shown, and have no sum") {
  const Program program;
  Record record = finished_record({1, 2000, {}});
  store_record(program, "one.txt", record);
  record.lines[0].digest ^= 1;
  store_record(program, "other.txt", record);
  for (const std::string option : {"", "--json "}) {
    const auto files = program.files();
    const Outcome outcome =
        program.run("verify " + option + "--merge one.txt other.txt --record sum.txt");
    CHECK(outcome.status == 1);
    CHECK(outcome.err == "bitmma: sum.txt: not written, for the records contradict each other\n");
    CHECK(program.files() == files);
    if (option.empty())
      CHECK(outcome.out.find("txt, which contradict each other\n") != std::string::npos);
    else
      CHECK(nlohmann::json::parse(outcome.out)["contradictory"] == true);
  }
}

TEST_CASE("verify: a sum replaces a record, but none that it is made of, and no other file") {
  const Program program;
  store_shards(program);
  program.store_text("note.txt", "hello\n");
  std::filesystem::create_symlink("part1.txt", program.work() / "link.txt");
  const std::string merge = "verify --merge part1.txt part2.txt part3.txt --record ";
  const std::string reason = "is one of the records to add up; name another file";
  check_refused(program, merge + "part2.txt", "--record part2.txt: " + reason);
  check_refused(program, merge + "../work/./part1.txt", reason);
  check_refused(program, merge + "link.txt", "--record link.txt: " + reason);
  check_refused(program, merge + "note.txt",
                "note.txt: line 1: expected '# bitmma verify: outputs of a GPU compared with the "
                "emulator's, bit for bit'; --record replaces a record alone");
  store_record(program, "old.txt", small_record({2, 100, {}}));
  output_of(program, merge + "old.txt");
  CHECK(read_record_file((program.work() / "old.txt").string()).cases.seed == 1);
}

TEST_CASE("verify: a symbolic link that leads nowhere is no file to write") {
  const Program program;
  store_shards(program);
  std::filesystem::create_symlink("nowhere.txt", program.work() / "link.txt");
  check_refused(program, "verify --merge part1.txt --record link.txt",
                "link.txt: is a symbolic link that leads nowhere; name a file to write");
  CHECK(std::filesystem::is_symlink(program.work() / "link.txt"));
}

TEST_CASE("verify: --json names a file whose name is no UTF-8") {
  const Program program;
  store_record(program, "p\xFF.txt", finished_record({1, 2000, {}}));
  const auto json =
      nlohmann::json::parse(output_of(program, "verify --json --merge p\xFF.txt p\xFF.txt", 1));
  CHECK(json["overlaps"][0]["files"][0] == "p\xEF\xBF\xBD.txt");
}

TEST_CASE("verify: a long result that cannot be printed is one clear line") {
  const Program program;
  const std::string records = BITMMA_SOURCE_DIR "/tests/vectors/sm_90/every_n_normal.txt";
  for (const char* lost : {">&-", ">/dev/full"}) {
    const Outcome outcome = program.run("verify --merge " + records, "", lost);
    CHECK(outcome.status == 2);
    CHECK(outcome.err == "bitmma: cannot write all of the standard output\n");
  }
}

TEST_CASE("verify: of very many missing shards JSON has the count and the first ones") {
  const Program program;
  store_record(program, "part.txt", finished_record({1, 2000, {7, 1'000'000}}));
  const auto json = nlohmann::json::parse(output_of(program, "verify --json --merge part.txt", 1));
  CHECK(json["missing_shard_count"] == 999'999);
  REQUIRE(json["missing_shards"].size() == 1000);
  CHECK(json["missing_shards"][6] == "8/1000000");
}

TEST_CASE("verify: the result of a tile alone tells of no shard") {
  CampaignCases cases{9, 2000, {}};
  cases.tile = 5;
  Record record = small_record(cases);
  CHECK_FALSE(run_campaign(record, faultless_device(*find_target("sm_90")), [] { return true; }));
  const std::string text = totals_text(record);
  CHECK(text.find("\nseed 9, tile 5\n") != std::string::npos);
  CHECK(text.find("shard") == std::string::npos);
  const auto json = nlohmann::json::parse(record_json(record, std::nullopt));
  CHECK(json["tile"] == 5);
  CHECK(json["complete"] == true);
  CHECK_FALSE(json.contains("count"));
  CHECK_FALSE(json.contains("shard"));
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
  const auto check = [&](const Record& planned, const std::string& difference) {
    CHECK(resume_error(file, planned) ==
          file.string() + ": holds another campaign, of " + difference +
              "; give its options on such a machine to go on with it, or name another file");
  };
  check(small_record({2, 2000, {}}), "seed 1, not 2");
  check(small_record({2, 2001, {}}), "seed 1, not 2");
  check(small_record({1, 2001, {}}), "count 2000, not 2001");
  check(small_record({1, 2000, {1, 2}}), "shard 1/1, not 1/2");
  CHECK(resume_error(file, small_record({1, 2000, {}, cases_version + 1})) ==
        file.string() + ": made with cases 1, this build makes 2; name another file");
  for (const ProvenanceField& field : provenance_fields) {
    Record planned = small_record({1, 2000, {}});
    const std::string value = planned.provenance.*field.value;
    planned.provenance.*field.value = "600";
    if (field.value == &Provenance::date)
      CHECK(resume_error(file, planned) == "no error");
    else
      check(planned, std::string(field.name).append(" ").append(value).append(", not 600"));
  }
  Record planned = small_record({1, 2000, {}});
  const std::string last =
      "wgmma.m64n24k32.f16.e4m3.e5m2 shared near_overflow from tile 0, 2 tiles";
  planned.lines.pop_back();
  check(planned, "line " + last + ", not of no kernel");
  planned = small_record({1, 2000, {}});
  planned.lines.back().family = "ties";
  check(planned,
        "line " + last + ", not wgmma.m64n24k32.f16.e4m3.e5m2 shared ties from tile 0, 2 tiles");

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
  return run_campaign(record, device, [] { return true; }).value();
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
  CHECK_FALSE(json.contains("block"));
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
  check_refused(program, "verify --count -1", "-1 is no whole number from 0 to 10^18 - 1");
  check_refused(program, "verify --shard 1/1000001", "such as 1/8, with N up to 1000000");
  check_refused(program, "verify --tile 3 --count 7", "--tile");
  check_refused(program, "verify --tile 3 --golden g.txt", "--tile");
  check_refused(program, "verify --tile 61035156250",
                "--tile 61035156250: choose 0 to 61035156249, the last tile of wgmma.m64n256k16.");
  check_refused(program, "verify --tile 15625000000000 --instr m8n8k4.f16.f16.f16.f16",
                "choose 0 to 15624999999999, the last tile of m8n8k4.f16.f16.f16.f16");
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
  std::filesystem::create_symlink(".", program.work() / "here");
  check_refused(program, "verify --golden here/r.txt --record r.txt", "is --record's file");
  check_refused(program, "verify --instr m16n8k8.f32.f16.f16.f32 --a-from shared",
                "--a-from shared: m16n8k8.f32.f16.f16.f32 takes A from registers");
}

TEST_CASE("verify: says where there is no CUDA device") {
  if (!devices().empty()) {
    MESSAGE("skipped: there is a CUDA device");
    return;
  }
  const Program program;
  for (const std::string options :
       {"--record r.txt", "--golden g.txt", "--golden g.txt --record r.txt",
        "--tile 15624999999999 --instr m8n8k4.f16.f16.f16.f16"})
    check_refused(program, "verify " + options, "no CUDA device");
}

}  // namespace
}  // namespace bitmma::test
