#include "bitmma/reference/high_precision.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "bitmma/reference/error.hpp"
#include "bitmma/tests/reference/independent.hpp"

namespace bitmma {
namespace {

using independent::as_rational;

template <unsigned bits>
Rational rational(const BinaryFloat<bits>& value) {
  return as_rational(exact_value(value));
}

template <unsigned bits>
bool contains(const Ball<bits>& ball, const Rational& value) {
  return abs(rational(ball.midpoint) - value) <= rational(ball.radius);
}

/// A decimal text of up to 40 digits and an exponent from −20 to 20.
std::string random_decimal(independent::FiniteCodes& random) {
  std::string text = random.bits() % 2 == 0 ? "" : "-";
  const std::size_t digits = 1 + random.bits() % 40;
  for (std::size_t i = 0; i < digits; ++i) {
    text += static_cast<char>('0' + random.bits() % 10);
    if (i == digits / 2) text += '.';
  }
  return text + "e" + std::to_string(static_cast<int>(random.bits() % 41) - 20);
}

struct ExactDecimalDot {
  Rational sum;
  Rational magnitude;
};

ExactDecimalDot exact_decimal_dot(const std::vector<std::string>& a,
                                  const std::vector<std::string>& b, const std::string& c) {
  ExactDecimalDot dot{parse_decimal(c), abs(parse_decimal(c))};
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Rational product = parse_decimal(a[i]) * parse_decimal(b[i]);
    dot.sum += product;
    dot.magnitude += abs(product);
  }
  return dot;
}

template <unsigned bits>
std::vector<Ball<bits>> balls(const std::vector<std::string>& texts) {
  std::vector<Ball<bits>> result;
  for (const std::string& text : texts) result.push_back(decimal_ball<bits>(text));
  return result;
}

/// Checks the bound on random dot products; returns the largest part of it that an error used up.
template <unsigned bits>
Rational check_random_decimal_dots(int count) {
  independent::FiniteCodes random(50);
  Rational largest_use = 0;
  for (int i = 0; i < count; ++i) {
    const std::size_t length = random.bits() % 12;
    std::vector<std::string> a(length);
    std::vector<std::string> b(length);
    for (std::string& text : a) text = random_decimal(random);
    for (std::string& text : b) text = random_decimal(random);
    if (length >= 2) {  // the last product cancels the first one
      a.back() = a.front().starts_with('-') ? a.front().substr(1) : "-" + a.front();
      b.back() = b.front();
    }
    const std::string c = random_decimal(random);

    const Ball<bits> dot =
        high_precision_dot<bits>(balls<bits>(a), balls<bits>(b), decimal_ball<bits>(c));
    const ExactDecimalDot exact = exact_decimal_dot(a, b, c);
    REQUIRE(contains(dot, exact.sum));
    const auto roundings = static_cast<int>(4 * length + 8);
    REQUIRE(rational(dot.radius) <=
            exact.magnitude * roundings * independent::power_of_two(1 - static_cast<int>(bits)));
    if (dot.radius == 0) continue;
    const Rational use = abs(rational(dot.midpoint) - exact.sum) / rational(dot.radius);
    largest_use = std::max(largest_use, use);
  }
  return largest_use;
}

TEST_CASE("high-precision error bound holds against rational arithmetic, and is not idle") {
  CHECK(check_random_decimal_dots<8>(500) > Rational(1, 10));
  CHECK(check_random_decimal_dots<24>(500) > Rational(1, 10));
  CHECK(check_random_decimal_dots<113>(300) > Rational(1, 10));
  CHECK(check_random_decimal_dots<512>(200) < 1);
}

TEST_CASE("high-precision sums and products of exact numbers hold their bound") {
  independent::FiniteCodes codes(51);
  for (int i = 0; i < 2000; ++i) {
    const Code x = codes(f32);
    const Code y = codes(f32);
    const Ball<24> ball_x = exact_ball<24>(BinaryFloat<24>(independent::value_of(f32, x)));
    const Ball<24> ball_y = exact_ball<24>(BinaryFloat<24>(independent::value_of(f32, y)));
    REQUIRE(rational(ball_x.midpoint) == independent::rational_of(f32, x));
    REQUIRE(contains(ball_x * ball_y,
                     independent::rational_of(f32, x) * independent::rational_of(f32, y)));
    REQUIRE(contains(ball_x + ball_y,
                     independent::rational_of(f32, x) + independent::rational_of(f32, y)));
  }
}

TEST_CASE("high-precision balls of rational numbers contain them, exact ones without a radius") {
  CHECK(contains(rational_ball<64>(Rational(-1, 3)), Rational(-1, 3)));
  CHECK(rational_ball<64>(Rational(-1, 3)).radius > 0);
  CHECK(rational_ball<64>(Rational(-1, 3)).radius <= BinaryFloat<64>(0x1p-64));
  CHECK(rational_ball<8>(Rational(255, 1 << 20)).radius == 0);
  CHECK(rational(rational_ball<8>(Rational(255, 1 << 20)).midpoint) == Rational(255, 1 << 20));
  CHECK(rational_ball<8>(Rational(511)).radius > 0);
  CHECK(decimal_ball<24>("0.5").radius == 0);
  CHECK(decimal_ball<24>("0").radius == 0);
  CHECK(decimal_ball<24>("-1e4000").midpoint < 0);
  CHECK(contains(decimal_ball<24>("-1e-4000"), parse_decimal("-1e-4000")));
}

TEST_CASE("high-precision 3.14 squared is 9.8596 to the precision asked for") {
  const std::vector<Ball<200>> pi{decimal_ball<200>("3.14")};
  const Ball<200> square = high_precision_dot<200>(pi, pi, decimal_ball<200>("0"));
  CHECK(contains(square, parse_decimal("9.8596")));
  CHECK(square.radius < BinaryFloat<200>("1e-58"));
  // With tf32 operands, rounded to nearest with ties away, the product is 9.86353 or 9.85126.
  const ExactValue tf32_pi = exact_value(tf32, from_double(tf32, 3.14, Rounding::nearest_away));
  const double error = relative_error(tf32_pi * tf32_pi, exact_value(square.midpoint));
  CHECK(error > 1e-4);
  CHECK(error < 0x1p-10);
}

TEST_CASE("high-precision numbers of Boost's type are taken as exact, unless not finite") {
  const BinaryFloat<300> root = sqrt(BinaryFloat<300>(2));
  const std::vector<Ball<300>> roots{exact_ball<300>(root)};
  CHECK(roots[0].radius == 0);
  const Ball<300> square = high_precision_dot<300>(roots, roots, decimal_ball<300>("0"));
  CHECK(contains(square, rational(root) * rational(root)));
  CHECK(abs(square.midpoint - 2) < ldexp(BinaryFloat<300>(1), -297));

  using Limits = std::numeric_limits<BinaryFloat<300>>;
  CHECK_THROWS_AS(exact_ball<300>(Limits::infinity()), std::invalid_argument);
  CHECK_THROWS_AS(exact_ball<300>(Limits::quiet_NaN()), std::invalid_argument);
}

TEST_CASE("high-precision numbers convert to exact values") {
  CHECK(exact_value(BinaryFloat<53>(-0.1)) == exact_value(-0.1));
  CHECK(exact_value(BinaryFloat<53>(0)).is_zero());
  const BinaryFloat<200> wide = BinaryFloat<200>(1) + ldexp(BinaryFloat<200>(1), -199);
  CHECK(exact_value(wide) == ExactValue(1, 0) + ExactValue(1, -199));
}

TEST_CASE("high-precision dot product rejects vectors of different lengths") {
  const std::vector<Ball<64>> one{decimal_ball<64>("1")};
  CHECK_THROWS_AS(high_precision_dot<64>(one, {}, one[0]), std::invalid_argument);
}

}  // namespace
}  // namespace bitmma
