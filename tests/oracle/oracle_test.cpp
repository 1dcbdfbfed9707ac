#include "bitmma/tests/oracle/oracle.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "bitmma/compare/families.hpp"

namespace {

using bitmma::oracle::Code;
using bitmma::oracle::Family;
using bitmma::oracle::Instruction;
using Codes = std::vector<Code>;

/// Reads m16n8k8.f32.f16.f16.f32 or wgmma.m64n8k32.f32.e4m3.e4m3. Owns the names that the
/// instruction refers to.
struct Spelling {
  std::vector<std::string> parts;

  explicit Spelling(const std::string& text) {
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, '.');) parts.push_back(part);
  }
  Instruction instruction() const {
    const bool wgmma = parts.at(0) == "wgmma";
    const std::size_t d = wgmma ? 2 : 1;
    const std::string& shape = parts.at(d - 1);
    return {wgmma ? Family::wgmma : Family::mma_sync,
            std::stoi(shape.substr(shape.find('k') + 1)),
            parts.at(d),
            parts.at(d + 1),
            parts.at(d + 2),
            wgmma ? parts.at(d) : parts.at(d + 3)};
  }
};

/// The result for the codes given, the rest of k being +0.
Code run(const char* target, const std::string& spelling, Codes a, Codes b, Code c) {
  const Spelling parsed(spelling);
  const Instruction instruction = parsed.instruction();
  a.resize(static_cast<std::size_t>(instruction.k));
  b.resize(static_cast<std::size_t>(instruction.k));
  return bitmma::oracle::multiply_accumulate(target, instruction, a, b, c);
}

Codes scaled_down(Codes codes, int bits) {
  for (Code& code : codes) code >>= bits;
  return codes;
}

constexpr Code f32_max = 0x7F7FFFFF;
constexpr Code f32_nan = 0x7FFFFFFF;
constexpr Code f16_nan = 0x7FFF;

}  // namespace

TEST_CASE("oracle: the sum that tells architectures apart") {
  // Xie et al. 2025, table 8: a = (-2^13, -1/2, -1/4, -1/8), b = (2^10, 1, 1, 1), c = 2^23.
  const Codes f16_a{0xF000, 0xB800, 0xB400, 0xB000}, f16_b{0x6400, 0x3C00, 0x3C00, 0x3C00};
  const Codes f32_a{0xC6000000, 0xBF000000, 0xBE800000, 0xBE000000};
  const Codes f32_b{0x44800000, 0x3F800000, 0x3F800000, 0x3F800000};
  const Code c = 0x4B000000, half = 0xBF000000, three_quarters = 0xBF400000;

  const struct {
    const char* target;
    const char* f16_spelling;
    Code expected;
  } f16_rows[] = {
      {"sm_70", "m8n8k4.f32.f16.f16.f32", 0},
      {"sm_72", "m8n8k4.f32.f16.f16.f32", 0},
      {"sm_75", "m8n8k4.f32.f16.f16.f32", half},
      {"sm_75", "m16n8k8.f32.f16.f16.f32", half},
      {"sm_80", "m16n8k8.f32.f16.f16.f32", half},
      {"sm_80", "m16n8k16.f32.f16.f16.f32", half},
      {"sm_86", "m16n8k16.f32.f16.f16.f32", half},
      {"sm_87", "m16n8k16.f32.f16.f16.f32", half},
      {"sm_89", "m16n8k16.f32.f16.f16.f32", half},
      {"sm_90", "m16n8k8.f32.f16.f16.f32", three_quarters},
      {"sm_90", "m16n8k16.f32.f16.f16.f32", three_quarters},
      {"sm_90", "wgmma.m64n8k16.f32.f16.f16", three_quarters},
      {"sm_100", "m16n8k16.f32.f16.f16.f32", three_quarters},
      {"sm_103", "m16n8k16.f32.f16.f16.f32", three_quarters},
      {"sm_110", "m16n8k16.f32.f16.f16.f32", three_quarters},
      {"sm_120", "m16n8k16.f32.f16.f16.f32", three_quarters},
  };
  for (const auto& row : f16_rows) {
    CAPTURE(row.target);
    CAPTURE(row.f16_spelling);
    CHECK(run(row.target, row.f16_spelling, f16_a, f16_b, c) == row.expected);
  }

  const Codes bf16_a = scaled_down(f32_a, 16), bf16_b = scaled_down(f32_b, 16);
  CHECK(run("sm_80", "m16n8k8.f32.bf16.bf16.f32", bf16_a, bf16_b, c) == half);
  CHECK(run("sm_90", "m16n8k16.f32.bf16.bf16.f32", bf16_a, bf16_b, c) == three_quarters);
  CHECK(run("sm_89", "m16n8k4.f32.tf32.tf32.f32", f32_a, f32_b, c) == half);
  CHECK(run("sm_100", "m16n8k8.f32.tf32.tf32.f32", f32_a, f32_b, c) == three_quarters);

  const Codes e5m2_a = scaled_down(f16_a, 8), e5m2_b = scaled_down(f16_b, 8);
  CHECK(run("sm_89", "m16n8k32.f32.e5m2.e5m2.f32", e5m2_a, e5m2_b, c) == 0);
  CHECK(run("sm_90", "wgmma.m64n8k32.f32.e5m2.e5m2", e5m2_a, e5m2_b, c) == 0);
  CHECK(run("sm_120", "m16n8k32.f32.e5m2.e5m2.f32", e5m2_a, e5m2_b, c) == three_quarters);
}

TEST_CASE("oracle: FP8 accumulators keep 13 fraction bits on Ada and in Hopper's wgmma alone") {
  for (const Code c : {Code{0x40403017}, Code{0xFF7FFFFF}, Code{0x00801FFF}, Code{0x3F8003FF}}) {
    const Code cleared = c & ~Code{0x3FF};
    CHECK(run("sm_89", "m16n8k32.f32.e4m3.e4m3.f32", {}, {}, c) == cleared);
    CHECK(run("sm_90", "wgmma.m64n8k32.f32.e4m3.e4m3", {}, {}, c) == cleared);
    CHECK(run("sm_90", "m16n8k32.f32.e4m3.e4m3.f32", {}, {}, c) == c);
    CHECK(run("sm_100", "m16n8k32.f32.e4m3.e4m3.f32", {}, {}, c) == c);
    CHECK(run("sm_120", "m16n8k32.f32.e4m3.e4m3.f32", {}, {}, c) == c);
  }
}

TEST_CASE("oracle: the published sum at the floor with f16 accumulators on Hopper") {
  // 2^-12 · 2^-13, and fifteen times 2^-24 · 2^-22 or 2^-24 · 2^-23.
  Codes a(16, 0x0001), b(16, 0x0004);
  a[0] = 0x0C00;
  b[0] = 0x0800;
  CHECK(run("sm_90", "m16n8k16.f16.f16.f16.f16", a, b, 0) == 0x0001);
  std::fill(b.begin() + 1, b.end(), Code{0x0002});
  CHECK(run("sm_90", "m16n8k16.f16.f16.f16.f16", a, b, 0) == 0);
}

TEST_CASE("oracle: the last term that each floor keeps") {
  // 2^-25 rounds to 2^-24 with a term 2^-24 · 2^(bit - 24) beside it, to 0 where that is dropped.
  const struct {
    const char* target;
    const char* spelling;
    int last_bit_kept;  // floor - F + 48
  } f16_rows[] = {
      {"sm_70", "m8n8k4.f16.f16.f16.f16", 6},    {"sm_75", "m16n8k8.f16.f16.f16.f16", 4},
      {"sm_80", "m16n8k16.f16.f16.f16.f16", 4},  {"sm_89", "m16n8k16.f16.f16.f16.f16", 4},
      {"sm_90", "m16n8k16.f16.f16.f16.f16", 2},  {"sm_90", "wgmma.m64n8k16.f16.f16.f16", 2},
      {"sm_100", "m16n8k16.f16.f16.f16.f16", 2}, {"sm_120", "m16n8k16.f16.f16.f16.f16", 2},
  };
  for (const auto& row : f16_rows) {
    CAPTURE(row.target);
    const Code kept = Code{1} << row.last_bit_kept;
    CHECK(run(row.target, row.spelling, {0x0C00, 0x0001}, {0x0800, kept}, 0) == 0x0001);
    CHECK(run(row.target, row.spelling, {0x0C00, 0x0001}, {0x0800, kept / 2}, 0) == 0);
  }

  // bf16: 2^-149 less 2^-156 or 2^-158 truncates to 0, less half of that to 2^-149.
  const char* bf16 = "m16n8k8.f32.bf16.bf16.f32";
  for (const char* target : {"sm_80", "sm_89"}) {
    CHECK(run(target, bf16, {0x1A00, 0x9880}, {0x1A80, 0x1880}, 0) == 0);
    CHECK(run(target, bf16, {0x1A00, 0x9880}, {0x1A80, 0x1800}, 0) == 1);
  }
  for (const char* target : {"sm_90", "sm_100", "sm_120"}) {
    CHECK(run(target, bf16, {0x1A00, 0x9800}, {0x1A80, 0x1800}, 0) == 0);
    CHECK(run(target, bf16, {0x1A00, 0x9800}, {0x1A80, 0x1780}, 0) == 1);
  }
}

TEST_CASE("oracle: products in one step") {
  // 2^30 - 2^30 at k = 0 and 1, and 1 · 1 at k: lost within their step, kept in a later one.
  struct Numbers {
    Code two_to_15, minus_two_to_15, one;
  };
  const Numbers f16{0x7800, 0xF800, 0x3C00}, e5m2{0x78, 0xF8, 0x3C};
  const Numbers tf32{0x47000000, 0xC7000000, 0x3F800000};
  const struct {
    const char* target;
    const char* spelling;
    Numbers numbers;
    std::size_t products;
  } rows[] = {
      {"sm_70", "m8n8k4.f32.f16.f16.f32", f16, 4},
      {"sm_75", "m16n8k8.f32.f16.f16.f32", f16, 8},
      {"sm_80", "m16n8k16.f32.f16.f16.f32", f16, 8},
      {"sm_89", "m16n8k16.f32.f16.f16.f32", f16, 8},
      {"sm_90", "m16n8k16.f32.f16.f16.f32", f16, 16},
      {"sm_100", "m16n8k16.f32.f16.f16.f32", f16, 16},
      {"sm_120", "m16n8k16.f32.f16.f16.f32", f16, 16},
      {"sm_80", "m16n8k8.f32.tf32.tf32.f32", tf32, 4},
      {"sm_89", "m16n8k8.f32.tf32.tf32.f32", tf32, 4},
      {"sm_90", "m16n8k8.f32.tf32.tf32.f32", tf32, 8},
      {"sm_100", "m16n8k8.f32.tf32.tf32.f32", tf32, 8},
      {"sm_120", "m16n8k8.f32.tf32.tf32.f32", tf32, 8},
      {"sm_89", "m16n8k32.f32.e5m2.e5m2.f32", e5m2, 16},
      {"sm_90", "wgmma.m64n8k32.f32.e5m2.e5m2", e5m2, 32},
      {"sm_120", "m16n8k32.f32.e5m2.e5m2.f32", e5m2, 32},
  };
  for (const auto& row : rows) {
    CAPTURE(row.target);
    CAPTURE(row.spelling);
    const auto k = static_cast<std::size_t>(Spelling(row.spelling).instruction().k);
    for (std::size_t last = 2; last < k; ++last) {
      CAPTURE(last);
      Codes a(k), b(k);
      a[0] = b[0] = a[1] = row.numbers.two_to_15;
      b[1] = row.numbers.minus_two_to_15;
      a[last] = b[last] = row.numbers.one;
      CHECK(run(row.target, row.spelling, a, b, 0) == (last < row.products ? 0 : 0x3F800000));
    }
  }
}

TEST_CASE("oracle: products and sums beyond the accumulator's range") {
  const Codes largest(16, 0x7BFF);
  CHECK(run("sm_90", "m16n8k16.f32.f16.f16.f32", largest, largest, f32_max) == f32_max);

  // bf16: ±2^100 · 2^100, and 2^100 · 2^75 or 2^100 · 2^28 beside them.
  const Code one = 0x3F800000;
  const char* bf16 = "m16n8k16.f32.bf16.bf16.f32";
  CHECK(run("sm_90", bf16, {0x7180, 0xF180}, {0x7180, 0x7180}, one) == 0);
  CHECK(run("sm_90", bf16, {0x7180, 0xF180, 0x7180}, {0x7180, 0x7180, 0x4D80}, one) == 0);
  CHECK(run("sm_90", bf16, {0x7180, 0xF180, 0x7180}, {0x7180, 0x7180, 0x6500}, one) == 0x7F800000);
  CHECK(run("sm_90", bf16, {0xF180}, {0x7180}, one) == 0xFF800000);

  // f16: 255 · 256 + 240 = 65520, the least sum that is Inf, and 65519 that is not.
  const char* f16 = "m16n8k16.f16.f16.f16.f16";
  CHECK(run("sm_90", f16, {0x5BF8}, {0x5C00}, 0x5B80) == 0x7C00);
  CHECK(run("sm_90", f16, {0x5BF8}, {0x5C00}, 0x5B78) == 0x7BFF);
}

TEST_CASE("oracle: special values in the tensor core") {
  const char* f16 = "m16n8k16.f16.f16.f16.f16";
  const char* f32 = "m16n8k16.f32.f16.f16.f32";
  CHECK(run("sm_90", f32, {0xFE01}, {0x3C00}, 0) == f32_nan);
  CHECK(run("sm_90", f16, {0xFE01}, {0x3C00}, 0) == f16_nan);
  CHECK(run("sm_90", f32, {}, {}, 0xFF800001) == f32_nan);
  CHECK(run("sm_90", f16, {0x7C00}, {0x8000}, 0) == f16_nan);
  CHECK(run("sm_90", f16, {0x7C00, 0x7C00}, {0x3C00, 0xBC00}, 0) == f16_nan);
  CHECK(run("sm_90", f32, {0x7C00}, {0x3C00}, 0xFF800000) == f32_nan);
  CHECK(run("sm_90", f32, {0x7C00, 0xFC00}, {0xBC00, 0x0001}, 0xFF800000) == 0xFF800000);
  CHECK(run("sm_90", f16, {0xFC00}, {0xFC00}, 0xFBFF) == 0x7C00);

  SUBCASE("the result is never -0") {
    const Codes minus_zeros(16, 0x8000), ones(16, 0x3C00);
    CHECK(run("sm_90", f32, minus_zeros, ones, 0x80000000) == 0);
    CHECK(run("sm_90", f16, minus_zeros, ones, 0x8000) == 0);
    CHECK(run("sm_90", f16, {0x8001}, {0x0001}, 0) == 0);  // -2^-48 rounds to zero
  }
  SUBCASE("tf32 ignores 13 bits") {
    const char* tf32 = "m16n8k8.f32.tf32.tf32.f32";
    CHECK(run("sm_90", tf32, {0x7F800001}, {0x3F800000}, 0) == 0x7F800000);
    CHECK(run("sm_90", tf32, {0x7F802000}, {0x3F800000}, 0) == f32_nan);
    CHECK(run("sm_90", tf32, {0x3F801FFF}, {0x3F800000}, 0) == 0x3F800000);
  }
  SUBCASE("e4m3 has NaN and no Inf, e5m2 has both") {
    for (const char* spelling : {"m16n8k32.f32.e4m3.e5m2.f32", "wgmma.m64n8k32.f32.e4m3.e5m2"}) {
      CHECK(run("sm_90", spelling, {0xFF}, {0x3C}, 0) == f32_nan);
      CHECK(run("sm_90", spelling, {0x7E}, {0x3C}, 0) == 0x43E00000);  // 448
      CHECK(run("sm_90", spelling, {0x38}, {0xFC}, 0) == 0xFF800000);
      CHECK(run("sm_90", spelling, {0x38}, {0x7D}, 0) == f32_nan);
      CHECK(run("sm_90", spelling, {0x00}, {0x7C}, 0) == f32_nan);
    }
  }
}

TEST_CASE("oracle: subnormal operands are kept, with the format's least exponent") {
  CHECK(run("sm_90", "m16n8k16.f16.f16.f16.f16", {0x0001}, {0x3C00}, 0) == 0x0001);
  CHECK(run("sm_90", "m16n8k16.f32.bf16.bf16.f32", {0x0001}, {0x3F80}, 1) == 0x00010001);

  // 2^-9 · 1 in e4m3 stands at exponent -6 on Ada and drops what is below 2^-19. Hopper's f16
  // steps, in which 2^-9 is normal, keep it.
  const Code c = 0x35800000;  // 2^-20
  CHECK(run("sm_89", "m16n8k32.f32.e4m3.e4m3.f32", {0x01}, {0x38}, c) == 0x3B000000);
  CHECK(run("sm_90", "m16n8k32.f32.e4m3.e4m3.f32", {0x01}, {0x38}, c) == 0x3B001000);
}

TEST_CASE("oracle: the lowered m8n8k4 agrees with the host's fused multiply-add") {
  bitmma::Random random(20);
  const auto value = [](Code code) {
    const auto fraction = static_cast<double>(code & 0x3FF);
    const int field = static_cast<int>(code >> 10 & 0x1F);
    const double magnitude =
        field == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, field - 25);
    return static_cast<float>(code >= 0x8000 ? -magnitude : magnitude);
  };
  for (const auto family : {bitmma::InputFamily::any_finite_bits, bitmma::InputFamily::cancellation,
                            bitmma::InputFamily::signed_zeros}) {
    for (int row = 0; row < 4000; ++row) {
      Codes a(4), b(4);
      Code c = 0;
      fill_inputs(family, {bitmma::f16, bitmma::f16, bitmma::f32, a, b, c}, random,
                  any_place(random));
      float sum = 0;
      for (std::size_t i = 0; i < 4; ++i) sum = std::fma(value(a[i]), value(b[i]), sum);
      const float d = std::bit_cast<float>(static_cast<std::uint32_t>(c)) + sum;
      REQUIRE(run("sm_80", "m8n8k4.f32.f16.f16.f32", a, b, c) == std::bit_cast<std::uint32_t>(d));
    }
  }
}

TEST_CASE("oracle: the lowered m8n8k4 follows IEEE 754") {
  const char* f16 = "m8n8k4.f16.f16.f16.f16";
  const char* f32 = "m8n8k4.f32.f16.f16.f32";
  const char* widening = "m8n8k4.f32.f16.f16.f16";
  const Codes minus_zeros(4, 0x8000), ones(4, 0x3C00);
  CHECK(run("sm_80", f16, minus_zeros, ones, 0x8000) == 0x8000);
  CHECK(run("sm_80", f32, minus_zeros, ones, 0x80000000) == 0);  // the sum starts from +0
  CHECK(run("sm_90", f16, {0x7C00}, {0x0000}, 0) == f16_nan);
  CHECK(run("sm_90", f32, {0x7C00}, {0x0000}, 0) == f32_nan);
  CHECK(run("sm_90", f16, {0xFC00}, {0x3C00}, 0) == 0xFC00);

  // (1 + 2^-11) + 2^-11 in f32, where two roundings to f16 would each tie to 1.
  CHECK(run("sm_80", f16, {0x1000, 0, 0x1000}, {0x3C00, 0, 0x3C00}, 0x3C00) == 0x3C01);
  // 2^24 + (1 + 1): the f32 sum of products is formed before c is added.
  CHECK(run("sm_80", f32, {0x3C00, 0x3C00}, {0x3C00, 0x3C00}, 0x4B800000) == 0x4B800001);
  CHECK(run("sm_80", widening, {0x3C00}, {0x0001}, 0x0001) == 0x34000000);  // 2^-24 + 2^-24
  CHECK(run("sm_70", widening, {0x3C00}, {0x0001}, 0x0001) == 0x34000000);
}

TEST_CASE("oracle: lowered FP8 adds two f16 sums over k mod 4 in {0, 1} and {2, 3}") {
  // e5m2: 2^15 · 2^15 at k = 0, minus the same at k = 4 + j, 2^-4 · 2^-4 at k = 8. The small
  // product is lost unless the large ones have cancelled before the second half, and k = 8 is in
  // the first.
  for (const char* target : {"sm_90", "sm_100"}) {
    for (std::size_t j = 0; j < 4; ++j) {
      Codes a(16), b(16);
      a[0] = b[0] = a[4 + j] = 0x78;
      b[4 + j] = 0xF8;
      a[10] = b[10] = 0x2C;
      CAPTURE(j);
      CHECK(run(target, "m16n8k16.f32.e5m2.e5m2.f32", a, b, 0) == (j < 2 ? 0x3B800000 : 0));
    }
  }
  // f16 accumulators: 2^10 · 2^6 overflows in the first half alone, whatever the second half holds.
  CHECK(run("sm_90", "m16n8k16.f16.e5m2.e5m2.f16", {0x64, 0, 0xE4}, {0x54, 0, 0x54}, 0) == 0x7C00);
  CHECK(run("sm_89", "m16n8k16.f16.e5m2.e5m2.f16", {0x64, 0, 0xE4}, {0x54, 0, 0x54}, 0) == 0);
}

TEST_CASE("oracle: what no rule covers is refused") {
  const struct {
    const char* target;
    const char* spelling;
  } refused[] = {
      {"sm_99", "m16n8k16.f32.f16.f16.f32"},     {"sm_90", "m16n8k16.f32.f8.f8.f32"},
      {"", "m16n8k16.f32.f16.f16.f32"},          {"sm_90", "m16n8k16.f16.f16.f16.f32"},
      {"sm_90", "m16n8k16.f32.f16.bf16.f32"},    {"sm_90", "m16n8k16.bf16.bf16.bf16.bf16"},
      {"sm_75", "m16n8k8.f32.bf16.bf16.f32"},    {"sm_70", "m16n8k4.f32.tf32.tf32.f32"},
      {"sm_80", "m16n8k32.f32.e4m3.e4m3.f32"},   {"sm_89", "wgmma.m64n8k16.f32.f16.f16"},
      {"sm_100", "wgmma.m64n8k32.f32.e4m3.e4m3"}};
  for (const auto& row : refused) {
    CAPTURE(row.target);
    CAPTURE(row.spelling);
    CHECK_THROWS_AS(run(row.target, row.spelling, {}, {}, 0), std::invalid_argument);
  }
  const Codes three(3);
  CHECK_THROWS_AS(bitmma::oracle::multiply_accumulate(
                      "sm_70", {Family::mma_sync, 4, "f32", "f16", "f16", "f32"}, three, three, 0),
                  std::invalid_argument);
}

TEST_CASE("oracle: input families repeat for a seed and reach what they are named for") {
  using bitmma::InputFamily;
  const auto draw = [](InputFamily family, const bitmma::Format& format, std::uint64_t seed) {
    bitmma::Random random(seed);
    Codes codes;
    for (int row = 0; row < 200; ++row) {
      Codes a(8), b(8);
      Code c = 0;
      fill_inputs(family, {format, format, bitmma::f32, a, b, c}, random, any_place(random));
      codes.insert(codes.end(), a.begin(), a.end());
      codes.insert(codes.end(), b.begin(), b.end());
    }
    return codes;
  };
  for (const bitmma::Format* format :
       {&bitmma::f16, &bitmma::bf16, &bitmma::tf32, &bitmma::e4m3, &bitmma::e5m2}) {
    for (const bitmma::NamedFamily& row : bitmma::input_families) {
      const InputFamily family = row.family;
      CAPTURE(row.name);
      CAPTURE(format->name);
      const Codes codes = draw(family, *format, 1);
      CHECK(codes == draw(family, *format, 1));
      CHECK(codes != draw(family, *format, 2));
      CHECK(std::ranges::all_of(codes, [&](Code code) { return code < 2 * format->sign_mask(); }));
      const bool all_finite = std::ranges::all_of(codes, [&](Code code) {
        return bitmma::decode(*format, code).kind == bitmma::Kind::finite;
      });
      CHECK(all_finite == (family != InputFamily::any_bits && family != InputFamily::special_mix &&
                           family != InputFamily::exhaustive));
    }
  }
  CHECK(bitmma::Random(0).bits() == 0xE220A8397B1DCDAF);  // SplitMix64's published sequence
}

namespace {

namespace fs = std::filesystem;

fs::path vectors_folder() {
  if (const char* folder = std::getenv("BITMMA_VECTORS")) return folder;
  const fs::path source_root = fs::path(__FILE__).parent_path().parent_path().parent_path();
  return source_root.parent_path() / "shared" / "vectors";
}

/// The elements of a .npy file (format 1.0, little-endian, C order) as codes of `bytes` bytes.
Codes read_npy(const fs::path& path, std::size_t bytes, std::size_t count) {
  std::ifstream file(path, std::ios::binary);
  const std::string content{std::istreambuf_iterator<char>(file), {}};
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(content.at(at)); };
  if (!content.starts_with(std::string("\x93NUMPY\x01\x00", 8)))
    throw std::runtime_error(path.string() + " is not a .npy file of format 1.0");
  const std::size_t data = 10 + byte(8) + 256u * byte(9);
  const std::string header = content.substr(10, data - 10);
  const bool big_endian = header.find("'>") != std::string::npos;
  if (header.find("'fortran_order': False") == std::string::npos || big_endian ||
      content.size() != data + bytes * count)
    throw std::runtime_error(path.string() + " does not hold the elements expected: " + header);
  Codes codes(count);
  for (std::size_t i = 0; i < bytes * count; ++i)
    codes[i / bytes] |= Code{byte(data + i)} << (8 * (i % bytes));
  return codes;
}

std::size_t bytes_of(std::string_view format) {
  return format == "f32" || format == "tf32" ? 4 : format == "f16" || format == "bf16" ? 2 : 1;
}

int count_mismatches(const fs::path& folder, const nlohmann::json& entry) {
  const Spelling spelling(entry.at("instr").get<std::string>());
  const Instruction instruction = spelling.instruction();
  const auto target = entry.at("arch").get<std::string>();
  const auto rows = entry.at("rows").get<std::size_t>();
  const auto k = entry.at("k").get<std::size_t>();
  const Codes a = read_npy(folder / "a.npy", bytes_of(instruction.a), rows * k);
  const Codes b = read_npy(folder / "b.npy", bytes_of(instruction.b), rows * k);
  const Codes c = read_npy(folder / "c.npy", bytes_of(instruction.c), rows);
  const Codes d = read_npy(folder / "d.npy", bytes_of(instruction.d), rows);
  int mismatches = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::span<const Code> a_row(&a[row * k], k), b_column(&b[row * k], k);
    mismatches +=
        bitmma::oracle::multiply_accumulate(target, instruction, a_row, b_column, c[row]) != d[row];
  }
  return mismatches;
}

}  // namespace

TEST_CASE("oracle: every row measured on hardware") {
  const fs::path vectors = vectors_folder();
  if (!fs::exists(vectors / "manifest.json")) {
    MESSAGE("skipped: no vectors at " << vectors.string());
    return;
  }
  std::ifstream file(vectors / "manifest.json");
  const nlohmann::json manifest = nlohmann::json::parse(file);
  CHECK(manifest.size() == 48);
  for (const nlohmann::json& entry : manifest) {
    const auto name = entry.at("dir").get<std::string>();
    CAPTURE(name);
    CHECK(count_mismatches(vectors / name, entry) == 0);
  }
}
