#include "bitmma/kernels/merge.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "bitmma/tests/kernels/emulated_campaign.hpp"

namespace bitmma {
namespace {

constexpr std::uint64_t seed = 5;
constexpr std::uint64_t count = 4000;

std::vector<NamedRecord> shards(std::uint64_t number) {
  std::vector<NamedRecord> records;
  for (std::uint64_t index = 1; index <= number; ++index)
    records.push_back({"part" + std::to_string(index) + ".txt",
                       test::filled_record({seed, count, {index, number}})});
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
    std::vector<NamedRecord> records;
    for (std::uint64_t index = 1; index <= number; ++index)
      records.push_back({"part.txt", test::finished_record({seed, count, {index, number}})});
    const Merge merge = merge_records(records);
    CHECK(merge.gaps.empty());
    CHECK(merge.overlaps.empty());
    CHECK(merge.record.provenance == whole.provenance);
    CHECK(merge.record.cases == whole.cases);
    CHECK(merge.record.lines == whole.lines);
  }
}

std::string text_of(const Record& record) {
  std::ostringstream text;
  write_record(text, record);
  return text.str();
}

/// The families of a record, each in a record of its own.
std::vector<NamedRecord> by_family(const Record& whole) {
  std::vector<NamedRecord> records;
  for (const RecordLine& line : whole.lines) {
    auto own = std::ranges::find(records, line.family, &NamedRecord::name);
    if (own == records.end())
      own = records.insert(own, {line.family, {whole.provenance, whole.cases, {}}});
    own->record.lines.push_back(line);
  }
  return records;
}

TEST_CASE("a merge has the order of a campaign, whatever the records and their order") {
  const Record whole = test::filled_record({seed, count, {}});
  std::vector<NamedRecord> mixed = by_family(whole);
  REQUIRE(mixed.size() == 3);
  // Of one family there are shards, of different kernels.
  const std::vector<NamedRecord> parts = shards(2);
  const std::string family = mixed.back().name;
  mixed.pop_back();
  for (const NamedRecord& part : parts) {
    mixed.push_back(part);
    std::erase_if(mixed.back().record.lines,
                  [&](const RecordLine& line) { return line.family != family; });
  }
  for (std::vector<NamedRecord> records : {shards(3), mixed}) {
    std::ranges::sort(records, {}, &NamedRecord::name);
    do {
      CHECK(text_of(merge_records(records).record) == text_of(whole));
    } while (std::ranges::next_permutation(records, {}, &NamedRecord::name).found);
  }
}

TEST_CASE("of what no record did anything, a sum keeps a line, and a sum of sums the gap") {
  std::vector<NamedRecord> records = shards(2);
  const RecordLine undone = test::small_record({seed, count, {}}).lines[4];
  for (NamedRecord& record : records) {
    record.record.lines[4].outputs = 0;
    record.record.lines[4].digest = 0;
  }
  const std::vector<TileRange> gaps{range_of(undone, 0, undone.tiles)};
  Merge merge = merge_records(records);
  CHECK(merge.record.lines[4] == undone);
  CHECK(merge.gaps == gaps);
  merge = merge_records(std::vector<NamedRecord>{{"sum.txt", merge.record}});
  CHECK(merge.record.lines[4] == undone);
  CHECK(merge.gaps == gaps);
  CHECK_FALSE(is_complete(merge.record));
}

TEST_CASE("a sum with gaps is not complete, and a sum of sums has the gaps too") {
  std::vector<NamedRecord> records = shards(3);
  records.erase(records.begin() + 1);
  const Merge merge = merge_records(records);
  CHECK_FALSE(is_complete(merge.record));
  CHECK(merge_records(std::vector<NamedRecord>{{"sum.txt", merge.record}}).gaps == merge.gaps);
}

TEST_CASE("a record that has not begun overlaps nothing") {
  const std::vector<NamedRecord> records{{"whole.txt", test::filled_record({seed, count, {}})},
                                         {"begun.txt", test::small_record({seed, count, {}})}};
  const Merge merge = merge_records(records);
  CHECK(merge.overlaps.empty());
  CHECK(merge.record.lines == records[0].record.lines);
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
  CHECK(merge.record.lines == test::filled_record({seed, count, {}}).lines);

  CHECK_FALSE(is_contradictory(merge));

  records.back().record.lines[0].digest ^= 1;
  merge = merge_records(records);
  CHECK(merge.overlaps[0].contradicts);
  CHECK_FALSE(merge.overlaps[1].contradicts);
  CHECK(is_contradictory(merge));
}

TEST_CASE("lines of the same tiles contradict each other by their mismatches alone") {
  std::vector<NamedRecord> records = shards(2);
  records.push_back({"again.txt", records[0].record});
  records.back().record.lines[0].mismatches = 1;
  const Merge merge = merge_records(records);
  CHECK(merge.overlaps[0].contradicts);
  CHECK_FALSE(merge.overlaps[1].contradicts);
}

TEST_CASE("lines that contradict each other are found beside a longer one") {
  const Record whole = test::filled_record({seed, count, {}});
  std::vector<NamedRecord> records = shards(2);
  records.push_back({"whole.txt", whole});
  records.push_back({"again.txt", records[0].record});
  CHECK_FALSE(is_contradictory(merge_records(records)));
  records.back().record.lines[0].digest ^= 1;
  const Merge merge = merge_records(records);
  const auto found = std::ranges::find_if(merge.overlaps, &Overlap::contradicts);
  REQUIRE(found != merge.overlaps.end());
  CHECK(std::min(found->first, found->second) == "again.txt");
  CHECK(std::max(found->first, found->second) == "part1.txt");
}

TEST_CASE("mismatches of a line that is given twice count once, and the larger count stands") {
  std::vector<NamedRecord> records = shards(2);
  records[0].record.lines[0].mismatches = 2;
  records[1].record.lines[0].mismatches = 3;
  records.push_back({"again.txt", records[0].record});
  records.push_back({"more.txt", records[1].record});
  Merge merge = merge_records(records);
  CHECK(merge.record.lines[0].mismatches == 5);
  CHECK_FALSE(is_contradictory(merge));
  records.back().record.lines[0].mismatches = 7;
  merge = merge_records(records);
  CHECK(merge.record.lines[0].mismatches == 9);
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
  const Record whole = test::filled_record({seed, count, {}});
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
