/// The records of campaigns on this project's GPUs: what the label "hardware" stands on, and the
/// emulator against the digests of what the GPUs returned.

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "bitmma/isa/evidence.hpp"
#include "bitmma/kernels/batch.hpp"
#include "bitmma/kernels/digest.hpp"
#include "bitmma/kernels/record.hpp"

using namespace bitmma;

namespace {

const std::filesystem::path root = BITMMA_SOURCE_DIR;

Record read(const std::filesystem::path& path) {
  CAPTURE(path.string());
  std::ifstream file(root / path);
  REQUIRE(file);
  return read_record(file);
}

/// Every record that this project measured, by its file.
std::map<std::string, Record> all_records() {
  std::map<std::string, Record> records;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root / "tests/vectors")) {
    std::ifstream file(entry.path());
    std::string line;
    if (entry.path().extension() != ".txt" || !std::getline(file, line)) continue;
    if (line.starts_with("# bitmma verify"))
      records[entry.path().filename().string()] = read(entry.path());
  }
  return records;
}

/// A claim of isa/evidence.hpp: "H200: over 1000 million outputs of each kernel …, FOLDER".
struct Claim {
  std::string gpu;
  std::uint64_t outputs;
  std::string folder;
};

Claim parse_claim(const std::string& text) {
  CAPTURE(text);
  std::istringstream words(text);
  std::string over;
  std::string million;
  Claim claim;
  words >> claim.gpu >> over >> claim.outputs >> million;
  REQUIRE(words);
  REQUIRE(claim.gpu.ends_with(':'));
  REQUIRE(over == "over");
  REQUIRE(million == "million");
  claim.gpu.pop_back();
  claim.outputs *= 1'000'000;
  claim.folder = text.substr(text.rfind(' ') + 1);
  return claim;
}

/// The campaigns of a folder, which have different kernels: campaign.txt, campaign_f64.txt, …
std::vector<Record> campaigns(const std::string& folder) {
  std::vector<Record> records;
  for (const auto& entry : std::filesystem::directory_iterator(root / folder))
    if (entry.path().filename().string().starts_with("campaign"))
      records.push_back(read(entry.path()));
  return records;
}

/// The kernels of a row of the table, by name and place of A.
std::map<std::string, RecordTotal> kernels_of(const std::vector<Record>& records,
                                              const Instruction& row) {
  std::map<std::string, RecordTotal> kernels;
  for (const Record& record : records)
    for (const RecordLine& line : record.lines) {
      const Instruction own = find_instruction(line.instruction).value();
      if (short_name(table_row(own)) != short_name(row)) continue;
      kernels[line.instruction + std::string(a_source_name(line.a_source))].add(line);
    }
  return kernels;
}

void check_claim(const Claim& claim, const std::vector<Record>& records, const Target& target,
                 const Instruction& row) {
  for (const Record& record : records) {
    CHECK(record.provenance.gpu.find(claim.gpu) != std::string::npos);
    CHECK(record.provenance.target == target.name);
  }
  const auto kernels = kernels_of(records, row);
  CHECK_FALSE(kernels.empty());
  for (const auto& kernel : kernels) {
    CHECK(kernel.second.outputs > claim.outputs);
    CHECK(kernel.second.mismatches == 0);
    CHECK(kernel.second.families.size() == families_for(row, campaign_families()).size());
  }
}

/// Of what the emulator returns for the line's tiles.
std::uint64_t emulated_digest(const Record& record, const RecordLine& line) {
  const Instruction row = find_instruction(line.instruction).value();
  const Execution execution =
      resolve(row, *find_target(record.provenance.target), toolkit_of(record.provenance).value());
  const Batch batch = make_batch(row, find_family(line.family).value(), record.cases.seed,
                                 line.first_tile, line.tiles);
  return digest_of(line.first_tile * outputs_of_a_tile(row), emulate(execution, batch));
}

}  // namespace

TEST_CASE("the label hardware stands on a record of every kernel and every family") {
  std::map<std::string, std::vector<Record>> records;
  int checked = 0;
  for (const Target& target : target_table)
    for (const Instruction& row : instruction_table) {
      if (!row.runs_on(target)) continue;
      const Evidence& evidence = find_evidence(row, target);
      if (evidence.label != EvidenceLabel::hardware) continue;
      INFO(short_name(row), " on ", target.name);
      const Claim claim = parse_claim(std::string(evidence.source));
      if (!records.contains(claim.folder)) records[claim.folder] = campaigns(claim.folder);
      check_claim(claim, records.at(claim.folder), target, row);
      ++checked;
    }
  CHECK(checked > 0);
}

TEST_CASE("every record is complete, without a mismatch") {
  const std::map<std::string, Record> records = all_records();
  CHECK(records.size() >= 4);
  for (const auto& [name, record] : records) {
    INFO(name);
    CHECK_FALSE(record.lines.empty());
    CHECK(is_complete(record));
    CHECK(total_of(record).mismatches == 0);
    CHECK(record.cases.version == cases_version);
  }
}

TEST_CASE("the campaigns that README tells of have that many outputs") {
  std::uint64_t outputs = 0;
  for (const Record& record : campaigns("tests/vectors/sm_90")) outputs += total_of(record).outputs;
  CHECK(outputs == 200'640'602'112);
}

TEST_CASE("wgmma was measured at every N, with A from both places") {
  for (const std::string file : {"every_n_normal.txt", "every_n_any_bits.txt"}) {
    CAPTURE(file);
    std::set<std::string> kernels;
    for (const RecordLine& line : read("tests/vectors/sm_90/" + file).lines)
      kernels.insert(line.instruction + std::string(a_source_name(line.a_source)));
    for (Instruction row : instruction_table)
      for (row.n = 8; row.family == Family::wgmma && row.n <= 256; row.n += 8)
        for (const ASource a_source : {ASource::registers, ASource::shared_memory})
          CHECK(kernels.contains(short_name(row) + std::string(a_source_name(a_source))));
  }
}

TEST_CASE("the emulator returns what the GPU did for every kernel and family, by its digests") {
  const Record record = read("tests/vectors/sm_90/digests.txt");
  std::map<std::pair<std::string, std::string>, std::uint64_t> emulated;
  for (const RecordLine& line : record.lines) {
    INFO(line.instruction, " ", a_source_name(line.a_source), " ", line.family);
    // The place of A changes neither operands nor results.
    const auto [known, is_new] = emulated.try_emplace({line.instruction, line.family}, 0);
    if (is_new) known->second = emulated_digest(record, line);
    CHECK(line.digest == known->second);
  }
}
