#include "bitmma/kernels/merge.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>

#include "bitmma/isa/instruction.hpp"
#include "bitmma/isa/lowering.hpp"
#include "bitmma/isa/target.hpp"

namespace bitmma {
namespace {

/// A line with the record that it comes from.
struct Piece {
  RecordLine line;
  std::string file;

  std::uint64_t end() const { return line.first_tile + line.done(); }
};

/// What each kernel did in each family, by first tile; of two that start alike, the longer first,
/// and equal ones together.
std::map<KernelAndFamily, std::vector<Piece>> group_lines(std::span<const NamedRecord> records) {
  std::map<KernelAndFamily, std::vector<Piece>> groups;
  for (const NamedRecord& record : records)
    for (const RecordLine& line : record.record.lines)
      groups[kernel_and_family(line)].push_back({line, record.name});
  for (auto& group : groups)
    std::ranges::stable_sort(group.second, {}, [](const Piece& piece) {
      const RecordLine& line = piece.line;
      return std::tuple(line.first_tile, ~piece.end(), line.digest, line.mismatches);
    });
  return groups;
}

bool same_tiles(const RecordLine& x, const RecordLine& y) {
  return x.first_tile == y.first_tile && x.outputs == y.outputs;
}

bool contradict(const RecordLine& x, const RecordLine& y) {
  return same_tiles(x, y) && (x.digest != y.digest || x.mismatches != y.mismatches);
}

/// Adds the line to the last one, if it follows that, or as one of its own.
void join(std::vector<RecordLine>& lines, const RecordLine& line, bool follows) {
  if (!follows) {
    lines.push_back(line);
    lines.back().tiles = line.done();
    return;
  }
  RecordLine& joined = lines.back();
  joined.tiles += line.done();
  joined.outputs += line.outputs;
  joined.mismatches += line.mismatches;
  joined.digest += line.digest;
}

/// A mismatch is not forgotten with the line that has it, and one that both have counts once.
void keep_mismatches(RecordLine& sum, RecordLine& added, const RecordLine& overlapping) {
  const std::uint64_t more = std::max(added.mismatches, overlapping.mismatches) - added.mismatches;
  added.mismatches += more;
  sum.mismatches = std::min(sum.outputs, sum.mismatches + more);
}

/// The line where no record did anything: all its tiles are to do.
RecordLine undone(RecordLine line, const CampaignCases& cases) {
  const Instruction row = find_instruction(line.instruction).value();
  const auto [first_tile, tiles] = tiles_of_shard(row, cases);
  line.first_tile = first_tile;
  line.tiles = tiles;
  return line;
}

void merge_group(std::vector<Piece> pieces, Merge& merge) {
  Piece* added = nullptr;  // the last one in the sum
  const Piece* previous = nullptr;
  std::vector<RecordLine>& lines = merge.record.lines;
  for (Piece& piece : pieces) {
    const RecordLine& line = piece.line;
    if (line.outputs == 0) continue;
    if (added != nullptr && line.first_tile < added->end()) {
      const Piece& other = same_tiles(previous->line, line) ? *previous : *added;
      merge.overlaps.push_back(
          {range_of(line, line.first_tile, std::min(added->end(), piece.end())), other.file,
           piece.file, contradict(other.line, line)});
      keep_mismatches(lines.back(), added->line, line);
    } else {
      join(lines, line, added != nullptr && line.first_tile == added->end());
      added = &piece;
    }
    previous = &piece;
  }
  if (added == nullptr) lines.push_back(undone(pieces.front().line, merge.record.cases));
}

void check_same(const NamedRecord& first, const NamedRecord& other, const std::string& what,
                const std::string& expected, const std::string& found) {
  if (found != expected)
    throw RecordError(other.name + ": " + what + " " + found + ", but " + first.name + " has " +
                      expected + "; merge the records of one campaign");
}

void check_one_campaign(const NamedRecord& first, const NamedRecord& other) {
  const Record& x = first.record;
  const Record& y = other.record;
  check_same(first, other, "seed", std::to_string(x.cases.seed), std::to_string(y.cases.seed));
  check_same(first, other, "count", std::to_string(x.cases.count), std::to_string(y.cases.count));
  check_same(first, other, "target", x.provenance.target, y.provenance.target);
  check_same(first, other, "cases", std::to_string(x.cases.version),
             std::to_string(y.cases.version));
  if (!lower_alike(*find_target(x.provenance.target), toolkit_of(x.provenance).value(),
                   toolkit_of(y.provenance).value()))
    check_same(first, other, "nvcc", x.provenance.nvcc, y.provenance.nvcc);
}

/// The different values of a field of provenance.
std::string listed(std::span<const NamedRecord> records, std::string Provenance::*field) {
  std::set<std::string> values;
  for (const NamedRecord& record : records)
    for (const std::string& value : listed_values(record.record.provenance.*field))
      values.insert(value);
  std::string text;
  for (const std::string& value : values)
    text.append(text.empty() ? "" : value_separator).append(value);
  return text;
}

}  // namespace

Merge merge_records(std::span<const NamedRecord> records) {
  Merge merge{{records.front().record.provenance, records.front().record.cases, {}}, {}, {}};
  merge.record.cases.shard = {};
  for (const NamedRecord& record : records) check_one_campaign(records.front(), record);
  for (const ProvenanceField& field : provenance_fields)
    merge.record.provenance.*field.value = listed(records, field.value);
  for (const auto& group : group_lines(records)) merge_group(group.second, merge);
  merge.gaps = gaps_of(merge.record);
  return merge;
}

bool is_contradictory(const Merge& merge) {
  return std::ranges::any_of(merge.overlaps, &Overlap::contradicts);
}

}  // namespace bitmma
