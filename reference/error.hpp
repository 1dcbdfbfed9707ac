/// How far a computed value is from the exact one.
///
/// The error measures are correctly rounded quotients of exact values. They are total:
/// - equal values have error 0; so have Inf and Inf of one sign, and NaN and NaN;
/// - two values of which one is Inf or NaN have error infinity otherwise, even where correct
///   rounding would overflow: round_to() tells which code a correct rounding gives;
/// - where the measure divides by zero, a computed value other than the exact one has error
///   infinity.
/// The sign of the error is that of computed − exact.
#pragma once

#include <cstdint>
#include <optional>

#include "bitmma/reference/exact.hpp"

namespace bitmma {

/// The spacing of the format at a value: 2^(max(⌊log2 |value|⌋, eₘᵢₙ) − fraction bits), as if its
/// exponents had no upper end; the smallest subnormal at zero; NaN for Inf and NaN. It is
/// Goldberg's definition extended to all reals (Muller et al., Handbook of Floating-Point
/// Arithmetic, "Errors in ulps"): at a power of two, the spacing above it.
ExactValue ulp(const Format& format, const ExactValue& value);

/// |computed − exact|.
double absolute_error(const ExactValue& computed, const ExactValue& exact);

/// |computed − exact| / |exact|.
double relative_error(const ExactValue& computed, const ExactValue& exact);

/// |computed − exact| / ulp(format, exact).
double ulp_error(const Format& format, const ExactValue& computed, const ExactValue& exact);

/// |computed − exact| / magnitude, where magnitude is exact_dot_magnitude() of the operands: unlike
/// the relative error, small for every accurate summation, also where the terms cancel.
double error_relative_to_terms(const ExactValue& computed, const ExactValue& exact,
                               const ExactValue& magnitude);

/// How many steps from one representable value to the next lead from code x to code y; −0 and +0
/// are the same value. Empty if either code is Inf or NaN.
std::optional<std::uint64_t> ulp_distance(const Format& format, Code x, Code y);

}  // namespace bitmma
