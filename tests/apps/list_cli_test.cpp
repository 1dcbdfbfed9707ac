#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "bitmma/tests/apps/program.hpp"

using namespace bitmma;
using namespace bitmma::test;
using nlohmann::json;

namespace {

json entry(const json& entries, const std::string& instr) {
  for (const json& candidate : entries)
    if (candidate["instr"] == instr) return candidate;
  FAIL("no entry for ", instr);
  return {};
}

json listed(const Program& program, const std::string& arch) {
  return json::parse(output_of(program, "list --json --arch " + arch));
}

}  // namespace

TEST_CASE("list --json has one complete object for each instruction of each target") {
  std::set<std::pair<std::string, std::string>> seen;
  const json entries = json::parse(output_of(Program(), "list --json"));
  REQUIRE(entries.is_array());
  for (const json& each : entries) {
    REQUIRE(each.size() == 8);
    const Instruction row = find_instruction(each["ptx"].get<std::string>()).value();
    CHECK(short_name(row) == each["instr"]);
    CHECK(row.runs_on(*find_target(each["arch"].get<std::string>())));
    CHECK(each["native"].get<bool>() == each["lowered_to"].empty());
    CHECK_FALSE(each["source"].get<std::string>().empty());
    CHECK(std::set<std::string>{"unverified", "published", "vectors", "hardware"}.contains(
        each["evidence"].get<std::string>()));
    seen.emplace(each["instr"].get<std::string>(), each["arch"].get<std::string>());
  }
  std::size_t expected = 0;
  for (const Target& target : target_table)
    for (const Instruction& row : instruction_table) expected += row.runs_on(target) ? 1 : 0;
  CHECK(entries.size() == expected);
  CHECK(seen.size() == expected);
}

TEST_CASE("list says what m8n8k4 and FP8 run as") {
  const Program program;
  const std::string quad_pair = "m8n8k4.f32.f16.f16.f32", fp8 = "m16n8k32.f32.e4m3.e4m3.f32";
  CHECK(entry(listed(program, "sm_70"), quad_pair)["native"] == true);
  CHECK(entry(listed(program, "sm_90"), quad_pair)["lowered_to"] ==
        json{"FFMA", "FFMA", "FFMA", "FFMA", "FADD"});
  CHECK(entry(listed(program, "sm_89"), fp8)["native"] == true);
  CHECK(entry(listed(program, "sm_90"), fp8)["lowered_to"] ==
        json{"HMMA.16816.F32", "HMMA.16816.F32", "FADD"});
  CHECK(listed(program, "sm_90a") == listed(program, "sm_90"));
}

TEST_CASE("list has a line for each instruction") {
  const Program program;
  const std::string all = output_of(program, "list");
  const std::string hopper = output_of(program, "list --arch sm_90");
  const std::string volta = output_of(program, "list --arch sm_70");
  for (const Instruction& row : instruction_table) {
    const std::string start = std::string("\n").append(short_name(row)).append("  ");
    CAPTURE(start);
    CHECK(all.find(start) != std::string::npos);
    CHECK((hopper.find(start) != std::string::npos) == row.runs_on(*find_target("sm_90")));
    CHECK((volta.find(start) != std::string::npos) == row.runs_on(*find_target("sm_70")));
  }
  CHECK(hopper.find("2 × HMMA.16816.F32, FADD") != std::string::npos);
}

TEST_CASE("list refuses an unknown target and names the known ones") {
  check_refused(Program(), "list --arch sm_91",
                "--arch sm_91: unknown target; choose from sm_70, ");
}
