#include "bitmma/kernels/merge.hpp"

#include <doctest/doctest.h>

#include "bitmma/tests/kernels/emulated_campaign.hpp"

namespace bitmma {
namespace {

constexpr std::uint64_t seed = 5;
constexpr std::uint64_t count = 4000;

std::vector<NamedRecord> shards(std::uint64_t number) {
  std::vector<NamedRecord> records;
  for (std::uint64_t index = 1; index <= number; ++index)
    records.push_back({"part" + std::to_string(index) + ".txt",
                       test::finished_record({seed, count, {index, number}})});
  return records;
}

std::string error_of(std::vector<NamedRecord> records, const std::function<void(Record&)>& change) {
  change(records.back().record);
  try {
    merge_records(records);
  } catch (const RecordError& error) {
    return error.what();
  }
  return "no error";
}

TEST_CASE("merged shards are the record of one run, digests included") {
  const Record whole = test::finished_record({seed, count, {}});
  for (const std::uint64_t number : {1U, 3U}) {
    const Merge merge = merge_records(shards(number));
    CHECK(merge.gaps.empty());
    CHECK(merge.overlaps.empty());
    CHECK(merge.record.provenance == whole.provenance);
    CHECK(merge.record.cases == whole.cases);
    CHECK(merge.record.lines == whole.lines);
  }
}

TEST_CASE("a merge does not depend on the order of the records") {
  std::vector<NamedRecord> records = shards(3);
  std::swap(records.front(), records.back());
  CHECK(merge_records(records).record.lines == test::finished_record({seed, count, {}}).lines);
}

TEST_CASE("a missing shard is a gap in every line") {
  for (const std::size_t missing : {0U, 1U, 2U}) {
    std::vector<NamedRecord> records = shards(3);
    const std::vector<RecordLine> lost = records[missing].record.lines;
    records.erase(records.begin() + static_cast<std::ptrdiff_t>(missing));
    const Merge merge = merge_records(records);
    REQUIRE(merge.gaps.size() == lost.size());
    for (std::size_t i = 0; i < lost.size(); ++i)
      CHECK(merge.gaps[i] == TileRange{lost[i].instruction, lost[i].a_source, lost[i].family,
                                       lost[i].first_tile, lost[i].tiles});
  }
}

TEST_CASE("a shard that stopped early leaves a gap") {
  std::vector<NamedRecord> records = shards(2);
  RecordLine& line = records[0].record.lines[1];
  const std::uint64_t tiles = line.tiles;
  line.outputs = 4 * test::outputs_before(find_instruction(line.instruction).value(), 1);
  const Merge merge = merge_records(records);
  REQUIRE(merge.gaps.size() == 1);
  CHECK(merge.gaps[0].first_tile == 4);
  CHECK(merge.gaps[0].tiles == tiles - 4);
}

TEST_CASE("a record that is given twice overlaps itself and counts once") {
  std::vector<NamedRecord> records = shards(2);
  records.push_back({"again.txt", records[0].record});
  Merge merge = merge_records(records);
  CHECK(merge.gaps.empty());
  REQUIRE(merge.overlaps.size() == records[0].record.lines.size());
  CHECK(merge.overlaps[0].first == "part1.txt");
  CHECK(merge.overlaps[0].second == "again.txt");
  CHECK_FALSE(merge.overlaps[0].contradicts);
  CHECK(merge.record.lines == test::finished_record({seed, count, {}}).lines);

  records.back().record.lines[0].digest ^= 1;
  merge = merge_records(records);
  CHECK(merge.overlaps[0].contradicts);
  CHECK_FALSE(merge.overlaps[1].contradicts);
}

TEST_CASE("lines that overlap in part are not added, and what they had alone is a gap") {
  std::vector<NamedRecord> records = shards(2);
  RecordLine& line = records[1].record.lines[0];
  const std::uint64_t tile = test::outputs_before(find_instruction(line.instruction).value(), 1);
  line.first_tile -= 4;
  line.outputs = line.tiles * tile;
  const Merge merge = merge_records(records);
  REQUIRE(merge.overlaps.size() == 1);
  CHECK(merge.overlaps[0].range.first_tile == line.first_tile);
  CHECK(merge.overlaps[0].range.tiles == 4);
  REQUIRE(merge.gaps.size() == 1);
  CHECK(merge.gaps[0].first_tile == line.first_tile + 4);
}

TEST_CASE("a part beside the whole is an overlap, in either order, and its mismatches stay") {
  const Record whole = test::finished_record({seed, count, {}});
  Record part = whole;
  part.lines.resize(1);
  part.lines[0].outputs = 256;
  part.lines[0].mismatches = 3;
  for (const bool swapped : {false, true}) {
    std::vector<NamedRecord> records{{"whole.txt", whole}, {"part.txt", part}};
    if (swapped) std::swap(records[0], records[1]);
    const Merge merge = merge_records(records);
    CHECK(merge.gaps.empty());
    CHECK(merge.overlaps.size() == 1);
    CHECK(merge.record.lines[0].mismatches == 3);
  }
}

TEST_CASE("records of two campaigns are not merged; several machines are listed") {
  const std::vector<NamedRecord> records = shards(2);
  const std::string end = "; merge the records of one campaign";
  CHECK(error_of(records, [](Record& record) { record.cases.seed = 6; }) ==
        "part2.txt: seed 6, but part1.txt has 5" + end);
  CHECK(error_of(records, [](Record& record) { record.cases.count = 6; }) ==
        "part2.txt: count 6, but part1.txt has 4000" + end);
  CHECK(error_of(records, [](Record& record) { record.provenance.target = "sm_80"; }) ==
        "part2.txt: target sm_80, but part1.txt has sm_90" + end);
  CHECK(error_of(records, [](Record& record) { record.cases.version = 9; }) ==
        "part2.txt: cases 9, but part1.txt has 1" + end);
  CHECK(error_of(records, [](Record& record) { record.provenance.nvcc = "12.6.85"; }) ==
        "part2.txt: nvcc 12.6.85, but part1.txt has 13.0.88" + end);
  std::vector<NamedRecord> elsewhere = records;
  elsewhere.back().record.provenance.driver = "580.95";
  elsewhere.back().record.provenance.date = "2026-12-01";
  elsewhere.back().record.provenance.nvcc = "12.8.93";
  elsewhere.back().record.provenance.bitmma = "0.2.0";
  const Record merged_record = merge_records(elsewhere).record;
  const Provenance& merged = merged_record.provenance;
  CHECK(merged.driver == "580.159.04, 580.95");
  CHECK(merged.date == "2026-11-30, 2026-12-01");
  CHECK(merged.gpu == "NVIDIA H200");
  CHECK(merged.nvcc == "12.8.93, 13.0.88");
  CHECK(merged.bitmma == "0.1.0, 0.2.0");

  // A value that a merge before listed is not listed again.
  const std::vector<NamedRecord> merges{{"sum.txt", merged_record}, elsewhere.back()};
  CHECK(merge_records(merges).record.provenance == merged);
}

}  // namespace
}  // namespace bitmma
