#include <doctest/doctest.h>

#include <cmath>
#include <string_view>
#include <vector>

#include "bitmma/emulator/instruction.hpp"

using namespace bitmma;

namespace {

/// d from values of a and b (the rest of k is zero) and the code of c.
Code run(std::string_view target, std::string_view name, const std::vector<double>& a,
         const std::vector<double>& b, Code c) {
  const Execution on_target = find_execution(target, name).value();
  std::vector<Code> a_codes, b_codes;
  for (std::size_t k = 0; k < a.size(); ++k) {
    a_codes.push_back(from_double(*on_target.instruction.a, a[k]));
    b_codes.push_back(from_double(*on_target.instruction.b, b[k]));
  }
  return run_chain(on_target, a_codes.data(), b_codes.data(), a.size(), c);
}

Code bits(float value) { return std::bit_cast<std::uint32_t>(value); }

}  // namespace

TEST_CASE("one dot product on every architecture (Xie et al. 2025, table 8)") {
  const std::vector<double> a{-8192, -.5, -.25, -.125};
  const std::vector<double> b{1024, 1, 1, 1};
  struct Case {
    std::string_view target;
    std::string_view instruction;
    float result;
  };
  for (const Case& c : {
           Case{"sm_70", "m8n8k4.f32.f16.f16.f32", 0},
           Case{"sm_75", "m16n8k8.f32.f16.f16.f32", -0.5F},
           Case{"sm_80", "m16n8k16.f32.f16.f16.f32", -0.5F},
           Case{"sm_86", "m16n8k16.f32.bf16.bf16.f32", -0.5F},
           Case{"sm_89", "m16n8k8.f32.tf32.tf32.f32", -0.5F},
           Case{"sm_89", "m16n8k32.f32.e5m2.e5m2.f32", 0},
           Case{"sm_90", "m16n8k16.f32.f16.f16.f32", -0.75F},
           Case{"sm_90", "wgmma.m64n8k32.f32.e5m2.e5m2", 0},
           Case{"sm_100", "m16n8k16.f32.f16.f16.f32", -0.75F},
           Case{"sm_120", "m16n8k16.f32.bf16.bf16.f32", -0.75F},
           Case{"sm_120", "m16n8k32.f32.e5m2.e5m2.f32", -0.75F},
       }) {
    CAPTURE(c.target);
    CAPTURE(c.instruction);
    CHECK(run(c.target, c.instruction, a, b, bits(8388608)) == bits(c.result));
  }
}

TEST_CASE("c alone through FP8: truncated on Ada and in Hopper's wgmma, whole in mma.sync there") {
  CHECK(run("sm_89", "m16n8k32.f32.e4m3.e4m3.f32", {0}, {0}, 0x40403017) == 0x40403000);
  CHECK(run("sm_90", "wgmma.m64n8k32.f32.e4m3.e4m3", {0}, {0}, 0x40403017) == 0x40403000);
  CHECK(run("sm_90", "m16n8k32.f32.e4m3.e4m3.f32", {0}, {0}, 0x40403017) == 0x40403017);
  CHECK(run("sm_90", "m16n8k32.f32.e4m3.e4m3.f32", {0}, {0}, 0x80000000) == 0);
}

TEST_CASE("Hopper: the last bit kept at the floor of an f16 accumulator") {
  std::vector<double> a(16, 0x1p-23), b(16, 0x1p-23);
  a[0] = 0x1p-12, b[0] = 0x1p-13;
  CHECK(run("sm_90", "m16n8k16.f16.f16.f16.f16", a, b, 0) == 0x0001);
  for (std::size_t k = 1; k < 16; ++k) b[k] = 0x1p-24;
  CHECK(run("sm_90", "m16n8k16.f16.f16.f16.f16", a, b, 0) == 0x0000);
}

TEST_CASE("Hopper: overflow truncates, to Inf only from 2^128") {
  const std::vector<double> large(16, 65504);
  CHECK(run("sm_90", "m16n8k16.f32.f16.f16.f32", large, large, 0x7F7FFFFF) == 0x7F7FFFFF);
  CHECK(run("sm_90", "m16n8k16.f32.bf16.bf16.f32", {0x1p64}, {0x1p63}, bits(0x1p127F)) ==
        0x7F800000);
  CHECK(run("sm_90", "m16n8k16.f32.bf16.bf16.f32", {-0x1p100}, {0x1p100}, 0) == 0xFF800000);
  // f16 rounds to nearest: 65504 + 15 stays, 65504 + 16 is a tie that rounds to Inf
  CHECK(run("sm_90", "m16n8k16.f16.f16.f16.f16", {65504, 15}, {1, 1}, 0) == 0x7BFF);
  CHECK(run("sm_90", "m16n8k16.f16.f16.f16.f16", {65504, 16}, {1, 1}, 0) == 0x7C00);
}

TEST_CASE("products do not overflow by themselves: 2^200 and -2^200 leave what is kept at 200") {
  const std::vector<double> a{0x1p100, -0x1p100, 0x1p90};
  CHECK(run("sm_90", "m16n8k16.f32.bf16.bf16.f32", a, {0x1p100, 0x1p100, 0x1p85}, bits(1)) ==
        0x7F800000);
  CHECK(run("sm_90", "m16n8k16.f32.bf16.bf16.f32", {0x1p100, -0x1p100}, {0x1p100, 0x1p100},
            bits(1)) == 0);
}

TEST_CASE("special values: one NaN, Inf keeps its sign, the result is never -0") {
  const double inf = HUGE_VAL, nan = std::nan("");
  const char* f32_row = "m16n8k16.f32.f16.f16.f32";
  const char* f16_row = "m16n8k16.f16.f16.f16.f16";
  for (const std::string_view target : {"sm_80", "sm_90", "sm_100"}) {
    CAPTURE(target);
    CHECK(run(target, f32_row, {nan}, {1}, 0) == 0x7FFFFFFF);
    CHECK(run(target, f32_row, {1}, {1}, 0xFFC00001) == 0x7FFFFFFF);
    CHECK(run(target, f16_row, {1}, {1}, 0xFE01) == 0x7FFF);
    CHECK(run(target, f32_row, {inf}, {0}, 0) == 0x7FFFFFFF);
    CHECK(run(target, f32_row, {-0.0}, {inf}, 0) == 0x7FFFFFFF);
    CHECK(run(target, f32_row, {inf, -inf}, {1, 1}, 0) == 0x7FFFFFFF);
    CHECK(run(target, f32_row, {inf}, {1}, 0xFF800000) == 0x7FFFFFFF);
    CHECK(run(target, f32_row, {inf}, {-2}, 0) == 0xFF800000);
    CHECK(run(target, f16_row, {1}, {1}, 0xFC00) == 0xFC00);
    CHECK(run(target, f32_row, {-0.0}, {1}, 0x80000000) == 0);
    CHECK(run(target, f16_row, {-0x1p-24}, {0x1p-24}, 0) == 0);
  }
}

TEST_CASE("tf32 ignores the low 13 bits: 0x7F800001 is Inf") {
  const Execution tf = find_execution("sm_90", "m16n8k8.f32.tf32.tf32.f32").value();
  const Code a[8] = {0x7F800001}, b[8] = {bits(1)};
  CHECK(run_chain(tf, a, b, 8, 0) == 0x7F800000);
}

TEST_CASE("6000 · 6000 - 3.6e7 is 0 on every target (NVIDIA forum 244609)") {
  for (const Target& target : target_table)
    for (const Instruction& row : instruction_table) {
      if (!row.runs_on(target) || *row.a != f16 || *row.d != f32 || *row.c != f32) continue;
      CAPTURE(target.name);
      CAPTURE(short_name(row));
      CHECK(run(target.name, short_name(row), {6000}, {6000}, bits(-3.6e7F)) == 0);
    }
}

TEST_CASE("m8n8k4 after Turing is an IEEE chain, c last") {
  // f32: 1 + 2^-24 would round to 1; products first keep it
  CHECK(run("sm_90", "m8n8k4.f32.f16.f16.f32", {0x1p-24, 0x1p-24}, {1, 1}, bits(1)) ==
        bits(1 + 0x1p-23F));
  CHECK(run("sm_70", "m8n8k4.f32.f16.f16.f32", {0x1p-24, 0x1p-24}, {1, 1}, bits(1)) == bits(1));
  // signed zeros follow IEEE: FADD of −0 and +0
  CHECK(run("sm_90", "m8n8k4.f32.f16.f16.f32", {-0.0}, {1}, 0x80000000) == 0);
  // f16: (c + p01) + p23 in f32, one rounding; c = 1, p01 = p23 = 2^-12 together pass the tie
  CHECK(run("sm_90", "m8n8k4.f16.f16.f16.f16", {0x1p-12, 0, 0x1p-12, 0x1p-23}, {1, 0, 1, 1},
            0x3C00) == 0x3C00 + 1);
  CHECK(run("sm_90", "m8n8k4.f16.f16.f16.f16", {-0.0, -0.0, -0.0, -0.0}, {1, 1, 1, 1}, 0x8000) ==
        0x8000);
  // f16 c and f32 d
  CHECK(run("sm_90", "m8n8k4.f32.f16.f16.f16", {0x1p-24, 0x1p-24}, {1, 1}, 0x3C00) ==
        bits(1 + 0x1p-23F));
}

TEST_CASE("FP8 without an FP8 tensor core: two steps over residues of k, then an IEEE addition") {
  // 2^16, then −2^16 in the same half (k mod 4 = 0 and 1) cancel before 2^-12 of the other half
  std::vector<double> a(32), b(32, 1);
  a[0] = 256, b[0] = 256, a[1] = -256, b[1] = 256, a[2] = 0x1p-6, b[2] = 0x1p-6;
  CHECK(run("sm_90", "m16n8k32.f32.e4m3.e4m3.f32", a, b, 0) == bits(0x1p-12F));
  // with the −2^16 in the other half, 2^-12 meets it at the same alignment: 28 bits below is cut
  std::swap(a[1], a[3]), std::swap(b[1], b[3]);
  CHECK(run("sm_90", "m16n8k32.f32.e4m3.e4m3.f32", a, b, 0) == 0);
  // c = −0 and a sum of +0 make +0; −0 is not kept since the sum is +0
  CHECK(run("sm_100", "m16n8k32.f16.e4m3.e4m3.f16", {0}, {0}, 0x8000) == 0);
}

TEST_CASE("an execution by name, or none") {
  static_assert(find_execution("sm_90a", "wgmma.m64n8k16.f32.f16.f16").has_value());
  CHECK_FALSE(find_execution("sm_70", "m16n8k16.f32.f16.f16.f32").has_value());
  CHECK_FALSE(find_execution("h100", "m16n8k16.f32.f16.f16.f32").has_value());
  CHECK_FALSE(find_execution("sm_90", "m16n8k16").has_value());
}

TEST_CASE("a chain of instructions takes k in ascending order, and pads the last with zeros") {
  const Execution volta = find_execution("sm_70", "m8n8k4.f32.f16.f16.f32").value();
  const Code one = 0x3C00, small = from_double(f16, 0x1p-14);
  std::vector<Code> a{one, 0, 0, 0, small, small}, b{one, 0, 0, 0, from_double(f16, 0x1p-10), one};
  // 1 + 2^-24 + 2^-14: the 2^-24 is cut beside 1, wherever it stands in the second step
  CHECK(run_chain(volta, a.data(), b.data(), 6, 0) == bits(1 + 0x1p-14F));
  a.resize(8), b.resize(8);
  CHECK(run_chain(volta, a.data(), b.data(), 8, 0) == bits(1 + 0x1p-14F));
}
