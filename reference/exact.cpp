#include "bitmma/reference/exact.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

namespace bitmma {

ExactValue::ExactValue(BigInteger signed_significand, int exponent)
    : negative_(signed_significand.sign() < 0),
      exponent_(exponent),
      significand_(std::move(signed_significand)) {
  if (negative_) significand_.backend().negate();
  normalise();
}

ExactValue ExactValue::infinity(bool negative) {
  ExactValue value;
  value.kind_ = Kind::infinite;
  value.negative_ = negative;
  return value;
}

ExactValue ExactValue::nan() {
  ExactValue value;
  value.kind_ = Kind::nan;
  return value;
}

int ExactValue::leading_exponent() const { return exponent_ + static_cast<int>(msb(significand_)); }

void ExactValue::normalise() {
  if (significand_.is_zero()) {
    negative_ = false;
    exponent_ = 0;
    return;
  }
  const auto zeros = static_cast<unsigned>(lsb(significand_));
  if (zeros == 0) return;
  significand_ >>= zeros;
  exponent_ += static_cast<int>(zeros);
}

ExactValue ExactValue::operator-() const {
  ExactValue opposite = *this;
  opposite.negative_ = !negative_ && kind_ != Kind::nan && !is_zero();
  return opposite;
}

void ExactValue::add_finite(const ExactValue& other) {
  if (other.is_zero()) return;
  if (is_zero()) exponent_ = other.exponent_;
  const int shift = other.exponent_ - exponent_;
  if (shift < 0) {
    significand_ <<= -shift;
    exponent_ = other.exponent_;
  }
  BigInteger term = other.significand_ << std::max(shift, 0);
  if (other.negative_) term.backend().negate();
  if (negative_) significand_.backend().negate();
  significand_ += term;
  negative_ = significand_.sign() < 0;
  if (negative_) significand_.backend().negate();
  normalise();
}

ExactValue& ExactValue::operator+=(const ExactValue& other) {
  if (is_finite() && other.is_finite()) {
    add_finite(other);
  } else if (kind_ == Kind::nan || other.kind_ == Kind::nan ||
             (kind_ == other.kind_ && negative_ != other.negative_)) {
    *this = nan();
  } else {
    *this = infinity(is_finite() ? other.negative_ : negative_);
  }
  return *this;
}

ExactValue& ExactValue::operator*=(const ExactValue& other) {
  const bool negative = negative_ != other.negative_;
  if (is_finite() && other.is_finite()) {
    significand_ *= other.significand_;
    exponent_ += other.exponent_;
    negative_ = negative;
    normalise();
  } else if (kind_ == Kind::nan || other.kind_ == Kind::nan || is_zero() || other.is_zero()) {
    *this = nan();
  } else {
    *this = infinity(negative);
  }
  return *this;
}

std::partial_ordering operator<=>(const ExactValue& x, const ExactValue& y) {
  if (x.kind_ == Kind::nan || y.kind_ == Kind::nan) return std::partial_ordering::unordered;
  if (x.kind_ == Kind::infinite && y.kind_ == Kind::infinite && x.negative_ == y.negative_)
    return std::partial_ordering::equivalent;
  const ExactValue difference = x - y;
  if (difference.is_zero()) return std::partial_ordering::equivalent;
  return difference.negative_ ? std::partial_ordering::less : std::partial_ordering::greater;
}

ExactValue abs(const ExactValue& value) { return value.is_negative() ? -value : value; }

ExactValue exact_value(const Format& format, Code code) {
  const Number number = decode(format, code);
  switch (number.kind) {
    case Kind::nan:
      return ExactValue::nan();
    case Kind::infinite:
      return ExactValue::infinity(number.negative);
    case Kind::finite:
      break;
  }
  const ExactValue magnitude(number.significand, number.exponent - format.fraction_bits);
  return number.negative ? -magnitude : magnitude;
}

ExactValue exact_value(double value) { return exact_value(f64, std::bit_cast<Code>(value)); }

namespace {

template <typename TermFunction>
ExactValue sum_of_terms(const DotOperands& operands, TermFunction term_function) {
  ExactValue sum = term_function(exact_value(operands.c_format, operands.c));
  const std::size_t length = operands.length();
  for (std::size_t i = 0; i < length; ++i)
    sum += term_function(exact_value(operands.a.format, operands.a.codes[i]) *
                         exact_value(operands.b.format, operands.b.codes[i]));
  return sum;
}

}  // namespace

ExactValue exact_dot(const DotOperands& operands) {
  return sum_of_terms(operands, std::identity{});
}

ExactValue exact_dot_magnitude(const DotOperands& operands) {
  return sum_of_terms(operands, [](const ExactValue& term) { return abs(term); });
}

Code round_to(const Format& format, const ExactValue& value, Rounding rounding, Overflow overflow) {
  if (!value.is_finite()) {
    const Code sign = value.is_negative() ? f64.sign_mask() : 0;
    const Code special = value.kind() == Kind::nan ? f64.nan() : f64.infinity();
    return convert(f64, sign | special, format, rounding, overflow);
  }
  if (value.is_zero()) return 0;
  const int width = value.leading_exponent() - value.exponent() + 1;
  const int dropped = std::max(width - 64, 0);
  const BigInteger kept = value.significand() >> dropped;
  // The significand is odd, so that dropped bits are never all zero.
  const bool sticky = dropped > 0;
  return encode(format, value.is_negative(), kept.convert_to<std::uint64_t>(),
                value.exponent() + dropped, rounding, overflow, sticky);
}

double to_double(const ExactValue& value) { return std::bit_cast<double>(round_to(f64, value)); }

}  // namespace bitmma
