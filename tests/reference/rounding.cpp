#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "bitmma/reference/exact.hpp"
#include "bitmma/tests/reference/independent.hpp"

namespace bitmma {
namespace {

const ExactValue half(1, -1);

ExactValue random_fraction(independent::FiniteCodes& random, int words) {
  independent::cpp_int significand = 0;
  for (int i = 0; i < words; ++i) significand = (significand << 64) + random.bits();
  return ExactValue(significand, -64 * words);
}

/// Values that are hard to round: on a number of the format, in the middle between two, just beside
/// the middle (by less than 64 bits can hold), and anywhere.
std::vector<ExactValue> hard_values(const Format& format, Code steps,
                                    independent::FiniteCodes& random) {
  const ExactValue below = exact_value(format, steps << format.ignored_bits());
  const Code last = format.max_finite() >> format.ignored_bits();
  const ExactValue spacing =
      steps == last ? below - exact_value(format, (last - 1) << format.ignored_bits())
                    : exact_value(format, (steps + 1) << format.ignored_bits()) - below;
  const ExactValue tiny = spacing * ExactValue(1, -150);
  std::vector<ExactValue> values;
  for (const ExactValue& offset :
       {ExactValue(), tiny, half * spacing - tiny, half * spacing, half * spacing + tiny,
        spacing - tiny, random_fraction(random, 1) * spacing, random_fraction(random, 3) * spacing})
    values.push_back(below + offset);
  return values;
}

void check_all_roundings(const Format& format, const ExactValue& value) {
  for (const Rounding rounding :
       {Rounding::nearest_even, Rounding::toward_zero, Rounding::nearest_away,
        Rounding::toward_negative, Rounding::toward_positive})
    for (const Overflow overflow : {Overflow::ieee, Overflow::infinity, Overflow::saturate})
      for (const ExactValue& signed_value : {value, -value}) {
        const Code expected = independent::rounded(format, independent::as_rational(signed_value),
                                                   rounding, overflow);
        const Code actual = round_to(format, signed_value, rounding, overflow);
        if (actual != expected)
          FAIL(format.name << ": got " << actual << ", expected " << expected << ", rounding "
                           << int(rounding) << ", overflow " << int(overflow));
      }
}

void check_neighbourhood(const Format& format, Code steps, independent::FiniteCodes& random) {
  for (const ExactValue& value : hard_values(format, steps, random))
    if (!value.is_zero()) check_all_roundings(format, value);
}

TEST_CASE("rounding between all FP8 neighbours equals a search over the codes") {
  independent::FiniteCodes random(10);
  for (const Format* format : {&e4m3, &e5m2})
    for (Code steps = 0; steps <= format->max_finite(); ++steps)
      check_neighbourhood(*format, steps, random);
}

TEST_CASE("rounding at the ends and at random places of every format equals a search") {
  independent::FiniteCodes random(11);
  for (const Format* format : format_table) {
    const Code last = format->max_finite() >> format->ignored_bits();
    const Code smallest_normal = Code{1} << format->fraction_bits;
    for (const Code steps :
         {Code{0}, Code{1}, Code{2}, smallest_normal - 1, smallest_normal, last - 1, last})
      check_neighbourhood(*format, steps, random);
    for (int i = 0; i < 8; ++i) check_neighbourhood(*format, random.bits() % last, random);
  }
}

TEST_CASE("rounding beyond the largest number of every format equals a search") {
  for (const Format* format : format_table) {
    const ExactValue largest = exact_value(*format, format->max_finite());
    for (const ExactValue& factor : {ExactValue(33, -5), ExactValue(3, -1), ExactValue(1, 1),
                                     ExactValue(1, 500), ExactValue(0x123456789, 300)})
      check_all_roundings(*format, largest * factor);
  }
}

TEST_CASE("rounding of well-known borders") {
  const auto value = [](double x) { return exact_value(x); };
  CHECK(round_to(f16, value(65519.999)) == 0x7BFF);
  CHECK(round_to(f16, value(65520)) == 0x7C00);
  CHECK(round_to(f16, value(-65520)) == 0xFC00);
  CHECK(round_to(f16, value(65520), Rounding::toward_zero) == 0x7BFF);
  CHECK(round_to(f16, value(65536), Rounding::toward_zero, Overflow::infinity) == 0x7C00);
  CHECK(round_to(f16, value(0x1p-25)) == 0x0000);                          // a tie, to even
  CHECK(round_to(f16, value(0x1p-25), Rounding::nearest_away) == 0x0001);  // the same tie
  CHECK(round_to(f16, value(0x3p-25)) == 0x0002);                          // a tie, to even
  CHECK(round_to(f16, value(-0x1p-26)) == 0x8000);
  CHECK(round_to(f16, value(2049)) == 0x6800);                          // 2048
  CHECK(round_to(f16, value(2049), Rounding::nearest_away) == 0x6801);  // 2050
  CHECK(round_to(f16, value(2051)) == 0x6802);                          // 2052
  CHECK(round_to(e4m3, value(464)) == 0x7E);
  CHECK(round_to(e4m3, value(464.001)) == 0x7F);
  CHECK(round_to(e4m3, value(1e9), Rounding::nearest_even, Overflow::saturate) == 0x7E);
  CHECK(round_to(tf32, value(3.14)) == 0x40490000);                         // 3.140625
  CHECK(round_to(tf32, value(3.14), Rounding::toward_zero) == 0x4048E000);  // 3.138671875
  CHECK(round_to(f32, value(0.1)) == 0x3DCCCCCD);
}

TEST_CASE("rounding of Inf and NaN to every format") {
  for (const Format* format : format_table) {
    CAPTURE(std::string(format->name));
    const Code minus = format->sign_mask();
    CHECK(round_to(*format, ExactValue::nan()) == format->nan());
    CHECK(round_to(*format, ExactValue::infinity(false)) == format->infinity());
    CHECK(round_to(*format, ExactValue::infinity(true), Rounding::toward_zero) ==
          (minus | format->infinity()));
    CHECK(round_to(*format, ExactValue::infinity(true), Rounding::nearest_even,
                   Overflow::saturate) == (minus | format->max_finite()));
  }
}

TEST_CASE("rounding a code's exact value to its own format gives the code back") {
  for (const Format* format : {&f16, &bf16, &e4m3, &e5m2})
    for (Code code = 1; code <= format->max_finite(); ++code) {
      if (round_to(*format, exact_value(*format, code)) != code)
        FAIL(format->name << " code " << code);
      const Code negative = code | format->sign_mask();
      if (round_to(*format, exact_value(*format, negative)) != negative)
        FAIL(format->name << " code " << negative);
    }
}

/// The hardware's fma against one product and c, for codes with all bit patterns.
template <typename Real, typename Bits>
void check_against_fma(const Format& format, std::uint64_t seed, int count) {
  independent::FiniteCodes random(seed);
  for (int i = 0; i < count; ++i) {
    const std::vector<Code> a{static_cast<Bits>(random.bits())};
    const std::vector<Code> b{static_cast<Bits>(random.bits())};
    Code c = static_cast<Bits>(random.bits());
    if (i % 2 == 0) {  // c near −a·b
      const Real product = std::bit_cast<Real>(static_cast<Bits>(a[0])) *
                           std::bit_cast<Real>(static_cast<Bits>(b[0]));
      c = std::bit_cast<Bits>(-product) ^ (random.bits() & 3);
    }
    const Real expected = std::fma(std::bit_cast<Real>(static_cast<Bits>(a[0])),
                                   std::bit_cast<Real>(static_cast<Bits>(b[0])),
                                   std::bit_cast<Real>(static_cast<Bits>(c)));
    const ExactValue exact = exact_dot({{format, a}, {format, b}, format, c});
    const Code code = round_to(format, exact);
    if (std::isnan(expected))
      REQUIRE(code == format.nan());
    else if (exact.is_zero())
      REQUIRE(expected == 0);
    else
      REQUIRE(code == std::bit_cast<Bits>(expected));
  }
}

TEST_CASE("rounding a·b + c to f32 and f64 equals the hardware's fma, any bits") {
  check_against_fma<float, std::uint32_t>(f32, 12, 40000);
  check_against_fma<double, std::uint64_t>(f64, 13, 40000);
}

}  // namespace
}  // namespace bitmma
