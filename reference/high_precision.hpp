/// Dot products of real numbers at a precision that the caller chooses, each with a proven bound
/// on its error.
#pragma once

#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string_view>

#include "bitmma/reference/exact.hpp"
#include "bitmma/reference/exact_text.hpp"

namespace bitmma {

/// Boost's binary floating-point number with that many significant bits.
template <unsigned bits>
using BinaryFloat = boost::multiprecision::number<
    boost::multiprecision::cpp_bin_float<bits, boost::multiprecision::digit_base_2>,
    boost::multiprecision::et_off>;

/// A real number x known as |x − midpoint| ≤ radius. Sums and products are balls that contain the
/// sum and product of any numbers of their operands.
///
/// The bound. Boost rounds the exact result r of each operation to a neighbour m of `bits` bits, so
/// that |r − m| ≤ v·|m| with v = 2^(1 − bits). Hence
///   x·y: radius = |mx|·ry + |my|·rx + rx·ry + v·|m|,      x + y: radius = rx + ry + v·|m|.
/// A radius is itself computed: each of its terms passes at most 5 roundings, each of which loses
/// at most the factor 1 − v. Adding 8v of the radius makes up for them, since
/// (1 − v)^5 · (1 + 8v) ≥ (1 − 5v) · (1 + 8v) ≥ 1 for v ≤ 3/40.
/// All this holds while exponents stay in Boost's range of about ±2^30.
template <unsigned bits>
struct Ball {
  static_assert(bits >= 8, "the error bound is proven for v <= 3/40");
  BinaryFloat<bits> midpoint;
  BinaryFloat<bits> radius;
};

namespace detail {

template <unsigned bits>
BinaryFloat<bits> rounding_bound(const BinaryFloat<bits>& rounded) {
  return ldexp(abs(rounded), 1 - static_cast<int>(bits));
}

/// An upper bound of the radius that was meant, from the one computed.
template <unsigned bits>
BinaryFloat<bits> rounded_up(const BinaryFloat<bits>& radius) {
  return radius + ldexp(radius, 4 - static_cast<int>(bits));
}

}  // namespace detail

template <unsigned bits>
Ball<bits> operator*(const Ball<bits>& x, const Ball<bits>& y) {
  const BinaryFloat<bits> midpoint = x.midpoint * y.midpoint;
  const BinaryFloat<bits> radius = abs(x.midpoint) * y.radius + abs(y.midpoint) * x.radius +
                                   x.radius * y.radius + detail::rounding_bound<bits>(midpoint);
  return {midpoint, detail::rounded_up<bits>(radius)};
}

template <unsigned bits>
Ball<bits> operator+(const Ball<bits>& x, const Ball<bits>& y) {
  const BinaryFloat<bits> midpoint = x.midpoint + y.midpoint;
  const BinaryFloat<bits> radius = x.radius + y.radius + detail::rounding_bound<bits>(midpoint);
  return {midpoint, detail::rounded_up<bits>(radius)};
}

/// A number of Boost's type, taken as exact. Throws std::invalid_argument for Inf and NaN.
template <unsigned bits>
Ball<bits> exact_ball(const BinaryFloat<bits>& value) {
  if (!isfinite(value)) throw std::invalid_argument("exact_ball: not a finite number");
  return {value, 0};
}

/// The first `bits` bits, or one less, of a rational number; exact where they are all of it.
template <unsigned bits>
Ball<bits> rational_ball(const Rational& value) {
  if (value.is_zero()) return {0, 0};
  BigInteger dividend = abs(numerator(value));
  BigInteger divisor = denominator(value);
  const int quotient_exponent = static_cast<int>(msb(dividend)) - static_cast<int>(msb(divisor));
  const int shift = static_cast<int>(bits) - 1 - quotient_exponent;
  if (shift >= 0)
    dividend <<= shift;
  else
    divisor <<= -shift;
  BigInteger quotient;  // below 2^bits, so that BinaryFloat holds it exactly
  BigInteger rest;
  divide_qr(dividend, divisor, quotient, rest);
  if (value.sign() < 0) quotient = -quotient;
  const BinaryFloat<bits> unit = ldexp(BinaryFloat<bits>(1), -shift);
  return {BinaryFloat<bits>(quotient) * unit, rest.is_zero() ? BinaryFloat<bits>(0) : unit};
}

/// The number that a decimal text such as "-0.1" or "6.02e23" spells; parse_decimal() says which
/// texts are accepted.
template <unsigned bits>
Ball<bits> decimal_ball(std::string_view text) {
  return rational_ball<bits>(parse_decimal(text));
}

/// Σ aᵢ·bᵢ + c in ascending i from c. Throws std::invalid_argument if a and b differ in length.
template <unsigned bits>
Ball<bits> high_precision_dot(std::span<const Ball<bits>> a, std::span<const Ball<bits>> b,
                              const Ball<bits>& c) {
  if (a.size() != b.size())
    throw std::invalid_argument("high_precision_dot: a and b differ in length");
  Ball<bits> sum = c;
  for (std::size_t i = 0; i < a.size(); ++i) sum = sum + a[i] * b[i];
  return sum;
}

/// The value of a finite number of Boost's type.
template <unsigned bits>
ExactValue exact_value(const BinaryFloat<bits>& value) {
  int exponent = 0;
  const BinaryFloat<bits> fraction = frexp(value, &exponent);
  const BinaryFloat<bits> significand = ldexp(fraction, static_cast<int>(bits));
  return ExactValue(significand.template convert_to<BigInteger>(),
                    exponent - static_cast<int>(bits));
}

}  // namespace bitmma
