/// The emulator against output elements that this project measured, one a line:
/// instruction target a[0]..a[k-1] b[0]..b[k-1] c d, codes in hexadecimal.

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "bitmma/emulator/instruction.hpp"

using namespace bitmma;

namespace {

constexpr int least_rows = 300;  ///< recorded for each instruction

struct Golden {
  std::string instruction;
  std::string target;
  std::vector<Code> codes;  ///< a, b, c and d
};

Golden parse(const std::string& line) {
  std::istringstream text(line);
  Golden golden;
  text >> golden.instruction >> golden.target;
  for (std::string code; text >> code;) golden.codes.push_back(std::stoull(code, nullptr, 16));
  return golden;
}

/// D by the emulator.
Code emulate(const Golden& golden) {
  const Execution execution = find_execution(golden.target, golden.instruction).value();
  const auto k = static_cast<std::size_t>(execution.instruction.k);
  REQUIRE(golden.codes.size() == 2 * k + 2);
  return run_chain(execution, golden.codes.data(), golden.codes.data() + k, k, golden.codes[2 * k]);
}

}  // namespace

TEST_CASE("every golden row comes out bit for bit, and every instruction of its target has rows") {
  const std::filesystem::path root = BITMMA_SOURCE_DIR;
  std::ifstream file(root / "tests/vectors/sm_90/golden.txt");
  REQUIRE(file);
  std::map<std::string, int> rows;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#")) continue;
    const Golden golden = parse(line);
    INFO(line);
    CHECK(emulate(golden) == golden.codes.back());
    Instruction row = find_instruction(golden.instruction).value();
    if (row.family == Family::wgmma) row.n = 0;
    ++rows[short_name(row)];
  }
  for (const Instruction& row : instruction_table) {
    CAPTURE(short_name(row));
    CHECK(rows[short_name(row)] >= least_rows);
  }
}
