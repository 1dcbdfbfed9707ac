#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "bitmma/apps/operand.hpp"
#include "bitmma/tests/apps/program.hpp"

using namespace bitmma;
using namespace bitmma::test;

namespace {

constexpr std::size_t rows = 3, k = 16;
const std::string manifest =
    R"([{"dir": "T", "gpu": "Test GPU", "arch": "sm_90", "instr": "m16n8k16.f32.f16.f16.f32"}])";

/// A folder of vectors whose one set of rows the emulator agrees with. Returns its results.
Codes store_vectors(const Program& program) {
  const Execution executed = execution("sm_90", "m16n8k16.f32.f16.f16.f32");
  std::mt19937 random(5);
  const Codes a = random_codes(f16, rows * k, random), b = random_codes(f16, rows * k, random);
  const Codes c = random_codes(f32, rows, random);
  Codes d;
  for (std::size_t row = 0; row < rows; ++row)
    d.push_back(run_chain(executed, &a[row * k], &b[row * k], k, c[row]));
  std::filesystem::create_directories(program.work() / "v/T");
  program.store_text("v/manifest.json", manifest);
  program.store("v/T/a.npy", array_of(native_type(f16), {rows, k}, a));
  program.store("v/T/b.npy", array_of(native_type(f16), {rows, k}, b));
  program.store("v/T/c.npy", array_of(native_type(f32), {rows}, c));
  program.store("v/T/d.npy", array_of(native_type(f32), {rows}, d));
  return d;
}

/// The first line that holds the text, each run of blanks as one.
std::string line_with(const std::string& output, const std::string& text) {
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    if (line.find(text) == std::string::npos) continue;
    std::istringstream words(line);
    std::string joined;
    for (std::string word; words >> word;) joined += (joined.empty() ? "" : " ") + word;
    return joined;
  }
  return "";
}

/// demo where no vectors are named and none are in the default folder.
Outcome demo_without_vectors() { return Program().run("demo", "env -u BITMMA_VECTORS"); }

/// The lines of README.md's first code block.
std::vector<std::string> readme_example() {
  std::ifstream readme("README.md");  // tests run in the source folder
  REQUIRE(readme);
  std::string line;
  while (std::getline(readme, line) && line != "```") continue;
  std::vector<std::string> lines;
  while (std::getline(readme, line) && line != "```") lines.push_back(line);
  REQUIRE(readme);
  return lines;
}

}  // namespace

TEST_CASE("README.md's example is what demo prints") {
  std::istringstream output(demo_without_vectors().out);
  std::set<std::string> printed;
  for (std::string line; std::getline(output, line);) printed.insert(line);
  std::size_t compared = 0;
  for (const std::string& line : readme_example()) {
    if (line == "  …") continue;  // stands for the other rows of the table
    CHECK_MESSAGE(printed.contains(line), line);
    ++compared;
  }
  CHECK(compared > 8);
}

TEST_CASE("demo shows the published results of each architecture") {
  // Xie et al. 2025, table 8; m8n8k4 on Hopper is a chain of IEEE FMAs: 8388608 - 8388608.
  const Outcome outcome = demo_without_vectors();
  CHECK(outcome.status == 0);
  CHECK(outcome.out.find("exactly: -0.875\n") != std::string::npos);
  for (const auto& line : {std::pair{"sm_70   m8n8k4.f32", "native 0 0.875"},
                           {"sm_75   m16n8k8.f32", "native -0.5 0.375"},
                           {"sm_80   m16n8k16.f32", "native -0.5 0.375"},
                           {"sm_89   m16n8k16.f32", "native -0.5 0.375"},
                           {"sm_89   m16n8k32.f32.e5m2", "native 0 0.875"},
                           {"sm_90   m16n8k16.f32", "native -0.75 0.125"},
                           {"sm_90   wgmma.m64n8k32.f32.e5m2", "native 0 0.875"},
                           {"sm_90   m8n8k4.f32", "lowered 0 0.875"},
                           {"sm_100  m16n8k16.f32", "native -0.75 0.125"},
                           {"sm_120  m16n8k32.f32.e5m2", "native -0.75 0.125"}}) {
    CAPTURE(line.first);
    CHECK(line_with(outcome.out, line.first).find(line.second) != std::string::npos);
  }
}

TEST_CASE("demo says that it skips the default folder of vectors where it is not there") {
  const Outcome outcome = demo_without_vectors();
  CHECK(outcome.status == 0);
  CHECK(outcome.err == "");
  CHECK(outcome.out.find("\nRecorded GPU rows: skipped, no manifest.json in ../shared/vectors ") !=
        std::string::npos);
}

TEST_CASE("demo refuses a named folder without vectors") {
  const Program program;
  check_refused(program, "demo --vectors lost", "lost/manifest.json: cannot be read");
  check_refused(program, "demo --vectors .", "./manifest.json: cannot be read");
  check_refused(program, "demo", "BITMMA_VECTORS=lost: no manifest.json there",
                "BITMMA_VECTORS=lost");
}

TEST_CASE("demo replays the vectors of BITMMA_VECTORS or --vectors") {
  const Program program;
  store_vectors(program);
  for (const Outcome& outcome : {program.run("demo", "BITMMA_VECTORS=v"),
                                 program.run("demo --vectors v", "BITMMA_VECTORS=lost")}) {
    CHECK(outcome.status == 0);
    CHECK(outcome.err == "");
    CHECK(line_with(outcome.out, "Test GPU") == "Test GPU 1 3 0");
    CHECK(line_with(outcome.out, "  all ") == "all 1 3 0");
  }
}

TEST_CASE("demo names the first row that the emulator does not reproduce") {
  const Program program;
  Codes d = store_vectors(program);
  d[2] = 0xA;
  program.store("v/T/d.npy", array_of(native_type(f32), {rows}, d));
  const std::string text = output_of(program, "demo --vectors v", 1);
  CHECK(line_with(text, "Test GPU") == "Test GPU 1 3 1");
  CHECK(line_with(text, "T: row").starts_with("T: row 2: emulator 0x"));
  CHECK(text.find(", GPU 0x0000000A, c 0x") != std::string::npos);
}

TEST_CASE("demo refuses malformed vectors") {
  const Program program;
  store_vectors(program);
  const auto refuse = [&](std::string_view text, std::string_view reason) {
    program.store_text("v/manifest.json", text);
    check_refused(program, "demo --vectors v", reason);
  };
  for (const char* text : {"{}", "null", "[]", "5"}) refuse(text, "not a list of folders");
  refuse("[1]", "manifest.json: ");
  refuse("[", "manifest.json: ");
  refuse(R"([{"dir": "T"}])", "gpu");
  refuse(R"([{"dir": "lost", "gpu": "", "arch": "sm_90", "instr": "m16n8k16.f32.f16.f16.f32"}])",
         "v/lost/a.npy: no such file");
  refuse(R"([{"dir": "T", "gpu": "", "arch": "sm_1", "instr": "m16n8k16.f32.f16.f16.f32"}])",
         "unknown target");
  program.store_text("v/manifest.json", manifest);
  program.store("v/T/d.npy", zeros(native_type(f32), {rows + 1}));
  check_refused(program, "demo --vectors v", "v/T/d.npy: shape (4,); expected (3,)");
}
