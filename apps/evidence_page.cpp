#include "bitmma/apps/evidence_page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bitmma/apps/table.hpp"
#include "bitmma/isa/evidence.hpp"
#include "bitmma/isa/instruction.hpp"
#include "bitmma/isa/lowering.hpp"
#include "bitmma/kernels/record.hpp"

namespace bitmma {
namespace {

constexpr EvidenceLabel labels[] = {EvidenceLabel::hardware, EvidenceLabel::vectors,
                                    EvidenceLabel::published, EvidenceLabel::unverified};

constexpr std::string_view head =
    "<!-- Written by `./dev evidence` from isa/ and tests/vectors/. Do not edit. -->\n\n";

/// The kernels of one row of the table that read A from one place, over N and families.
struct RowTotal {
  std::set<int> n;
  RecordTotal sum;
};

std::string measured_table(const Record& record) {
  std::vector<std::pair<std::string, ASource>> order;
  std::map<std::pair<std::string, ASource>, RowTotal> totals;
  for (const RecordLine& line : record.lines) {
    const Instruction row = find_instruction(line.instruction).value();
    const std::pair key{short_name(table_row(row)), line.a_source};
    if (!totals.contains(key)) order.push_back(key);
    RowTotal& total = totals[key];
    total.n.insert(row.n);
    total.sum.add(line);
  }
  Table table({"instruction", "A from", "kernels", "outputs", "mismatches", "digest"});
  for (const auto& key : order) {
    const RowTotal& total = totals.at(key);
    table.add({fmt::format("`{}`", key.first), std::string(a_source_name(key.second)),
               std::to_string(total.n.size()), std::to_string(total.sum.outputs),
               std::to_string(total.sum.mismatches), digest_text(total.sum.digest)});
  }
  return table.markdown();
}

std::vector<std::string> families_of(const Record& record) {
  std::vector<std::string> families;
  for (const RecordLine& line : record.lines)
    if (std::ranges::find(families, line.family) == families.end()) families.push_back(line.family);
  return families;
}

/// Of an incomplete record.
std::string missing_text(const Record& record) {
  const std::vector<TileRange> gaps = gaps_of(record);
  return gaps.empty() ? "" : fmt::format("; **incomplete: {} more are missing**", outputs_of(gaps));
}

std::string record_section(const NamedRecord& named) {
  const Record& record = named.record;
  return fmt::format(
      "\n## {}\n\n{}; seed {}, {} outputs of each kernel in each family, {} in all{}. Families: "
      "{}.\n\n{}",
      named.name, provenance_text(record.provenance), record.cases.seed, record.cases.count,
      total_of(record).outputs, missing_text(record), fmt::join(families_of(record), ", "),
      measured_table(record));
}

std::map<EvidenceLabel, int> label_counts(const Target& target) {
  std::map<EvidenceLabel, int> counts;
  for (const Instruction& row : instruction_table)
    if (row.runs_on(target)) ++counts[find_evidence(row, target).label];
  return counts;
}

}  // namespace

Table evidence_table_of(const Target& target, std::string_view quote) {
  Table table({"instruction", "runs", "machine code", "evidence", "source"});
  for (const Instruction& row : instruction_table) {
    if (!row.runs_on(target)) continue;
    const Evidence& evidence = find_evidence(row, target);
    table.add({fmt::format("{0}{1}{0}", quote, short_name(row)),
               is_native(row, target) ? "native" : "lowered",
               with_counts(machine_code(row, target)), std::string(label_name(evidence.label)),
               std::string(evidence.source)});
  }
  return table;
}

std::string evidence_page(const Target& target, std::span<const NamedRecord> records) {
  std::string page =
      fmt::format("{}# {}: {}\n\n{}", head, target.name, architecture_name(target.architecture),
                  evidence_table_of(target, "`").markdown());
  for (const NamedRecord& record : records) page += record_section(record);
  return page;
}

std::string evidence_index() {
  std::vector<std::string> titles{"target", "architecture"};
  for (const EvidenceLabel label : labels) titles.emplace_back(label_name(label));
  Table table(titles);
  for (const Target& target : target_table) {
    std::map<EvidenceLabel, int> counts = label_counts(target);
    std::vector<std::string> cells{fmt::format("[{0}]({0}.md)", target.name),
                                   std::string(architecture_name(target.architecture))};
    for (const EvidenceLabel label : labels)
      cells.push_back(counts[label] == 0 ? "" : std::to_string(counts[label]));
    table.add(cells);
  }
  return fmt::format(
      "{}# Evidence\n\nHow many instructions have which label on each target. Hardware: this "
      "project compared the GPU's bits with\nthe emulator's. Vectors: equal on rows that others "
      "measured on that GPU and published. Published: the\ndatapath's numbers are published; no "
      "rows were compared. Unverified: taken over from a related target, or\nread off the "
      "compiler's machine code.\n\nA digest is a sum over the GPU's outputs "
      "(`kernels/digest.hpp`): the same seed and count give the same one\non every GPU of the "
      "target that agrees with the emulator, with every toolkit that lowers alike.\n\n{}",
      head, table.markdown());
}

}  // namespace bitmma
