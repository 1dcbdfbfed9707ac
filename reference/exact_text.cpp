#include "bitmma/reference/exact_text.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <ios>
#include <stdexcept>
#include <system_error>

namespace bitmma {
namespace {

/// The magnitude 0.d₁d₂d₃… · 10^point without leading or trailing zero digits.
struct DecimalDigits {
  std::string digits;
  int point;
};

void strip_trailing_zeros(std::string& digits) { digits.erase(digits.find_last_not_of('0') + 1); }

/// Digits of a finite value other than zero. s · 2^−n = s · 5^n · 10^−n has n decimal places.
DecimalDigits decimal_digits(const ExactValue& value) {
  const int places = std::max(-value.exponent(), 0);
  const BigInteger five_to_places =
      boost::multiprecision::pow(BigInteger(5), static_cast<unsigned>(places));
  const BigInteger scaled = (value.significand() << std::max(value.exponent(), 0)) * five_to_places;
  std::string digits = scaled.str();
  const int point = static_cast<int>(digits.size()) - places;
  strip_trailing_zeros(digits);
  return {digits, point};
}

/// Rounds to `count` digits, to nearest with ties to an even digit.
void round_digits(DecimalDigits& number, std::size_t count) {
  std::string& digits = number.digits;
  if (digits.size() <= count) return;
  const bool tie = digits[count] == '5' && digits.size() == count + 1;
  const bool last_is_odd = (digits[count - 1] - '0') % 2 != 0;
  const bool up = tie ? last_is_odd : digits[count] >= '5';
  digits.resize(count);
  if (up) {
    digits.erase(digits.find_last_not_of('9') + 1);
    if (digits.empty()) {
      digits = "0";
      ++number.point;
    }
    ++digits.back();
  }
  strip_trailing_zeros(digits);
}

std::string positional(const DecimalDigits& number) {
  const std::string& digits = number.digits;
  if (number.point <= 0)
    return "0." + std::string(static_cast<std::size_t>(-number.point), '0') + digits;
  const auto whole = static_cast<std::size_t>(number.point);
  if (whole >= digits.size()) return digits + std::string(whole - digits.size(), '0');
  return digits.substr(0, whole) + "." + digits.substr(whole);
}

std::string with_exponent(const DecimalDigits& number) {
  const int exponent = number.point - 1;
  std::string magnitude = std::to_string(std::abs(exponent));
  if (magnitude.size() < 2) magnitude.insert(0, "0");
  const std::string fraction = number.digits.substr(1);
  return number.digits.substr(0, 1) + (fraction.empty() ? "" : "." + fraction) +
         (exponent < 0 ? "e-" : "e+") + magnitude;
}

/// The sign, then what `magnitude_text` makes of a finite value other than zero, `zero` or a name.
template <typename MagnitudeText>
std::string text_of(const ExactValue& value, std::string_view zero, MagnitudeText magnitude_text) {
  if (value.kind() == Kind::nan) return "nan";
  const std::string sign = value.is_negative() ? "-" : "";
  if (value.kind() == Kind::infinite) return sign + "inf";
  return value.is_zero() ? std::string(zero) : sign + magnitude_text();
}

/// Takes the digits off the front of the text.
std::string_view take_digits(std::string_view& text) {
  const std::size_t count = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string_view digits = text.substr(0, count);
  text.remove_prefix(count);
  return digits;
}

bool take_character(std::string_view& text, std::string_view choices) {
  if (text.empty() || choices.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

/// Takes "e-12" off the front of the text; 0 where there is no exponent. False if it is no number
/// or beyond ±9999.
bool take_exponent(std::string_view& text, int& exponent) {
  exponent = 0;
  if (!take_character(text, "eE")) return true;
  const bool negative = text.starts_with('-');
  take_character(text, "+-");
  const std::string_view digits = take_digits(text);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
  if (negative) exponent = -exponent;
  return error == std::errc{} && std::abs(exponent) <= 9999;
}

BigInteger power_of_ten(int exponent) {
  return boost::multiprecision::pow(BigInteger(10), static_cast<unsigned>(exponent));
}

}  // namespace

std::string to_decimal(const ExactValue& value) {
  return text_of(value, "0", [&] { return positional(decimal_digits(value)); });
}

std::string to_decimal(const ExactValue& value, int significant_digits) {
  if (significant_digits < 1) throw std::invalid_argument("to_decimal: fewer than one digit");
  return text_of(value, "0", [&] {
    DecimalDigits number = decimal_digits(value);
    round_digits(number, static_cast<std::size_t>(significant_digits));
    const int exponent = number.point - 1;
    return exponent < -4 || exponent >= significant_digits ? with_exponent(number)
                                                           : positional(number);
  });
}

std::string to_hexadecimal(const ExactValue& value) {
  return text_of(value, "0x0p+0", [&] {
    const int exponent = value.leading_exponent();
    const int fraction_bits = exponent - value.exponent();
    const BigInteger padded = value.significand() << (-fraction_bits & 3);
    const std::string digits = padded.str(0, std::ios_base::hex);  // the first one is 1
    const std::string fraction = digits.substr(1);
    return "0x1" + (fraction.empty() ? "" : "." + fraction) + (exponent < 0 ? "p" : "p+") +
           std::to_string(exponent);
  });
}

Rational parse_decimal(std::string_view text) {
  std::string_view rest = text;
  const bool negative = rest.starts_with('-');
  take_character(rest, "+-");
  std::string digits(take_digits(rest));
  const std::string_view fraction = take_character(rest, ".") ? take_digits(rest) : "";
  digits += fraction;
  int exponent = 0;
  if (digits.empty() || !take_exponent(rest, exponent) || !rest.empty())
    throw std::invalid_argument("not a decimal number: \"" + std::string(text) + "\"");

  exponent -= static_cast<int>(fraction.size());
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size() - 1));
  const BigInteger whole(negative ? "-" + digits : digits);
  return exponent < 0 ? Rational(whole, power_of_ten(-exponent))
                      : Rational(whole * power_of_ten(exponent));
}

}  // namespace bitmma
