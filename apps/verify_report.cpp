#include "bitmma/apps/verify_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <vector>

#include "bitmma/apps/explanation.hpp"
#include "bitmma/apps/table.hpp"
#include "bitmma/compare/value_text.hpp"

namespace bitmma {
namespace {

using Json = nlohmann::ordered_json;

/// One kernel over its families.
struct KernelTotal {
  std::string instruction;
  std::string_view a_source;
  RecordTotal sum;
};

/// A kernel's lines stand together.
std::vector<KernelTotal> kernel_totals(const Record& record) {
  std::vector<KernelTotal> totals;
  for (const RecordLine& line : record.lines) {
    const std::string_view a_source = a_source_name(line.a_source);
    if (totals.empty() || totals.back().instruction != line.instruction ||
        totals.back().a_source != a_source)
      totals.push_back({line.instruction, a_source, {}});
    totals.back().sum.add(line);
  }
  return totals;
}

std::vector<std::string> table_line(const KernelTotal& total) {
  return {total.instruction,
          std::string(total.a_source),
          std::to_string(total.sum.families.size()),
          std::to_string(total.sum.outputs),
          std::to_string(total.sum.mismatches),
          digest_text(total.sum.digest)};
}

std::string cases_text(const CampaignCases& cases) {
  if (cases.tile) return fmt::format("seed {}, tile {}", cases.seed, *cases.tile);
  return fmt::format("seed {}, {} outputs of each kernel in each family, shard {}", cases.seed,
                     cases.count, shard_text(cases.shard));
}

Json cases_json(const Record& record) {
  const CampaignCases& cases = record.cases;
  Json json;
  for (const ProvenanceField& field : provenance_fields)
    json[std::string(field.name)] = record.provenance.*field.value;
  json["cases"] = cases.version;
  json["seed"] = cases.seed;
  if (cases.tile) {
    json["tile"] = *cases.tile;
  } else {
    json["count"] = cases.count;
    json["shard"] = shard_text(cases.shard);
  }
  return json;
}

/// Cases and totals.
Json result_json(const Record& record) {
  Json json = cases_json(record);
  const RecordTotal total = total_of(record);
  json["complete"] = is_complete(record);
  json["outputs"] = total.outputs;
  json["mismatches"] = total.mismatches;
  json["kernels"] = Json::array();
  for (const KernelTotal& kernel : kernel_totals(record))
    json["kernels"].push_back({{"instr", kernel.instruction},
                               {"a", kernel.a_source},
                               {"families", kernel.sum.families},
                               {"outputs", kernel.sum.outputs},
                               {"mismatches", kernel.sum.mismatches},
                               {"digest", digest_text(kernel.sum.digest)}});
  return json;
}

/// Bytes of a file's name that are no UTF-8 become U+FFFD.
std::string json_text(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

Explanation explanation_of(const Mismatch& mismatch) {
  const DotCase& dot = mismatch.dot;
  return explain(resolve(dot.row, *dot.target, mismatch.cuda), *dot.target, dot.a, dot.b, dot.c);
}

Json mismatch_json(const Mismatch& mismatch, std::uint64_t seed) {
  const Format& format = *mismatch.dot.row.d;
  return {{"instr", mismatch.line.instruction},
          {"a", a_source_name(mismatch.line.a_source)},
          {"family", mismatch.line.family},
          {"seed", seed},
          {"tile", mismatch.tile},
          {"row", mismatch.row},
          {"column", mismatch.column},
          {"gpu", hex_text(format, mismatch.dot.d.value())},
          {"emulator", hex_text(format, mismatch.emulated)},
          {"case", case_line(mismatch.dot)},
          {"replay", replay_command(mismatch, seed)},
          {"explanation", Json::parse(explanation_json(explanation_of(mismatch)))}};
}

std::string range_text(const TileRange& range) {
  return fmt::format("{} {} {}: tiles {} to {}", range.instruction, a_source_name(range.a_source),
                     range.family, range.first_tile, range.first_tile + range.tiles - 1);
}

Json range_json(const TileRange& range) {
  return {{"instr", range.instruction},
          {"a", a_source_name(range.a_source)},
          {"family", range.family},
          {"first_tile", range.first_tile},
          {"tiles", range.tiles}};
}

/// The first lines of a list that may be long.
template <class Items, class Text>
std::string listed(std::string_view title, const Items& items, Text text) {
  constexpr std::size_t shown = 8;
  std::string list = items.empty() ? "" : fmt::format("{}:\n", title);
  for (std::size_t i = 0; i < std::min(items.size(), shown); ++i)
    list += fmt::format("  {}\n", text(items[i]));
  if (items.size() > shown) list += fmt::format("  and {} more\n", items.size() - shown);
  return list;
}

/// Shards of which no record was given, where all records have one number of shards.
std::vector<Shard> missing_shards(std::span<const NamedRecord> files) {
  const std::uint64_t count = files.front().record.cases.shard.count;
  std::set<std::uint64_t> present;
  for (const NamedRecord& file : files) {
    if (file.record.cases.shard.count != count) return {};
    present.insert(file.record.cases.shard.index);
  }
  std::vector<Shard> missing;
  for (std::uint64_t index = 1; index <= count; ++index)
    if (!present.contains(index)) missing.push_back({index, count});
  return missing;
}

std::string overlap_text(const Overlap& overlap) {
  return fmt::format("{} in {} and {}{}", range_text(overlap.range), overlap.first, overlap.second,
                     overlap.contradicts ? ", which contradict each other" : "");
}

}  // namespace

std::string totals_text(const Record& record) {
  Table table({"instruction", "a", "families", "outputs", "mismatches", "digest"});
  const std::vector<KernelTotal> totals = kernel_totals(record);
  for (const KernelTotal& total : totals) table.add(table_line(total));
  if (totals.size() != 1) table.add(table_line({"all", "", total_of(record)}));
  return fmt::format("{}\n{}\n\n{}", provenance_text(record.provenance), cases_text(record.cases),
                     table.text());
}

std::string replay_command(const Mismatch& mismatch, std::uint64_t seed) {
  const RecordLine& line = mismatch.line;
  return fmt::format("bitmma verify --instr {} --a-from {} --family {} --seed {} --tile {}",
                     line.instruction, a_source_name(line.a_source), line.family, seed,
                     mismatch.tile);
}

std::string mismatch_text(const Mismatch& mismatch, std::uint64_t seed) {
  const DotCase& dot = mismatch.dot;
  const Code returned = dot.d.value();
  return fmt::format(
      "MISMATCH {} {} {}, tile {}, row {}, column {}: GPU {}, emulator {}{}\n\n"
      "on this GPU again:   {}\n"
      "on any machine:      bitmma explain --cuda {} --case \"{}\"\n\n{}",
      mismatch.line.instruction, a_source_name(mismatch.line.a_source), mismatch.line.family,
      mismatch.tile, mismatch.row, mismatch.column, hex_text(*dot.row.d, returned),
      hex_text(*dot.row.d, mismatch.emulated),
      returned == mismatch.emulated ? "; the GPU's second run agreed, so its first one erred" : "",
      replay_command(mismatch, seed), cuda_text(mismatch.cuda), case_line(dot),
      explanation_text(explanation_of(mismatch), std::nullopt));
}

std::string merge_text(const Merge& merge, std::span<const NamedRecord> files) {
  std::string text = fmt::format("{} record{}: {}\n", files.size(), files.size() == 1 ? "" : "s",
                                 totals_text(merge.record));
  text += listed("\nmissing shards", missing_shards(files), shard_text);
  text += listed("\ngaps", merge.gaps, range_text);
  text += listed("\noverlaps, the second record's line is not added", merge.overlaps, overlap_text);
  if (merge.gaps.empty() && merge.overlaps.empty()) text += "\nno gaps, no overlaps\n";
  return text;
}

std::string record_json(const Record& record, const std::optional<Mismatch>& mismatch) {
  Json json = result_json(record);
  json["first_mismatch"] = mismatch ? mismatch_json(*mismatch, record.cases.seed) : Json();
  return json_text(json);
}

std::string merge_json(const Merge& merge, std::span<const NamedRecord> files) {
  Json json = result_json(merge.record);
  constexpr std::size_t most_listed = 1000;
  const std::vector<Shard> missing = missing_shards(files);
  json["missing_shard_count"] = missing.size();
  json["missing_shards"] = Json::array();
  for (const Shard shard : std::span(missing).first(std::min(missing.size(), most_listed)))
    json["missing_shards"].push_back(shard_text(shard));
  json["gaps"] = Json::array();
  for (const TileRange& gap : merge.gaps) json["gaps"].push_back(range_json(gap));
  json["overlaps"] = Json::array();
  for (const Overlap& overlap : merge.overlaps) {
    Json entry = range_json(overlap.range);
    entry["files"] = {overlap.first, overlap.second};
    entry["contradicts"] = overlap.contradicts;
    json["overlaps"].push_back(entry);
  }
  json["contradictory"] = is_contradictory(merge);
  return json_text(json);
}

}  // namespace bitmma
