/// Seeded random operands for differential tests, in named families. The same seed gives the same
/// codes on every platform: integers only, no standard distribution, and no expression that draws
/// twice in an order that the language leaves open.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "bitmma/isa/format.hpp"
#include "bitmma/isa/host_device.hpp"

namespace bitmma {

/// SplitMix64 (Steele, Lea, Flood, 2014).
class Random {
 public:
  BITMMA_HD explicit Random(std::uint64_t seed) : state_(seed) {}

  BITMMA_HD std::uint64_t bits() {
    state_ += 0x9E3779B97F4A7C15;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB;
    return mixed ^ (mixed >> 31);
  }
  /// From first to last, both included; last if last < first.
  BITMMA_HD int between(int first, int last) {
    const auto count = static_cast<std::uint64_t>(std::max(last - first, 0)) + 1;
    return std::min(first, last) + static_cast<int>(bits() % count);
  }
  BITMMA_HD bool once_in(int count) { return between(1, count) == 1; }

 private:
  std::uint64_t state_;
};

enum class InputFamily : std::uint8_t {
  normal,            ///< standard normal values
  uniform,           ///< uniform in (-1, 1)
  any_bits,          ///< every code alike
  any_finite_bits,   ///< every finite code alike
  special_mix,       ///< NaN, Inf, zeros, subnormals, ones, largest numbers among normal values
  tiny,              ///< A from the lowest exponents, in half of the rows B, in half C
  huge,              ///< A from the highest exponents, in half of the rows B, in half C
  wide_log_uniform,  ///< exponents from -16 to 16: terms shifted by any distance
  cancellation,      ///< products in pairs that cancel, or nearly
  signed_zeros,      ///< zeros of both signs, few other values
  exhaustive,        ///< one product a row, of every code of A with every code of B, at every k
  near_overflow,     ///< sums at the accumulator's largest number, products above it that cancel
  near_floor,        ///< sums near the least result, products near the last bit kept, subnormal C
  ties,  ///< C, products of half its ulp, and products at the last bits kept or far below them
};

struct NamedFamily {
  InputFamily family;
  std::string_view name;
};

/// Of the cases that the families make. It rises whenever a seed makes others than before: then
/// records of the version before cannot be added to, and a test of their digests fails.
inline constexpr std::uint64_t cases_version = 1;

inline constexpr NamedFamily input_families[] = {
    {InputFamily::normal, "normal"},
    {InputFamily::uniform, "uniform"},
    {InputFamily::any_bits, "any_bits"},
    {InputFamily::any_finite_bits, "any_finite_bits"},
    {InputFamily::special_mix, "special_mix"},
    {InputFamily::tiny, "tiny"},
    {InputFamily::huge, "huge"},
    {InputFamily::wide_log_uniform, "wide_log_uniform"},
    {InputFamily::cancellation, "cancellation"},
    {InputFamily::signed_zeros, "signed_zeros"},
    {InputFamily::exhaustive, "exhaustive"},
    {InputFamily::near_overflow, "near_overflow"},
    {InputFamily::near_floor, "near_floor"},
    {InputFamily::ties, "ties"},
};

/// The family of that name, or nothing.
constexpr std::optional<InputFamily> find_family(std::string_view name) {
  for (const NamedFamily& family : input_families)
    if (family.name == name) return family.family;
  return std::nullopt;
}

/// The families for operands of a format: all for floating point, but that f64 has too many codes
/// to go through; for integers those that mean something there.
BITMMA_HD constexpr bool applies_to(InputFamily family, const Format& operands) {
  const bool counts = family == InputFamily::exhaustive;
  if (!operands.is_integer()) return !counts || operands.storage_bits <= 32;
  return counts || family == InputFamily::any_bits || family == InputFamily::signed_zeros ||
         family == InputFamily::near_overflow;
}

/// The least k of an instruction.
inline constexpr std::size_t least_row = 4;

/// The operands to fill: a row of A and a column of B, of the same size, least_row or more, and one
/// element of C.
struct DotInputs {
  const Format& a_format;
  const Format& b_format;
  const Format& c_format;
  std::span<Code> a;
  std::span<Code> b;
  Code& c;
};

/// Where the family `exhaustive` stands, which counts instead of drawing.
struct Place {
  std::uint64_t a;      ///< number of A's code; numbers go round after the format's last code
  std::uint64_t b;      ///< the same for B
  std::uint64_t k;      ///< of the product, modulo the row's length
  std::uint64_t round;  ///< c is a zero in round 0, and any finite value in later ones
};

/// For rows that are drawn one by one and not counted.
BITMMA_HD inline Place any_place(Random& random) {
  return {random.bits(), random.bits(), random.bits(), random.bits() % 2};
}

/// Codes of a format that differ in a bit which counts: 256 for FP8, 2^19 for tf32; of 64-bit ones
/// as many as a number holds.
BITMMA_HD constexpr std::uint64_t code_count(const Format& format) {
  return std::uint64_t{1} << std::min(format.storage_bits - format.ignored_bits(), 63);
}

namespace detail {

BITMMA_HD inline int least_exponent(const Format& format) {
  return format.min_exponent() - format.fraction_bits;
}

BITMMA_HD inline int greatest_exponent(const Format& format) {
  return format.bias() + (format.specials == Specials::nan_only ? 1 : 0);
}

enum class Fraction : std::uint8_t { random, zero };

/// ±2^exponent times a fraction in [1, 2), subnormal where the exponent asks for it; an exponent
/// beyond the format's range becomes the nearest one in it.
BITMMA_HD inline Code code_of_exponent(const Format& format, Random& random, int exponent,
                                       Fraction fraction = Fraction::random) {
  const int nearest = std::clamp(exponent, least_exponent(format), greatest_exponent(format));
  const int below_normal = std::max(format.min_exponent() - nearest, 0);
  const Code leading = Code{1} << (format.fraction_bits - below_normal);
  const Code rest = fraction == Fraction::random ? random.bits() & (leading - 1) : 0;
  const auto field = static_cast<Code>(nearest + below_normal - format.min_exponent());
  const Code magnitude = ((field << format.fraction_bits) + leading + rest)
                         << format.ignored_bits();
  return (random.bits() & format.sign_mask()) | std::min(magnitude, format.max_finite());
}

/// The code of numerator / 2^32, its fraction truncated.
BITMMA_HD inline Code code_of_ratio(const Format& format, std::int64_t numerator) {
  const Code sign = numerator < 0 ? format.sign_mask() : 0;
  const auto magnitude = static_cast<std::uint64_t>(numerator < 0 ? -numerator : numerator);
  const int exponent = bit_width(magnitude) - 1 - 32;
  if (magnitude == 0 || exponent < format.min_exponent()) return sign;
  const Code significand = magnitude << (63 - (exponent + 32)) >> (63 - format.fraction_bits);
  const auto field = static_cast<Code>(exponent - format.min_exponent());
  return sign | ((field << format.fraction_bits) + significand) << format.ignored_bits();
}

BITMMA_HD inline Code uniform_code(const Format& format, Random& random) {
  const auto numerator = static_cast<std::int64_t>(random.bits() >> 32);
  return code_of_ratio(format, random.once_in(2) ? numerator : -numerator);
}

/// The sum of twelve uniform values less six: mean 0, variance 1.
BITMMA_HD inline Code normal_code(const Format& format, Random& random) {
  std::int64_t numerator = -(std::int64_t{6} << 32);
  for (int i = 0; i < 12; ++i) numerator += static_cast<std::int64_t>(random.bits() >> 32);
  return code_of_ratio(format, numerator);
}

BITMMA_HD inline Code any_code(const Format& format, Random& random) {
  return random.bits() & format.code_mask();
}

BITMMA_HD inline bool is_finite(const Format& format, Code code) {
  return format.is_integer() || (code & format.nan()) < format.infinity();
}

BITMMA_HD inline Code finite_code(const Format& format, Random& random) {
  Code code = any_code(format, random);
  while (!is_finite(format, code)) code = any_code(format, random);
  return code;
}

BITMMA_HD inline Code zero_code(const Format& format, Random& random) {
  return format.is_integer() ? 0 : random.bits() & format.sign_mask();
}

BITMMA_HD inline Code tiny_code(const Format& format, Random& random) {
  return code_of_exponent(format, random,
                          random.between(least_exponent(format), format.min_exponent() + 2));
}

BITMMA_HD inline Code huge_code(const Format& format, Random& random) {
  const int greatest = greatest_exponent(format);
  return code_of_exponent(format, random, random.between(greatest - 3, greatest));
}

BITMMA_HD inline Code special_code(const Format& format, Random& random) {
  const Code sign = zero_code(format, random);
  const Code any_nan = format.infinity() | (any_code(format, random) & format.nan());
  switch (random.between(0, 5)) {
    case 0:
      return sign | any_nan;
    case 1:
      return sign | format.infinity();
    case 2:
      return sign;
    case 3:
      return code_of_exponent(format, random,
                              random.between(least_exponent(format), format.min_exponent() - 1));
    case 4:
      return code_of_exponent(format, random, 0, Fraction::zero);
    default:
      return sign | format.max_finite();
  }
}

using Source = Code (*)(const Format&, Random&);

BITMMA_HD inline void fill_all(const DotInputs& inputs, Random& random, Source a, Source b,
                               Source c) {
  for (Code& code : inputs.a) code = a(inputs.a_format, random);
  for (Code& code : inputs.b) code = b(inputs.b_format, random);
  inputs.c = c(inputs.c_format, random);
}

BITMMA_HD inline void fill_all(const DotInputs& inputs, Random& random, Source source) {
  fill_all(inputs, random, source, source, source);
}

/// A from the source; B and C each in half of the rows, else normal.
BITMMA_HD inline void fill_extreme(const DotInputs& inputs, Random& random, Source source) {
  const Source b = random.once_in(2) ? source : normal_code;
  const Source c = random.once_in(2) ? source : normal_code;
  fill_all(inputs, random, source, b, c);
}

/// Special codes at one of three densities a row, so that some rows hold a single one.
BITMMA_HD inline void fill_special_mix(const DotInputs& inputs, Random& random) {
  fill_all(inputs, random, normal_code);
  const int spacing = 1 << (2 * random.between(0, 2) + 1);
  for (Code& code : inputs.a)
    if (random.once_in(spacing)) code = special_code(inputs.a_format, random);
  for (Code& code : inputs.b)
    if (random.once_in(spacing)) code = special_code(inputs.b_format, random);
  if (random.once_in(spacing)) inputs.c = special_code(inputs.c_format, random);
}

BITMMA_HD inline Code log_uniform_code(const Format& format, Random& random) {
  return code_of_exponent(format, random, random.between(-16, 16));
}

/// One of each pair repeats the other with the sign of A changed and, now and then, the last bit of
/// B: neighbours in k, or a half of k apart.
BITMMA_HD inline void fill_cancellation(const DotInputs& inputs, Random& random) {
  fill_all(inputs, random, log_uniform_code);
  const std::size_t k = inputs.a.size();
  const bool neighbours = random.once_in(2);
  for (std::size_t i = 0; i < k / 2; ++i) {
    const std::size_t kept = neighbours ? 2 * i : i;
    const std::size_t other = neighbours ? 2 * i + 1 : i + k / 2;
    inputs.a[other] = inputs.a[kept] ^ inputs.a_format.sign_mask();
    inputs.b[other] = inputs.b[kept];
    const Code neighbour = inputs.b[kept] ^ (Code{1} << inputs.b_format.ignored_bits());
    if (random.once_in(3) && is_finite(inputs.b_format, neighbour)) inputs.b[other] = neighbour;
  }
  if (random.once_in(3)) inputs.c = zero_code(inputs.c_format, random);
}

BITMMA_HD inline Code mostly_zero_code(const Format& format, Random& random) {
  return random.once_in(12) ? finite_code(format, random) : zero_code(format, random);
}

/// A product of that exponent, split at random between A and B: two normal numbers if their
/// product can be so small. One that the formats cannot reach becomes the nearest that they can.
BITMMA_HD inline void set_product(const DotInputs& inputs, Random& random, std::size_t i,
                                  int exponent, Fraction fraction) {
  const bool normal = exponent >= inputs.a_format.min_exponent() + inputs.b_format.min_exponent();
  const auto least_of = [normal](const Format& format) {
    return normal ? format.min_exponent() : least_exponent(format);
  };
  const int least =
      std::max(least_of(inputs.a_format), exponent - greatest_exponent(inputs.b_format));
  const int greatest =
      std::min(greatest_exponent(inputs.a_format), exponent - least_of(inputs.b_format));
  const int a_exponent = random.between(least, greatest);
  inputs.a[i] = code_of_exponent(inputs.a_format, random, a_exponent, fraction);
  inputs.b[i] = code_of_exponent(inputs.b_format, random, exponent - a_exponent, fraction);
}

BITMMA_HD inline Fraction any_fraction(Random& random) {
  return random.once_in(2) ? Fraction::zero : Fraction::random;
}

BITMMA_HD inline void fill_zeros(const DotInputs& inputs, Random& random) {
  for (Code& code : inputs.a) code = zero_code(inputs.a_format, random);
  for (Code& code : inputs.b) code = zero_code(inputs.b_format, random);
}

/// C subnormal, a product of half the least result, and two products whose sum is some 20 bits
/// smaller: (1 + u)² and −(1 + 2u), u being the last fraction bit. Where the sum is kept depends on
/// the exponent that the datapath gives a subnormal C. A and B are normal where the formats allow.
BITMMA_HD inline void fill_subnormal_c(const DotInputs& inputs, Random& random) {
  fill_zeros(inputs, random);
  const Format& accumulator = inputs.c_format;
  const std::size_t k = inputs.a.size();
  const std::size_t first = random.bits() % k;
  const int least_result = least_exponent(accumulator);
  const Code a_last = Code{1} << inputs.a_format.ignored_bits();
  const Code b_last = Code{1} << inputs.b_format.ignored_bits();
  set_product(inputs, random, first, least_result + random.between(-6, 4), Fraction::zero);
  const std::size_t second = first ^ 1;
  inputs.a[second] = (inputs.a[first] ^ inputs.a_format.sign_mask()) | 2 * a_last;
  inputs.b[second] = inputs.b[first];
  inputs.a[first] |= a_last;
  inputs.b[first] |= b_last;
  set_product(inputs, random, k > 4 ? (first + 4) % k : first ^ 2, least_result - 1,
              Fraction::zero);
  inputs.c = code_of_exponent(accumulator, random,
                              random.between(least_result, accumulator.min_exponent() - 1));
}

/// Floors lie 5 to 7 below the accumulator's least normal exponent, and keep 23 to 25 bits: so
/// terms 28 to 32 below that exponent are kept or dropped, which decides where one product is the
/// least result or half of it.
BITMMA_HD inline void fill_near_floor(const DotInputs& inputs, Random& random) {
  if (random.once_in(3)) return fill_subnormal_c(inputs, random);
  const Format& accumulator = inputs.c_format;
  const int least_result = least_exponent(accumulator);
  const int small = accumulator.min_exponent() - random.between(27, 33);
  for (std::size_t i = 0; i < inputs.a.size(); ++i) {
    const int exponent = small + random.between(-1, 1);
    set_product(inputs, random, i, exponent, any_fraction(random));
    if (random.once_in(2)) inputs.a[i] = zero_code(inputs.a_format, random);
  }
  const auto decided =
      static_cast<std::size_t>(random.between(0, static_cast<int>(inputs.a.size()) - 1));
  set_product(inputs, random, decided, least_result + random.between(-1, 1), Fraction::zero);
  inputs.c = random.once_in(4)
                 ? code_of_exponent(accumulator, random, least_result + random.between(0, 2))
                 : zero_code(accumulator, random);
}

/// C at the largest numbers or near the half ulp above them, products in reach of it; or large ones
/// in neighbouring pairs whose sum is zero.
BITMMA_HD inline void fill_near_overflow(const DotInputs& inputs, Random& random) {
  const Format& accumulator = inputs.c_format;
  const int top = greatest_exponent(accumulator);
  const int half_ulp = top - accumulator.fraction_bits - 1;
  for (std::size_t i = 0; i < inputs.a.size(); ++i) {
    if (i % 2 == 1 && random.once_in(2)) {
      inputs.a[i] = inputs.a[i - 1] ^ inputs.a_format.sign_mask();
      inputs.b[i] = inputs.b[i - 1];
      continue;
    }
    const int exponent =
        random.once_in(4) ? top - random.between(-1, 4) : half_ulp - random.between(-2, 8);
    set_product(inputs, random, i, exponent, any_fraction(random));
    if (random.once_in(2)) inputs.a[i] = zero_code(inputs.a_format, random);
  }
  const Code below_largest = random.bits() % 4 << accumulator.ignored_bits();
  inputs.c = random.once_in(4)
                 ? code_of_exponent(accumulator, random, top - random.between(0, 2))
                 : zero_code(accumulator, random) | (accumulator.max_finite() - below_largest);
}

BITMMA_HD inline Code extreme_integer(const Format& format, Random& random) {
  const bool is_signed = format.encoding == Encoding::signed_integer;
  const Code least = is_signed ? format.code_mask() ^ (format.code_mask() >> 1) : 0;
  const Code most = is_signed ? format.code_mask() >> 1 : format.code_mask();
  return random.once_in(2) ? least : most;
}

/// C within 2^22 of its limits, at all distances alike, the products any or the largest.
BITMMA_HD inline void fill_near_limits(const DotInputs& inputs, Random& random) {
  fill_all(inputs, random, random.once_in(2) ? extreme_integer : any_code, any_code,
           extreme_integer);
  const Code drawn = random.bits();
  const Code distance = drawn % (Code{1} << random.between(0, 22));
  const bool is_most = inputs.c == inputs.c_format.code_mask() >> 1;
  inputs.c = is_most ? inputs.c - distance : inputs.c + distance;
}

/// The multiplier is odd, so that every code has one number; it scatters neighbouring numbers.
BITMMA_HD inline Code numbered_code(const Format& format, std::uint64_t number) {
  const std::uint64_t scattered = number * 0x9E3779B97F4A7C15 % code_count(format);
  return scattered << format.ignored_bits();
}

BITMMA_HD inline void fill_exhaustive(const DotInputs& inputs, Random& random, Place place) {
  const Source c = place.round == 0 ? zero_code : finite_code;
  fill_zeros(inputs, random);
  inputs.c = c(inputs.c_format, random);
  const std::size_t k = place.k % inputs.a.size();
  inputs.a[k] = numbered_code(inputs.a_format, place.a);
  inputs.b[k] = numbered_code(inputs.b_format, place.b);
}

/// A leading term, C or else a product, half an ulp of it, and one product at the last bit that
/// some datapath keeps or the first that it loses: 13 or 23 to 25 places below. The products share
/// a step where FP8 is lowered, too (k mod 4 in {0, 1}, and in {2, 3}).
BITMMA_HD inline void fill_last_kept_bit(const DotInputs& inputs, Random& random, int exponent) {
  fill_zeros(inputs, random);
  const std::size_t k = inputs.a.size();
  const std::size_t first = random.bits() % k;
  if (random.once_in(2)) {
    exponent = greatest_exponent(inputs.a_format) + greatest_exponent(inputs.b_format);
    exponent = std::min(exponent - 1, 14) - random.between(0, 6);
    set_product(inputs, random, first, exponent, any_fraction(random));
    inputs.c = zero_code(inputs.c_format, random);
  }
  const int half_ulp = exponent - inputs.c_format.fraction_bits - 1;
  const int kept = random.once_in(4) ? 13 : random.between(23, 25);
  set_product(inputs, random, first ^ 1, half_ulp, Fraction::zero);
  set_product(inputs, random, k > 4 ? (first + 4) % k : first ^ 2,
              exponent - kept - random.between(0, 1), Fraction::zero);
}

BITMMA_HD inline void fill_ties(const DotInputs& inputs, Random& random) {
  const int half_ulp = random.between(-16, 2);
  const int exponent = half_ulp + 1 + inputs.c_format.fraction_bits;
  inputs.c = code_of_exponent(inputs.c_format, random, exponent);
  if (random.once_in(2)) return fill_last_kept_bit(inputs, random, exponent);
  for (std::size_t i = 0; i < inputs.a.size(); ++i) {
    const int choice = random.between(0, 7);
    const int product = choice == 0   ? half_ulp
                        : choice == 1 ? half_ulp + random.between(-2, 3)
                                      : half_ulp - random.between(3, 20);
    set_product(inputs, random, i, product, Fraction::zero);
    if (choice > 3) inputs.a[i] = zero_code(inputs.a_format, random);
  }
}

BITMMA_HD inline void fill(InputFamily family, const DotInputs& inputs, Random& random,
                           Place place) {
  switch (family) {
    case InputFamily::normal:
      return fill_all(inputs, random, normal_code);
    case InputFamily::uniform:
      return fill_all(inputs, random, uniform_code);
    case InputFamily::any_bits:
      return fill_all(inputs, random, any_code);
    case InputFamily::any_finite_bits:
      return fill_all(inputs, random, finite_code);
    case InputFamily::special_mix:
      return fill_special_mix(inputs, random);
    case InputFamily::tiny:
      return fill_extreme(inputs, random, tiny_code);
    case InputFamily::huge:
      return fill_extreme(inputs, random, huge_code);
    case InputFamily::wide_log_uniform:
      return fill_all(inputs, random, log_uniform_code);
    case InputFamily::cancellation:
      return fill_cancellation(inputs, random);
    case InputFamily::signed_zeros:
      return fill_all(inputs, random, mostly_zero_code);
    case InputFamily::exhaustive:
      return fill_exhaustive(inputs, random, place);
    case InputFamily::near_overflow:
      return inputs.a_format.is_integer() ? fill_near_limits(inputs, random)
                                          : fill_near_overflow(inputs, random);
    case InputFamily::near_floor:
      return fill_near_floor(inputs, random);
    case InputFamily::ties:
      return fill_ties(inputs, random);
  }
}

BITMMA_HD inline void fill_ignored_bits(const Format& format, std::span<Code> codes,
                                        Random& random) {
  for (Code& code : codes) code |= random.bits() & ((Code{1} << format.ignored_bits()) - 1);
}

}  // namespace detail

/// Fills one row of inputs of the family; only the exhaustive one reads the place. Bits that a
/// format ignores (tf32) are random.
BITMMA_HD inline void fill_inputs(InputFamily family, const DotInputs& inputs, Random& random,
                                  Place place) {
  detail::fill(family, inputs, random, place);
  detail::fill_ignored_bits(inputs.a_format, inputs.a, random);
  detail::fill_ignored_bits(inputs.b_format, inputs.b, random);
}

}  // namespace bitmma
