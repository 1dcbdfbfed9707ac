#include "bitmma/reference/sequential.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <vector>

#include "bitmma/reference/exact.hpp"
#include "bitmma/tests/reference/independent.hpp"

namespace bitmma {
namespace {

std::vector<Code> codes_of(const Format& format, const std::vector<double>& values) {
  std::vector<Code> codes;
  for (const double value : values) codes.push_back(from_double(format, value));
  return codes;
}

/// The loop with each operation exact and then rounded to `format`.
Code stepwise_dot(const Format& format, const DotOperands& operands, MultiplyAdd multiply_add) {
  const auto rounded = [&format](const ExactValue& value) {
    return exact_value(format, round_to(format, value));
  };
  ExactValue sum = rounded(exact_value(operands.c_format, operands.c));
  for (std::size_t i = 0; i < operands.length(); ++i) {
    const ExactValue a = rounded(exact_value(operands.a.format, operands.a.codes[i]));
    const ExactValue b = rounded(exact_value(operands.b.format, operands.b.codes[i]));
    const ExactValue product = multiply_add == MultiplyAdd::fused ? a * b : rounded(a * b);
    sum = rounded(sum + product);
  }
  return round_to(format, sum);
}

/// Codes that are equal but for the sign of zero.
bool same_value(const Format& format, Code x, Code y) {
  return x == y || ((x | y) & ~format.sign_mask()) == 0;
}

TEST_CASE("sequential dot product of random codes rounds after each operation") {
  independent::FiniteCodes random(30);
  for (int i = 0; i < 2000; ++i) {
    const Format& a_format = random.format();
    const Format& b_format = random.format();
    const Format& c_format = random.format();
    const std::vector<Code> a = random(a_format, 1 + random.bits() % 16);
    const std::vector<Code> b = random(b_format, a.size());
    const DotOperands operands{{a_format, a}, {b_format, b}, c_format, random(c_format)};
    for (const MultiplyAdd multiply_add : {MultiplyAdd::separate, MultiplyAdd::fused}) {
      REQUIRE(same_value(f32, sequential_dot_f32(operands, multiply_add),
                         stepwise_dot(f32, operands, multiply_add)));
      REQUIRE(same_value(f64, sequential_dot_f64(operands, multiply_add),
                         stepwise_dot(f64, operands, multiply_add)));
    }
  }
}

TEST_CASE("sequential dot product is not contracted to fma unless asked for") {
  const std::vector<Code> a = codes_of(f32, {1 + 0x1p-12});
  const DotOperands f32_operands{{f32, a}, {f32, a}, f32, from_double(f32, -(1 + 0x1p-11))};
  CHECK(sequential_dot_f32(f32_operands, MultiplyAdd::separate) == 0);
  CHECK(sequential_dot_f32(f32_operands, MultiplyAdd::fused) == from_double(f32, 0x1p-24));
  CHECK(sequential_dot_f64(f32_operands, MultiplyAdd::separate) == from_double(f64, 0x1p-24));

  const std::vector<Code> b = codes_of(f64, {1 + 0x1p-27});
  const DotOperands f64_operands{{f64, b}, {f64, b}, f64, from_double(f64, -(1 + 0x1p-26))};
  CHECK(sequential_dot_f64(f64_operands, MultiplyAdd::separate) == 0);
  CHECK(sequential_dot_f64(f64_operands, MultiplyAdd::fused) == from_double(f64, 0x1p-54));
}

TEST_CASE("sequential dot product starts at c and ascends") {
  const std::vector<Code> ones = codes_of(f16, {1, 1});
  CHECK(sequential_dot_f32({{f16, ones}, {f16, ones}, f32, from_double(f32, 0x1p24)},
                           MultiplyAdd::separate) == from_double(f32, 0x1p24));
  const std::vector<Code> a = codes_of(bf16, {0x1p24, 1, -0x1p24, 1});
  const std::vector<Code> b = codes_of(bf16, {1, 1, 1, 1});
  CHECK(sequential_dot_f32({{bf16, a}, {bf16, b}, f32, 0}, MultiplyAdd::fused) ==
        from_double(f32, 1));
  CHECK(sequential_dot_f64({{bf16, a}, {bf16, b}, f32, 0}, MultiplyAdd::fused) ==
        from_double(f64, 2));
}

TEST_CASE("sequential dot product rounds wide inputs to f32 and keeps subnormals") {
  const std::vector<Code> tenth = codes_of(f64, {0.1});
  const std::vector<Code> one = codes_of(f64, {1});
  CHECK(sequential_dot_f32({{f64, tenth}, {f64, one}, f64, 0}, MultiplyAdd::separate) ==
        0x3DCCCCCD);
  const std::vector<Code> smallest{1};
  CHECK(sequential_dot_f32({{f32, smallest}, {f64, one}, f32, 1}, MultiplyAdd::separate) == 2);
}

TEST_CASE("sequential dot product follows IEEE for zero, Inf and NaN, and NaN is canonical") {
  const std::vector<Code> minus_zero{0x8000};
  const std::vector<Code> one = codes_of(f16, {1});
  const std::vector<Code> inf{0x7C00};
  const std::vector<Code> payload{0xFD23};
  const auto dot = [](const std::vector<Code>& a, const std::vector<Code>& b, Code c) {
    return sequential_dot_f32({{f16, a}, {f16, b}, f32, c}, MultiplyAdd::separate);
  };
  CHECK(dot(minus_zero, one, 0x80000000) == 0x80000000);
  CHECK(dot(minus_zero, one, 0) == 0);
  CHECK(dot(inf, one, 0) == 0x7F800000);
  CHECK(dot(inf, one, 0xFF800000) == 0x7FFFFFFF);
  CHECK(dot(inf, minus_zero, 0) == 0x7FFFFFFF);
  CHECK(dot(payload, one, 0) == 0x7FFFFFFF);
  CHECK(sequential_dot_f64({{f16, payload}, {f16, one}, f32, 0}, MultiplyAdd::fused) ==
        0x7FFFFFFFFFFFFFFF);
}

TEST_CASE("sequential dot product rejects vectors of different lengths") {
  const std::vector<Code> two{0, 0};
  const std::vector<Code> one{0};
  const DotOperands operands{{f16, two}, {f16, one}, f32, 0};
  CHECK_THROWS_AS(sequential_dot_f32(operands, MultiplyAdd::fused), std::invalid_argument);
  CHECK_THROWS_AS(sequential_dot_f64(operands, MultiplyAdd::separate), std::invalid_argument);
}

}  // namespace
}  // namespace bitmma
