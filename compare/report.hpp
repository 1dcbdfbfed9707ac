/// A comparison as text for a terminal and as JSON.
#pragma once

#include <string>

#include "bitmma/compare/difference.hpp"

namespace bitmma {

/// Sentences first, then the first difference, errors, special classes and a histogram in ulp; one
/// line if all bits are equal. Values are the shortest decimals that give the same f32 (f64 for an
/// f64 result). ASCII, within 80 columns unless coordinates or counts are long.
std::string report_text(const Comparison& comparison);

/// One JSON object, without a newline at its end. Numbers that JSON lacks are the strings "nan",
/// "inf" and "-inf"; codes are strings such as "0x3F800000"; indices count elements from 0.
///   shape                      extents
///   equal                      whether X and Y are equal under the policy
///   policy                     any_nan (boolean), max_ulp (number or null)
///   x_y                        X against Y, a difference:
///     x_format, y_format       names; ulp_format: the format whose ulp is the unit of `ulp`
///     count, equal_bits, different_bits, rejected
///                              elements; rejected ones are unequal under the policy
///     first_different, first_rejected
///                              null, or index, coordinates, x and y, each {code, value}
///     errors                   absolute, relative, ulp, magnitude, each: count (elements that have
///                              the measure), largest (signed), largest_index (null if no error
///                              differs from 0), root_mean_square, mean (signed)
///     specials                 nan_against_number, nan_bits, infinity_against_finite,
///                              opposite_infinities, zero_sign, each: count, first_index (or null)
///     histogram                zero, not_comparable, and buckets: a list of {over, up_to, below,
///                              above}: elements with over < |error in ulp| <= up_to (null: no
///                              bound) whose X is below or above Y
///   exact                      null, or X and Y against Z:
///     x, y                     differences as x_y, of X and Z, of Y and Z
///     x_nearer, y_nearer, equally_near, x_correctly_rounded, y_correctly_rounded, equal_but_wrong
///                              elements, as in ExactComparison
///     at_first_different       Z where X and Y first differ: {code, value}, or null
std::string report_json(const Comparison& comparison);

}  // namespace bitmma
