/// The integer fused multiply-add against the processor's. Compiled with -frounding-math, so that
/// no operation moves across a change of the rounding mode.

#include "bitmma/emulator/fma.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <random>
#include <sstream>
#include <string>

#include "bitmma/emulator/ieee.hpp"

using namespace bitmma;

namespace {

struct Operands {
  Code x, y, z;
};

struct Mode {
  Rounding rounding;
  int environment;
};
constexpr Mode modes[] = {{Rounding::nearest_even, FE_TONEAREST},
                          {Rounding::toward_zero, FE_TOWARDZERO},
                          {Rounding::toward_negative, FE_DOWNWARD},
                          {Rounding::toward_positive, FE_UPWARD}};

/// The processor's rounding mode, for as long as this lives.
class EnvironmentMode {
 public:
  explicit EnvironmentMode(int mode) : before_(std::fegetround()) {
    REQUIRE(std::fesetround(mode) == 0);
  }
  ~EnvironmentMode() { std::fesetround(before_); }
  EnvironmentMode(const EnvironmentMode&) = delete;
  EnvironmentMode& operator=(const EnvironmentMode&) = delete;

 private:
  int before_;
};

template <class Real>
struct Processor;
template <>
struct Processor<double> {
  using Bits = std::uint64_t;
  static constexpr Format format = f64;
};
template <>
struct Processor<float> {
  using Bits = std::uint32_t;
  static constexpr Format format = f32;
};

template <class Real>
Real value(Code code) {
  return std::bit_cast<Real>(static_cast<typename Processor<Real>::Bits>(code));
}
template <class Real>
Code code_of(Real x) {
  return std::bit_cast<typename Processor<Real>::Bits>(x);
}

/// Operands of a kind that is hard in one way, seven kinds in turn.
template <class Real>
class OperandSource {
 public:
  explicit OperandSource(std::uint64_t seed) : random_(seed) {}

  Operands operator()(int i) {
    switch (i % 7) {
      case 0:
        return {bits(), bits(), bits()};
      case 1:
        return {special(), special(), special()};
      case 2:  // products and sums among the subnormals and just above
        return {near(-bias / 2), near(1 - bias / 2 - fraction), near(1 - bias, fraction)};
      case 3:  // near overflow
        return {near(bias / 2), near(bias - bias / 2 - 1), near(bias - 2, 3)};
      case 4:  // the addend above, within or below the product
        return {near(0), near(0), near(0, 2 * fraction + 20)};
      case 5:
        return cancelling();
      default:
        return tying();
    }
  }

 private:
  static constexpr Format format = Processor<Real>::format;
  static constexpr int bias = format.bias();
  static constexpr int fraction = format.fraction_bits;

  Code bits() { return random_() & (format.sign_mask() | (format.sign_mask() - 1)); }
  int below(int count) { return static_cast<int>(random_() % static_cast<std::uint64_t>(count)); }

  /// Any sign and significand, an exponent within `spread` of the given one; the lowest are
  /// subnormal.
  Code near(int exponent, int spread = 2) {
    const int biased = exponent + bias + below(2 * spread + 1) - spread;
    const int field = std::min(std::max(biased, 0), 2 * bias);
    const Code kept = format.sign_mask() | ((Code{1} << fraction) - 1);
    return (bits() & kept) | static_cast<Code>(field) << fraction;
  }

  /// Zero, the least and the largest subnormal, the least normal, 1, the largest number, Inf, or a
  /// NaN, quiet or not, or a neighbour of one of these codes.
  Code special() {
    const Code one = static_cast<Code>(bias) << fraction;
    const Code least_normal = Code{1} << fraction;
    const Code quiet = Code{1} << (fraction - 1);
    const Code chosen[] = {0,
                           1,
                           least_normal - 1,
                           least_normal,
                           one,
                           format.max_finite(),
                           format.infinity(),
                           format.infinity() | quiet | (bits() & (quiet - 1)),
                           format.infinity() | 1 | (bits() & (quiet - 1))};
    const Code code = chosen[below(9)];
    const Code moved = below(4) == 0 ? code ^ 1 : code;
    return moved | (bits() & format.sign_mask());
  }

  /// z next to −x·y: the sum is the product's rounding error or a few units in the last place.
  Operands cancelling() {
    const Code x = near(0, 30);
    const Code y = near(0, 30);
    const Code product = code_of<Real>(-(value<Real>(x) * value<Real>(y)));
    return {x, y, product + static_cast<Code>(below(3)) - 1};
  }

  /// z half a unit in the last place of the product, or the product half one of z's; and a sum of
  /// few bits, exact in many cases.
  Operands tying() {
    const int exponent = below(40) - 20;
    const Code x = near(exponent, 0);
    const Code power = static_cast<Code>(bias + below(8) - 4) << fraction;
    const int scale = static_cast<int>(power >> fraction) - bias + exponent;
    const int distance = fraction + 1 + below(3) - 1;
    const Code half = static_cast<Code>(scale + bias + (below(2) == 0 ? -distance : distance))
                      << fraction;
    const Code low_bits = static_cast<Code>(below(3)) << (fraction - 1);
    return {below(4) == 0 ? x >> (fraction - 1) << (fraction - 1) : x, power,
            (half + low_bits) | (bits() & format.sign_mask())};
  }

  std::mt19937_64 random_;
};

std::string text(const Operands& operands, Code actual, Code expected) {
  std::ostringstream out;
  out << std::hex << "fma(" << operands.x << ", " << operands.y << ", " << operands.z << ") is "
      << actual << ", not " << expected;
  return out.str();
}

/// How many of `count` results differ from the processor's; any NaN equals the one that is asked
/// for.
template <class Real>
int count_mismatches(const Mode& mode, int count, std::string& first) {
  constexpr Format format = Processor<Real>::format;
  OperandSource<Real> source(static_cast<std::uint64_t>(mode.environment) + 1);
  const EnvironmentMode set(mode.environment);
  int mismatches = 0;
  for (int i = 0; i < count; ++i) {
    const Operands o = source(i);
    const Real result = std::fma(value<Real>(o.x), value<Real>(o.y), value<Real>(o.z));
    const Code expected = std::isnan(result) ? format.nan() : code_of<Real>(result);
    const Code actual = fma(format, o.x, o.y, o.z, mode.rounding, format.nan());
    if (actual == expected) continue;
    if (mismatches++ == 0) first = text(o, actual, expected);
  }
  return mismatches;
}

template <class Real>
void check_against_processor() {
  for (const Mode& mode : modes) {
    std::string first;
    const int mismatches = count_mismatches<Real>(mode, 1'050'000, first);
    CAPTURE(static_cast<int>(mode.rounding));
    CAPTURE(first);
    CHECK(mismatches == 0);
  }
}

}  // namespace

TEST_CASE("the f64 fused multiply-add is the processor's under every rounding") {
  check_against_processor<double>();
}

TEST_CASE("the f32 fused multiply-add is the processor's under every rounding") {
  check_against_processor<float>();
}

TEST_CASE("the operands of these tests reach every kind of result") {
  OperandSource<double> source(9);
  int subnormal = 0, overflowing = 0, zero = 0, nan = 0, inexact = 0;
  for (int i = 0; i < 70'000; ++i) {
    const Operands o = source(i);
    const Code down = fma_f64(o.x, o.y, o.z, Rounding::toward_negative);
    const Code up = fma_f64(o.x, o.y, o.z, Rounding::toward_positive);
    const double result = value<double>(down);
    subnormal += std::fpclassify(result) == FP_SUBNORMAL;
    zero += result == 0;
    nan += std::isnan(result);
    inexact += down != up;
    overflowing += down == f64.max_finite() && up == f64.infinity();
  }
  CHECK(subnormal > 3000);
  CHECK(overflowing > 1000);
  CHECK(zero > 200);
  CHECK(nan > 3000);
  CHECK(inexact > 30000);
}

TEST_CASE("an exact zero has the sign that IEEE 754 gives it") {
  const Code minus = f64.sign_mask();
  const Code one = from_double(f64, 1);
  for (const Mode& mode : modes) {
    const Code cancelled = mode.rounding == Rounding::toward_negative ? minus : 0;
    CHECK(fma_f64(one, one, one | minus, mode.rounding) == cancelled);
    CHECK(fma_f64(0, one, minus, mode.rounding) == cancelled);
    CHECK(fma_f64(minus, one, 0, mode.rounding) == cancelled);
    CHECK(fma_f64(minus, one, minus, mode.rounding) == minus);
    CHECK(fma_f64(minus, minus, 0, mode.rounding) == 0);
    // the least subnormal squared is no exact zero: it rounds to zero or to its neighbour
    CHECK(fma_f64(1, 1, 0, mode.rounding) == (mode.rounding == Rounding::toward_positive ? 1 : 0));
    CHECK(fma_f64(1, 1 | minus, minus, mode.rounding) ==
          (mode.rounding == Rounding::toward_negative ? minus | 1 : minus));
  }
}

TEST_CASE("a product beyond the largest f64 overflows as the rounding says, or cancels exactly") {
  const Code large = from_double(f64, 0x1p600);
  const Code minus = f64.sign_mask();
  using enum Rounding;
  CHECK(fma_f64(large, large, 0, nearest_even) == f64.infinity());
  CHECK(fma_f64(large, large, 0, toward_zero) == f64.max_finite());
  CHECK(fma_f64(large, large, 0, toward_negative) == f64.max_finite());
  CHECK(fma_f64(large, large | minus, 0, toward_negative) == (minus | f64.infinity()));
  CHECK(fma_f64(large, large | minus, 0, toward_positive) == (minus | f64.max_finite()));
  // 2^1024 − max_finite is finite: 2^971
  const Code half = from_double(f64, 0x1p512);
  CHECK(fma_f64(half, half, f64.max_finite() | minus, nearest_even) == from_double(f64, 0x1p971));
}

TEST_CASE("an f64 NaN is the first among b, the sum and a, made quiet") {
  const Code one = from_double(f64, 1);
  const Code in_a = 0x7FF0'0000'0000'000A;  // signalling, as the next one
  const Code in_b = 0xFFF0'0000'0000'000B;
  const Code in_sum = 0x7FF8'0000'0000'000C;
  const Code quiet = 0x0008'0000'0000'0000;
  for (const Mode& mode : modes) {
    CHECK(fma_f64(in_a, in_b, in_sum, mode.rounding) == (in_b | quiet));
    CHECK(fma_f64(in_a, one, in_sum, mode.rounding) == in_sum);
    CHECK(fma_f64(in_a, one, one, mode.rounding) == (in_a | quiet));
    // 0 · Inf is a NaN too, but the sum brings one
    CHECK(fma_f64(0, f64.infinity(), in_sum, mode.rounding) == in_sum);
  }
}

TEST_CASE("an f64 NaN that no operand brings is negative") {
  const Code one = from_double(f64, 1);
  const Code infinity = f64.infinity();
  const Code minus = f64.sign_mask();
  for (const Mode& mode : modes) {
    CHECK(fma_f64(infinity, 0, one, mode.rounding) == 0xFFF8'0000'0000'0000);
    CHECK(fma_f64(minus, infinity, infinity, mode.rounding) == 0xFFF8'0000'0000'0000);
    CHECK(fma_f64(infinity, one, infinity | minus, mode.rounding) == 0xFFF8'0000'0000'0000);
    CHECK(fma_f64(infinity, one | minus, infinity | minus, mode.rounding) == (infinity | minus));
  }
}

TEST_CASE("the f32 operations of lowered instructions are the integer one, rounded to nearest") {
  OperandSource<float> source(5);
  int mismatches = 0;
  for (int i = 0; i < 1'050'000; ++i) {
    const Operands o = source(i);
    mismatches +=
        ieee::fma(o.x, o.y, o.z) != fma(f32, o.x, o.y, o.z, Rounding::nearest_even, f32.nan());
  }
  CHECK(mismatches == 0);
}
