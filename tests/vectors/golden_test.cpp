/// The emulator against output elements that this project measured, one case line each.

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "bitmma/compare/case_line.hpp"
#include "bitmma/emulator/instruction.hpp"
#include "bitmma/isa/evidence.hpp"

using namespace bitmma;

namespace {

constexpr int least_rows = 300;  ///< recorded for each instruction

/// Measured output elements, and the toolkit that compiled their kernels.
struct Golden {
  int cuda = 0;
  std::vector<DotCase> rows;

  Execution execution(const DotCase& row) const { return resolve(row.row, *row.target, cuda); }
};

Golden read_golden() {
  const std::filesystem::path root = BITMMA_SOURCE_DIR;
  std::ifstream file(root / "tests/vectors/sm_90/golden.txt");
  REQUIRE(file);
  Golden golden;
  constexpr std::string_view nvcc = "# nvcc: ";
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(nvcc))
      golden.cuda = parse_cuda(std::string_view(line).substr(nvcc.size())).value();
    if (!line.starts_with("#")) golden.rows.push_back(parse_case_line(line));
  }
  REQUIRE(golden.cuda > 0);
  return golden;
}

/// D by the emulator, from that c.
Code emulate(const Execution& execution, const DotCase& row, Code c) {
  return run_chain(execution, row.a.data(), row.b.data(), row.a.size(), c);
}

/// For each instruction, how many golden rows a faulty emulator gets wrong.
template <class Fault>
std::map<std::string, int> caught(Fault fault) {
  std::map<std::string, int> wrong;
  const Golden golden = read_golden();
  for (const DotCase& row : golden.rows) {
    Execution execution = golden.execution(row);
    const Code c = fault(execution, row.c);
    wrong[short_name(table_row(row.row))] += emulate(execution, row, c) != row.d.value();
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

TEST_CASE("every golden row comes out bit for bit, and every measured instruction has rows") {
  std::map<std::string, int> rows;
  const Golden golden = read_golden();
  for (const DotCase& row : golden.rows) {
    INFO(short_name(row.row), ", row ", rows[short_name(table_row(row.row))]);
    CHECK(emulate(golden.execution(row), row, row.c) == row.d.value());
    ++rows[short_name(table_row(row.row))];
  }
  for (const Instruction& row : instruction_table)
    if (find_evidence(row, *find_target("sm_90")).label == EvidenceLabel::hardware) {
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
