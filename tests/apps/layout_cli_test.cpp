#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>

#include "bitmma/tests/apps/program.hpp"

using namespace bitmma;
using namespace bitmma::test;
using nlohmann::json;

namespace {

const std::string m16n8k16 = "m16n8k16.f32.f16.f16.f32";

json layout(const Program& program, const std::string& arguments) {
  return json::parse(output_of(program, "layout --json " + arguments));
}

/// Rows and columns of an operand's tile.
std::pair<int, int> tile(const Instruction& row, Operand operand) {
  if (operand == Operand::a) return {row.m, row.k};
  if (operand == Operand::b) return {row.k, row.n};
  return {row.m, row.n};
}

void check_bijection(const json& document, int rows, int columns, int blocks, int lanes) {
  CHECK(document["rows"] == rows);
  CHECK(document["cols"] == columns);
  const auto cells = static_cast<std::size_t>(rows * columns * blocks);
  CHECK(document["elements"].size() == cells);
  std::set<std::tuple<int, int, int>> seen_cells;
  std::set<std::pair<int, int>> seen_places;
  for (const json& element : document["elements"]) {
    REQUIRE(element.size() == 5);
    const int row = element["row"], column = element["col"], block = element["block"];
    const int lane = element["lane"], index = element["index"];
    REQUIRE((0 <= row && row < rows && 0 <= column && column < columns));
    REQUIRE((0 <= block && block < blocks && 0 <= lane && lane < lanes));
    REQUIRE((0 <= index && index < static_cast<int>(cells) / lanes));
    seen_cells.insert({row, column, block});
    seen_places.insert({lane, index});
  }
  CHECK(seen_cells.size() == cells);
  CHECK(seen_places.size() == cells);
}

}  // namespace

TEST_CASE("layout --json is a bijection for every instruction and operand") {
  const Program program;
  constexpr std::pair<const char*, Operand> operands[] = {
      {"A", Operand::a}, {"B", Operand::b}, {"C", Operand::c}, {"D", Operand::d}};
  for (Instruction row : instruction_table) {
    if (row.n == 0) row.n = 24;
    for (const auto& [name, operand] : operands) {
      if (!has_fragment(row, operand)) continue;
      CAPTURE(short_name(row));
      const json document = layout(program, "--operand " + std::string(name) + " " + ptx_name(row));
      CHECK(document["instr"] == short_name(row));
      CHECK(document["operand"] == name);
      const auto [rows, columns] = tile(row, operand);
      check_bijection(document, rows, columns, row.blocks(),
                      row.family == Family::wgmma ? 128 : 32);
    }
  }
}

TEST_CASE("layout --lane shows the fragment that PTX documents") {
  // PTX ISA, mma.m16n8k16, A: row = group (+ 8 for a2, a3, a6, a7),
  // column = 2 · (lane % 4) + (i & 1) (+ 8 for i >= 4); lane 5 is number 1 of group 1.
  const json elements = layout(Program(), m16n8k16 + " --operand a --lane 5")["elements"];
  constexpr std::pair<int, int> documented[] = {{1, 2},  {1, 3},  {9, 2},  {9, 3},
                                                {1, 10}, {1, 11}, {9, 10}, {9, 11}};
  REQUIRE(elements.size() == std::size(documented));
  for (std::size_t i = 0; i < elements.size(); ++i) {
    CHECK(elements[i]["lane"] == 5);
    CHECK(elements[i]["index"] == i);
    CHECK(elements[i]["row"] == documented[i].first);
    CHECK(elements[i]["col"] == documented[i].second);
  }
}

TEST_CASE("layout --element finds one place in a tile and four in quad pairs") {
  const Program program;
  const json one = layout(program, "--element 9,3 --operand D " + m16n8k16)["elements"];
  CHECK(one == json::parse(R"([{"lane": 5, "index": 3, "row": 9, "col": 3, "block": 0}])"));

  const json four = layout(program, "m8n8k4.f16.f16.f16.f16 --operand D --element 6,1")["elements"];
  REQUIRE(four.size() == 4);
  for (int pair = 0; pair < 4; ++pair) {
    const json& element = four[static_cast<std::size_t>(pair)];
    CHECK(element["block"] == pair);
    CHECK(element["lane"] == 4 * pair + 18);
    CHECK(element["index"] == 1);
  }
  CHECK(layout(program, m16n8k16 + " --operand D --element 9,3 --lane 4")["elements"].empty());
}

TEST_CASE("layout as text names lane, register, bits, row and column") {
  const Program program;
  CHECK(output_of(program, "layout " + m16n8k16 + " --operand A --element 9,3") ==
        "m16n8k16.f32.f16.f16.f32, operand A: 16 × 16 .f16, 32 lanes, 4 registers a lane\n\n"
        "lane  index  register  bits    row  column\n"
        "----  -----  --------  ------  ---  ------\n"
        "5     3      1         31..16  9    3\n");
  const std::string tables = output_of(program, "layout " + m16n8k16 + " --operand D");
  CHECK(tables.find("\nlane  0[0]   1[0]   2[0]    3[0]\n") != std::string::npos);
  CHECK(tables.find("\n5     (1,2)  (1,3)  (9,2)   (9,3)\n") != std::string::npos);
  CHECK(tables.find("\n9    4:2   4:3   5:2   5:3   6:2   6:3   7:2   7:3\n") != std::string::npos);
  CHECK(output_of(program, "layout m8n8k4.f32.f16.f16.f32 --operand D").find("quad pair 3") !=
        std::string::npos);
}

TEST_CASE("layout refuses what is no fragment, lane or element") {
  const Program program;
  const std::string a = "layout " + m16n8k16 + " --operand A ";
  check_refused(program, "layout wgmma.m64n8k16.f32.f16.f16 --operand B", "shared memory");
  check_refused(program, "layout wgmma.m64nNk16.f32.f16.f16 --operand D", "N must be a number");
  check_refused(program, "layout m16n8k17.f32.f16.f16.f32 --operand A",
                "unknown instruction; nearest: m16n8k16.f32.f16.f16.f32");
  check_refused(program, "layout " + m16n8k16, "--operand is required");
  check_refused(program, "layout " + m16n8k16 + " --operand E", "E not in {A,B,C,D}");
  check_refused(program, a + "--lane 32", "--lane 32: choose 0 to 31");
  check_refused(program, a + "--lane 99999999999", "99999999999");
  check_refused(program, a + "--lane -1", "--lane: -1 is no whole number");
  check_refused(program, a + "--lane 010", "--lane: 010 is no whole number");
  check_refused(program, a + "--element 16,0",
                "choose a row from 0 to 15 and a column from 0 to 15");
  check_refused(program, a + "--element 0,16", "--element 0,16: choose");
  for (const char* element : {"1", "1,2,3", "a,b", "1,", ",", "-1,2", "1.5,2"})
    check_refused(program, a + "--element " + element, "--element");
}
