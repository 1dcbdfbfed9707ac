#include "bitmma/reference/exact_text.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "bitmma/tests/reference/independent.hpp"

namespace bitmma {
namespace {

std::string printed(const char* format, int precision, double value) {
  std::string text(1600, '\0');
  const int length = std::snprintf(text.data(), text.size(), format, precision, value);
  text.resize(static_cast<std::size_t>(length));
  return text;
}

/// All digits of a double as the C library prints them, which has at most 1074 decimal places.
std::string printed_exactly(double value) {
  std::string text = printed("%.*f", 1074, value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

TEST_CASE("exact decimal text of well-known codes") {
  CHECK(to_decimal(exact_value(f32, 0x3DCCCCCD)) == "0.100000001490116119384765625");
  CHECK(to_decimal(exact_value(f16, 0x2E66)) == "0.0999755859375");
  CHECK(to_decimal(exact_value(f16, 0x0001)) == "0.000000059604644775390625");
  CHECK(to_decimal(exact_value(f16, 0xFBFF)) == "-65504");
  CHECK(to_decimal(exact_value(f32, 0x7F7FFFFF)) == "340282346638528859811704183484516925440");
  CHECK(
      to_decimal(exact_value(f32, 1)) ==
      "0." + std::string(44, '0') +
          "140129846432481707092372958328991613128026194187651577175706828388979108268586060148663"
          "818836212158203125");
  CHECK(to_decimal(ExactValue()) == "0");
  CHECK(to_decimal(ExactValue(-5, 1)) == "-10");
}

TEST_CASE("decimal text rounds to significant digits, ties to an even digit") {
  CHECK(to_decimal(exact_value(0.1f), 9) == "0.100000001");
  CHECK(to_decimal(exact_value(0.5), 9) == "0.5");
  CHECK(to_decimal(exact_value(2.5), 1) == "2");
  CHECK(to_decimal(exact_value(3.5), 1) == "4");
  CHECK(to_decimal(exact_value(2.5) + ExactValue(1, -2000), 1) == "3");
  CHECK(to_decimal(exact_value(-9.96), 2) == "-10");
  CHECK(to_decimal(exact_value(999.5), 3) == "1e+03");
  CHECK(to_decimal(exact_value(f32, 1), 9) == "1.40129846e-45");
  CHECK(to_decimal(exact_value(0.0001), 3) == "0.0001");
  CHECK(to_decimal(exact_value(0.00001), 3) == "1e-05");
  CHECK(to_decimal(ExactValue(1, 400), 3) == "2.58e+120");
  CHECK(to_decimal(ExactValue(), 3) == "0");
  CHECK_THROWS_AS(to_decimal(ExactValue(1, 0), 0), std::invalid_argument);
}

TEST_CASE("decimal text of random doubles equals the C library's") {
  independent::FiniteCodes codes(20);
  for (int i = 0; i < 1500; ++i) {
    const double wide = std::bit_cast<double>(codes(f64));
    const double near_one = static_cast<double>(codes.bits() % 100000) / 1024 - 40;
    for (const double value : {wide, near_one}) {
      if (value == 0) continue;
      const ExactValue exact = exact_value(value);
      REQUIRE(to_decimal(exact) == printed_exactly(value));
      const int digits = 1 + static_cast<int>(codes.bits() % 25);
      REQUIRE(to_decimal(exact, digits) == printed("%.*g", digits, value));
    }
  }
}

TEST_CASE("hexadecimal text of well-known values") {
  CHECK(to_hexadecimal(ExactValue(12, 0)) == "0x1.8p+3");
  CHECK(to_hexadecimal(ExactValue(1, 0)) == "0x1p+0");
  CHECK(to_hexadecimal(exact_value(f32, 0x80000001)) == "-0x1p-149");
  CHECK(to_hexadecimal(exact_value(0.1f)) == "0x1.99999ap-4");
  CHECK(to_hexadecimal(ExactValue()) == "0x0p+0");
  CHECK(to_hexadecimal(ExactValue(1, 200) + ExactValue(1, -1)) ==
        "0x1." + std::string(50, '0') + "8p+200");
}

TEST_CASE("hexadecimal text of random doubles reads back as the same double") {
  independent::FiniteCodes codes(21);
  for (int i = 0; i < 5000; ++i) {
    const double value = std::bit_cast<double>(codes(f64));
    if (value == 0) continue;
    const std::string text = to_hexadecimal(exact_value(value));
    REQUIRE(std::strtod(text.c_str(), nullptr) == value);
    if (std::isnormal(value)) REQUIRE(text == printed("%*a", 0, value));
  }
}

TEST_CASE("text of Inf and NaN") {
  for (const auto& [value, text] :
       {std::pair{ExactValue::nan(), "nan"}, std::pair{ExactValue::infinity(false), "inf"},
        std::pair{ExactValue::infinity(true), "-inf"}}) {
    CHECK(to_decimal(value) == text);
    CHECK(to_decimal(value, 5) == text);
    CHECK(to_hexadecimal(value) == text);
  }
}

TEST_CASE("decimal text is parsed exactly") {
  CHECK(parse_decimal("0") == 0);
  CHECK(parse_decimal("-0.0") == 0);
  CHECK(parse_decimal("0.1") == Rational(1, 10));
  CHECK(parse_decimal("-3.14") == Rational(-157, 50));
  CHECK(parse_decimal("+12.") == 12);
  CHECK(parse_decimal(".5") == Rational(1, 2));
  CHECK(parse_decimal("0017") == 17);  // no octal
  CHECK(parse_decimal("-2.5e3") == -2500);
  CHECK(parse_decimal("25E-4") == Rational(1, 400));
  CHECK(parse_decimal("1e+2") == 100);
}

TEST_CASE("decimal text that is no number is rejected") {
  for (const char* text : {"", "-", ".", "e5", "1e", "1e+", "1e--2", "1,5", "1.5.2", " 1", "1 ",
                           "0x10", "inf", "nan", "1e10000", "1e99999999999999999999"})
    CHECK_THROWS_AS(parse_decimal(text), std::invalid_argument);
}

TEST_CASE("decimal text of an exact value parses back to it") {
  independent::FiniteCodes codes(22);
  for (int i = 0; i < 500; ++i) {
    const ExactValue value = exact_value(f64, codes(f64));
    REQUIRE(parse_decimal(to_decimal(value)) == independent::as_rational(value));
  }
}

}  // namespace
}  // namespace bitmma
