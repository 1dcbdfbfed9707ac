#include "bitmma/apps/verify_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

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

Json cases_json(const Record& record) {
  const Provenance& from = record.provenance;
  const RecordTotal total = total_of(record);
  Json kernels = Json::array();
  for (const KernelTotal& kernel : kernel_totals(record))
    kernels.push_back({{"instr", kernel.instruction},
                       {"a", kernel.a_source},
                       {"families", kernel.sum.families},
                       {"outputs", kernel.sum.outputs},
                       {"mismatches", kernel.sum.mismatches},
                       {"digest", digest_text(kernel.sum.digest)}});
  return {{"gpu", from.gpu},
          {"target", from.target},
          {"driver", from.driver},
          {"cuda", from.cuda},
          {"nvcc", from.nvcc},
          {"bitmma", from.bitmma},
          {"date", from.date},
          {"cases", record.cases.version},
          {"seed", record.cases.seed},
          {"count", record.cases.count},
          {"shard", shard_text(record.cases.shard)},
          {"complete", is_complete(record)},
          {"outputs", total.outputs},
          {"mismatches", total.mismatches},
          {"kernels", kernels}};
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
          {"block", mismatch.block},
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
std::vector<std::string> missing_shards(std::span<const NamedRecord> files) {
  const std::uint64_t count = files.front().record.cases.shard.count;
  std::set<std::uint64_t> present;
  for (const NamedRecord& file : files) {
    if (file.record.cases.shard.count != count) return {};
    present.insert(file.record.cases.shard.index);
  }
  std::vector<std::string> missing;
  for (std::uint64_t index = 1; index <= count; ++index)
    if (!present.contains(index)) missing.push_back(shard_text({index, count}));
  return missing;
}

std::string overlap_text(const Overlap& overlap) {
  return fmt::format("{} in {} and {}{}", range_text(overlap.range), overlap.first, overlap.second,
                     overlap.contradicts ? ", with different outputs" : "");
}

}  // namespace

std::string totals_text(const Record& record) {
  const Provenance& from = record.provenance;
  Table table({"instruction", "a", "families", "outputs", "mismatches", "digest"});
  const std::vector<KernelTotal> totals = kernel_totals(record);
  for (const KernelTotal& total : totals) table.add(table_line(total));
  if (totals.size() != 1) table.add(table_line({"all", "", total_of(record)}));
  return fmt::format(
      "{} ({}), driver {}, CUDA {}, nvcc {}, bitmma {}, {}\n"
      "seed {}, {} outputs of each kernel in each family, shard {}\n\n{}",
      from.gpu, from.target, from.driver, from.cuda, from.nvcc, from.bitmma, from.date,
      record.cases.seed, record.cases.count, shard_text(record.cases.shard), table.text());
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
      mismatch.tile + static_cast<std::uint64_t>(mismatch.block), mismatch.row, mismatch.column,
      hex_text(*dot.row.d, returned), hex_text(*dot.row.d, mismatch.emulated),
      returned == mismatch.emulated ? "; the GPU's second run agreed, so its first one erred" : "",
      replay_command(mismatch, seed), cuda_text(mismatch.cuda), case_line(dot),
      explanation_text(explanation_of(mismatch), std::nullopt));
}

std::string merge_text(const Merge& merge, std::span<const NamedRecord> files) {
  const std::vector<std::string> missing = missing_shards(files);
  std::string text = fmt::format("{} record{}: {}\n", files.size(), files.size() == 1 ? "" : "s",
                                 totals_text(merge.record));
  text += listed("\nmissing shards", missing, [](const std::string& shard) { return shard; });
  text += listed("\ngaps", merge.gaps, range_text);
  text += listed("\noverlaps, the second record's line is not added", merge.overlaps, overlap_text);
  if (merge.gaps.empty() && merge.overlaps.empty()) text += "\nno gaps, no overlaps\n";
  return text;
}

std::string record_json(const Record& record, const std::optional<Mismatch>& mismatch) {
  Json json = cases_json(record);
  json["first_mismatch"] = mismatch ? mismatch_json(*mismatch, record.cases.seed) : Json();
  return json.dump(2);
}

std::string merge_json(const Merge& merge, std::span<const NamedRecord> files) {
  Json json = cases_json(merge.record);
  json["complete"] = merge.gaps.empty();
  json["missing_shards"] = missing_shards(files);
  json["gaps"] = Json::array();
  for (const TileRange& gap : merge.gaps) json["gaps"].push_back(range_json(gap));
  json["overlaps"] = Json::array();
  for (const Overlap& overlap : merge.overlaps) {
    Json entry = range_json(overlap.range);
    entry["files"] = {overlap.first, overlap.second};
    entry["contradicts"] = overlap.contradicts;
    json["overlaps"].push_back(entry);
  }
  return json.dump(2);
}

}  // namespace bitmma
