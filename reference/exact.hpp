/// Real numbers held exactly, the exact value of a code and of a dot product, and one correct
/// rounding to any format.
#pragma once

#include <boost/multiprecision/cpp_int.hpp>
#include <compare>

#include "bitmma/isa/format.hpp"
#include "bitmma/reference/dot_operands.hpp"

namespace bitmma {

using BigInteger = boost::multiprecision::cpp_int;

/// ±significand · 2^exponent without rounding, or +Inf, −Inf or NaN.
///
/// There is one zero, and it is positive: the exact type does not keep the sign of −0. A finite
/// value has one representation: its significand is odd, or zero with exponent 0. Exponents must
/// stay within an int; all sums and products of codes do.
///
/// Sums and products treat Inf and NaN as IEEE 754 does: NaN if an operand is NaN, for Inf · 0 and
/// for Inf − Inf.
class ExactValue {
 public:
  /// Zero.
  ExactValue() = default;
  /// signed_significand · 2^exponent.
  ExactValue(BigInteger signed_significand, int exponent);

  static ExactValue infinity(bool negative);
  static ExactValue nan();

  Kind kind() const { return kind_; }
  bool is_finite() const { return kind_ == Kind::finite; }
  bool is_zero() const { return is_finite() && significand_.is_zero(); }
  /// True below zero; false for NaN.
  bool is_negative() const { return negative_; }
  /// The magnitude's significand; 0 for Inf and NaN.
  const BigInteger& significand() const { return significand_; }
  int exponent() const { return exponent_; }
  /// ⌊log2 |value|⌋ of a finite value other than zero.
  int leading_exponent() const;

  ExactValue operator-() const;
  ExactValue& operator+=(const ExactValue& other);
  ExactValue& operator-=(const ExactValue& other) { return *this += -other; }
  ExactValue& operator*=(const ExactValue& other);

  friend ExactValue operator+(ExactValue x, const ExactValue& y) { return x += y; }
  friend ExactValue operator-(ExactValue x, const ExactValue& y) { return x -= y; }
  friend ExactValue operator*(ExactValue x, const ExactValue& y) { return x *= y; }

  /// The order of the extended reals; NaN is unordered, to itself too.
  friend std::partial_ordering operator<=>(const ExactValue& x, const ExactValue& y);
  friend bool operator==(const ExactValue& x, const ExactValue& y) { return (x <=> y) == 0; }

 private:
  void add_finite(const ExactValue& other);
  void normalise();

  Kind kind_ = Kind::finite;
  bool negative_ = false;
  int exponent_ = 0;
  BigInteger significand_ = 0;
};

ExactValue abs(const ExactValue& value);

/// The value that a code of a format stands for.
ExactValue exact_value(const Format& format, Code code);

/// The value of a double.
ExactValue exact_value(double value);

/// Σ aᵢ·bᵢ + c without any rounding. Throws std::invalid_argument if a and b differ in length.
ExactValue exact_dot(const DotOperands& operands);

/// Σ |aᵢ|·|bᵢ| + |c|: the scale of the rounding errors that any order of summation makes. Throws
/// as exact_dot() does.
ExactValue exact_dot_magnitude(const DotOperands& operands);

/// The code of the value after one rounding. Zero is +0; a negative value that rounds to zero is
/// −0; NaN is the format's canonical NaN. `overflow` decides about Inf as it does in convert().
Code round_to(const Format& format, const ExactValue& value,
              Rounding rounding = Rounding::nearest_even, Overflow overflow = Overflow::ieee);

/// The nearest double; Inf where the value exceeds all doubles.
double to_double(const ExactValue& value);

}  // namespace bitmma
