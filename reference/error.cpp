#include "bitmma/reference/error.hpp"

#include <algorithm>
#include <limits>

namespace bitmma {
namespace {

/// The double nearest to dividend / divisor, of finite values of which the divisor is not zero.
double quotient(const ExactValue& dividend, const ExactValue& divisor) {
  if (dividend.is_zero()) return 0;
  const BigInteger& numerator = dividend.significand();
  const BigInteger& denominator = divisor.significand();
  // The integer quotient has at least 64 bits; one more bit stands for all that follow.
  const int shift =
      std::max(65 + static_cast<int>(msb(denominator)) - static_cast<int>(msb(numerator)), 0);
  BigInteger whole;
  BigInteger rest;
  divide_qr(BigInteger(numerator << shift), denominator, whole, rest);
  const BigInteger rounded_to_odd = 2 * whole + (rest.is_zero() ? 0 : 1);
  const ExactValue magnitude(rounded_to_odd, dividend.exponent() - divisor.exponent() - shift - 1);
  const bool negative = dividend.is_negative() != divisor.is_negative();
  return to_double(negative ? -magnitude : magnitude);
}

bool same_value(const ExactValue& x, const ExactValue& y) {
  return x == y || (x.kind() == Kind::nan && y.kind() == Kind::nan);
}

/// |computed − exact| / unit under the rules of the header, for a unit that is not negative.
double error_in_units(const ExactValue& computed, const ExactValue& exact, const ExactValue& unit) {
  if (same_value(computed, exact)) return 0;
  const ExactValue difference = abs(computed - exact);
  if (!difference.is_finite() || !unit.is_finite() || unit.is_zero())
    return std::numeric_limits<double>::infinity();
  return quotient(difference, unit);
}

}  // namespace

ExactValue ulp(const Format& format, const ExactValue& value) {
  if (!value.is_finite()) return ExactValue::nan();
  if (format.is_integer()) return ExactValue(1, 0);
  const int exponent = value.is_zero() ? format.min_exponent()
                                       : std::max(value.leading_exponent(), format.min_exponent());
  return ExactValue(1, exponent - format.fraction_bits);
}

double absolute_error(const ExactValue& computed, const ExactValue& exact) {
  return error_in_units(computed, exact, ExactValue(1, 0));
}

double relative_error(const ExactValue& computed, const ExactValue& exact) {
  return error_in_units(computed, exact, abs(exact));
}

double ulp_error(const Format& format, const ExactValue& computed, const ExactValue& exact) {
  return error_in_units(computed, exact, ulp(format, exact));
}

double error_relative_to_terms(const ExactValue& computed, const ExactValue& exact,
                               const ExactValue& magnitude) {
  return error_in_units(computed, exact, magnitude);
}

std::optional<std::uint64_t> ulp_distance(const Format& format, Code x, Code y) {
  if (decode(format, x).kind != Kind::finite || decode(format, y).kind != Kind::finite)
    return std::nullopt;
  if (format.is_integer()) {
    const ExactValue distance = abs(exact_value(format, x) - exact_value(format, y));
    return static_cast<std::uint64_t>(distance.significand() << distance.exponent());
  }
  // Magnitudes of one format are ordered as the numbers that their bits spell.
  const auto rank = [&format](Code code) { return (code & format.nan()) >> format.ignored_bits(); };
  const bool same_sign = ((x ^ y) & format.sign_mask()) == 0;
  if (!same_sign) return rank(x) + rank(y);
  return std::max(rank(x), rank(y)) - std::min(rank(x), rank(y));
}

}  // namespace bitmma
