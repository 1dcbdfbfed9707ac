/// Differences between two results of one shape, and the errors of both against an exact third.
///
/// Every error has the sign of X − Y, or of (X − Y) / Y where it is relative, so that one-sided
/// rounding shows as a mean other than zero. Values of every format here are exact as f64. A
/// difference is the f64 nearest to the exact one, and a quotient is rounded once more: relative
/// precision 2^-52, Inf beyond the largest f64. Sums over elements are long double.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "bitmma/isa/format.hpp"

namespace bitmma {

/// The codes of a result, one after another, little-endian, each in storage_bits / 8 bytes.
struct ResultView {
  const Format* format = nullptr;
  std::span<const std::byte> bytes;

  std::size_t element_bytes() const { return static_cast<std::size_t>(format->storage_bits) / 8; }
  std::size_t count() const { return bytes.size() / element_bytes(); }
  Code at(std::size_t index) const;
};

/// Which elements count as equal. Equal bits always do.
struct Policy {
  bool any_nan = false;  ///< any NaN equals any NaN
  /// Values at most that many ulp apart are equal: 0 stands for equal values, +0 and −0 among them.
  std::optional<double> max_ulp;
};

/// How an error is measured. Elements where X or Y is Inf or NaN have none.
enum class Measure : std::uint8_t {
  absolute,  ///< x − y
  /// (x − y) / y, so that results too small in magnitude are negative whatever their sign;
  /// undefined where y = 0 and x is not.
  relative,
  /// Codes of one format: their distance in codes, as ulp_distance(), with the sign of x − y. Of
  /// two formats: (x − y) / ulp(y), as ulp_error(), of the one with fewer fraction bits.
  ulp,
  /// (x − y) / m, m = Σ|a||b| + |c| as the caller gave it; undefined unless m > 0 or x = y.
  magnitude,
};
inline constexpr std::string_view measure_names[] = {"absolute", "relative", "ulp", "magnitude"};

/// One measure over all elements that have it.
struct ErrorSummary {
  std::size_t count = 0;          ///< elements that have this measure; equal values have error 0
  double largest = 0;             ///< the first error of the largest magnitude, with its sign
  std::size_t largest_index = 0;  ///< its element; 0 where every error is 0
  double root_mean_square = 0;
  double mean = 0;  ///< signed: the bias of X against Y
};

/// Pairs that are no two finite values apart from each other.
enum class SpecialClass : std::uint8_t {
  nan_against_number,  ///< one is NaN, the other finite or Inf
  nan_bits,            ///< two NaNs of one format with different bits
  infinity_against_finite,
  opposite_infinities,
  zero_sign,  ///< +0 against −0
};
inline constexpr std::string_view special_class_names[] = {"nan_against_number", "nan_bits",
                                                           "infinity_against_finite",
                                                           "opposite_infinities", "zero_sign"};

struct Occurrences {
  std::size_t count = 0;
  std::size_t first_index = 0;  ///< 0 where count is 0
};

/// Elements by their error in ulp. All counts together are the count of elements.
struct Histogram {
  struct Bucket {
    std::size_t below = 0;  ///< x < y
    std::size_t above = 0;  ///< x > y
  };
  static constexpr std::size_t bounded_buckets = 17;

  std::size_t zero = 0;  ///< equal values; equal Infs and NaNs too
  /// Bucket 0 holds errors up to 1 ulp, bucket k those in (2^(k−1), 2^k], the last all beyond 2^16.
  std::array<Bucket, bounded_buckets + 1> buckets;
  std::size_t not_comparable = 0;  ///< every SpecialClass but zero_sign
};

struct ElementPair {
  std::size_t index = 0;
  Code x_code = 0;
  Code y_code = 0;
};

/// X against Y. Codes of two formats have equal bits where they have the same value, the sign of
/// zero included, or are both NaN.
struct Difference {
  const Format* x_format = nullptr;
  const Format* y_format = nullptr;
  const Format* ulp_format = nullptr;
  std::size_t count = 0;
  std::size_t equal_bits = 0;
  std::optional<ElementPair> first_different;  ///< the first without equal bits
  std::size_t rejected = 0;                    ///< elements that the policy does not count as equal
  std::optional<ElementPair> first_rejected;
  std::array<ErrorSummary, std::size(measure_names)> errors;
  std::array<Occurrences, std::size(special_class_names)> specials;
  Histogram histogram;

  std::size_t different_bits() const { return count - equal_bits; }
  const ErrorSummary& error(Measure measure) const {
    return errors[static_cast<std::size_t>(measure)];
  }
  const Occurrences& special(SpecialClass special_class) const {
    return specials[static_cast<std::size_t>(special_class)];
  }
};

/// X and Y, each against an exact Z. The nearer one is decided exactly for differences within f64's
/// range; a NaN or Inf that Z does not have is infinitely far away.
struct ExactComparison {
  Difference x;  ///< X against Z
  Difference y;  ///< Y against Z
  std::size_t x_nearer = 0;
  std::size_t y_nearer = 0;
  std::size_t equally_near = 0;
  /// Elements that are Z rounded to nearest even in their own format; the sign of zero and the bits
  /// of a NaN do not matter.
  std::size_t x_correctly_rounded = 0;
  std::size_t y_correctly_rounded = 0;
  std::size_t equal_but_wrong = 0;  ///< X and Y have one value, and neither is correctly rounded
  Code at_first_different = 0;      ///< Z's code where X and Y first differ; 0 where they do not
};

struct Comparison {
  std::vector<std::size_t> shape;  ///< extents, the last index varying fastest
  Policy policy;
  Difference x_y;
  std::optional<ExactComparison> exact;

  /// X and Y are equal under the policy.
  bool equal() const { return x_y.rejected == 0; }
};

struct ComparisonInput {
  ResultView x;
  ResultView y;
  std::optional<ResultView> exact;     ///< Z
  std::span<const double> magnitudes;  ///< Σ|a||b| + |c| of each element; empty where unknown
  std::vector<std::size_t> shape;      ///< extents; empty stands for one dimension
};

/// Compares element by element. Throws std::invalid_argument, saying which sizes do not fit, unless
/// every input has the same count of whole elements and the shape holds as many.
Comparison compare(const ComparisonInput& input, const Policy& policy = {});

/// The index of an element along each extent of the shape, which has such an element.
std::vector<std::size_t> element_coordinates(std::span<const std::size_t> shape, std::size_t index);

}  // namespace bitmma
