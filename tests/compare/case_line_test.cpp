#include "bitmma/compare/case_line.hpp"

#include <doctest/doctest.h>

namespace bitmma {
namespace {

std::string error_of(const std::string& line) {
  try {
    parse_case_line(line);
  } catch (const CaseLineError& error) {
    return error.what();
  }
  return "no error";
}

TEST_CASE("a case line is read as it was written, with and without d") {
  const std::string line =
      "m16n8k4.f32.tf32.tf32.f32 sm_90 3f800000 00000000 80000001 7fffffff "
      "00000001 00000002 00000003 00000004 ff800000";
  for (const std::string& each : {line, line + " 0123abcd"})
    CHECK(case_line(parse_case_line(each)) == each);
  const DotCase dot = parse_case_line(line + " 0123abcd");
  CHECK(dot.a == std::vector<Code>{0x3F800000, 0, 0x80000001, 0x7FFFFFFF});
  CHECK(dot.b == std::vector<Code>{1, 2, 3, 4});
  CHECK(dot.c == 0xFF800000);
  CHECK(dot.d == 0x0123ABCD);
  CHECK(dot.target == find_target("sm_90"));
  CHECK_FALSE(parse_case_line(line).d);
}

TEST_CASE("codes are as wide as their formats") {
  const std::string line =
      "m8n8k4.f32.f16.f16.f32 sm_70 0001 0002 0003 0004 0005 0006 0007 0008 "
      "00000009";
  CHECK(case_line(parse_case_line(line)) == line);
}

TEST_CASE("codes of less than a byte are the digits of one word") {
  const std::string line =
      "m8n8k32.s32.s4.u4.s32 sm_75 0123456789abcdef0123456789abcdef "
      "fedcba9876543210fedcba9876543210 80000000 00000001";
  const DotCase dot = parse_case_line(line);
  CHECK(case_line(dot) == line);
  CHECK(dot.a.size() == 32);
  CHECK(dot.a[31] == 0xF);
  CHECK(dot.b[0] == 0xF);
  CHECK(error_of("m8n8k32.s32.s4.u4.s32 sm_75 0123 0123 80000000") ==
        "0123 has 4 digits; m8n8k32.s32.s4.u4.s32 has 32 of s4 in one word");
  CHECK(error_of("m8n8k128.s32.b1.b1.s32.xor.popc sm_75 " + std::string(128, '2') + " " +
                 std::string(128, '1') + " 0") == "2 is no code of b1 in hexadecimal");
}

TEST_CASE("a text that is no case line says why") {
  CHECK(error_of("") == "expected INSTRUCTION TARGET and codes");
  CHECK(error_of("m8n8k4 sm_70 0") == "m8n8k4: unknown instruction");
  CHECK(error_of("m8n8k4.f32.f16.f16.f32 sm_71 0") == "sm_71: unknown target");
  CHECK(error_of("m8n8k4.f32.f16.f16.f32 sm_70 0") ==
        "1 codes; m8n8k4.f32.f16.f16.f32 has 4 of A, 4 of B, c and, if measured, d");
  const std::string start = "m8n8k4.f32.f16.f16.f32 sm_70 1 2 3 4 5 6 7 ";
  CHECK(error_of(start + "10000 9") == "10000 is no code of f16 in hexadecimal");
  CHECK(error_of(start + "0x10 9") == "0x10 is no code of f16 in hexadecimal");
  CHECK(error_of(start + "-1 9") == "-1 is no code of f16 in hexadecimal");
  CHECK(error_of(start + "8 9") == "no error");
}

}  // namespace
}  // namespace bitmma
