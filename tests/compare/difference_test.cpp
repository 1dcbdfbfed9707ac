#include "bitmma/compare/difference.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "bitmma/reference/error.hpp"
#include "bitmma/tests/compare/result.hpp"

namespace bitmma {
namespace {

constexpr Code f32_one = 0x3f800000;
constexpr Code f32_nan = 0x7fffffff;
constexpr Code f32_infinity = 0x7f800000;
constexpr Code f32_minus_zero = 0x80000000;

/// The histogram's total, which is the count of elements.
std::size_t total(const Histogram& histogram) {
  std::size_t sum = histogram.zero + histogram.not_comparable;
  for (const auto& bucket : histogram.buckets) sum += bucket.below + bucket.above;
  return sum;
}

/// The bucket of the one error of two f64 codes that lie `distance` apart.
std::size_t bucket_of_distance(Code distance) {
  constexpr Code one = 0x3ff0000000000000;
  const Comparison result = compare_two(Result(f64, {one + distance}), Result(f64, {one}));
  const auto& buckets = result.x_y.histogram.buckets;
  for (std::size_t index = 0; index < buckets.size(); ++index)
    if (buckets[index].above == 1) return index;
  return buckets.size();
}

}  // namespace

TEST_CASE("a view reads little-endian codes of every width") {
  for (const Format* format : format_table) {
    const Code last = ((format->sign_mask() - 1) | format->sign_mask()) - 1;
    const Result result(*format, {1, last});
    CHECK(result.view().count() == 2);
    CHECK(result.view().at(0) == 1);
    CHECK(result.view().at(1) == last);
  }
}

TEST_CASE("no elements are equal and have no errors") {
  const Comparison result = compare_two(Result(f32, {}), Result(f32, {}));
  CHECK(result.equal());
  CHECK(result.x_y.count == 0);
  CHECK(!result.x_y.first_different);
  for (const ErrorSummary& error : result.x_y.errors) CHECK(error.count == 0);
  CHECK(total(result.x_y.histogram) == 0);
}

TEST_CASE("one equal element has error 0 by every measure") {
  const double magnitude = 2;
  const Result one = values(f32, {1});
  const Comparison result = compare_two(one, one, {}, {&magnitude, 1});
  CHECK(result.equal());
  CHECK(result.x_y.equal_bits == 1);
  CHECK(result.x_y.different_bits() == 0);
  for (const ErrorSummary& error : result.x_y.errors) {
    CHECK(error.count == 1);
    CHECK(error.largest == 0);
    CHECK(error.root_mean_square == 0);
    CHECK(error.mean == 0);
  }
}

TEST_CASE("errors of four f32 values by every measure") {
  // x − y: 0, −1, 2, 0; in ulp 0, −2^22 (1 to 2 is 2^23 codes, 1 to 1.5 half), 2^23 and 0.
  const Result x = values(f32, {5, 1, -2, 7});
  const Result y = values(f32, {5, 2, -4, 7});
  const double magnitudes[] = {10, 4, 16, 10};
  const Difference difference = compare_two(x, y, {}, magnitudes).x_y;

  CHECK(difference.count == 4);
  CHECK(difference.equal_bits == 2);
  CHECK(difference.different_bits() == 2);
  REQUIRE(difference.first_different);
  CHECK(difference.first_different->index == 1);
  CHECK(difference.first_different->x_code == f32_one);
  CHECK(difference.first_different->y_code == 0x40000000);

  const ErrorSummary& absolute = difference.error(Measure::absolute);
  CHECK(absolute.count == 4);
  CHECK(absolute.largest == 2);
  CHECK(absolute.largest_index == 2);
  CHECK(absolute.mean == 0.25);
  CHECK(absolute.root_mean_square == std::sqrt(1.25));

  // Both are half of Y: −0.5 whatever the sign; the first of two equal errors is reported.
  const ErrorSummary& relative = difference.error(Measure::relative);
  CHECK(relative.largest == -0.5);
  CHECK(relative.largest_index == 1);
  CHECK(relative.mean == -0.25);
  CHECK(relative.root_mean_square == std::sqrt(0.125));

  const ErrorSummary& ulps = difference.error(Measure::ulp);
  CHECK(ulps.largest == -8388608);
  CHECK(ulps.largest_index == 1);
  CHECK(ulps.mean == 0);
  CHECK(ulps.root_mean_square == std::sqrt(std::ldexp(1.0, 45)));

  const ErrorSummary& magnitude = difference.error(Measure::magnitude);
  CHECK(magnitude.count == 4);
  CHECK(magnitude.largest == -0.25);
  CHECK(magnitude.largest_index == 1);
  CHECK(magnitude.mean == (-0.25 + 0.125) / 4);
  CHECK(magnitude.root_mean_square == std::sqrt((0.0625 + 0.015625) / 4));
}

TEST_CASE("a quotient by zero is left out and not counted") {
  const double magnitudes[] = {0, 0, 1};
  const Difference difference =
      compare_two(values(f32, {1, 0, 3}), values(f32, {0, 0, 2}), {}, magnitudes).x_y;
  CHECK(difference.error(Measure::absolute).count == 3);
  CHECK(difference.error(Measure::relative).count == 2);
  CHECK(difference.error(Measure::relative).largest == 0.5);
  CHECK(difference.error(Measure::magnitude).count == 2);
  CHECK(difference.error(Measure::magnitude).mean == 0.5);
}

TEST_CASE("an error relative to no positive magnitude is undefined") {
  const double magnitudes[] = {std::numeric_limits<double>::quiet_NaN(), -1, 2};
  const ErrorSummary error =
      compare_two(values(f32, {1, 2, 3}), values(f32, {2, 3, 4}), {}, magnitudes)
          .x_y.error(Measure::magnitude);
  CHECK(error.count == 1);
  CHECK(error.mean == -0.5);
}

TEST_CASE("without magnitudes no element has an error relative to one") {
  CHECK(compare_two(values(f32, {1}), values(f32, {2})).x_y.error(Measure::magnitude).count == 0);
}

TEST_CASE("subnormals and neighbours across zero and across a power of two are 1 ulp apart") {
  // Smallest subnormals ±2^-149 are 2 codes apart; 2^-126 and its subnormal neighbour are 1.
  const Result x(f32, {0x00000001, 0x00800000, 0x00000001, 0x3f800000});
  const Result y(f32, {0x80000001, 0x007fffff, 0x00000000, 0x3f7fffff});
  const Difference difference = compare_two(x, y).x_y;
  CHECK(difference.error(Measure::ulp).largest == 2);
  CHECK(difference.error(Measure::ulp).mean == 1.25);
  CHECK(difference.histogram.buckets[0].above == 3);
  CHECK(difference.histogram.buckets[1].above == 1);
  CHECK(difference.error(Measure::absolute).largest == std::ldexp(1.0, -24));
}

TEST_CASE("f64 codes count exactly over the largest distance") {
  const Result largest(f64, {f64.max_finite()});
  const Result smallest(f64, {f64.sign_mask() | f64.max_finite()});
  const Difference difference = compare_two(largest, smallest).x_y;
  CHECK(difference.error(Measure::ulp).largest == 2 * static_cast<double>(f64.max_finite()));
  CHECK(std::isinf(difference.error(Measure::absolute).largest));
  CHECK(difference.histogram.buckets[Histogram::bounded_buckets].above == 1);
}

TEST_CASE("f16 against f32 measures in ulp of f16 at the f32 value") {
  // 1 + 2^-10 is the f16 above 1; the f32 lies a quarter of an f16 ulp above 1.
  const Result x(f16, {0x3c01, 0x3c00, 0xbc00, 0x0001});
  const Result y = values(f32, {1 + std::ldexp(1.0, -12), 1, -1.5, std::ldexp(1.0, -25)});
  const Difference difference = compare_two(x, y).x_y;
  CHECK(difference.ulp_format == &f16);
  CHECK(difference.equal_bits == 1);
  CHECK(difference.first_different->index == 0);
  CHECK(difference.error(Measure::ulp).largest == 512);
  CHECK(difference.error(Measure::ulp).mean == (0.75 + 0 + 512 + 0.5) / 4);
  CHECK(difference.histogram.zero == 1);
  CHECK(difference.histogram.buckets[0].above == 2);
  CHECK(difference.histogram.buckets[9].above == 1);
}

TEST_CASE("the coarser format gives the ulp in either order") {
  const auto ulp_format = [](const Format& x, const Format& y) {
    return compare_two(values(x, {1}), values(y, {1})).x_y.ulp_format;
  };
  CHECK(ulp_format(f32, bf16) == &bf16);
  CHECK(ulp_format(bf16, f32) == &bf16);
  CHECK(ulp_format(f16, tf32) == &f16);
  CHECK(ulp_format(tf32, f16) == &f16);
}

TEST_CASE("errors agree with the exact error measures") {
  const double x_values[] = {0.1, -3, 1e-7, 65504, 0.99951171875, 1e-30};
  const double z_values[] = {0.1, -3.001, 1.1e-7, 65519.9, 1, 0.5};
  for (std::size_t i = 0; i < std::size(x_values); ++i) {
    const Result x = values(f16, {x_values[i]});
    const Result z = values(f64, {z_values[i]});
    const Difference difference = compare_two(x, z).x_y;
    const ExactValue computed = exact_value(f16, x.view().at(0));
    const ExactValue exact = exact_value(f64, z.view().at(0));
    CHECK(std::abs(difference.error(Measure::absolute).largest) == absolute_error(computed, exact));
    CHECK(std::abs(difference.error(Measure::relative).largest) ==
          doctest::Approx(relative_error(computed, exact)).epsilon(std::ldexp(1.0, -51)));
    CHECK(std::abs(difference.error(Measure::ulp).largest) == ulp_error(f16, computed, exact));
  }
}

TEST_CASE("histogram bounds are powers of two") {
  CHECK(bucket_of_distance(1) == 0);
  CHECK(bucket_of_distance(2) == 1);
  CHECK(bucket_of_distance(3) == 2);
  CHECK(bucket_of_distance(4) == 2);
  CHECK(bucket_of_distance(5) == 3);
  CHECK(bucket_of_distance(8) == 3);
  CHECK(bucket_of_distance(9) == 4);
  CHECK(bucket_of_distance(65536) == 16);
  CHECK(bucket_of_distance(65537) == 17);
  CHECK(bucket_of_distance(Code{1} << 40) == 17);
}

TEST_CASE("an error in ulp beyond the largest f64 is in the histogram's last bucket") {
  const Result x = values(f64, {1.7e308, -1.7e308});
  const Difference difference = compare_two(x, values(f16, {0, 0})).x_y;
  CHECK(std::isinf(difference.error(Measure::ulp).largest));
  CHECK(difference.histogram.buckets.back().above == 1);
  CHECK(difference.histogram.buckets.back().below == 1);
  CHECK(total(difference.histogram) == 2);
}

TEST_CASE("special classes count, remember their first element and are not comparable") {
  const Result x(f32, {f32_one, f32_nan, f32_one, f32_nan, 0x7fc00000, f32_infinity, f32_one,
                       f32_infinity, 0, f32_nan, f32_infinity});
  const Result y(f32, {f32_one, f32_one, f32_nan, f32_infinity, f32_nan, f32_one, 0xff800000,
                       0xff800000, f32_minus_zero, f32_nan, f32_infinity});
  const Difference difference = compare_two(x, y).x_y;

  CHECK(difference.special(SpecialClass::nan_against_number).count == 3);
  CHECK(difference.special(SpecialClass::nan_against_number).first_index == 1);
  CHECK(difference.special(SpecialClass::nan_bits).count == 1);
  CHECK(difference.special(SpecialClass::nan_bits).first_index == 4);
  CHECK(difference.special(SpecialClass::infinity_against_finite).count == 2);
  CHECK(difference.special(SpecialClass::infinity_against_finite).first_index == 5);
  CHECK(difference.special(SpecialClass::opposite_infinities).count == 1);
  CHECK(difference.special(SpecialClass::opposite_infinities).first_index == 7);
  CHECK(difference.special(SpecialClass::zero_sign).count == 1);
  CHECK(difference.special(SpecialClass::zero_sign).first_index == 8);

  CHECK(difference.equal_bits == 3);
  CHECK(difference.histogram.zero == 4);
  CHECK(difference.histogram.not_comparable == 7);
  CHECK(total(difference.histogram) == 11);
  CHECK(difference.error(Measure::absolute).count == 2);
  CHECK(difference.error(Measure::relative).count == 2);
}

TEST_CASE("of two formats NaNs are equal, zeros of other signs are not") {
  const Result x(f16, {0x7e00, 0x0000, 0x7c00});
  const Result y(f32, {f32_nan, f32_minus_zero, f32_infinity});
  const Difference difference = compare_two(x, y).x_y;
  CHECK(difference.equal_bits == 2);
  CHECK(difference.first_different->index == 1);
  CHECK(difference.special(SpecialClass::zero_sign).count == 1);
  CHECK(difference.special(SpecialClass::nan_bits).count == 0);
}

TEST_CASE("tf32 codes that differ in ignored bits have other bits and one value") {
  const Result x(tf32, {0x3f800001, 0x7f800001});
  const Result y(tf32, {0x3f800000, 0x7f800000});
  const Difference difference = compare_two(x, y).x_y;
  CHECK(difference.different_bits() == 2);
  CHECK(difference.histogram.zero == 2);
  CHECK(difference.histogram.not_comparable == 0);
  CHECK(difference.error(Measure::absolute).count == 1);
  CHECK(compare_two(x, y, {false, 0.0}).equal());
}

TEST_CASE("the exact policy rejects every difference in bits") {
  CHECK(!compare_two(Result(f32, {0}), Result(f32, {f32_minus_zero})).equal());
  CHECK(!compare_two(Result(f32, {f32_nan}), Result(f32, {0x7fc00000})).equal());
  CHECK(!compare_two(Result(f32, {f32_one}), Result(f32, {f32_one + 1})).equal());
  CHECK(compare_two(Result(f32, {f32_nan}), Result(f32, {f32_nan})).equal());
}

TEST_CASE("the NaN policy accepts any two NaNs and nothing else") {
  const Policy any_nan{true, std::nullopt};
  CHECK(compare_two(Result(f32, {f32_nan}), Result(f32, {0xffc00000}), any_nan).equal());
  CHECK(!compare_two(Result(f32, {f32_nan}), Result(f32, {f32_infinity}), any_nan).equal());
  CHECK(!compare_two(Result(f32, {0}), Result(f32, {f32_minus_zero}), any_nan).equal());
}

TEST_CASE("the ulp policy has an inclusive bound and never accepts special classes") {
  const Result one(f32, {f32_one});
  const Result three_above(f32, {f32_one + 3});
  CHECK(compare_two(one, three_above, {false, 3.0}).equal());
  CHECK(compare_two(three_above, one, {false, 3.0}).equal());
  CHECK(!compare_two(one, three_above, {false, 2.0}).equal());
  CHECK(compare_two(Result(f32, {0}), Result(f32, {f32_minus_zero}), {false, 0.0}).equal());
  const double any = std::numeric_limits<double>::infinity();
  CHECK(!compare_two(Result(f32, {f32_nan}), Result(f32, {0x7fc00000}), {false, any}).equal());
  CHECK(!compare_two(Result(f32, {f32_infinity}), Result(f32, {0x7f7fffff}), {false, any}).equal());
  CHECK(!compare_two(Result(f32, {f32_nan}), one, {true, any}).equal());
}

TEST_CASE("the first rejected element may follow the first different one") {
  const Result x(f32, {f32_one, f32_one + 1, f32_one + 5});
  const Result y(f32, {f32_one, f32_one, f32_one});
  const Difference difference = compare_two(x, y, {false, 1.0}).x_y;
  CHECK(difference.first_different->index == 1);
  CHECK(difference.rejected == 1);
  REQUIRE(difference.first_rejected);
  CHECK(difference.first_rejected->index == 2);
  CHECK(difference.first_rejected->x_code == f32_one + 5);
  CHECK(difference.first_rejected->y_code == f32_one);
}

TEST_CASE("three-way: nearer, ties, correct rounding and common mistakes") {
  const double ulp = std::ldexp(1.0, -23);
  // Z:  1           1+ulp/4     1+ulp/2   1+2ulp     1+2ulp
  // X:  1           1           1         1          1
  // Y:  1+ulp       1+ulp       1+ulp     1          1+ulp
  const Result x(f32, {f32_one, f32_one, f32_one, f32_one, f32_one});
  const Result y(f32, {f32_one + 1, f32_one + 1, f32_one + 1, f32_one, f32_one + 1});
  const Result z = values(f64, {1, 1 + ulp / 4, 1 + ulp / 2, 1 + 2 * ulp, 1 + 2 * ulp});
  const Comparison result = compare_three(x, y, z);
  REQUIRE(result.exact);
  const ExactComparison& exact = *result.exact;
  CHECK(exact.x_nearer == 2);
  CHECK(exact.y_nearer == 1);
  CHECK(exact.equally_near == 2);
  CHECK(exact.x_correctly_rounded == 3);
  CHECK(exact.y_correctly_rounded == 0);
  CHECK(exact.equal_but_wrong == 1);
  CHECK(exact.at_first_different == 0x3ff0000000000000);
  CHECK(exact.x.ulp_format == &f32);
  CHECK(exact.x.equal_bits == 1);
  CHECK(exact.x.error(Measure::ulp).largest == -2);
  CHECK(exact.x.error(Measure::ulp).mean == -4.75 / 5);
  CHECK(exact.y.error(Measure::ulp).largest == -2);
  CHECK(exact.y.error(Measure::ulp).mean == (1 + 0.75 + 0.5 - 2 - 1) / 5);
}

TEST_CASE("three-way: one value is right in f16 and wrong in f32") {
  const Result z = values(f64, {1 + std::ldexp(1.0, -12)});
  const ExactComparison exact = compare_three(values(f32, {1}), values(f16, {1}), z).exact.value();
  CHECK(exact.x_correctly_rounded == 0);
  CHECK(exact.y_correctly_rounded == 1);
  CHECK(exact.equally_near == 1);
  CHECK(exact.equal_but_wrong == 0);
}

TEST_CASE("three-way: distances whose nearest f64 are one are still told apart") {
  // X − Z = 1 + 2^-60 and Z − Y = 1: both differences round to 1.
  const double tiny = std::ldexp(1.0, -60);
  const Result z = values(f64, {-tiny});
  const Comparison nearer = compare_three(values(f64, {1}), values(f64, {-1}), z);
  CHECK(nearer.exact->y_nearer == 1);
  const Comparison mirrored =
      compare_three(values(f64, {1}), values(f64, {-1}), values(f64, {tiny}));
  CHECK(mirrored.exact->x_nearer == 1);
}

TEST_CASE("three-way: a NaN or Inf that Z does not have is infinitely far") {
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Result x = values(f32, {nan, infinity, nan, infinity, -infinity});
  const Result y = values(f32, {1, 2, infinity, 3, infinity});
  const Result z = values(f64, {4, infinity, 5, 6, infinity});
  const ExactComparison exact = compare_three(x, y, z).exact.value();
  CHECK(exact.x_nearer == 1);      // Inf is Z
  CHECK(exact.y_nearer == 3);      // elements 0, 3 and 4
  CHECK(exact.equally_near == 1);  // NaN and Inf against 5
  CHECK(exact.x_correctly_rounded == 1);
  CHECK(exact.y_correctly_rounded == 1);
  CHECK(exact.equal_but_wrong == 0);
}

TEST_CASE("three-way: rounding Z overflows to Inf as IEEE does") {
  const double infinity = std::numeric_limits<double>::infinity();
  const ExactComparison exact =
      compare_three(values(f16, {infinity, infinity}), values(f16, {65504, 65504}),
                    values(f64, {65520, 65519}))
          .exact.value();
  CHECK(exact.x_correctly_rounded == 1);
  CHECK(exact.y_correctly_rounded == 1);
}

TEST_CASE("sizes that do not fit are named") {
  const Result two = values(f32, {1, 2});
  const Result three = values(f32, {1, 2, 3});
  const double magnitude = 1;
  CHECK_THROWS_WITH_AS(compare_two(two, three), "X has 2 elements, Y 3", std::invalid_argument);
  CHECK_THROWS_WITH_AS(compare_three(two, two, three), "X has 2 elements, Z 3",
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(compare_two(two, two, {}, {&magnitude, 1}), "X has 2 elements, magnitudes 1",
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(compare({two.view(), two.view(), std::nullopt, {}, {3, 1}}),
                       "X has 2 elements, the shape 3", std::invalid_argument);
  ResultView cut = two.view();
  cut.bytes = cut.bytes.first(7);
  CHECK_THROWS_WITH_AS(compare({cut, two.view(), std::nullopt, {}, {}}),
                       "X has 7 bytes, no multiple of 4", std::invalid_argument);
}

TEST_CASE("coordinates run along the last extent first") {
  const std::size_t shape[] = {2, 3, 4};
  CHECK(element_coordinates(shape, 0) == std::vector<std::size_t>{0, 0, 0});
  CHECK(element_coordinates(shape, 23) == std::vector<std::size_t>{1, 2, 3});
  CHECK(element_coordinates(shape, 6) == std::vector<std::size_t>{0, 1, 2});
}

}  // namespace bitmma
