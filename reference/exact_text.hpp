/// Exact values as text, and text as exact values. Inf and NaN are "inf", "-inf" and "nan".
#pragma once

#include <string>
#include <string_view>

#include "bitmma/reference/exact.hpp"

namespace bitmma {

/// All digits, without an exponent: "0.100000001490116119384765625" for the f32 nearest to 0.1.
std::string to_decimal(const ExactValue& value);

/// At most that many significant digits, rounded to nearest with ties to an even digit, without
/// trailing zeros: what C prints under "%.<significant_digits>g". Throws std::invalid_argument if
/// significant_digits is below 1.
std::string to_decimal(const ExactValue& value, int significant_digits);

/// All bits in C's "%a" style, with the leading bit before the point: "0x1.8p+3" for 12,
/// "-0x1p-149", "0x0p+0".
std::string to_hexadecimal(const ExactValue& value);

using Rational = boost::multiprecision::cpp_rational;

/// The number that a decimal text spells: an optional sign, digits with at most one point, and an
/// optional exponent, as in "-0.1" or "6.02e23". Throws std::invalid_argument for any other text
/// and for an exponent beyond ±9999.
Rational parse_decimal(std::string_view text);

}  // namespace bitmma
