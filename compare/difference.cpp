#include "bitmma/compare/difference.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <compare>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>

#include "bitmma/reference/error.hpp"

namespace bitmma {
namespace {

static_assert(std::endian::native == std::endian::little,
              "ResultView::at() copies bytes as they are");

struct Operand {
  Code code;
  Kind kind;
  double value;
};

Operand operand(const Format& format, Code code) {
  return {code, decode(format, code).kind, to_double(format, code)};
}

/// Two results on their way through one pass over the elements.
struct Pass {
  ResultView x;
  ResultView y;
  std::span<const double> magnitudes;
  Policy policy;
  bool same_format;
  Difference difference;
  std::size_t equal_finite = 0;
  struct Sums {
    long double errors = 0;
    long double squares = 0;
  };
  std::array<Sums, std::size(measure_names)> sums;
};

/// The format whose ulp measures differences of the two.
const Format* coarser_format(const Format* x, const Format* y) {
  const bool y_is_coarser =
      y->fraction_bits < x->fraction_bits ||
      (y->fraction_bits == x->fraction_bits && y->exponent_bits < x->exponent_bits);
  return y_is_coarser ? y : x;
}

/// The class of a pair without equal bits; none for finite values apart, nor for codes of one value
/// that differ in ignored bits.
std::optional<SpecialClass> special_class(const Operand& x, const Operand& y) {
  const bool x_nan = x.kind == Kind::nan;
  const bool y_nan = y.kind == Kind::nan;
  if (x_nan && y_nan) return SpecialClass::nan_bits;
  if (x_nan || y_nan) return SpecialClass::nan_against_number;
  if (x.kind != y.kind) return SpecialClass::infinity_against_finite;
  if (std::signbit(x.value) == std::signbit(y.value)) return std::nullopt;
  if (x.kind == Kind::infinite) return SpecialClass::opposite_infinities;
  if (x.value == 0 && y.value == 0) return SpecialClass::zero_sign;
  return std::nullopt;
}

/// Measure::ulp of two finite values.
double error_in_ulps(const Pass& pass, const Operand& x, const Operand& y) {
  const Format& format = *pass.difference.ulp_format;
  if (pass.same_format) {
    const auto distance = static_cast<double>(ulp_distance(format, x.code, y.code).value());
    return x.value < y.value ? -distance : distance;
  }
  if (format.is_integer()) return x.value - y.value;
  const int exponent = std::max(std::ilogb(y.value), format.min_exponent());
  return std::ldexp(x.value - y.value, format.fraction_bits - exponent);
}

void add_error(Pass& pass, Measure measure, std::size_t index, double error) {
  const auto row = static_cast<std::size_t>(measure);
  ErrorSummary& summary = pass.difference.errors[row];
  ++summary.count;
  if (std::abs(error) > std::abs(summary.largest)) {
    summary.largest = error;
    summary.largest_index = index;
  }
  const long double wide = error;
  pass.sums[row].errors += wide;
  pass.sums[row].squares += wide * wide;
}

/// Adds difference / divisor unless it is undefined.
void add_quotient(Pass& pass, Measure measure, std::size_t index, double difference,
                  double divisor) {
  if (difference == 0) return add_error(pass, measure, index, 0);
  if (divisor != 0) add_error(pass, measure, index, difference / divisor);
}

void add_errors(Pass& pass, std::size_t index, const Operand& x, const Operand& y, double ulps) {
  const double difference = x.value - y.value;
  add_error(pass, Measure::absolute, index, difference);
  add_quotient(pass, Measure::relative, index, difference, y.value);
  add_error(pass, Measure::ulp, index, ulps);
  if (pass.magnitudes.empty()) return;
  const double magnitude = pass.magnitudes[index];
  add_quotient(pass, Measure::magnitude, index, difference, magnitude > 0 ? magnitude : 0);
}

std::size_t bucket_of(double magnitude_in_ulps) {
  constexpr double largest_bound = std::size_t{1} << (Histogram::bounded_buckets - 1);
  if (!(magnitude_in_ulps <= largest_bound)) return Histogram::bounded_buckets;
  if (magnitude_in_ulps <= 1) return 0;
  int exponent = 0;  // magnitude = f · 2^exponent, 1/2 <= f < 1
  if (std::frexp(magnitude_in_ulps, &exponent) == 0.5) --exponent;
  return static_cast<std::size_t>(exponent);
}

void add_to_histogram(Histogram& histogram, double ulps) {
  if (ulps == 0) {
    ++histogram.zero;
    return;
  }
  Histogram::Bucket& bucket = histogram.buckets[bucket_of(std::abs(ulps))];
  ++(ulps < 0 ? bucket.below : bucket.above);
}

void add_occurrence(Occurrences& occurrences, std::size_t index) {
  if (occurrences.count++ == 0) occurrences.first_index = index;
}

void add_equal(Pass& pass, Kind kind) {
  ++pass.difference.equal_bits;
  ++pass.difference.histogram.zero;
  if (kind == Kind::finite) ++pass.equal_finite;
}

void add_different(Pass& pass, std::size_t index, const Operand& x, const Operand& y) {
  Difference& difference = pass.difference;
  const std::optional<SpecialClass> special = special_class(x, y);
  if (special) add_occurrence(difference.specials[static_cast<std::size_t>(*special)], index);

  const bool comparable = !special || *special == SpecialClass::zero_sign;
  const bool finite = x.kind == Kind::finite && y.kind == Kind::finite;
  const double ulps = finite ? error_in_ulps(pass, x, y) : 0;
  if (finite) add_errors(pass, index, x, y, ulps);
  if (comparable)
    add_to_histogram(difference.histogram, ulps);
  else
    ++difference.histogram.not_comparable;

  const ElementPair element{index, x.code, y.code};
  if (!difference.first_different) difference.first_different = element;
  const bool within = comparable && std::abs(ulps) <= pass.policy.max_ulp.value_or(-1);
  if (within || (pass.policy.any_nan && special == SpecialClass::nan_bits)) return;
  ++difference.rejected;
  if (!difference.first_rejected) difference.first_rejected = element;
}

void add_element(Pass& pass, std::size_t index) {
  const Code x_code = pass.x.at(index);
  const Code y_code = pass.y.at(index);
  if (pass.same_format && x_code == y_code)
    return add_equal(pass, decode(*pass.x.format, x_code).kind);
  const Operand x = operand(*pass.x.format, x_code);
  const Operand y = operand(*pass.y.format, y_code);
  // NaN is canonical in `value`.
  if (!pass.same_format && std::bit_cast<Code>(x.value) == std::bit_cast<Code>(y.value))
    return add_equal(pass, x.kind);
  add_different(pass, index, x, y);
}

void finish_errors(Pass& pass) {
  for (std::size_t row = 0; row < pass.sums.size(); ++row) {
    ErrorSummary& summary = pass.difference.errors[row];
    if (row != static_cast<std::size_t>(Measure::magnitude) || !pass.magnitudes.empty())
      summary.count += pass.equal_finite;
    if (summary.count == 0) continue;
    const auto count = static_cast<long double>(summary.count);
    summary.mean = static_cast<double>(pass.sums[row].errors / count);
    summary.root_mean_square = static_cast<double>(std::sqrt(pass.sums[row].squares / count));
  }
}

Difference find_difference(const ResultView& x, const ResultView& y,
                           std::span<const double> magnitudes, const Policy& policy) {
  Pass pass{x, y, magnitudes, policy, *x.format == *y.format, {}, 0, {}};
  pass.difference.x_format = x.format;
  pass.difference.y_format = y.format;
  pass.difference.ulp_format = coarser_format(x.format, y.format);
  pass.difference.count = x.count();
  for (std::size_t index = 0; index < x.count(); ++index) add_element(pass, index);
  finish_errors(pass);
  return pass.difference;
}

bool same_value(double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); }

/// high + low, exactly; high is the nearest double.
struct Distance {
  double high = 0;
  double low = 0;
  friend auto operator<=>(const Distance&, const Distance&) = default;
};

/// |value − exact|, exact by Knuth's error-free subtraction unless it overflows.
Distance distance(double value, double exact) {
  if (same_value(value, exact)) return {};
  const double high = value - exact;
  if (!std::isfinite(high)) return {std::numeric_limits<double>::infinity(), 0};
  const double exact_part = value - high;
  const double value_part = high + exact_part;
  const double low = (value - value_part) + (exact_part - exact);
  return high < 0 ? Distance{-high, -low} : Distance{high, low};
}

/// Whether the value is that code rounded to nearest even in the format.
bool is_correctly_rounded(const Format& format, double value, const Format& exact_format,
                          Code exact) {
  const Code rounded = convert(exact_format, exact, format, Rounding::nearest_even);
  return same_value(value, to_double(format, rounded));
}

void add_against_exact(ExactComparison& result, const ComparisonInput& input, std::size_t index) {
  const Format& exact_format = *input.exact->format;
  const Code exact_code = input.exact->at(index);
  const double exact = to_double(exact_format, exact_code);
  const double x = to_double(*input.x.format, input.x.at(index));
  const double y = to_double(*input.y.format, input.y.at(index));

  const Distance x_distance = distance(x, exact);
  const Distance y_distance = distance(y, exact);
  if (x_distance < y_distance)
    ++result.x_nearer;
  else if (y_distance < x_distance)
    ++result.y_nearer;
  else
    ++result.equally_near;

  const bool x_correct = is_correctly_rounded(*input.x.format, x, exact_format, exact_code);
  const bool y_correct = is_correctly_rounded(*input.y.format, y, exact_format, exact_code);
  if (x_correct) ++result.x_correctly_rounded;
  if (y_correct) ++result.y_correctly_rounded;
  if (!x_correct && !y_correct && same_value(x, y)) ++result.equal_but_wrong;
}

ExactComparison compare_with_exact(const ComparisonInput& input, const Policy& policy,
                                   const std::optional<ElementPair>& first_different) {
  ExactComparison result;
  result.x = find_difference(input.x, *input.exact, input.magnitudes, policy);
  result.y = find_difference(input.y, *input.exact, input.magnitudes, policy);
  for (std::size_t index = 0; index < input.x.count(); ++index)
    add_against_exact(result, input, index);
  if (first_different) result.at_first_different = input.exact->at(first_different->index);
  return result;
}

void require_count(std::string_view name, std::size_t count, std::size_t expected) {
  if (count != expected)
    throw std::invalid_argument("X has " + std::to_string(expected) + " elements, " +
                                std::string(name) + " " + std::to_string(count));
}

void require_whole_elements(std::string_view name, const ResultView& result) {
  if (result.bytes.size() % result.element_bytes() != 0)
    throw std::invalid_argument(std::string(name) + " has " + std::to_string(result.bytes.size()) +
                                " bytes, no multiple of " + std::to_string(result.element_bytes()));
}

void require_consistent(const ComparisonInput& input) {
  require_whole_elements("X", input.x);
  require_whole_elements("Y", input.y);
  require_count("Y", input.y.count(), input.x.count());
  if (input.exact) {
    require_whole_elements("Z", *input.exact);
    require_count("Z", input.exact->count(), input.x.count());
  }
  if (!input.magnitudes.empty())
    require_count("magnitudes", input.magnitudes.size(), input.x.count());
  if (!input.shape.empty())
    require_count("the shape",
                  std::accumulate(input.shape.begin(), input.shape.end(), std::size_t{1},
                                  std::multiplies<>()),
                  input.x.count());
}

}  // namespace

Code ResultView::at(std::size_t index) const {
  Code code = 0;
  std::memcpy(&code, bytes.data() + index * element_bytes(), element_bytes());
  return code;
}

Comparison compare(const ComparisonInput& input, const Policy& policy) {
  require_consistent(input);
  Comparison comparison;
  comparison.shape = input.shape.empty() ? std::vector{input.x.count()} : input.shape;
  comparison.policy = policy;
  comparison.x_y = find_difference(input.x, input.y, input.magnitudes, policy);
  if (input.exact)
    comparison.exact = compare_with_exact(input, policy, comparison.x_y.first_different);
  return comparison;
}

std::vector<std::size_t> element_coordinates(std::span<const std::size_t> shape,
                                             std::size_t index) {
  std::vector<std::size_t> result(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0; index /= shape[axis])
    result[axis] = index % shape[axis];
  return result;
}

}  // namespace bitmma
