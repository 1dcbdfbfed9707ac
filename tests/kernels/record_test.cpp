#include "bitmma/kernels/record.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "bitmma/tests/kernels/emulated_campaign.hpp"

namespace bitmma {
namespace {

std::string text_of(const Record& record) {
  std::ostringstream text;
  write_record(text, record);
  return text.str();
}

Record record_of(const std::string& text) {
  std::istringstream in(text);
  return read_record(in);
}

/// The message of the error that the text gives.
std::string error_of(const std::string& text) {
  try {
    record_of(text);
  } catch (const RecordError& error) {
    return error.what();
  }
  return "no error";
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

TEST_CASE("a record is read as it was written") {
  const Record record = test::finished_record({7, 3000, {2, 3}});
  const Record read = record_of(text_of(record));
  CHECK(read.provenance == record.provenance);
  CHECK(read.cases == record.cases);
  CHECK(read.lines == record.lines);
  CHECK(text_of(read) == text_of(record));
}

TEST_CASE("a record is text with its provenance at the head") {
  Record record = test::small_record({2, 100, {}});
  record.lines.resize(1);
  record.lines[0].outputs = 256;
  record.lines[0].digest = 0xABC;
  CHECK(
      text_of(record) ==
      "# bitmma verify: outputs of a GPU compared with the emulator's, bit for bit\n"
      "# gpu: NVIDIA H200\n# target: sm_90\n# driver: 580.159.04\n# cuda: 13.0\n"
      "# nvcc: 13.0.88\n# bitmma: 0.1.0\n# date: 2026-11-30\n# cases: 1\n# seed: 2\n# count: 100\n"
      "# shard: 1/1\n# lines: 1\n# instruction a family first_tile tiles outputs mismatches "
      "digest\n"
      "m8n8k4.f16.f16.f16.f16 registers ties 0 4 256 0 0000000000000abc\n");
}

TEST_CASE("a text that is no record is refused by its line") {
  Record record = test::small_record({2, 100, {}});
  record.lines.resize(1);
  const std::string text = text_of(record);
  const std::string line = "m8n8k4.f16.f16.f16.f16 registers ties 0 4 0 0 0000000000000000";
  CHECK(error_of("") ==
        "line 1: expected '# bitmma verify: outputs of a GPU compared with the "
        "emulator's, bit for bit'");
  CHECK(error_of(replaced(text, "# driver", "# drivel")) == "line 4: expected '# driver: '");
  CHECK(error_of(replaced(text, "seed: 2", "seed: two")) == "line 10: two is no whole number");
  CHECK(error_of(replaced(text, "shard: 1/1", "shard: 2/1")) ==
        "line 12: 2/1 is no shard; choose 1/1 to 1/1");
  CHECK(error_of(replaced(text, "shard: 1/1", "shard: 01/1")) ==
        "line 12: 01/1 is no shard; choose I/N, such as 1/8, with N up to 1000000");
  CHECK(error_of(replaced(text, "seed: 2", "seed: 02")) == "line 10: 02 is no whole number");
  CHECK(error_of(replaced(text, "count: 100", "count: 0")) ==
        "line 11: count is not from 1 to 1000000000000000");
  CHECK(error_of(replaced(text, "count: 100", "count: 9999999999999999")) ==
        "line 11: count is not from 1 to 1000000000000000");
  CHECK(error_of(replaced(text, "sm_90", "sm_91")) ==
        "line 3: sm_91 is no target; choose from sm_70, sm_72, sm_75, sm_80, sm_86, sm_87, sm_89, "
        "sm_90, sm_100, sm_103, sm_110, sm_120");
  CHECK(error_of(replaced(text, "13.0.88", "new")) ==
        "line 6: nvcc new is no version such as 13.0.88");
  CHECK(error_of(replaced(text, "13.0.88", "13.0.88, new")) ==
        "line 6: nvcc new is no version such as 13.0.88");
  CHECK(error_of(replaced(text, line + "\n", "")) == "line 15: the file ends after 0 of 1 lines");
  const auto line_error = [&](const std::string& other) {
    return error_of(replaced(text, line, other));
  };
  const std::string name = "m8n8k4.f16.f16.f16.f16";
  const std::string columns = "line 15: expected 8 columns with one blank between them";
  CHECK(line_error(name) == columns);
  CHECK(line_error(name + "  registers ties 0 4 0 0 0000000000000000") == columns);
  CHECK(line_error(name + " registers ties 0 4 0 0 0000000000000000 ") == columns);
  CHECK(line_error(name + " registers ties 0 04 0 0 0000000000000000") ==
        "line 15: 04 is no whole number");
  CHECK(line_error("m8n8k5.f16 registers ties 0 4 0 0 0000000000000000") ==
        "line 15: m8n8k5.f16 is no instruction with a kernel; 'bitmma list' shows all");
  CHECK(line_error("wgmma.m64nNk16.f16.f16.f16 shared ties 0 4 0 0 0000000000000000") ==
        "line 15: wgmma.m64nNk16.f16.f16.f16 is no instruction with a kernel; 'bitmma list' shows "
        "all");
  CHECK(line_error(name + " memory ties 0 4 0 0 0000000000000000") ==
        "line 15: memory: choose registers or shared");
  CHECK(line_error(name + " registers tied 0 4 0 0 0000000000000000") ==
        "line 15: tied is no family; choose from normal, uniform, any_bits, any_finite_bits, "
        "special_mix, tiny, huge, wide_log_uniform, cancellation, signed_zeros, exhaustive, "
        "near_overflow, near_floor, ties");
  CHECK(line_error(name + " registers ties 18446744073709551612 4 0 0 0000000000000000") ==
        "line 15: more tiles than the count has");
  CHECK(line_error(name + " registers ties 1 4 0 0 0000000000000000") ==
        "line 15: tiles are not whole instructions");
  CHECK(line_error(name + " registers ties 0 2 0 0 0000000000000000") ==
        "line 15: tiles are not whole instructions");
  CHECK(line_error(name + " registers ties 0 4 64 0 0000000000000000") ==
        "line 15: outputs are not whole instructions");
  CHECK(line_error(name + " registers ties 0 4 512 0 0000000000000000") ==
        "line 15: more outputs than the tiles have");
  CHECK(line_error(name + " registers ties 0 4 256 257 0000000000000000") ==
        "line 15: more mismatches than outputs");
  CHECK(line_error(name + " shared ties 0 4 256 0 0000000000000000") ==
        "line 15: m8n8k4.f16.f16.f16.f16 takes A from registers");
  for (const std::string digest : {"abc", "0000000000000ABC", "xyzxyzxyzxyzxyzx"})
    CHECK(line_error(name + " registers ties 0 4 256 0 " + digest) ==
          "line 15: " + digest + " is no digest: 16 hexadecimal digits");
  CHECK(line_error(name + " registers ties 0 8 256 0 0000000000000000") ==
        "line 15: more tiles than the count has");
}

TEST_CASE("a damaged record is refused, without repeating much of it") {
  Record record = test::small_record({2, 100, {}});
  record.lines.resize(1);
  const std::string text = text_of(record);
  CHECK(error_of(replaced(text, "ties 0", std::string(2000, 'x'))) ==
        "line 15: the line is longer than a record's");
  CHECK(error_of(replaced(text, "ties", std::string(100, 'x')))
            .starts_with("line 15: " + std::string(60, 'x') + "... is no family"));
  CHECK(error_of(replaced(text, "H200", "H\xFF")) ==
        "line 2: byte 16 is no printable ASCII character");
  CHECK(error_of(replaced(text, "H200", std::string("H2\0000", 5))) ==
        "line 2: byte 17 is no printable ASCII character");
  CHECK(error_of(replaced(text, "ties 0", "ties\t0")) ==
        "line 15: byte 38 is no printable ASCII character");
  CHECK(error_of(text.substr(0, text.size() - 1)) ==
        "line 15: the file ends in the middle of the line");
  CHECK(error_of(replaced(text, "mismatches digest", "mismatches digest, and more"))
            .starts_with("line 14: expected '# instruction a family"));
  CHECK(error_of(replaced(text, "# driver: 580.159.04", "# driver: 580.159.04\r")) ==
        "line 4: the line ends in CR LF; convert the file to LF");
}

TEST_CASE("a record's lines are its shard's, and no tile stands there twice") {
  const std::string text = text_of(test::small_record({2, 5000, {2, 3}}));
  CHECK(error_of(text) == "no error");
  CHECK(error_of(replaced(text, "shard: 2/3", "shard: 1/3")) ==
        "line 15: not the tiles of shard 1/3");
  Record record = test::small_record({2, 5000, {}});
  record.lines.push_back(record.lines[1]);
  CHECK(error_of(text_of(record)) ==
        "line 25: the file has tiles of m8n8k4.f16.f16.f16.f16 near_floor twice");
  record.lines.back().first_tile += 4;
  record.lines.back().tiles -= 4;
  CHECK(error_of(text_of(record)) ==
        "line 25: the file has tiles of m8n8k4.f16.f16.f16.f16 near_floor twice");
  record.lines[1].tiles = 4;
  CHECK(error_of(text_of(record)) == "no error");
}

TEST_CASE("a record's kernels are on its target, and its toolkits compile them") {
  Record record = test::small_record({2, 100, {}});
  std::swap(record.lines.front(), record.lines.back());
  const std::string text = text_of(record);
  CHECK(error_of(replaced(text, "sm_90", "sm_80")) ==
        "line 15: wgmma.m64n24k32.f16.e4m3.e5m2 is not on sm_80");
  CHECK(error_of(replaced(text, "sm_90", "sm_90a")).starts_with("line 3: sm_90a is no target"));
  CHECK(error_of(replaced(text, "13.0.88", "11.7.99")) ==
        "line 6: sm_90 needs nvcc 11.8 or later, not 11.7");
  CHECK(error_of(replaced(text, "13.0.88", "11.8.89")) ==
        "line 15: wgmma.m64n24k32.f16.e4m3.e5m2 needs nvcc 12.0 or later, not 11.8");
  CHECK(error_of(replaced(text, "13.0.88", "11.8.89, 12.6.85")) == "no error");
  CHECK(error_of(replaced(text, "13.0.88", "12.6.85, 13.0.88")) ==
        "line 6: nvcc 12.6.85, 13.0.88 compile to different machine instructions");
  CHECK(error_of(replaced(text, "13.0.88", "12.8.93, 13.0.88")) == "no error");
}

TEST_CASE("a record of other cases is read, since its totals stand for themselves") {
  const std::string text = text_of(test::small_record({2, 100, {}}));
  CHECK(record_of(replaced(text, "cases: 1", "cases: 77")).cases.version == 77);
}

TEST_CASE("a record is complete when every tile of its shard is done") {
  for (const Shard shard : {Shard{1, 1}, Shard{2, 3}}) {
    const Record record = test::filled_record({7, 5000, shard});
    CHECK(is_complete(record));
    Record part = record;
    const RecordLine line = part.lines[1];
    const std::uint64_t done = 4;
    part.lines[1].outputs = test::outputs_before(find_instruction(line.instruction).value(), done);
    REQUIRE(gaps_of(part).size() == 1);
    const TileRange rest = range_of(line, line.first_tile + done, line.first_tile + line.tiles);
    CHECK(gaps_of(part).front() == rest);
    CHECK(outputs_of(gaps_of(part)) == line.outputs - part.lines[1].outputs);
    // That the line has no more to do changes nothing: the campaign has.
    part.lines[1].tiles = done;
    CHECK(gaps_of(part).front() == rest);
    CHECK_FALSE(is_complete(part));
  }
}

TEST_CASE("a tile alone is complete when its instruction is done") {
  CampaignCases cases{7, 5000, {}};
  cases.tile = 4'000'001;
  Record record = test::small_record(cases);
  CHECK(record.lines.front().first_tile == 4'000'000);
  CHECK(record.lines.front().tiles == 4);
  CHECK(record.lines.back().first_tile == 4'000'001);
  CHECK(record.lines.back().tiles == 1);
  CHECK_FALSE(is_complete(record));
  for (RecordLine& line : record.lines)
    line.outputs = test::outputs_before(find_instruction(line.instruction).value(), line.tiles);
  CHECK(is_complete(record));
}

TEST_CASE("provenance as a sentence has every field") {
  CHECK(provenance_text(test::small_record({}).provenance) ==
        "NVIDIA H200, sm_90, driver 580.159.04, CUDA 13.0, nvcc 13.0.88, bitmma 0.1.0, 2026-11-30");
}

TEST_CASE("shards are read as I/N, from 1") {
  CHECK(parse_shard("3/8") == Shard{3, 8});
  CHECK(shard_text({3, 8}) == "3/8");
  for (const char* text :
       {"", "3", "0/8", "9/8", "1/0", "-1/2", "1/2/3", "1/1000001", " 1/2", "1/02"}) {
    CAPTURE(std::string(text));
    CHECK_THROWS_AS(parse_shard(text), RecordError);
  }
}

TEST_CASE("shards share out every tile once, to within one instruction") {
  for (const std::uint64_t count : {1U, 255U, 256U, 100'000U})
    for (const std::uint64_t shards : {1U, 3U, 8U, 1000U}) {
      const Record whole = test::small_record({1, count, {}});
      std::map<std::size_t, std::uint64_t> reached;
      for (std::uint64_t index = 1; index <= shards; ++index) {
        const Record shard = test::small_record({1, count, {index, shards}});
        REQUIRE(shard.lines.size() == whole.lines.size());
        for (std::size_t i = 0; i < whole.lines.size(); ++i) {
          CHECK(shard.lines[i].first_tile == reached[i]);
          reached[i] += shard.lines[i].tiles;
          const auto blocks = static_cast<std::uint64_t>(
              find_instruction(whole.lines[i].instruction).value().blocks());
          const std::uint64_t mean = whole.lines[i].tiles / blocks / shards;
          CHECK(shard.lines[i].tiles / blocks >= mean);
          CHECK(shard.lines[i].tiles / blocks <= mean + 1);
        }
      }
      for (std::size_t i = 0; i < whole.lines.size(); ++i)
        CHECK(reached[i] == whole.lines[i].tiles);
    }
}

TEST_CASE("a campaign's families begin with those that are aimed at a step's edge cases") {
  const std::vector<NamedFamily> families = campaign_families();
  CHECK(families.size() == std::size(input_families));
  CHECK(families.front().name == "ties");
  CHECK(families[1].name == "near_floor");
}

}  // namespace
}  // namespace bitmma
