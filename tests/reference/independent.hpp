/// Values and roundings by routes that share nothing with reference/: hardware conversions,
/// rational numbers and a search over all codes.
#pragma once

#include <bit>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "bitmma/isa/format.hpp"
#include "bitmma/reference/exact.hpp"

namespace bitmma::independent {

using boost::multiprecision::cpp_int;
using boost::multiprecision::cpp_rational;

inline cpp_rational power_of_two(int exponent) {
  cpp_int power = 1;
  power <<= std::abs(exponent);
  return exponent < 0 ? cpp_rational(cpp_int(1), power) : cpp_rational(power);
}

inline cpp_rational as_rational(const ExactValue& value) {
  const cpp_rational magnitude = cpp_rational(value.significand()) * power_of_two(value.exponent());
  return value.is_negative() ? cpp_rational(-magnitude) : magnitude;
}

/// The value of a finite code. Moving the exponent and fraction into a float's makes a float whose
/// exponent is off by the difference of the biases, which the hardware's multiplication repairs.
inline double value_of(const Format& format, Code code) {
  if (format == f64) return std::bit_cast<double>(code);
  const auto magnitude =
      static_cast<std::uint32_t>((code & (format.sign_mask() - 1)) >> format.ignored_bits());
  const float scaled = std::bit_cast<float>(magnitude << (23 - format.fraction_bits));
  const double value = std::ldexp(double{scaled}, 127 - format.bias());
  return (code & format.sign_mask()) != 0 ? -value : value;
}

inline cpp_rational rational_of(const Format& format, Code code) {
  return cpp_rational(value_of(format, code));
}

/// The largest code of a value not above `magnitude`, by bisection over the codes, as a count of
/// steps from zero.
inline Code steps_below(const Format& format, const cpp_rational& magnitude) {
  Code low = 0;
  Code high = (format.max_finite() >> format.ignored_bits()) + 1;
  while (high - low > 1) {
    const Code middle = low + (high - low) / 2;
    (rational_of(format, middle << format.ignored_bits()) <= magnitude ? low : high) = middle;
  }
  return low;
}

/// True if a value between two numbers takes the one nearer to zero, whichever is nearer to it.
inline bool truncated(const cpp_rational& value, Rounding rounding) {
  return rounding == Rounding::toward_zero ||
         (rounding == Rounding::toward_negative && value > 0) ||
         (rounding == Rounding::toward_positive && value < 0);
}

/// The code of a value that is not zero, found among its two neighbours.
inline Code rounded(const Format& format, const cpp_rational& value, Rounding rounding,
                    Overflow overflow) {
  const cpp_rational magnitude = abs(value);
  const auto value_at = [&format](Code steps) {
    return rational_of(format, steps << format.ignored_bits());
  };
  const Code below = steps_below(format, magnitude);
  const Code last = format.max_finite() >> format.ignored_bits();
  const cpp_rational spacing = below == last ? cpp_rational(value_at(last) - value_at(last - 1))
                                             : cpp_rational(value_at(below + 1) - value_at(below));
  const cpp_rational rest = (magnitude - value_at(below)) / spacing;  // ≥ 1 beyond the last number
  const cpp_rational half(1, 2);
  bool up = rest >= 1;
  if (rounding == Rounding::nearest_even || rounding == Rounding::nearest_away)
    up = rest > half || (rest == half && (rounding == Rounding::nearest_away || below % 2 == 1));
  else if (!truncated(value, rounding))
    up = rest > 0;

  Code code = (below + (up ? 1 : 0)) << format.ignored_bits();
  if (code > format.max_finite()) {
    const bool largest = overflow == Overflow::saturate ||
                         (overflow == Overflow::ieee && truncated(value, rounding));
    code = largest ? format.max_finite() : format.infinity();
  }
  return value < 0 ? format.sign_mask() | code : code;
}

/// Random codes of finite numbers, all bit patterns alike.
class FiniteCodes {
 public:
  explicit FiniteCodes(std::uint64_t seed) : random_(seed) {}

  Code operator()(const Format& format) {
    const Code mask = format.sign_mask() | (format.sign_mask() - 1);
    for (;;) {
      const Code code = random_() & mask;
      const Code magnitude = code & (format.sign_mask() - 1);
      if (magnitude >> format.ignored_bits() <= format.max_finite() >> format.ignored_bits())
        return code;
    }
  }
  std::vector<Code> operator()(const Format& format, std::size_t count) {
    std::vector<Code> codes(count);
    for (Code& code : codes) code = (*this)(format);
    return codes;
  }
  const Format& format() { return *format_table[random_() % std::size(format_table)]; }
  std::uint64_t bits() { return random_(); }

 private:
  std::mt19937_64 random_;
};

}  // namespace bitmma::independent
