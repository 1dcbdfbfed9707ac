#include "bitmma/reference/error.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "bitmma/tests/reference/independent.hpp"

namespace bitmma {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

ExactValue value(double x) { return exact_value(x); }

TEST_CASE("ulp is the spacing of the format above a value's binade start") {
  CHECK(ulp(f32, value(1)) == value(0x1p-23));
  CHECK(ulp(f32, value(-1.999)) == value(0x1p-23));
  CHECK(ulp(f32, value(2)) == value(0x1p-22));
  CHECK(ulp(f16, value(1)) == value(0x1p-10));
  CHECK(ulp(f32, value(0x1p-126)) == value(0x1p-149));
  CHECK(ulp(f32, value(0x1p-140)) == value(0x1p-149));
  CHECK(ulp(f32, value(0x1p-160)) == value(0x1p-149));
  CHECK(ulp(f32, ExactValue()) == value(0x1p-149));
  CHECK(ulp(e4m3, value(448)) == value(32));
  CHECK(ulp(f16, value(0x1p20)) == value(0x1p10));  // as if f16 went on beyond 65504
  CHECK(ulp(f64, ExactValue()) == ExactValue(1, -1074));
  CHECK(ulp(f32, ExactValue::infinity(false)).kind() == Kind::nan);
  CHECK(ulp(f32, ExactValue::nan()).kind() == Kind::nan);
}

TEST_CASE("ulp of a number is the distance to the next larger one") {
  for (const Format* format : {&f16, &bf16, &e4m3, &e5m2})
    for (Code code = 0; code < format->max_finite(); ++code) {
      const ExactValue here = exact_value(*format, code);
      if (ulp(*format, here) != exact_value(*format, code + 1) - here)
        FAIL(format->name << " code " << code);
    }
}

TEST_CASE("error measures of hand-computed values") {
  // Published: 2^23 − 2^23 − 0.875 is −0.75 on Hopper; the terms add up to 2^24 + 0.875.
  const ExactValue computed = value(-0.75);
  const ExactValue exact = value(-0.875);
  CHECK(absolute_error(computed, exact) == 0.125);
  CHECK(relative_error(computed, exact) == 1.0 / 7);
  CHECK(ulp_error(f32, computed, exact) == 0x1p21);
  CHECK(ulp_error(f16, computed, exact) == 256);
  CHECK(error_relative_to_terms(computed, exact, value(16777216.875)) == 0.125 / 16777216.875);
  CHECK(computed - exact == value(0.125));

  CHECK(ulp_error(f16, value(2), value(2 - 0x1p-12)) == 0.25);
  CHECK(ulp_error(f32, value(0x1p-149), value(0x1p-150)) == 0.5);
  CHECK(absolute_error(value(1), value(-1e300)) == 1e300);
}

TEST_CASE("error measures of equal values are 0") {
  for (const ExactValue& x : {ExactValue(), value(3), ExactValue::infinity(false),
                              ExactValue::infinity(true), ExactValue::nan()}) {
    CHECK(absolute_error(x, x) == 0);
    CHECK(relative_error(x, x) == 0);
    CHECK(ulp_error(f32, x, x) == 0);
    CHECK(error_relative_to_terms(x, x, ExactValue()) == 0);
  }
}

TEST_CASE("error measures against an exact zero") {
  CHECK(absolute_error(value(-0.5), ExactValue()) == 0.5);
  CHECK(relative_error(value(0x1p-149), ExactValue()) == infinity);
  CHECK(ulp_error(f32, value(-0x3p-149), ExactValue()) == 3);
  CHECK(error_relative_to_terms(value(0.5), ExactValue(), value(2)) == 0.25);
  CHECK(error_relative_to_terms(value(0.5), ExactValue(), ExactValue()) == infinity);
}

TEST_CASE("error measures are infinite where one value is Inf or NaN") {
  const ExactValue inf = ExactValue::infinity(false);
  const std::vector<std::pair<ExactValue, ExactValue>> pairs = {{inf, value(1)},
                                                                {value(1), inf},
                                                                {inf, -inf},
                                                                {ExactValue::nan(), value(1)},
                                                                {value(1), ExactValue::nan()},
                                                                {ExactValue::nan(), inf}};
  for (const auto& [computed, exact] : pairs) {
    CHECK(absolute_error(computed, exact) == infinity);
    CHECK(relative_error(computed, exact) == infinity);
    CHECK(ulp_error(f32, computed, exact) == infinity);
    CHECK(error_relative_to_terms(computed, exact, value(1)) == infinity);
  }
}

TEST_CASE("error measures are correctly rounded quotients") {
  independent::FiniteCodes codes(40);
  for (int i = 0; i < 3000; ++i) {
    const double computed = std::bit_cast<double>(codes(f64));
    const double exact = i % 2 == 0 ? std::bit_cast<double>(codes(f64))
                                    : computed * (1 + std::ldexp(double(i), -20));
    if (exact == 0 || computed == exact || !std::isfinite(exact)) continue;
    const independent::cpp_rational difference =
        abs(independent::cpp_rational(computed) - independent::cpp_rational(exact));
    const independent::cpp_rational quotient = difference / abs(independent::cpp_rational(exact));
    const Code expected =
        independent::rounded(f64, quotient, Rounding::nearest_even, Overflow::ieee);
    REQUIRE(std::bit_cast<Code>(relative_error(value(computed), value(exact))) == expected);
  }
}

TEST_CASE("error measures round by all of the quotient's bits") {
  // relative error 1 + 2^-53 ± 2^-200 / 3: just beside the middle of two doubles
  const ExactValue three(3, 0);
  const ExactValue tie = three + three * (ExactValue(1, 0) + ExactValue(1, -53));
  const ExactValue tiny(1, -200);
  CHECK(relative_error(tie, three) == 1);
  CHECK(relative_error(tie - tiny, three) == 1);
  CHECK(relative_error(tie + tiny, three) == 1 + 0x1p-52);
}

TEST_CASE("correct rounding to nearest errs by at most half an ulp") {
  independent::FiniteCodes codes(41);
  for (int i = 0; i < 300; ++i) {
    const std::vector<Code> a = codes(f16, 8);
    const std::vector<Code> b = codes(f16, 8);
    const DotOperands operands{{f16, a}, {f16, b}, f16, codes(f16)};
    const ExactValue exact = exact_dot(operands);
    const ExactValue nearest = exact_value(f32, round_to(f32, exact));
    const ExactValue truncated = exact_value(f32, round_to(f32, exact, Rounding::toward_zero));
    REQUIRE(ulp_error(f32, nearest, exact) <= 0.5);
    REQUIRE(ulp_error(f32, truncated, exact) < 1);
    REQUIRE(abs(truncated) <= abs(exact));
    REQUIRE(error_relative_to_terms(nearest, exact, exact_dot_magnitude(operands)) <=
            relative_error(nearest, exact));
  }
}

TEST_CASE("ulp distance counts representable values") {
  CHECK(ulp_distance(f16, 0x3C00, 0x3C00) == 0);
  CHECK(ulp_distance(f16, 0x3C00, 0x3C05) == 5);
  CHECK(ulp_distance(f16, 0x3C05, 0x3C00) == 5);
  CHECK(ulp_distance(f16, 0x8000, 0x0000) == 0);
  CHECK(ulp_distance(f16, 0x8001, 0x0001) == 2);
  CHECK(ulp_distance(f16, 0x03FF, 0x0400) == 1);  // subnormal to normal
  CHECK(ulp_distance(tf32, 0x3F800000, 0x3F802000) == 1);
  CHECK(ulp_distance(tf32, 0x3F800000, 0x3F801FFF) == 0);  // ignored bits
  CHECK(ulp_distance(f64, 0x7FEFFFFFFFFFFFFF, 0xFFEFFFFFFFFFFFFF) == 0xFFDFFFFFFFFFFFFE);
  CHECK(ulp_distance(e4m3, 0x7E, 0xFE) == 252);
}

TEST_CASE("ulp distance of Inf and NaN is empty") {
  CHECK(ulp_distance(f16, 0x7C00, 0x7BFF) == std::nullopt);
  CHECK(ulp_distance(f16, 0x0000, 0xFC00) == std::nullopt);
  CHECK(ulp_distance(f32, 0x7FFFFFFF, 0x7FFFFFFF) == std::nullopt);
  CHECK(ulp_distance(e4m3, 0x7E, 0x7F) == std::nullopt);
}

TEST_CASE("ulp distance of FP8 codes equals counting the values between them") {
  for (const Format* format : {&e4m3, &e5m2}) {
    std::vector<double> ascending;  // every value once: zero has two codes
    for (Code code = format->max_finite(); code > 0; --code)
      ascending.push_back(-independent::value_of(*format, code));
    for (Code code = 0; code <= format->max_finite(); ++code)
      ascending.push_back(independent::value_of(*format, code));
    for (std::size_t i = 0; i < ascending.size(); i += 3)
      for (std::size_t j = i; j < ascending.size(); j += 5)
        if (ulp_distance(*format, from_double(*format, ascending[i]),
                         from_double(*format, ascending[j])) != j - i)
          FAIL(format->name << ": " << ascending[i] << " to " << ascending[j]);
  }
}

}  // namespace
}  // namespace bitmma
