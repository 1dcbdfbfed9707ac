/// The dot product as a plain loop computes it: an IEEE 754 operation at a time.
#pragma once

#include <cstdint>

#include "bitmma/reference/dot_operands.hpp"

namespace bitmma {

enum class MultiplyAdd : std::uint8_t {
  separate,  ///< the product is rounded, then the sum
  fused,     ///< one rounding: fma
};

/// c, then + a₀·b₀, + a₁·b₁, …, each operation rounded to nearest even in f32 with subnormals kept.
/// Inputs wider than f32 are rounded to it first. Returns a code of f32; NaN is f32.nan(). Throws
/// std::invalid_argument if a and b differ in length.
Code sequential_dot_f32(const DotOperands& operands, MultiplyAdd multiply_add);

/// The same in f64, where every input is exact. Returns a code of f64; NaN is f64.nan().
Code sequential_dot_f64(const DotOperands& operands, MultiplyAdd multiply_add);

}  // namespace bitmma
