#include "bitmma/tests/oracle/exact_oracle.hpp"

#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <string>

namespace bitmma::oracle {
namespace {

using Integer = boost::multiprecision::cpp_int;

double as_double(Code code) {
  double value;
  std::memcpy(&value, &code, sizeof value);
  return value;
}

Code as_code(double value) {
  Code code;
  std::memcpy(&code, &value, sizeof code);
  return code;
}

// A finite double is a whole number of 2^-1074, a product of two one of 2^-2148.
constexpr int unit = 1074;

Integer in_units(double value) {
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);  // |fraction| is in [0.5, 1)
  const Integer significand = static_cast<long long>(std::ldexp(fraction, 53));
  const int shift = exponent - 53 + unit;
  return shift >= 0 ? Integer(significand << shift) : Integer(significand / (Integer(1) << -shift));
}

/// The quotient of a value of either sign, as the modifier rounds it: "" to nearest even.
Integer divided(const Integer& value, const Integer& divisor, std::string_view modifier) {
  Integer quotient;
  Integer rest;
  divide_qr(value, divisor, quotient, rest);  // toward zero
  if (rest == 0 || modifier == "rz") return quotient;
  const int away = value < 0 ? -1 : 1;
  if (modifier == "rm") return away < 0 ? Integer(quotient - 1) : quotient;
  if (modifier == "rp") return away > 0 ? Integer(quotient + 1) : quotient;
  const Integer twice = 2 * abs(rest);
  const bool odd = quotient % 2 != 0;
  return twice > divisor || (twice == divisor && odd) ? Integer(quotient + away) : quotient;
}

double overflowed(bool negative, std::string_view modifier) {
  const bool to_largest =
      modifier == "rz" || (modifier == "rm" && !negative) || (modifier == "rp" && negative);
  const double magnitude = to_largest ? as_double(0x7FEFFFFFFFFFFFFF) : HUGE_VAL;
  return negative ? -magnitude : magnitude;
}

/// A nonzero number of 2^-2148 as a double.
double rounded(const Integer& value, std::string_view modifier) {
  const int bits = static_cast<int>(msb(abs(value))) + 1;
  const int dropped = std::max(bits - 53, unit);  // subnormals end at 2^-1074
  const Integer significand = divided(value, Integer(1) << dropped, modifier);
  if (significand == 0) return value < 0 ? -0.0 : 0.0;
  const int exponent = dropped - 2 * unit;
  if (static_cast<int>(msb(abs(significand))) + exponent > 1023)
    return overflowed(value < 0, modifier);
  return std::ldexp(static_cast<double>(significand), exponent);
}

/// a · b + c. H200: of NaNs the first among b, c and a is returned, quiet.
Code fused_f64(Code a, Code b, Code c, std::string_view modifier) {
  constexpr Code quiet_bit = Code{1} << 51;
  for (const Code operand : {b, c, a})
    if (std::isnan(as_double(operand))) return operand | quiet_bit;
  const double x = as_double(a);
  const double y = as_double(b);
  const double z = as_double(c);
  if (!std::isfinite(x) || !std::isfinite(y) || !std::isfinite(z)) {
    // A finite product must not overflow on the way to an infinite c.
    const double product = std::isfinite(x) && std::isfinite(y) ? 0 : x * y;
    const double special = product + z;
    return std::isnan(special) ? 0xFFF8000000000000 : as_code(special);
  }
  const Integer sum = in_units(x) * in_units(y) + (in_units(z) << unit);
  if (sum != 0) return as_code(rounded(sum, modifier));
  const bool product_negative = std::signbit(x) != std::signbit(y);
  if (product_negative == std::signbit(z)) return as_code(product_negative ? -0.0 : 0.0);
  return as_code(modifier == "rm" ? -0.0 : 0.0);
}

/// The value of a code of s8, u4, …; a type is its letter and its number of bits.
Integer integer_of(std::string_view type, Code code) {
  const int bits = std::stoi(std::string(type.substr(1)));
  const Integer modulus = Integer(1) << bits;
  const Integer value = Integer(code) % modulus;
  return type[0] == 's' && 2 * value >= modulus ? Integer(value - modulus) : value;
}

Code as_s32(const Integer& sum, bool saturate) {
  if (saturate && sum > 2147483647LL) return 0x7FFFFFFF;
  if (saturate && sum < -2147483648LL) return 0x80000000;
  const Integer modulus = Integer(1) << 32;
  return static_cast<Code>(((sum % modulus) + modulus) % modulus);
}

Integer product(const ExactInstruction& instruction, Code a, Code b) {
  if (instruction.modifier == "xor.popc") return a != b ? 1 : 0;
  if (instruction.modifier == "and.popc") return a == 1 && b == 1 ? 1 : 0;
  return integer_of(instruction.a, a) * integer_of(instruction.b, b);
}

}  // namespace

Code multiply_accumulate_exactly(const ExactInstruction& instruction, std::span<const Code> a,
                                 std::span<const Code> b, Code c) {
  if (instruction.a == "f64") {
    for (std::size_t k = 0; k < a.size(); ++k) c = fused_f64(a[k], b[k], c, instruction.modifier);
    return c;
  }
  if (std::string_view("sub").find(instruction.a.front()) == std::string_view::npos)
    throw std::invalid_argument("oracle: A is no integer type");
  Integer sum = integer_of("s32", c);
  for (std::size_t k = 0; k < a.size(); ++k) sum += product(instruction, a[k], b[k]);
  return as_s32(sum, instruction.modifier == "satfinite");
}

}  // namespace bitmma::oracle
