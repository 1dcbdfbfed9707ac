#include "bitmma/isa/format.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <vector>

using namespace bitmma;

namespace {

/// The value of a code computed from the format's definition, in floating point.
double value_by_definition(const Format& format, Code code) {
  const Code fields = code >> format.ignored_bits();
  const double fraction = std::ldexp(
      static_cast<double>(fields & ((Code{1} << format.fraction_bits) - 1)), -format.fraction_bits);
  const Code exponent_mask = (Code{1} << format.exponent_bits) - 1;
  const Code exponent = fields >> format.fraction_bits & exponent_mask;
  const bool negative = code >> (format.storage_bits - 1) & 1;
  double magnitude = 0;
  if (format.name == "e4m3" ? (exponent == 15 && fraction == 0.875) : exponent == exponent_mask)
    magnitude = format.name != "e4m3" && fraction == 0 ? HUGE_VAL : std::nan("");
  else if (exponent == 0)
    magnitude = std::ldexp(fraction, 2 - (1 << (format.exponent_bits - 1)));
  else
    magnitude = std::ldexp(1 + fraction,
                           static_cast<int>(exponent) + 1 - (1 << (format.exponent_bits - 1)));
  return negative ? -magnitude : magnitude;
}

bool same_value(double x, double y) {
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  return x == y && std::signbit(x) == std::signbit(y);
}

const std::vector<const Format*> small_formats{&f16, &bf16, &e4m3, &e5m2};

constexpr Rounding every_rounding[] = {Rounding::nearest_even, Rounding::toward_zero,
                                       Rounding::nearest_away, Rounding::toward_negative,
                                       Rounding::toward_positive};

Code largest_finite(const Format& format) {
  Code code = 0;
  while (std::isfinite(value_by_definition(format, code + 1))) ++code;
  return code;
}

}  // namespace

TEST_CASE("every code of every 8- and 16-bit format decodes to its value") {
  for (const Format* format : small_formats) {
    CAPTURE(format->name);
    int wrong = 0;
    for (Code code = 0; code < Code{1} << format->storage_bits; ++code)
      wrong += !same_value(to_double(*format, code), value_by_definition(*format, code));
    CHECK(wrong == 0);
  }
}

TEST_CASE("every finite code of every 8- and 16-bit format encodes back under every rounding") {
  for (const Format* format : small_formats) {
    CAPTURE(format->name);
    int wrong = 0;
    for (Code code = 0; code < Code{1} << format->storage_bits; ++code) {
      const double value = value_by_definition(*format, code);
      if (!std::isfinite(value)) continue;
      for (const Rounding rounding : every_rounding)
        wrong += from_double(*format, value, rounding) != code;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("between neighbours, values round as each rounding says") {
  for (const Format* format : small_formats) {
    CAPTURE(format->name);
    const Code last = largest_finite(*format);
    int wrong = 0;
    for (Code code = 0; code < last; ++code) {
      const double low = value_by_definition(*format, code);
      const double high = value_by_definition(*format, code + 1);
      const double middle = (low + high) / 2;  // exact: formats have at most 11 significant bits
      const double below = std::nextafter(middle, low);
      const double above = std::nextafter(middle, high);
      const Code even = code % 2 == 0 ? code : code + 1;
      for (const Code sign : {Code{0}, format->sign_mask()}) {
        const double s = sign == 0 ? 1 : -1;
        const auto rounds_to = [&](double value, Rounding rounding, Code expected) {
          wrong += from_double(*format, s * value, rounding) != (sign | expected);
        };
        rounds_to(below, Rounding::nearest_even, code);
        rounds_to(middle, Rounding::nearest_even, even);
        rounds_to(above, Rounding::nearest_even, code + 1);
        rounds_to(below, Rounding::nearest_away, code);
        rounds_to(middle, Rounding::nearest_away, code + 1);
        rounds_to(above, Rounding::nearest_away, code + 1);
        rounds_to(std::nextafter(high, low), Rounding::toward_zero, code);
        rounds_to(middle, Rounding::toward_zero, code);
        const bool negative = sign != 0;
        for (const double value : {std::nextafter(low, high), middle, std::nextafter(high, low)}) {
          rounds_to(value, Rounding::toward_negative, negative ? code + 1 : code);
          rounds_to(value, Rounding::toward_positive, negative ? code : code + 1);
        }
      }
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("values beyond the largest number overflow as asked") {
  struct Case {
    const Format* format;
    double largest, first_over;  // first_over: the tie beyond the largest number
    Code max, over;
  };
  for (const Case& c : {Case{&f16, 65504, 65520, 0x7BFF, 0x7C00},
                        Case{&bf16, 0x1.fep127, 0x1.ffp127, 0x7F7F, 0x7F80},
                        Case{&tf32, 0x1.ffcp127, 0x1.ffep127, 0x7F7FE000, 0x7F800000},
                        Case{&e5m2, 57344, 61440, 0x7B, 0x7C}, Case{&e4m3, 448, 464, 0x7E, 0x7F},
                        Case{&f32, 0x1.fffffep127, 0x1.ffffffp127, 0x7F7FFFFF, 0x7F800000}}) {
    CAPTURE(c.format->name);
    using enum Rounding;
    CHECK(from_double(*c.format, c.largest) == c.max);
    CHECK(from_double(*c.format, std::nextafter(c.first_over, 0)) == c.max);
    // The largest e4m3 code, 0x7E, is even: a tie with the absent next one stays with it.
    CHECK(from_double(*c.format, c.first_over) == (c.format == &e4m3 ? c.max : c.over));
    CHECK(from_double(*c.format, c.first_over, nearest_away) == c.over);
    CHECK(from_double(*c.format, 1e300, toward_zero) == c.max);
    CHECK(from_double(*c.format, 1e300, toward_zero, Overflow::infinity) == c.over);
    const double over = std::nextafter(c.largest, 1e300);
    const Code minus = c.format->sign_mask();
    CHECK(from_double(*c.format, over, toward_negative) == c.max);
    CHECK(from_double(*c.format, over, toward_positive) == c.over);
    CHECK(from_double(*c.format, -over, toward_negative) == (minus | c.over));
    CHECK(from_double(*c.format, -over, toward_positive) == (minus | c.max));
    CHECK(from_double(*c.format, -1e300, toward_positive) == (minus | c.max));
    CHECK(from_double(*c.format, 1e300, toward_negative, Overflow::infinity) == c.over);
    CHECK(from_double(*c.format, -1e300, nearest_even, Overflow::saturate) == (minus | c.max));
    CHECK(from_double(*c.format, HUGE_VAL, nearest_even, Overflow::saturate) == c.max);
    CHECK(from_double(*c.format, HUGE_VAL) == c.over);
    CHECK(from_double(*c.format, std::nan("")) == c.format->nan());
  }
}

TEST_CASE("conversion of doubles to f32 agrees with the processor") {
  std::uint64_t state = 1;
  int wrong = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    // Exponents from 2^-160 to 2^138: subnormal, normal and overflowing.
    const Code exponent = 863 + (state >> 40) % 299;
    const Code bits = (state & (f64.sign_mask() | 0xF'FFFF'FFFF'FFFF)) | exponent << 52;
    const double value = std::bit_cast<double>(bits);
    wrong += from_double(f32, value) != std::bit_cast<std::uint32_t>(static_cast<float>(value));
  }
  CHECK(wrong == 0);
}

TEST_CASE("tf32 keeps the upper 19 bits of an f32 and converts as cvt.rna and cvt.rz do") {
  CHECK(decode(tf32, 0x3F801FFF).significand == 0x400);
  CHECK(decode(tf32, 0x7F800001).kind == Kind::infinite);
  CHECK(decode(tf32, 0x7F802000).kind == Kind::nan);
  // 3.14 in f32; nearest ties away, nearest even and truncated (pytorch issue 78275)
  const Code pi = from_double(f32, 3.14);
  CHECK(convert(f32, pi, tf32, Rounding::nearest_away) == from_double(f32, 3.140625));
  CHECK(convert(f32, pi, tf32, Rounding::toward_zero) == from_double(f32, 3.138671875));
  // a tie: 1 + 2^-11
  CHECK(convert(f32, 0x3F801000, tf32, Rounding::nearest_away) == 0x3F802000);
  CHECK(convert(f32, 0x3F801000, tf32, Rounding::nearest_even) == 0x3F800000);
}

TEST_CASE("a sticky significand rounds as the longer value") {
  using enum Rounding;
  // 1 + 2^-11 is a tie in f16; anything above it rounds up.
  const std::uint64_t tie = (std::uint64_t{1} << 40) | (std::uint64_t{1} << 29);
  CHECK(encode(f16, false, tie, -40, nearest_even) == 0x3C00);
  CHECK(encode(f16, false, tie, -40, nearest_even, Overflow::ieee, true) == 0x3C01);
  CHECK(encode(f16, false, tie - 1, -40, nearest_even, Overflow::ieee, true) == 0x3C00);
  CHECK(encode(f16, false, tie, -40, toward_zero, Overflow::ieee, true) == 0x3C00);
  // 1 is exact, 1 and anything above it is not.
  const std::uint64_t one = std::uint64_t{1} << 40;
  CHECK(encode(f16, false, one, -40, toward_positive) == 0x3C00);
  CHECK(encode(f16, false, one, -40, toward_positive, Overflow::ieee, true) == 0x3C01);
  CHECK(encode(f16, true, one, -40, toward_positive, Overflow::ieee, true) == 0xBC00);
  CHECK(encode(f16, true, one, -40, toward_negative, Overflow::ieee, true) == 0xBC01);
}

TEST_CASE("an f16 at the lowest exponents: half of the smallest subnormal is a tie with zero") {
  CHECK(from_double(f16, 0x1p-24) == 0x0001);
  CHECK(from_double(f16, 0x1p-25) == 0x0000);
  CHECK(from_double(f16, 0x1.8p-25) == 0x0001);
  CHECK(from_double(f16, -0x1p-80) == 0x8000);
  CHECK(from_double(f16, 0x1p-25, Rounding::nearest_away) == 0x0001);
  CHECK(from_double(f16, 0x1p-1000, Rounding::toward_positive) == 0x0001);
  CHECK(from_double(f16, -0x1p-1000, Rounding::toward_positive) == 0x8000);
  CHECK(from_double(f16, -0x1p-1000, Rounding::toward_negative) == 0x8001);
}

TEST_CASE("integers are two's complement of their width") {
  const auto value = [](const Format& format, Code code) { return to_double(format, code); };
  CHECK(value(s8, 0x7F) == 127);
  CHECK(value(s8, 0x80) == -128);
  CHECK(value(u8, 0x80) == 128);
  CHECK(value(s4, 0xF) == -1);
  CHECK(value(u4, 0xF) == 15);
  CHECK(value(b1, 1) == 1);
  CHECK(value(s32, 0x80000000) == -2147483648.0);
  for (const Format* format : integer_format_table)
    for (Code code = 0; code < 300; ++code) {
      CAPTURE(format->name);
      const Code kept = code & format->code_mask();
      CHECK(from_double(*format, value(*format, kept)) == kept);
    }
}

TEST_CASE("numbers become the nearest integer, and the limits beyond them") {
  CHECK(from_double(s8, 2.5) == 2);
  CHECK(from_double(s8, -2.5, Rounding::nearest_away) == 0xFD);
  CHECK(from_double(s8, -2.5, Rounding::toward_positive) == 0xFE);
  CHECK(from_double(s8, 127.4) == 0x7F);
  CHECK(from_double(s8, 128) == 0x7F);
  CHECK(from_double(s8, -128.4) == 0x80);
  CHECK(from_double(s8, -1e30) == 0x80);
  CHECK(from_double(u8, -0.5) == 0);
  CHECK(from_double(u8, -3) == 0);
  CHECK(from_double(u8, 255.6) == 0xFF);
  CHECK(from_double(s32, INFINITY) == 0x7FFFFFFF);
  CHECK(from_double(s32, -INFINITY) == 0x80000000);
  CHECK(from_double(s32, NAN) == 0);
  CHECK(from_double(s32, 1e-320) == 0);
}
