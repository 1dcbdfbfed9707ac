#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "bitmma/isa/matrix_descriptor.hpp"
#include "bitmma/tests/apps/program.hpp"

using namespace bitmma;
using namespace bitmma::test;
using nlohmann::json;

namespace {

const std::string f16_n64 = " --instr wgmma.m64n64k16.f32.f16.f16 ";

json explained(const Program& program, const std::string& arguments, int status = 0) {
  return json::parse(output_of(program, "descriptor --json " + arguments, status));
}

}  // namespace

TEST_CASE("descriptor explains every field, the layout and the first addresses") {
  const Program program;
  CHECK(output_of(program, "descriptor 0x4000004000010040" + f16_n64) ==
        "0x4000004000010040: B of wgmma.m64n64k16.f32.f16.f16, K-major\n\n"
        "field                     bits    raw   meaning\n"
        "------------------------  ------  ----  -----------------------------------------\n"
        "start address             13..0   0x40  0x00400\n"
        "leading dimension offset  29..16  0x1   16 bytes, not used: one atom along k\n"
        "stride dimension offset   45..32  0x40  1024 bytes to the next 8 along n\n"
        "base offset               51..49  0x0   patterns start at multiples of 1024 bytes\n"
        "swizzle mode              63..62  0x1   128B: address bits 6..4 ^= bits 9..7\n\n"
        "atom: 8 lines along n of 128 bytes, 64 elements along k\n"
        "operand: 8 × 1 atoms along n and k, in bytes 0x00400 to 0x02400\n\n"
        "addresses of the first 8 elements from each\n"
        "n  k=0      k=8\n"
        "-  -------  -------\n"
        "0  0x00400  0x00410\n"
        "1  0x00490  0x00480\n"
        "2  0x00520  0x00530\n"
        "3  0x005b0  0x005a0\n"
        "4  0x00640  0x00650\n"
        "5  0x006d0  0x006c0\n"
        "6  0x00760  0x00770\n"
        "7  0x007f0  0x007e0\n\n"
        "no contradiction\n");
}

TEST_CASE("descriptor without an instruction looks at the fields alone") {
  const std::string text = output_of(Program(), "descriptor 0xC002000000000008", 0);
  CHECK(text.starts_with("0xc002000000000008\n\n"));
  CHECK(text.find("patterns start at multiples of 256 bytes, plus 128\n") != std::string::npos);
  CHECK(text.find("32B: address bit 4 ^= bit 7\n") != std::string::npos);
  CHECK(text.ends_with("\nno contradiction in the fields; --instr checks the layout too\n"));
  CHECK(text.find("atom:") == std::string::npos);
}

TEST_CASE("descriptor reports each contradiction in a line and ends with status 1") {
  const Program program;
  const std::string text = output_of(
      program, "descriptor 0x4000404000010090 --major mn --instr wgmma.m64n64k8.f32.tf32.tf32", 1);
  for (const char* rule :
       {"bits 14-15, 30-31, 46-48 and 52-61 are reserved: 0x0000400000000000 is set there; ",
        "an operand starts in row 0 of its pattern; ", "imm-trans-a and imm-trans-b exist for ",
        "every atom starts at a pattern; ", "every element has bytes of its own: "})
    CHECK(text.find(std::string("\ncontradiction: ").append(rule)) != std::string::npos);
  CHECK(text.find("no contradiction") == std::string::npos);

  const json findings = explained(program, "0x4000004000010048" + f16_n64, 1)["findings"];
  REQUIRE(findings.size() == 1);
  CHECK(findings[0] ==
        json{{"level", "contradiction"},
             {"rule",
              "an operand starts in row 0 of its pattern; 128B swizzle repeats every 1024 bytes"},
             {"seen", "start address 0x00480 is in row 1 (base offset 0)"},
             {"right",
              "a start address from 0x00400 to 0x00470, or base offset 1 if the pattern starts "
              "there"}});
  // A remark alone is no contradiction.
  const json remarks = explained(program, "0x4000004000050040" + f16_n64)["findings"];
  REQUIRE(remarks.size() == 1);
  CHECK(remarks[0]["level"] == "remark");
}

TEST_CASE("descriptor --json has the fields and the address of every chunk") {
  const json document = explained(
      Program(), "--operand a --major MN 0x4000008004000040 --instr wgmma.m64n8k16.f16.f16.f16");
  CHECK(document["descriptor"] == "0x4000008004000040");
  CHECK(document["swizzle"] == "128B");
  REQUIRE(document["fields"].size() == std::size(descriptor_field_table));
  CHECK(document["fields"][2] == json{{"name", "stride dimension offset"},
                                      {"first_bit", 32},
                                      {"bits", 14},
                                      {"raw", 128},
                                      {"value", 2048},
                                      {"meaning", "2048 bytes to the next 8 along k"}});
  const json& use = document["use"];
  CHECK(use["operand"] == "A");
  CHECK(use["major"] == "mn");
  CHECK(use["first_byte"] == 0x400);
  CHECK(use["end_byte"] == 0x400 + 2048 + 1024);
  CHECK(use["chunks"].size() == 64 * 16 * 2 / 16);
  CHECK(use["chunks"][9] == json{{"m", 8}, {"k", 1}, {"address", 0x480}});
  std::set<int> addresses;
  for (const json& chunk : use["chunks"]) addresses.insert(chunk["address"].get<int>());
  CHECK(addresses.size() == use["chunks"].size());
}

TEST_CASE("descriptor --make builds what it explains, dense unless offsets are given") {
  const Program program;
  const auto made = [&](const std::string& arguments) {
    return explained(program, "--make " + arguments)["descriptor"].get<std::string>();
  };
  CHECK(made("--start 0x400 --swizzle 128B" + f16_n64) == "0x4000004000010040");
  CHECK(made("--start 1024" + f16_n64) == "0x0000001000080040");
  CHECK(made("--swizzle 64B --major mn" + f16_n64) == "0x8000004000200000");
  CHECK(made("--leading 2048 --stride 128 --major mn" + f16_n64) == "0x0000000800800000");
  CHECK(made("--start 0x480 --leading 0 --stride 1024 --base-offset 1 --swizzle 128B") ==
        "0x4002004000000048");
}

TEST_CASE("descriptor refuses what is no descriptor, field or use of one") {
  const Program program;
  check_refused(program, "descriptor", "give a descriptor such as 0x4000004000010000, or --make");
  for (const char* text : {"0x", "12zz", "0x1FFFFFFFFFFFFFFFF", "0x-1", "1.5"})
    check_refused(program, std::string("descriptor ") + text,
                  std::string(text) + ": no number of 64 bits such as 0x4000004000010000");
  check_refused(program, "descriptor 1 --make", "excludes --make");
  check_refused(program, "descriptor 1 --swizzle 64B", "--swizzle requires --make");
  check_refused(program, "descriptor 1 --instr m16n8k16.f32.f16.f16.f32",
                "only wgmma reads operands through a matrix descriptor");
  check_refused(program, "descriptor 1 --instr wgmma.m64nNk16.f32.f16.f16",
                "N must be a number here; choose 8, 16, … 256");
  check_refused(program, "descriptor 1 --operand C", "C not in {A,B}");
  check_refused(program, "descriptor 1 --major row", "row not in {k,mn}");
  const std::string make = "descriptor --make" + f16_n64;
  check_refused(program, "descriptor --make --stride 128", "--make needs --leading and --stride");
  check_refused(program, make + "--swizzle 256B",
                "--swizzle 256B: choose from none, 128B, 64B, 32B");
  check_refused(program, make + "--start 0x401",
                "--start 0x401: choose a multiple of 16 from 0 to 0x3fff0");
  check_refused(program, make + "--leading 0x40000", "--leading 0x40000: choose a multiple of 16");
  check_refused(program, make + "--stride -16", "--stride -16: choose a multiple of 16");
  check_refused(program, make + "--base-offset 8", "--base-offset 8: choose 0 to 7");
}
