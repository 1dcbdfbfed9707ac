#include "bitmma/apps/evidence_page.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "bitmma/apps/record_file.hpp"
#include "bitmma/tests/apps/program.hpp"

namespace bitmma::test {
namespace {

namespace fs = std::filesystem;

const fs::path root = BITMMA_SOURCE_DIR;

std::string content(const fs::path& path) {
  std::ifstream file(path);
  CAPTURE(path.string());
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The target's records in tests/vectors, by name.
std::vector<NamedRecord> records_of(const Target& target) {
  std::vector<NamedRecord> records;
  const fs::path folder = fs::path("tests/vectors") / target.name;
  if (!fs::exists(root / folder)) return records;
  for (const fs::directory_entry& entry : fs::directory_iterator(root / folder)) {
    const std::string name = (folder / entry.path().filename()).string();
    if (content(root / name).starts_with("# bitmma verify"))
      records.push_back({name, read_record_file((root / name).string())});
  }
  std::ranges::sort(records, {}, &NamedRecord::name);
  return records;
}

TEST_CASE("docs/evidence is what './dev evidence' writes") {
  CHECK(content(root / "docs/evidence/README.md") == evidence_index());
  std::size_t records = 0;
  for (const Target& target : target_table) {
    INFO("run ./dev evidence");
    const std::vector<NamedRecord> own = records_of(target);
    records += own.size();
    CHECK(content(root / "docs/evidence" / (std::string(target.name) + ".md")) ==
          evidence_page(target, own));
  }
  CHECK(records > 0);
}

TEST_CASE("an incomplete record's section says how much is missing") {
  const Target& target = *find_target("sm_90");
  Record record = read_record_file((root / "tests/vectors/sm_90/digests.txt").string());
  CHECK(evidence_page(target, std::vector<NamedRecord>{{"r.txt", record}}).find("missing") ==
        std::string::npos);
  const std::uint64_t lost = record.lines.back().outputs;
  record.lines.back().outputs = 0;
  CHECK(evidence_page(target, std::vector<NamedRecord>{{"r.txt", record}})
            .find("; **incomplete: " + std::to_string(lost) + " more are missing**. Families: ") !=
        std::string::npos);
}

TEST_CASE("list --markdown prints a target's page, with the records that are named") {
  const Program program;
  const fs::path record = root / "tests/vectors/sm_90/digests.txt";
  const std::string page =
      output_of(program, "list --arch sm_90 --markdown --records " + record.string());
  const Target& target = *find_target("sm_90");
  CHECK(page == evidence_page(target, std::vector<NamedRecord>{
                                          {record.string(), read_record_file(record.string())}}));
  CHECK(output_of(program, "list --markdown") == evidence_index());
  check_refused(program, "list --arch sm_80 --markdown --records " + record.string(),
                "of sm_90; choose records of sm_80");
  check_refused(program, "list --arch sm_90 --records " + record.string(), "--markdown");
}

}  // namespace
}  // namespace bitmma::test
