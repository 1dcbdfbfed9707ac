#include <doctest/doctest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>

#include "bitmma/isa/data_movement.hpp"
#include "bitmma/isa/wmma.hpp"
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
    REQUIRE(element.size() == (document.contains("addresses") ? 7 : 5));
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

TEST_CASE("layout names both registers of an f64") {
  const Program program;
  const std::string text =
      output_of(program, "layout m16n8k8.f64.f64.f64.f64 --operand D --lane 5");
  CHECK(text.find("5     0      0..1      63..0  1    2") != std::string::npos);
  CHECK(text.find("5     3      6..7      63..0  9    3") != std::string::npos);
  CHECK(output_of(program, "layout m16n8k8.f64.f64.f64.f64 --operand D")
            .find("lane  0..1[0]  2..3[0]  4..5[0]  6..7[0]") != std::string::npos);
}

TEST_CASE("layout of WMMA's fragments: x[3] of lane 5 by target") {
  const Program program;
  const auto x3 = [&](const std::string& form, const std::string& target) {
    const json document = layout(program, form + " --operand D --lane 5 --arch " + target);
    return std::pair<int, int>{document["elements"][3]["row"], document["elements"][3]["col"]};
  };
  CHECK(x3("wmma.m16n16k16.f32.f32", "sm_70") == std::pair{11, 1});
  CHECK(x3("wmma.m16n16k16.f16.f16", "sm_70") == std::pair{9, 3});
  CHECK(x3("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32", "sm_75") == std::pair{9, 3});
  CHECK(x3("wmma.m16n16k16.f32.f16.f16.f32", "sm_90a") == std::pair{9, 3});
}

TEST_CASE("layout of WMMA's fragments shows every copy of an element") {
  const Program program;
  const std::string a = "wmma.m16n16k16.f32.f32 --operand A --element 9,3 --arch ";
  CHECK(layout(program, a + "sm_80")["elements"] ==
        json::parse(R"([{"lane": 5, "index": 3, "row": 9, "col": 3, "block": 0, "copy": 0},
                        {"lane": 5, "index": 11, "row": 9, "col": 3, "block": 0, "copy": 1}])"));
  CHECK(layout(program, a + "sm_70")["elements"] ==
        json::parse(R"([{"lane": 5, "index": 3, "row": 9, "col": 3, "block": 0, "copy": 0},
                        {"lane": 13, "index": 3, "row": 9, "col": 3, "block": 0, "copy": 1}])"));
  CHECK(output_of(program, "layout " + a + "sm_80") ==
        "wmma.m16n16k16.f32.f16.f16.f32, operand A: 16 × 16 .f16, 32 lanes, 8 registers a lane\n"
        "on sm_80, index i is x[i]; each element is held 2 times\n"
        "runs as m16n8k16.f32.f16.f16.f32, over ascending k\n\n"
        "lane  index  register  bits    row  column  copy\n"
        "----  -----  --------  ------  ---  ------  ----\n"
        "5     3      1         31..16  9    3       0\n"
        "5     11     5         31..16  9    3       1\n");
  const std::string all =
      output_of(program, "layout wmma.m16n16k16.f32.f32 --operand A --arch sm_80");
  CHECK(all.find("\n9    4:2 4:10    4:3 4:11    5:2 5:10    5:3 5:11 ") != std::string::npos);
}

TEST_CASE("layout --json covers B of WMMA on targets of every kind") {
  const Program program;
  for (const Target& target : target_table)
    for (const WmmaInstruction& row : wmma_table) {
      if (!row.runs_on(target) || target.sm % 5 != 0 || row.k > 32) continue;
      CAPTURE(short_name(row));
      const json document =
          layout(program, short_name(row) + " --operand B --arch " + std::string(target.name));
      CHECK(document["instr"] == short_name(row));
      const Layout expected = wmma_fragment_layout(row, Operand::b, target);
      CHECK(document["elements"].size() == static_cast<std::size_t>(32 * expected.elements()));
      std::set<std::pair<int, int>> cells;
      for (const json& element : document["elements"])
        cells.emplace(element["row"].get<int>(), element["col"].get<int>());
      CHECK(cells.size() == static_cast<std::size_t>(row.k * row.n));
    }
}

TEST_CASE("layout refuses WMMA without a target that has the form") {
  const Program program;
  check_refused(program, "layout wmma.m16n16k16.f32.f32 --operand A",
                "its fragments differ by target; give --arch, one of sm_70, sm_72");
  check_refused(program, "layout wmma.m16n16k17.f32.f32 --operand A --arch sm_80",
                "unknown form of WMMA; nearest: wmma.m16n16k16.f32.f16.f16.f32");
  check_refused(program, "layout wmma.m16n16k8.f32.tf32.tf32.f32 --operand A --arch sm_75",
                "wmma.m16n16k8.f32.tf32.tf32.f32 is not on sm_75: it needs sm_80 or later");
  check_refused(program, "layout wmma.m16n16k16.f32.f32 --operand A --arch sm_71",
                "--arch sm_71: unknown target");
  check_refused(program, "layout " + m16n8k16 + " --operand A --arch sm_70",
                "is not on sm_70: it needs sm_80 or later");
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

TEST_CASE(
    "layout of a data movement: lane to row address, lane and register to element, and back") {
  const Program program;
  for (const DataMovement& row : data_movement_table) {
    CAPTURE(short_name(row));
    const json document = layout(program, ptx_name(row));
    CHECK(document["instr"] == short_name(row));
    CHECK_FALSE(document.contains("operand"));
    check_bijection(document, row.rows, row.columns, row.count, 32);
    if (row.kind == MovementKind::move) {
      CHECK_FALSE(document.contains("addresses"));
      continue;
    }
    REQUIRE(document["addresses"].size() == 32);
    for (const json& element : document["elements"]) {
      const json& from = document["addresses"][element["address_lane"].get<std::size_t>()];
      CHECK(from["matrix"] == element["block"]);
      CHECK(from["row"] == element[row.transposed ? "col" : "row"]);
      CHECK(element["address_bit"] ==
            element[row.transposed ? "row" : "col"].get<int>() * row.element.memory_bits);
    }
  }
}

TEST_CASE("layout of ldmatrix as text: addresses, matrices and elements") {
  const Program program;
  CHECK(output_of(program, "layout ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 --element 1,3") ==
        "ldmatrix.m8n8.x4.trans.b16: 4 matrices 8 × 8 .b16, 32 lanes, 4 registers a lane; "
        "evidence: published\n\n"
        "addresses: the row of 16 bytes that each lane's begins, a column in the registers\n"
        "lane  matrix  row\n"
        "----  ------  ---\n"
        "3     0       3\n"
        "11    1       3\n"
        "19    2       3\n"
        "27    3       3\n\n"
        "lane  index  register  bits    row  column  matrix  address of lane  bits from there\n"
        "----  -----  --------  ------  ---  ------  ------  ---------------  ---------------\n"
        "5     1      0         31..16  1    3       0       3                31..16\n"
        "5     3      1         31..16  1    3       1       11               31..16\n"
        "5     5      2         31..16  1    3       2       19               31..16\n"
        "5     7      3         31..16  1    3       3       27               31..16\n");
  const std::string tables = output_of(program, "layout ldmatrix.m16n16.x1.trans.b8");
  CHECK(tables.find("a matrix 16 × 16 .b8") != std::string::npos);
  CHECK(tables.find("evidence: unverified") != std::string::npos);
  CHECK(tables.find("\n15    0       15\n16            ignored\n") != std::string::npos);
  CHECK(tables.find("\n5     (1,4)   (1,5)   (1,6)   (1,7)   (9,4) ") != std::string::npos);
  CHECK(output_of(program, "layout ldmatrix.m8n8.x2.b16")
            .find("\n5     0:(1,2)  0:(1,3)  1:(1,2) ") != std::string::npos);
  const std::string turing = output_of(program, "layout ldmatrix.m8n8.x1.b16 --arch sm_75");
  CHECK(turing.find("\n8             unused, but must be valid\n") != std::string::npos);
  CHECK(
      output_of(program, "layout '  stmatrix.sync.aligned.m16n8.x1.trans.shared.b8 [%r0], {%r1};'")
          .find("stmatrix.m16n8.x1.trans.b8: a matrix 16 × 8") == 0);
  CHECK(output_of(program, "layout movmatrix.m8n8.trans.b16").find("address") == std::string::npos);
}

TEST_CASE("layout names the lanes whose addresses leave the tile or are misaligned") {
  // A 16 × 16 f16 tile at 0x1000, rows of 32 bytes.
  const Program program;
  const std::string tile = " --base 0x1000 --size 512";
  std::string right, in_elements;
  for (int lane = 0; lane < 32; ++lane) {
    right.append(std::to_string(0x1000 + lane % 16 * 32 + lane / 16 * 16)).append(" ");
    in_elements.append(std::to_string(0x1000 + lane % 16 * 16 + lane / 16 * 8)).append("\n");
  }
  program.store_text("right.txt", right);
  program.store_text("in_elements.txt", in_elements);
  const auto faults = [&](const std::string& addresses) {
    const json document = layout(program, "ldmatrix.m8n8.x4.b16 " + addresses + tile);
    std::map<std::string, std::vector<int>> lanes;
    for (const json& lane : document["addresses"])
      if (!lane["fault"].is_null()) lanes[lane["fault"]["rule"]].push_back(lane["lane"]);
    return lanes;
  };
  CHECK(faults("--addresses right.txt").empty());
  const std::vector<int> upper{16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};
  CHECK(faults("--addresses in_elements.txt") ==
        std::map<std::string, std::vector<int>>{{"alignment", upper}});
  CHECK(faults("--stride 32") == std::map<std::string, std::vector<int>>{{"range", upper}});

  CHECK(output_of(program, "layout ldmatrix.m8n8.x4.b16 --lane 17 --stride 32" + tile)
            .find("\n17    2       1    0x1220   lane 17: address 0x1220 begins 16 bytes "
                  "that are not all inside the memory: choose 0x1000 to 0x11f0\n") !=
        std::string::npos);
  const json overlap = layout(program, "stmatrix.m8n8.x1.b16 --stride 0" + tile);
  CHECK(overlap["addresses"][0]["fault"].is_null());
  CHECK(overlap["addresses"][1]["fault"]["rule"] == "overlap");
  CHECK(overlap["addresses"][1]["address"] == 0x1000);
  CHECK(overlap["addresses"][8]["fault"].is_null());
}

TEST_CASE("layout refuses addresses and options that do not fit a data movement") {
  const Program program;
  const std::string load = "layout ldmatrix.m8n8.x4.b16 ";
  program.store_text("few.txt", "0 16 0x20\n");
  program.store_text("word.txt", "0 16 0x2g\n");
  check_refused(program, "layout ldmatrix.m8n8.x3.b16",
                "ldmatrix.m8n8.x3.b16: unknown instruction; nearest: ldmatrix.m8n8.x1.b16");
  check_refused(program, load + "--operand A", "leave out --operand");
  check_refused(program, load + "--lane 32", "--lane 32: choose 0 to 31");
  check_refused(program, load + "--element 8,0", "choose a row from 0 to 7");
  check_refused(program, load + "--stride 16", "--size is required");
  check_refused(program, load + "--size 16", "--addresses or --stride");
  check_refused(program, load + "--base 16", "--addresses or --stride");
  check_refused(program, load + "--stride 0x100000000 --size 16", "no number of 32 bits");
  check_refused(program, load + "--stride -1 --size 16", "no number of 32 bits");
  check_refused(program, load + "--stride 1k --size 16", "no number of 32 bits");
  check_refused(program, load + "--stride 0x10000000 --size 16", "lane 16's address exceeds");
  check_refused(program, load + "--stride 16 --addresses few.txt --size 16", "excludes");
  check_refused(program, load + "--addresses few.txt --size 16",
                "few.txt: 3 addresses; write one for each of 32 lanes");
  check_refused(program, load + "--addresses word.txt --size 16",
                "word.txt: 0x2g is no number of 32 bits");
  check_refused(program, load + "--addresses absent.txt --size 16", "absent.txt: no such file");
  check_refused(program, load + "--arch sm_70", "--arch sm_70: ldmatrix.m8n8.x4.b16 needs sm_75");
  check_refused(program, load + "--arch sm_91", "--arch sm_91: unknown target; choose from sm_70");
  check_refused(program, "layout movmatrix.m8n8.trans.b16 --stride 16 --size 16",
                "are for ldmatrix and stmatrix alone");
  check_refused(program, "layout " + m16n8k16 + " --operand A --size 16",
                "are for ldmatrix and stmatrix alone");
}
