/// The emulator against rows measured on GPUs.

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "bitmma/apps/replay.hpp"
#include "bitmma/isa/evidence.hpp"

using namespace bitmma;

namespace {

/// A row's name without what changes no arithmetic: N, and m8n8k4's layouts of A and B.
std::string arithmetic_name(Instruction row) {
  if (row.family == Family::wgmma) row.n = 0;
  row.a_layout = MatrixLayout::row;
  row.b_layout = MatrixLayout::col;
  return short_name(row);
}

/// How many rows the manifest lists for a target and an arithmetic_name().
std::map<std::pair<std::string, std::string>, std::size_t> recorded_rows(
    const std::filesystem::path& vectors) {
  std::map<std::pair<std::string, std::string>, std::size_t> rows;
  std::ifstream file(vectors / "manifest.json");
  for (const nlohmann::json& entry : nlohmann::json::parse(file)) {
    const Instruction row = find_instruction(entry.at("instr").get<std::string>()).value();
    rows[{entry.at("arch"), arithmetic_name(row)}] += entry.at("rows").get<std::size_t>();
  }
  return rows;
}

}  // namespace

TEST_CASE("every recorded row of every GPU comes out bit for bit") {
  const std::filesystem::path vectors = default_vectors();
  if (!has_manifest(vectors)) {
    MESSAGE("skipped: no vectors in ", vectors.string());
    return;
  }
  std::size_t rows = 0;
  for (const ReplayedFolder& folder : replay_vectors(vectors)) {
    INFO(folder.name, ": ", folder.first_mismatch);
    CHECK(folder.mismatches == 0);
    rows += folder.rows;
  }
  MESSAGE(rows, " rows");
  CHECK(rows > 0);
}

TEST_CASE("the label vectors stands on as many recorded rows as its source names") {
  const std::filesystem::path vectors = default_vectors();
  if (!has_manifest(vectors)) {
    MESSAGE("skipped: no vectors in ", vectors.string());
    return;
  }
  const auto recorded = recorded_rows(vectors);
  int checked = 0;
  for (const Target& target : target_table)
    for (const Instruction& row : instruction_table) {
      if (!row.runs_on(target)) continue;
      const Evidence& evidence = find_evidence(row, target);
      if (evidence.label != EvidenceLabel::vectors) continue;
      CAPTURE(target.name);
      CAPTURE(short_name(row));
      const auto found = recorded.find({std::string(target.name), arithmetic_name(row)});
      REQUIRE(found != recorded.end());
      std::string source(evidence.source);
      std::erase(source, ',');  // 2,500 rows
      CHECK(source.find(": " + std::to_string(found->second) + " rows") != std::string::npos);
      ++checked;
    }
  CHECK(checked > 0);
}
