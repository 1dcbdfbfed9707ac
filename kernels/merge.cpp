#include "bitmma/kernels/merge.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "bitmma/isa/lowering.hpp"
#include "bitmma/kernels/batch.hpp"

namespace bitmma {
namespace {

/// A line with the record that it comes from.
struct Piece {
  RecordLine line;
  std::string file;

  std::uint64_t end() const { return line.first_tile + line.done(); }
};

/// What one kernel did in one family.
struct Group {
  std::vector<Piece> pieces;

  bool takes(const RecordLine& line) const {
    const RecordLine& own = pieces.front().line;
    return own.instruction == line.instruction && own.a_source == line.a_source &&
           own.family == line.family;
  }
};

/// In the order in which they appear.
std::vector<Group> group_lines(std::span<const NamedRecord> records) {
  std::vector<Group> groups;
  for (const NamedRecord& record : records)
    for (const RecordLine& line : record.record.lines) {
      auto group =
          std::ranges::find_if(groups, [&](const Group& each) { return each.takes(line); });
      if (group == groups.end()) group = groups.insert(group, Group{});
      group->pieces.push_back({line, record.name});
    }
  for (Group& group : groups)
    std::ranges::stable_sort(group.pieces, {}, [](const Piece& piece) {
      return std::pair(piece.line.first_tile, ~piece.end());  // of two that start alike, the longer
    });
  return groups;
}

TileRange range_of(const RecordLine& line, std::uint64_t first, std::uint64_t end) {
  return {line.instruction, line.a_source, line.family, first, end - first};
}

bool contradict(const RecordLine& x, const RecordLine& y) {
  const bool same_tiles = x.first_tile == y.first_tile && x.outputs == y.outputs;
  return same_tiles && (x.digest != y.digest || x.mismatches != y.mismatches);
}

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

void merge_group(const Group& group, std::uint64_t count, Merge& merge) {
  const RecordLine& any = group.pieces.front().line;
  const std::uint64_t end = tiles_of(find_instruction(any.instruction).value(), count);
  std::uint64_t reached = 0;
  const Piece* last = nullptr;
  for (const Piece& piece : group.pieces) {
    const std::uint64_t first = piece.line.first_tile;
    if (piece.line.outputs == 0) continue;
    if (first < reached) {
      merge.overlaps.push_back({range_of(any, first, std::min(reached, piece.end())), last->file,
                                piece.file, contradict(last->line, piece.line)});
      // A mismatch is not forgotten with the line that has it.
      RecordLine& kept = merge.record.lines.back();
      kept.mismatches = std::min(kept.outputs, kept.mismatches + piece.line.mismatches);
      continue;
    }
    if (first > reached) merge.gaps.push_back(range_of(any, reached, first));
    join(merge.record.lines, piece.line, last != nullptr && first == reached);
    reached = piece.end();
    last = &piece;
  }
  if (reached < end) merge.gaps.push_back(range_of(any, reached, end));
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

constexpr std::string_view separator = ", ";

/// The values that a merge before has listed in one text.
void add_values(std::set<std::string>& values, std::string_view text) {
  std::size_t end = text.find(separator);
  for (; end != text.npos; end = text.find(separator)) {
    values.emplace(text.substr(0, end));
    text.remove_prefix(end + separator.size());
  }
  values.emplace(text);
}

/// The different values of a field of provenance.
std::string listed(std::span<const NamedRecord> records, std::string Provenance::*field) {
  std::set<std::string> values;
  for (const NamedRecord& record : records) add_values(values, record.record.provenance.*field);
  std::string text;
  for (const std::string& value : values) text.append(text.empty() ? "" : separator).append(value);
  return text;
}

}  // namespace

Merge merge_records(std::span<const NamedRecord> records) {
  Merge merge{{records.front().record.provenance, records.front().record.cases, {}}, {}, {}};
  merge.record.cases.shard = {};
  for (const NamedRecord& record : records) check_one_campaign(records.front(), record);
  for (std::string Provenance::*field : {&Provenance::gpu, &Provenance::driver, &Provenance::cuda,
                                         &Provenance::nvcc, &Provenance::bitmma, &Provenance::date})
    merge.record.provenance.*field = listed(records, field);
  for (const Group& group : group_lines(records))
    merge_group(group, merge.record.cases.count, merge);
  return merge;
}

}  // namespace bitmma
