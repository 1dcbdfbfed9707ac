#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "bitmma/apps/operand.hpp"
#include "bitmma/tests/apps/program.hpp"

using namespace bitmma;
using namespace bitmma::test;
using nlohmann::json;

namespace {

/// Writes a.npy and b.npy (1, k) and c.npy (1) in the formats of an instruction.
void store_row(const Program& program, const Instruction& row, const Codes& a, const Codes& b,
               Code c) {
  program.store("a.npy", array_of(native_type(*row.a), {1, a.size()}, a));
  program.store("b.npy", array_of(native_type(*row.b), {1, b.size()}, b));
  program.store("c.npy", array_of(native_type(*row.c), {1}, {c}));
}

Codes codes(const Format& format, const std::vector<double>& values) {
  Codes codes;
  for (const double value : values) codes.push_back(from_double(format, value));
  return codes;
}

/// The published dot product that tells the architectures apart (Xie et al. 2025, table 8).
std::string explained(const Program& program, const std::string& arch, const std::string& instr,
                      const std::string& options = "") {
  const Instruction row = find_instruction(instr).value();
  store_row(program, row, codes(*row.a, {-8192, -0.5, -0.25, -0.125}),
            codes(*row.b, {1024, 1, 1, 1}), from_double(*row.c, 8388608));
  return output_of(
      program, "explain --arch " + arch + " --instr " + instr + " a.npy b.npy c.npy " + options);
}

Code code_of(const json& text) { return std::stoull(text.get<std::string>(), nullptr, 16); }

/// Exact: the decimals that the tests read have few enough significant bits.
double number(const json& decimal) { return std::stod(decimal.get<std::string>()); }

/// A term by its own fields; returns what alignment kept of it.
double check_term(const json& term, const json& step, const Instruction& row) {
  const double value = number(term["value"]), cut = number(term["cut"]);
  if (term["term"].is_number())
    CHECK(value == to_double(*row.a, code_of(term["a"])) * to_double(*row.b, code_of(term["b"])));
  const int exponent = step["exponent"], last_place = exponent - step["fraction_bits"].get<int>();
  CHECK(term["shift"] == exponent - term["exponent"].get<int>());
  CHECK(std::abs(cut) < std::ldexp(1, last_place));
  CHECK(std::abs(cut) <= std::abs(value));
  CHECK(value * cut >= 0);
  const double kept_places = std::ldexp(value - cut, -last_place);
  CHECK(kept_places == std::trunc(kept_places));
  return value - cut;
}

/// A step by its own fields; returns its result's value.
double check_step(const json& step, const Instruction& row, double c) {
  CHECK(step["special"] == false);
  double sum = 0;
  for (const json& term : step["terms"]) sum += check_term(term, step, row);
  CHECK(step["terms"].back()["term"] == "c");
  CHECK(number(step["terms"].back()["value"]) == c);
  CHECK(sum == number(step["sum"]));
  const double result = to_double(*row.d, code_of(step["result"]));
  CHECK(sum + number(step["rounding"]) == result);
  return result;
}

/// Explains a random row and checks every native step against its neighbours and the emulator.
void check_native(const std::string& arch, const std::string& instr, std::size_t k,
                  std::size_t steps) {
  CAPTURE(instr);
  const Program program;
  const Execution executed = execution(arch, instr);
  const Instruction& row = executed.instruction;
  std::mt19937 random(7);
  const Codes a = random_codes(*row.a, k, random), b = random_codes(*row.b, k, random);
  const Code c = random_codes(*row.c, 1, random)[0];
  store_row(program, row, a, b, c);
  const json document = json::parse(output_of(
      program, "explain --json --arch " + arch + " --instr " + instr + " a.npy b.npy c.npy"));
  CHECK(document["native"] == true);
  double running = to_double(*row.c, c);
  std::size_t seen_steps = 0, next_k = 0;
  for (const json& operation : document["operations"])
    for (const json& step : operation["steps"]) {
      running = check_step(step, row, running);
      ++seen_steps;
      for (std::size_t i = 0; i + 1 < step["terms"].size(); ++i)
        CHECK(step["terms"][i]["term"] == next_k++);
    }
  CHECK(seen_steps == steps);
  CHECK(code_of(document["result"]) == run_chain(executed, a.data(), b.data(), k, c));
  CHECK(number(document["value"]) == running);
  CHECK(document["error"]["absolute"] ==
        doctest::Approx(std::abs(running - number(document["exact"]))).epsilon(1e-12));
}

}  // namespace

TEST_CASE("explain shows the published dot product on Volta") {
  CHECK(
      explained(Program(), "sm_70", "m8n8k4.f32.f16.f16.f32") ==
      R"(m8n8k4.f32.f16.f16.f32 on sm_70: native; evidence: vectors (V100: 2,500 rows of one layout)
4 products in 1 instruction

  m8n8k4.f32.f16.f16.f32, c = 8388608
  step 1 of 1: k = 0..3, aligned to 2^23, 23 fraction bits kept: last place 2^0
    term  a · b         exact value  exponent  shift  significand, kept|cut  value cut off
    ----  ------------  -----------  --------  -----  ---------------------  -------------
    k=0   -8192 · 1024  -8388608     23        0      1
    k=1   -0.5 · 1      -0.5         -1        24     |1                     -0.5
    k=2   -0.25 · 1     -0.25        -2        25     |1                     -0.25
    k=3   -0.125 · 1    -0.125       -3        26     |1                     -0.125
    c                   8388608      23        0      1
    sum 0 -> .f32 0x00000000 = 0 (truncated: nothing lost)

d      0x00000000 = 0
exact  -0.875 (-0x1.cp-1)
       correctly rounded 0xBF600000 = -0.875
error  absolute 0.875, relative 1, 1.46801e+07 ulp of .f32, relative to Σ|a||b|+|c| 5.21541e-08
f32 loop on a CPU, c first, without fma: 0xBF600000 = -0.875
)");
}

TEST_CASE("explain shows the published dot product on Ampere") {
  CHECK(explained(Program(), "sm_80", "m16n8k16.f32.f16.f16.f32") ==
        R"(m16n8k16.f32.f16.f16.f32 on sm_80: native; evidence: published (Xie et al.)
4 products in 1 instruction

  m16n8k16.f32.f16.f16.f32, c = 8388608
  step 1 of 2: k = 0..7, aligned to 2^23, 24 fraction bits kept: last place 2^-1
    term  a · b         exact value  exponent  shift  significand, kept|cut  value cut off
    ----  ------------  -----------  --------  -----  ---------------------  -------------
    k=0   -8192 · 1024  -8388608     23        0      1
    k=1   -0.5 · 1      -0.5         -1        24     1
    k=2   -0.25 · 1     -0.25        -2        25     |1                     -0.25
    k=3   -0.125 · 1    -0.125       -3        26     |1                     -0.125
    c                   8388608      23        0      1
    (4 zero terms)
    sum -0.5 -> .f32 0xBF000000 = -0.5 (truncated: nothing lost)
  step 2 of 2: k = 8..15, aligned to 2^-1, 24 fraction bits kept: last place 2^-25
    term  a · b  exact value  exponent  shift  significand, kept|cut  value cut off
    ----  -----  -----------  --------  -----  ---------------------  -------------
    c            -0.5         -1        0      1
    (8 zero terms)
    sum -0.5 -> .f32 0xBF000000 = -0.5 (truncated: nothing lost)

d      0xBF000000 = -0.5
exact  -0.875 (-0x1.cp-1)
       correctly rounded 0xBF600000 = -0.875
error  absolute 0.375, relative 0.428571, 6.29146e+06 ulp of .f32, relative to Σ|a||b|+|c| 2.23517e-08
f32 loop on a CPU, c first, without fma: 0xBF600000 = -0.875
)");
}

TEST_CASE("explain shows the published dot product on Hopper") {
  const std::string text = explained(Program(), "sm_90", "m16n8k16.f32.f16.f16.f32");
  // The first line holds the count of measured outputs, which grows.
  CHECK(text.starts_with("m16n8k16.f32.f16.f16.f32 on sm_90: native; evidence: hardware (H200: "));
  CHECK(text.substr(text.find('\n')) ==
        R"(
4 products in 1 instruction

  m16n8k16.f32.f16.f16.f32, c = 8388608
  step 1 of 1: k = 0..15, aligned to 2^23, 25 fraction bits kept: last place 2^-2
    term  a · b         exact value  exponent  shift  significand, kept|cut  value cut off
    ----  ------------  -----------  --------  -----  ---------------------  -------------
    k=0   -8192 · 1024  -8388608     23        0      1
    k=1   -0.5 · 1      -0.5         -1        24     1
    k=2   -0.25 · 1     -0.25        -2        25     1
    k=3   -0.125 · 1    -0.125       -3        26     |1                     -0.125
    c                   8388608      23        0      1
    (12 zero terms)
    sum -0.75 -> .f32 0xBF400000 = -0.75 (truncated: nothing lost)

d      0xBF400000 = -0.75
exact  -0.875 (-0x1.cp-1)
       correctly rounded 0xBF600000 = -0.875
error  absolute 0.125, relative 0.142857, 2.09715e+06 ulp of .f32, relative to Σ|a||b|+|c| 7.45058e-09
f32 loop on a CPU, c first, without fma: 0xBF600000 = -0.875
)");
}

TEST_CASE("explain shows lowered FP8 on Hopper as its machine operations") {
  const Program program;
  const std::string instr = "m16n8k32.f32.e5m2.e5m2.f32";
  const std::string text = explained(program, "sm_90", instr);
  CHECK(text.find(" on sm_90: lowered; ") != std::string::npos);
  CHECK(text.find("\n  HMMA.16816.F32, c = 0\n  step 1 of 2: k = 0..1, 4..5, 8..9, 12..13, 16..17, "
                  "20..21, 24..25, 28..29, aligned to 2^23") != std::string::npos);
  CHECK(text.find("\n  HMMA.16816.F32, c = -8388608\n  step 2 of 2: k = 2..3, 6..7, ") !=
        std::string::npos);
  CHECK(text.find("\n  FADD          8388608 + -8388608 = 0x00000000 = 0\n") != std::string::npos);

  const json document = json::parse(explained(program, "sm_90", instr, "--json"));
  const json& operations = document["operations"];
  CHECK(document["native"] == false);
  REQUIRE(operations.size() == 3);
  const Instruction row = find_instruction(instr).value();
  const double first = check_step(operations[0]["steps"][0], row, 0);
  check_step(operations[1]["steps"][0], row, first);
  for (const std::size_t operation : {std::size_t{0}, std::size_t{1}}) {
    CHECK(operations[operation]["operation"] == "HMMA.16816.F32");
    const json& terms = operations[operation]["steps"][0]["terms"];
    REQUIRE(terms.size() == 17);
    for (std::size_t i = 0; i < 16; ++i)
      CHECK(terms[i]["term"] == i / 2 * 4 + i % 2 + 2 * operation);
  }
  CHECK(operations[2]["operation"] == "FADD");
  CHECK_FALSE(operations[2].contains("steps"));
  CHECK(operations[2]["result"] == "0x00000000");
  CHECK(document["result"] == "0x00000000");
}

TEST_CASE("explain shows lowered m8n8k4 as multiplications and additions") {
  const std::string text = explained(Program(), "sm_90", "m8n8k4.f32.f16.f16.f32");
  CHECK(text.find("\n  FFMA          k=0: -8192 · 1024 + 0 = 0xCB000000 = -8388608\n") !=
        std::string::npos);
  CHECK(text.find("\n  FADD          8388608 + -8388608 = 0x00000000 = 0\n") != std::string::npos);
}

TEST_CASE("explain --json agrees with itself and the emulator") {
  check_native("sm_70", "m8n8k4.f32.f16.f16.f32", 4, 1);
  check_native("sm_80", "m16n8k16.f32.f16.f16.f32", 32, 4);
  check_native("sm_89", "m16n8k32.f32.e4m3.e4m3.f32", 32, 2);
  check_native("sm_90", "m16n8k16.f16.f16.f16.f16", 48, 3);
  check_native("sm_90", "m16n8k8.f32.tf32.tf32.f32", 8, 1);
  check_native("sm_90", "wgmma.m64nNk32.f32.e5m2.e5m2", 32, 1);
}

TEST_CASE("explain names the terms that are NaN, Inf or zero times Inf") {
  const Program program;
  const Instruction row = find_instruction("m16n8k16.f32.f16.f16.f32").value();
  const std::string command =
      "explain --arch sm_90 --instr m16n8k16.f32.f16.f16.f32 a.npy b.npy c.npy ";
  store_row(program, row, {0x7E01, 0x3C00, 0x8000}, {0x3C00, 0x3C00, 0x7C00}, 0xFF800000);
  const std::string text = output_of(program, command);
  CHECK(text.find("NaN or Inf among the terms decides: k=0 (nan · 1), k=2 (-0 · inf), c\n"
                  "    -> .f32 0x7FFFFFFF = nan\n") != std::string::npos);
  const json document = json::parse(output_of(program, command + "--json"));
  const json& step = document["operations"][0]["steps"][0];
  CHECK(step["special"] == true);
  CHECK_FALSE(step.contains("sum"));
  std::set<std::string> special;
  for (const json& term : step["terms"])
    if (term["special"] == true) special.insert(term["term"].dump());
  CHECK(special == std::set<std::string>{"0", "2", "\"c\""});
  CHECK(document["result"] == "0x7FFFFFFF");
  CHECK(document["value"] == "nan");
}

TEST_CASE("explain shows that the result is never -0") {
  const Program program;
  store_row(program, find_instruction("m16n8k16.f32.f16.f16.f32").value(), {0x8000}, {0x3C00},
            0x80000000);
  const std::string text =
      output_of(program, "explain --arch sm_90 --instr m16n8k16.f32.f16.f16.f32 a.npy b.npy c.npy");
  CHECK(text.find("m16n8k16.f32.f16.f16.f32, c = -0\n") != std::string::npos);
  CHECK(text.find("(17 zero terms)\n    sum 0 -> .f32 0x00000000 = 0 ") != std::string::npos);
}

TEST_CASE("explain shows the terms of one step of a long row, and another row") {
  const Program program;
  const Instruction row = find_instruction("m16n8k16.f32.f16.f16.f32").value();
  std::mt19937 random(3);
  program.store("a.npy", array_of(native_type(f16), {2, 1000}, random_codes(*row.a, 2000, random)));
  const std::string command =
      "explain --arch sm_90 --instr m16n8k16.f32.f16.f16.f32 a.npy a.npy --row ";
  const std::string text = output_of(program, command + "1 --step 3");
  CHECK(text.find("1000 products in 63 instructions\n") != std::string::npos);
  CHECK(text.find("\n    k=31 ") == std::string::npos);
  CHECK(text.find("\n    k=32 ") != std::string::npos);
  CHECK(text.find("\n    k=47 ") != std::string::npos);
  CHECK(text.find("\n    k=48 ") == std::string::npos);
  CHECK(text.find("step 63 of 63: k = 992..1007") != std::string::npos);
  CHECK(output_of(program, command + "1").find("--step 1 to 63 shows one step's terms") !=
        std::string::npos);
  CHECK(output_of(program, command + "0 --step 3") != text);
  check_refused(program, command + "2", "--row 2: choose 0 to 1");
  check_refused(program, command + "0 --step 64", "--step 64: choose 1 to 63");
}

TEST_CASE("explain refuses rows and steps that there are not") {
  const Program program;
  const Instruction row = find_instruction("m8n8k4.f32.f16.f16.f32").value();
  store_row(program, row, {0}, {0}, 0);
  program.store("none.npy", zeros(native_type(f16), {0, 4}));
  const std::string command = "explain --arch sm_90 --instr m8n8k4.f32.f16.f16.f32 ";
  check_refused(program, command + "a.npy b.npy --row 1", "--row 1: choose 0 to 0");
  for (const char* number : {"-1", "1.5", "x", "99999999999999999999", "0x0", "00"})
    for (const std::string option : {" --row ", " --step "})
      check_refused(program, command + "a.npy b.npy" + option + number, "is no whole number");
  check_refused(program, command + "a.npy b.npy --step 1", "--step 1: no fused steps here");
  check_refused(program, command + "none.npy none.npy", "no rows to explain");
  check_refused(program, "explain --arch sm_70 --instr m8n8k4.f32.f16.f16.f32 a.npy b.npy --step 0",
                "--step 0: choose 1 to 1");
}

TEST_CASE("explain --case explains a recorded element and compares what was measured") {
  const Program program;
  const std::string dot = "m8n8k4.f32.f16.f16.f32 sm_90 3c00 0000 0000 0000 3c00 0000 0000 0000 ";
  const auto explained = [&](const std::string& rest) {
    return output_of(program, "explain --case '" + dot + rest + "'");
  };
  CHECK(explained("3f800000 40000000").find("measured on a GPU: 0x40000000 = 2, equal") !=
        std::string::npos);
  CHECK(explained("3f800000 40000001").find("DIFFERENT") != std::string::npos);
  CHECK(explained("3f800000").find("measured") == std::string::npos);
  check_refused(program, "explain --case '" + dot + "'", "--case: 8 codes");
  check_refused(program, "explain --case 'm16n8k16.f32.f16.f16.f32 sm_70 0'", "--case: 1 codes");
  check_refused(program, "explain", "explain: give --arch, --instr, A.npy and B.npy, or --case");
  check_refused(program, "explain --arch sm_90 --case '" + dot + "3f800000'", "--arch");
}

TEST_CASE("explain shows integers, bits and f64 product by product") {
  const Program program;
  const auto explained = [&](const std::string& line) {
    return output_of(program, "explain --case '" + line + "'");
  };
  std::string zeros;
  for (int k = 0; k < 14; ++k) zeros += "00 ";
  const std::string integers = explained("m8n8k16.satfinite.s32.s8.u8.s32 sm_90 80 02 " + zeros +
                                         "ff 03 " + zeros + "80000064");
  CHECK(integers.find("k=0   -128 · 255  -32640       -2147516188\n") != std::string::npos);
  CHECK(integers.find("k=1   2 · 3       6            -2147516182\n") != std::string::npos);
  CHECK(integers.find("-> .s32 0x80000000 = -2147483648 (exact, clamped") != std::string::npos);
  const std::string bits =
      explained("m8n8k128.s32.b1.b1.s32.xor.popc sm_75 11" + std::string(126, '0') + " 10" +
                std::string(126, '0') + " ffffffff");
  CHECK(bits.find("k=1   1 · 0  1            0\n") != std::string::npos);
  CHECK(bits.find("exact  0 ") != std::string::npos);
  const std::string one = "3ff0000000000000 ", zero = "0000000000000000 ";
  const std::string f64 = explained("m8n8k4.rp.f64.f64.f64.f64 sm_80 " + one + zero + zero + zero +
                                    "3c00000000000000 " + zero + zero + zero + one);
  CHECK(f64.find("-> .f64 0x3FF0000000000001") != std::string::npos);
  const json object = json::parse(
      output_of(program, "explain --json --case 'm8n8k16.s32.s8.u8.s32 sm_90 80 02 " + zeros +
                             "ff 03 " + zeros + "00000000'"));
  CHECK(object["operations"][0]["products"][1]["sum"] == "-32634");
}

TEST_CASE("explain --cuda: FP8 on Hopper is another sequence before CUDA 12.8") {
  const Program program;
  // 2^16 at k = 0 in the first half, 3 · 2^-9 or three quarters of an ulp of it at k = 2 in the
  // second: cut off where the second half continues the first one's sum, rounded up by an FADD.
  std::string a, b;
  for (int k = 0; k < 32; ++k) {
    a += k == 0 ? "78 " : k == 2 ? "3c " : "00 ";
    b += k == 0 ? "78 " : k == 2 ? "02 " : "00 ";
  }
  const std::string dot =
      "explain --case 'm16n8k32.f32.e4m3.e4m3.f32 sm_90 " + a + b + "00000000' --cuda ";
  const std::string newer = output_of(program, dot + "12.8");
  const std::string older = output_of(program, dot + "12.6");
  CHECK(newer.find("\nd      0x47800000") != std::string::npos);
  CHECK(older.find("\nd      0x47800001") != std::string::npos);
  CHECK(older.find("as CUDA 12.6 compiles it") != std::string::npos);
  CHECK(newer.find("as CUDA") == std::string::npos);
  CHECK(output_of(program, dot + "13.5") == output_of(program, dot + "13.0"));
  for (const std::string bad : {"twelve", "12", "12.6.x", "12.6 or so"})
    check_refused(program, dot + "'" + bad + "'", "--cuda " + bad + ": choose a version such as");
  check_refused(program,
                "dot --arch sm_90 --cuda 11.0 --instr m16n8k8.f32.f16.f16.f32 a.npy b.npy -o d",
                "m16n8k8.f32.f16.f16.f32 on sm_90 needs CUDA 11.8 or later, not 11.0");
  check_refused(program,
                "dot --arch sm_90 --cuda 12.4 --instr m16n8k16.f32.e4m3.e4m3.f32 a.npy b.npy -o d",
                "needs CUDA 12.8 or later");
}
