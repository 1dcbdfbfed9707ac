#include "bitmma/reference/exact.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <compare>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "bitmma/reference/exact_text.hpp"
#include "bitmma/tests/reference/independent.hpp"

namespace bitmma {
namespace {

using independent::as_rational;
using independent::rational_of;

const ExactValue positive_infinity = ExactValue::infinity(false);
const ExactValue negative_infinity = ExactValue::infinity(true);

ExactValue power_of_two(int exponent) { return ExactValue(1, exponent); }

bool is_nan(const ExactValue& value) { return value.kind() == Kind::nan; }

/// Codes in the order that callers write them: a, b, c of one format each.
ExactValue dot(const Format& a_format, const std::vector<Code>& a, const Format& b_format,
               const std::vector<Code>& b, const Format& c_format, Code c) {
  return exact_dot({{a_format, a}, {b_format, b}, c_format, c});
}

TEST_CASE("exact value of every code of the 8- and 16-bit formats is the hardware's conversion") {
  for (const Format* format : {&f16, &bf16, &e4m3, &e5m2}) {
    int finite = 0;
    for (Code code = 0; code >> format->storage_bits == 0; ++code) {
      const ExactValue value = exact_value(*format, code);
      if (!value.is_finite()) continue;
      ++finite;
      const double expected = independent::value_of(*format, code);
      if (as_rational(value) != independent::cpp_rational(expected) ||
          value.is_negative() != (expected < 0))
        FAIL(format->name << " code " << code);
    }
    CAPTURE(std::string(format->name));
    const Code magnitudes = (format->max_finite() >> format->ignored_bits()) + 1;
    CHECK(Code(finite) == 2 * magnitudes);
  }
}

TEST_CASE("exact value of random codes of the wide formats is the hardware's number") {
  independent::FiniteCodes codes(1);
  for (const Format* format : {&tf32, &f32, &f64})
    for (int i = 0; i < 5000; ++i) {
      const Code code = codes(*format);
      if (as_rational(exact_value(*format, code)) != rational_of(*format, code))
        FAIL(format->name << " code " << code);
    }
}

TEST_CASE("exact value of Inf and NaN codes") {
  CHECK(exact_value(f16, 0x7C00) == positive_infinity);
  CHECK(exact_value(f16, 0xFC00) == negative_infinity);
  CHECK(is_nan(exact_value(f16, 0x7C01)));
  CHECK(is_nan(exact_value(e4m3, 0x7F)));
  CHECK(is_nan(exact_value(e4m3, 0xFF)));
  CHECK(exact_value(e4m3, 0x7E) == ExactValue(448, 0));
  CHECK(exact_value(e5m2, 0x7C) == positive_infinity);
  CHECK(exact_value(tf32, 0x7F800001) == positive_infinity);  // the low 13 bits are ignored
  CHECK(is_nan(exact_value(f64, 0x7FF0000000000001)));
}

TEST_CASE("exact zero is one value, and positive") {
  CHECK(exact_value(f32, 0x80000000) == ExactValue());
  CHECK_FALSE(exact_value(f32, 0x80000000).is_negative());
  CHECK_FALSE((-ExactValue()).is_negative());
  CHECK_FALSE((ExactValue() * ExactValue(-1, 0)).is_negative());
  CHECK((ExactValue(-3, 5) + ExactValue(3, 5)).is_zero());
  CHECK(round_to(f32, ExactValue(-3, 5) + ExactValue(3, 5)) == 0);
}

TEST_CASE("exact arithmetic treats Inf and NaN as IEEE 754 does") {
  const ExactValue one(1, 0);
  CHECK(is_nan(ExactValue::nan() + one));
  CHECK(is_nan(one * ExactValue::nan()));
  CHECK(is_nan(ExactValue::nan() * positive_infinity));
  CHECK(is_nan(positive_infinity * ExactValue()));
  CHECK(is_nan(ExactValue() * negative_infinity));
  CHECK(is_nan(positive_infinity + negative_infinity));
  CHECK(is_nan(positive_infinity - positive_infinity));
  CHECK(positive_infinity + positive_infinity == positive_infinity);
  CHECK(negative_infinity + one == negative_infinity);
  CHECK(one - positive_infinity == negative_infinity);
  CHECK(-one * positive_infinity == negative_infinity);
  CHECK(negative_infinity * negative_infinity == positive_infinity);
  CHECK(abs(negative_infinity) == positive_infinity);
  CHECK(is_nan(-ExactValue::nan()));
}

TEST_CASE("exact values are ordered as the extended reals are, and NaN is not") {
  const std::vector<ExactValue> ascending = {
      negative_infinity, ExactValue(-3, 900),
      ExactValue(-1, 0), power_of_two(-1074) * ExactValue(-1, 0),
      ExactValue(),      power_of_two(-1074),
      ExactValue(1, 0),  ExactValue(3, -1),
      positive_infinity};
  for (std::size_t i = 0; i < ascending.size(); ++i)
    for (std::size_t j = 0; j < ascending.size(); ++j) {
      CAPTURE(i);
      CAPTURE(j);
      CHECK((ascending[i] <=> ascending[j]) == std::partial_ordering(i <=> j));
    }
  CHECK((ExactValue::nan() <=> ExactValue(1, 0)) == std::partial_ordering::unordered);
  CHECK_FALSE(ExactValue::nan() == ExactValue::nan());
}

TEST_CASE("exact values that are equal have one representation") {
  const ExactValue twelve(12, 0);
  CHECK(twelve.significand() == 3);
  CHECK(twelve.exponent() == 2);
  CHECK(twelve.leading_exponent() == 3);
  CHECK(ExactValue(-48, -2) == -twelve);
}

TEST_CASE("exact values can be their own operand") {
  for (const ExactValue& start : {ExactValue(-3, 4), ExactValue(5, -7)}) {
    ExactValue value = start;
    const ExactValue& itself = value;
    value += itself;
    CHECK(value == start * ExactValue(2, 0));
    value -= itself;
    CHECK(value.is_zero());
    value = start;
    value *= itself;
    CHECK(value == abs(start) * abs(start));
  }
}

TEST_CASE("exact arithmetic on random doubles equals rational arithmetic") {
  independent::FiniteCodes codes(2);
  for (int i = 0; i < 2000; ++i) {
    const Code x = codes(f64);
    const Code y = codes(f64);
    const ExactValue exact_x = exact_value(f64, x);
    const ExactValue exact_y = exact_value(f64, y);
    const independent::cpp_rational rational_x = rational_of(f64, x);
    const independent::cpp_rational rational_y = rational_of(f64, y);
    REQUIRE(as_rational(exact_x + exact_y) == rational_x + rational_y);
    REQUIRE(as_rational(exact_x - exact_y) == rational_x - rational_y);
    REQUIRE(as_rational(exact_x * exact_y) == rational_x * rational_y);
    REQUIRE((exact_x < exact_y) == (rational_x < rational_y));
  }
}

TEST_CASE("exact dot product of random finite codes of mixed formats equals rational arithmetic") {
  independent::FiniteCodes codes(3);
  for (int i = 0; i < 400; ++i) {
    const Format& a_format = codes.format();
    const Format& b_format = codes.format();
    const Format& c_format = codes.format();
    const std::size_t length = codes.bits() % 20;
    const std::vector<Code> a = codes(a_format, length);
    const std::vector<Code> b = codes(b_format, length);
    const Code c = codes(c_format);
    independent::cpp_rational sum = rational_of(c_format, c);
    independent::cpp_rational magnitude = abs(sum);
    for (std::size_t k = 0; k < length; ++k) {
      const independent::cpp_rational product =
          rational_of(a_format, a[k]) * rational_of(b_format, b[k]);
      sum += product;
      magnitude += abs(product);
    }
    const DotOperands operands{{a_format, a}, {b_format, b}, c_format, c};
    REQUIRE(as_rational(exact_dot(operands)) == sum);
    REQUIRE(as_rational(exact_dot_magnitude(operands)) == magnitude);
  }
}

TEST_CASE("exact f16 dot product, rounded to f32 and f64, equals a 128-bit integer sum") {
  independent::FiniteCodes codes(4);
  const auto fixed_point = [](Code code) {  // in units of the smallest subnormal, 2^-24
    return static_cast<std::int64_t>(std::ldexp(independent::value_of(f16, code), 24));
  };
  for (int i = 0; i < 5000; ++i) {
    const std::vector<Code> a = codes(f16, 16);
    const std::vector<Code> b = codes(f16, 16);
    const Code c = codes(f16);
    __int128 sum = static_cast<__int128>(fixed_point(c)) << 24;
    for (std::size_t k = 0; k < 16; ++k)
      sum += static_cast<__int128>(fixed_point(a[k])) * fixed_point(b[k]);
    REQUIRE(sum != 0);
    const ExactValue exact = dot(f16, a, f16, b, f16, c);
    const float as_float = std::ldexp(static_cast<float>(sum), -48);
    const double as_double = std::ldexp(static_cast<double>(sum), -48);
    REQUIRE(round_to(f32, exact) == std::bit_cast<std::uint32_t>(as_float));
    REQUIRE(round_to(f64, exact) == std::bit_cast<std::uint64_t>(as_double));
  }
}

TEST_CASE("exact dot product keeps what is left after 2^200 cancels") {
  const Code huge = from_double(bf16, 0x1p100);
  const Code minus_huge = huge | bf16.sign_mask();
  const Code smallest = 1;  // 2^-133
  CHECK(dot(bf16, {huge, smallest, minus_huge}, bf16, {huge, smallest, huge}, f32, 0) ==
        power_of_two(-266));
  CHECK(dot(f64, {f64.max_finite(), f64.max_finite()}, f64,
            {f64.max_finite(), f64.max_finite() | f64.sign_mask()}, f64, 1) == power_of_two(-1074));
}

TEST_CASE("exact dot product of published inputs") {
  // Xie et al. 2025, table 8: every tensor core loses some of this sum; f64 arithmetic does not.
  const auto codes = [](const std::vector<double>& values) {
    std::vector<Code> result;
    for (const double value : values) result.push_back(from_double(f16, value));
    return result;
  };
  CHECK(to_decimal(dot(f16, codes({-8192, -.5, -.25, -.125}), f16, codes({1024, 1, 1, 1}), f32,
                       from_double(f32, 8388608))) == "-0.875");
  CHECK(dot(f16, codes({6000}), f16, codes({6000}), f32, from_double(f32, -3.6e7)).is_zero());
  const ExactValue above_f32 = dot(f16, std::vector<Code>(16, f16.max_finite()), f16,
                                   std::vector<Code>(16, f16.max_finite()), f32, f32.max_finite());
  CHECK(round_to(f32, above_f32, Rounding::toward_zero, Overflow::infinity) == 0x7F7FFFFF);
}

TEST_CASE("exact dot product without products is c") {
  CHECK(dot(f16, {}, f16, {}, f32, 0x3FC00000) == ExactValue(3, -1));
}

TEST_CASE("exact dot product of Inf and NaN does not depend on the order of the terms") {
  const Code inf = f16.infinity();
  const Code minus_inf = inf | f16.sign_mask();
  const Code one = from_double(f16, 1);
  CHECK(dot(f16, {inf, one}, f16, {one, one}, f32, 0) == positive_infinity);
  CHECK(dot(f16, {one, inf}, f16, {one, minus_inf}, f32, 0) == negative_infinity);
  CHECK(is_nan(dot(f16, {inf, one}, f16, {one, one}, f32, f32.infinity() | f32.sign_mask())));
  CHECK(is_nan(dot(f16, {one, inf}, f16, {one, 0}, f32, 0)));
  CHECK(is_nan(dot(f16, {f16.nan(), inf}, f16, {one, one}, f32, 0)));
  CHECK(dot(f16, {one}, f16, {one}, f32, f32.infinity()) == positive_infinity);
}

TEST_CASE("exact dot product rejects vectors of different lengths") {
  CHECK_THROWS_AS(dot(f16, {0, 0}, f16, {0}, f32, 0), std::invalid_argument);
  const std::vector<Code> two{0, 0};
  const std::vector<Code> one{0};
  CHECK_THROWS_AS(exact_dot_magnitude({{f16, two}, {f16, one}, f32, 0}), std::invalid_argument);
}

}  // namespace
}  // namespace bitmma
