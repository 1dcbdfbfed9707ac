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

std::vector<Golden> golden_rows() {
  const std::filesystem::path root = BITMMA_SOURCE_DIR;
  std::ifstream file(root / "tests/vectors/sm_90/golden.txt");
  REQUIRE(file);
  std::vector<Golden> rows;
  for (std::string line; std::getline(file, line);)
    if (!line.starts_with("#")) rows.push_back(parse(line));
  return rows;
}

Execution execution_of(const Golden& golden) {
  return find_execution(golden.target, golden.instruction).value();
}

/// D by the emulator, from that c.
Code emulate(const Execution& execution, const Golden& golden, Code c) {
  const auto k = static_cast<std::size_t>(execution.instruction.k);
  REQUIRE(golden.codes.size() == 2 * k + 2);
  return run_chain(execution, golden.codes.data(), golden.codes.data() + k, k, c);
}

Code measured_c(const Golden& golden) { return golden.codes[golden.codes.size() - 2]; }
Code measured_d(const Golden& golden) { return golden.codes.back(); }

/// The table's name of a row: wgmma for every N.
std::string table_name(const Golden& golden) {
  Instruction row = find_instruction(golden.instruction).value();
  if (row.family == Family::wgmma) row.n = 0;
  return short_name(row);
}

/// For each instruction, how many golden rows a faulty emulator gets wrong.
template <class Fault>
std::map<std::string, int> caught(Fault fault) {
  std::map<std::string, int> wrong;
  for (const Golden& golden : golden_rows()) {
    Execution execution = execution_of(golden);
    const Code c = fault(execution, measured_c(golden));
    wrong[table_name(golden)] += emulate(execution, golden, c) != measured_d(golden);
  }
  return wrong;
}

/// No tensor core, or FP8 as f16 with f16 results, whose rounding to 11 bits leaves too little to
/// see.
bool hides_fraction_bits(const Execution& execution) {
  const bool fp8_as_f16 = execution.program.operations[0].as_f16;
  return execution.program.step_products == 0 || (fp8_as_f16 && *execution.instruction.d == f16);
}

}  // namespace

TEST_CASE("every golden row comes out bit for bit, and every instruction of its target has rows") {
  std::map<std::string, int> rows;
  for (const Golden& golden : golden_rows()) {
    INFO(golden.instruction, ", row ", rows[table_name(golden)]);
    CHECK(emulate(execution_of(golden), golden, measured_c(golden)) == measured_d(golden));
    ++rows[table_name(golden)];
  }
  for (const Instruction& row : instruction_table) {
    CAPTURE(short_name(row));
    CHECK(rows[short_name(row)] >= least_rows);
  }
}

TEST_CASE("the golden rows of every instruction catch a lost c") {
  for (const auto& instruction : caught([](Execution&, Code) { return Code{0}; })) {
    CAPTURE(instruction.first);
    CHECK(instruction.second > 0);
  }
}

TEST_CASE("the golden rows of every tensor-core instruction catch one fraction bit more or less") {
  for (const int change : {-1, 1}) {
    const auto fault = [change](Execution& execution, Code c) {
      execution.program.step.fraction_bits += change;
      return c;
    };
    for (const auto& instruction : caught(fault)) {
      CAPTURE(instruction.first);
      CAPTURE(change);
      if (!hides_fraction_bits(find_execution("sm_90", instruction.first).value()))
        CHECK(instruction.second > 0);
    }
  }
}
