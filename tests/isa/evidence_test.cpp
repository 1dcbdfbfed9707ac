#include "bitmma/isa/evidence.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>

using namespace bitmma;

namespace {

struct Outputs {
  std::size_t compared = 0;
  std::size_t mismatches = 0;
};

/// What a campaign recorded on one GPU.
struct Record {
  std::string header;                      ///< the comment lines
  std::map<std::string, Outputs> outputs;  ///< by row of the table: over N and the place of A
};

Record read_record(const std::filesystem::path& path) {
  Record record;
  std::ifstream file(path);
  CAPTURE(path.string());
  REQUIRE(file);
  for (std::string line; std::getline(file, line);) {
    CAPTURE(line);
    if (line.starts_with('#')) {
      record.header += line + "\n";
      continue;
    }
    std::istringstream columns(line);
    std::string name;
    std::string a_source;
    Outputs outputs;
    columns >> name >> a_source >> outputs.compared >> outputs.mismatches;
    REQUIRE(columns);
    std::optional<Instruction> row = find_instruction(name);
    REQUIRE(row);
    if (row->family == Family::wgmma) row->n = 0;
    Outputs& total = record.outputs[short_name(*row)];
    total.compared += outputs.compared;
    total.mismatches += outputs.mismatches;
  }
  return record;
}

struct Source {
  std::string gpu;
  std::size_t millions;
  std::string folder;
};

/// Reads "H200: 12 million outputs …, tests/vectors/sm_90".
Source parse_hardware_source(const std::string& text) {
  CAPTURE(text);
  Source source;
  std::string million;
  std::istringstream words(text);
  words >> source.gpu >> source.millions >> million;
  REQUIRE(words);
  REQUIRE(source.gpu.ends_with(':'));
  REQUIRE(million == "million");
  source.gpu.pop_back();
  source.folder = text.substr(text.rfind(' ') + 1);
  return source;
}

}  // namespace

TEST_CASE("patterns") {
  CHECK(matches("m16*", "m16n8k16"));
  CHECK(matches("*", ""));
  CHECK(matches("m*.f16.*", "m16n8k8.f32.f16.f16.f32"));
  CHECK_FALSE(matches("m16", "m16n8k16"));
  CHECK_FALSE(matches("m*.bf16", "m16n8k8.f32.bf16.bf16.f32"));
}

TEST_CASE("every instruction on every target has evidence, and no row of the table is stale") {
  std::set<const Evidence*> used;
  for (const Target& target : target_table)
    for (const Instruction& row : instruction_table)
      if (row.runs_on(target)) used.insert(&find_evidence(row, target));
  for (const Evidence& evidence : evidence_table) {
    CAPTURE(evidence.target);
    CAPTURE(evidence.instructions);
    CHECK(used.contains(&evidence));
    CHECK_FALSE(evidence.source.empty());
  }
}

TEST_CASE("the label hardware stands on the record that its source names") {
  std::map<std::string, Record> records;
  int checked = 0;
  for (const Target& target : target_table)
    for (const Instruction& row : instruction_table) {
      if (!row.runs_on(target)) continue;
      const Evidence& evidence = find_evidence(row, target);
      if (evidence.label != EvidenceLabel::hardware) continue;
      const std::string name = short_name(row);
      CAPTURE(target.name);
      CAPTURE(name);
      const Source source = parse_hardware_source(std::string(evidence.source));
      if (!records.contains(source.folder))
        records[source.folder] =
            read_record(std::filesystem::path(BITMMA_SOURCE_DIR) / source.folder / "campaign.txt");
      const Record& record = records[source.folder];
      CHECK(record.header.find(source.gpu + ", target " + std::string(target.name) + ",") !=
            std::string::npos);
      REQUIRE(record.outputs.contains(name));
      CHECK(record.outputs.at(name).compared >= source.millions * 1'000'000);
      CHECK(record.outputs.at(name).mismatches == 0);
      ++checked;
    }
  CHECK(checked > 0);
}

TEST_CASE("labels") {
  const auto label = [](std::string_view name, std::string_view target) {
    return label_name(find_evidence(find_instruction(name).value(), *find_target(target)).label);
  };
  CHECK(label("m8n8k4.f32.f16.f16.f32", "sm_70") == "vectors");
  CHECK(label("m8n8k4.f32.f16.f16.f16", "sm_70") == "unverified");
  CHECK(label("m16n8k16.f32.f16.f16.f32", "sm_80") == "published");
  CHECK(label("m16n8k8.f32.f16.f16.f32", "sm_80") == "vectors");
  CHECK(label("m16n8k32.f32.e4m3.e5m2.f32", "sm_90") == "hardware");
  CHECK(label("wgmma.m64n8k16.f32.f16.f16", "sm_90") == "hardware");
  CHECK(label("m16n8k16.f32.f16.f16.f32", "sm_103") == "unverified");
}
