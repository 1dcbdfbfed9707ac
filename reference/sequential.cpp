#include "bitmma/reference/sequential.hpp"

#include <bit>
#include <cfloat>
#include <cmath>
#include <cstddef>

namespace bitmma {
namespace {

#ifdef __FAST_MATH__
#error "the sequential loops need IEEE arithmetic: compile without -ffast-math"
#endif
static_assert(FLT_EVAL_METHOD == 0, "each operation must round to its own type");

/// `format` is the row of Real, and Bits an unsigned integer of its size.
template <typename Real, typename Bits>
Code sequential_dot(const Format& format, const DotOperands& operands, MultiplyAdd multiply_add) {
  const auto real = [&format](const Format& from, Code code) {
    const Code converted = convert(from, code, format, Rounding::nearest_even);
    return std::bit_cast<Real>(static_cast<Bits>(converted));
  };
  const std::size_t length = operands.length();
  Real sum = real(operands.c_format, operands.c);
  for (std::size_t i = 0; i < length; ++i) {
    const Real a = real(operands.a.format, operands.a.codes[i]);
    const Real b = real(operands.b.format, operands.b.codes[i]);
    sum = multiply_add == MultiplyAdd::fused ? std::fma(a, b, sum) : sum + a * b;
  }
  return std::isnan(sum) ? format.nan() : Code{std::bit_cast<Bits>(sum)};
}

}  // namespace

Code sequential_dot_f32(const DotOperands& operands, MultiplyAdd multiply_add) {
  return sequential_dot<float, std::uint32_t>(f32, operands, multiply_add);
}

Code sequential_dot_f64(const DotOperands& operands, MultiplyAdd multiply_add) {
  return sequential_dot<double, std::uint64_t>(f64, operands, multiply_add);
}

}  // namespace bitmma
