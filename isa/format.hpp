/// Number formats as constant rows; decode, round and convert derive from a row.
///
/// A *code* is the bit pattern of one element, right-aligned in 64 bits.
/// Integers are two's complement, of as many bits as their storage.
/// Sources: IEEE 754-2019 (f16, f32, f64); PTX ISA, "Alternate Floating-Point Data Formats"
/// (bf16, tf32, e4m3, e5m2); OCP OFP8 revision 1.0 (special codes of e4m3 and e5m2).
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

#include "bitmma/isa/host_device.hpp"

namespace bitmma {

using Code = std::uint64_t;

/// 1 + ⌊log2 value⌋, and 0 for 0. On a GPU not std::bit_width(), which nvcc 13.0 compiles to the
/// constant 0 there.
BITMMA_HD constexpr int bit_width(std::uint64_t value) {
#ifdef __CUDA_ARCH__
  return 64 - __clzll(static_cast<long long>(value));
#else
  return static_cast<int>(std::bit_width(value));
#endif
}

/// Which codes are not finite numbers.
enum class Specials : std::uint8_t {
  ieee,      ///< exponent all ones: fraction zero is Inf, any other is NaN
  nan_only,  ///< exponent and fraction all ones is NaN; there is no Inf (e4m3)
};

enum class Encoding : std::uint8_t { floating_point, signed_integer, unsigned_integer };

struct Format {
  std::string_view name;  ///< PTX's type name, without the dot
  int storage_bits;       ///< width in a register
  int exponent_bits;
  int fraction_bits;  ///< without the hidden bit
  Specials specials;
  Encoding encoding = Encoding::floating_point;

  BITMMA_HD constexpr bool is_integer() const { return encoding != Encoding::floating_point; }
  /// Every bit of a code.
  BITMMA_HD constexpr Code code_mask() const { return ~Code{0} >> (64 - storage_bits); }

  /// Low bits of the storage that the format ignores: 13 for tf32, 0 for all others.
  BITMMA_HD constexpr int ignored_bits() const {
    return is_integer() ? 0 : storage_bits - 1 - exponent_bits - fraction_bits;
  }

  // Of floating-point formats alone:

  BITMMA_HD constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  /// Exponent of the smallest normal number, and of every subnormal one.
  BITMMA_HD constexpr int min_exponent() const { return 1 - bias(); }
  BITMMA_HD constexpr Code sign_mask() const { return Code{1} << (storage_bits - 1); }
  /// Every magnitude bit that is not ignored. Also the NaN that tensor cores return
  /// (0x7FFF for f16, 0x7FFFFFFF for f32; H200, no payload or sign was ever carried).
  BITMMA_HD constexpr Code nan() const {
    return (sign_mask() - 1) >> ignored_bits() << ignored_bits();
  }
  /// Positive infinity; a format without one answers with its NaN.
  BITMMA_HD constexpr Code infinity() const {
    return specials == Specials::ieee
               ? ((Code{1} << exponent_bits) - 1) << (fraction_bits + ignored_bits())
               : nan();
  }
  BITMMA_HD constexpr Code max_finite() const { return infinity() - (Code{1} << ignored_bits()); }

  friend constexpr bool operator==(const Format&, const Format&) = default;
};

inline constexpr Format f16{"f16", 16, 5, 10, Specials::ieee};
inline constexpr Format bf16{"bf16", 16, 8, 7, Specials::ieee};
inline constexpr Format tf32{"tf32", 32, 8, 10, Specials::ieee};
inline constexpr Format e4m3{"e4m3", 8, 4, 3, Specials::nan_only};
inline constexpr Format e5m2{"e5m2", 8, 5, 2, Specials::ieee};
inline constexpr Format f32{"f32", 32, 8, 23, Specials::ieee};
inline constexpr Format f64{"f64", 64, 11, 52, Specials::ieee};

/// The floating-point formats.
inline constexpr const Format* format_table[] = {&f16, &bf16, &tf32, &e4m3, &e5m2, &f32, &f64};

inline constexpr Format s8{"s8", 8, 0, 0, Specials::ieee, Encoding::signed_integer};
inline constexpr Format u8{"u8", 8, 0, 0, Specials::ieee, Encoding::unsigned_integer};
inline constexpr Format s4{"s4", 4, 0, 0, Specials::ieee, Encoding::signed_integer};
inline constexpr Format u4{"u4", 4, 0, 0, Specials::ieee, Encoding::unsigned_integer};
inline constexpr Format b1{"b1", 1, 0, 0, Specials::ieee, Encoding::unsigned_integer};
inline constexpr Format s32{"s32", 32, 0, 0, Specials::ieee, Encoding::signed_integer};

inline constexpr const Format* integer_format_table[] = {&s8, &u8, &s4, &u4, &b1, &s32};

/// The row of that name, or nullptr.
constexpr const Format* find_format(std::string_view name) {
  for (const Format* format : format_table)
    if (format->name == name) return format;
  for (const Format* format : integer_format_table)
    if (format->name == name) return format;
  return nullptr;
}

enum class Kind : std::uint8_t { finite, infinite, nan };

/// A decoded code: ±significand · 2^(exponent − fraction_bits of its format), for an integer
/// ±significand. Subnormals keep the format's smallest exponent and have no hidden bit; zero has
/// significand 0.
struct Number {
  Kind kind;
  bool negative;
  int exponent;
  std::uint64_t significand;
};

BITMMA_HD constexpr Number decode_integer(const Format& format, Code code) {
  const Code field = code & format.code_mask();
  const bool negative =
      format.encoding == Encoding::signed_integer && (field >> (format.storage_bits - 1)) != 0;
  return {Kind::finite, negative, 0, negative ? -field & format.code_mask() : field};
}

BITMMA_HD constexpr Number decode(const Format& format, Code code) {
  if (format.is_integer()) return decode_integer(format, code);
  const bool negative = (code & format.sign_mask()) != 0;
  const Code magnitude = (code & format.nan()) >> format.ignored_bits();
  const Code hidden = Code{1} << format.fraction_bits;
  const Code fraction = magnitude & (hidden - 1);
  const int biased = static_cast<int>(magnitude >> format.fraction_bits);
  const Code infinity = format.infinity() >> format.ignored_bits();

  if (magnitude >= infinity) {
    const bool is_nan = format.specials == Specials::nan_only || magnitude > infinity;
    return {is_nan ? Kind::nan : Kind::infinite, negative, 0, 0};
  }
  if (biased == 0) return {Kind::finite, negative, format.min_exponent(), fraction};
  return {Kind::finite, negative, biased - format.bias(), hidden | fraction};
}

enum class Rounding : std::uint8_t {
  nearest_even,
  toward_zero,
  nearest_away,
  toward_negative,  ///< to the smaller neighbour: PTX's .rm
  toward_positive,  ///< to the larger neighbour: PTX's .rp
};

/// True if numbers of that sign take the neighbour of larger magnitude.
BITMMA_HD constexpr bool rounds_magnitude_up(Rounding rounding, bool negative) {
  return rounding == (negative ? Rounding::toward_negative : Rounding::toward_positive);
}

/// True if numbers of that sign take the neighbour of smaller magnitude.
BITMMA_HD constexpr bool rounds_magnitude_down(Rounding rounding, bool negative) {
  return rounding == Rounding::toward_zero || rounds_magnitude_up(rounding, !negative);
}

/// What a finite value beyond the largest finite number becomes.
enum class Overflow : std::uint8_t {
  ieee,  ///< the largest number where magnitudes are rounded down, else Inf (NaN without an Inf)
  infinity,  ///< Inf (or NaN) under every rounding: what tensor cores do when they truncate (H200)
  saturate,  ///< the largest finite number, for Inf too: PTX's .satfinite
};

/// Its magnitude: the sign is that of the value.
BITMMA_HD constexpr Code overflow_code(const Format& format, bool negative, Rounding rounding,
                                       Overflow overflow) {
  const bool to_largest = overflow == Overflow::saturate ||
                          (overflow == Overflow::ieee && rounds_magnitude_down(rounding, negative));
  return to_largest ? format.max_finite() : format.infinity();
}

/// The magnitude significand / 2^shift of a number of that sign, rounded to an integer. `sticky`
/// says that the exact magnitude is larger than the significand by less than one of its last
/// places.
BITMMA_HD constexpr std::uint64_t shift_right_rounded(bool negative, std::uint64_t significand,
                                                      int shift, bool sticky, Rounding rounding) {
  if (shift <= 0) return significand << -shift;
  const std::uint64_t kept = shift < 64 ? significand >> shift : 0;
  if (rounds_magnitude_down(rounding, negative)) return kept;
  if (rounds_magnitude_up(rounding, negative)) {
    const bool exact = !sticky && shift < 64 && kept << shift == significand;
    return kept + (exact ? 0 : 1);
  }
  if (shift > 64) return kept;
  const std::uint64_t half = std::uint64_t{1} << (shift - 1);
  const std::uint64_t rest = significand & (half | (half - 1));
  const bool above = rest > half || (rest == half && sticky);
  const bool tie = rest == half && !sticky;
  const bool up = above || (tie && (rounding == Rounding::nearest_away || (kept & 1) != 0));
  return kept + (up ? 1 : 0);
}

/// The integer nearest to ±(significand + s) · 2^lsb_exponent, or the nearest that the format has.
BITMMA_HD constexpr Code encode_integer(const Format& format, bool negative,
                                        std::uint64_t significand, int lsb_exponent,
                                        Rounding rounding, bool sticky) {
  const bool is_signed = format.encoding == Encoding::signed_integer;
  const Code largest = is_signed ? format.code_mask() >> 1 : format.code_mask();
  const Code limit = !negative ? largest : is_signed ? largest + 1 : 0;
  const bool beyond = bit_width(significand) + lsb_exponent > format.storage_bits;
  const Code magnitude =
      beyond ? limit : shift_right_rounded(negative, significand, -lsb_exponent, sticky, rounding);
  const Code kept = magnitude < limit ? magnitude : limit;
  return (negative ? -kept : kept) & format.code_mask();
}

/// The code nearest to ±(significand + s) · 2^lsb_exponent under the rounding, where 0 < s < 1 if
/// `sticky`, else s = 0. A sticky significand must be wider than format.fraction_bits + 2 bits.
BITMMA_HD constexpr Code encode(const Format& format, bool negative, std::uint64_t significand,
                                int lsb_exponent, Rounding rounding,
                                Overflow overflow = Overflow::ieee, bool sticky = false) {
  if (format.is_integer())
    return encode_integer(format, negative, significand, lsb_exponent, rounding, sticky);
  const Code sign = negative ? format.sign_mask() : 0;
  if (significand == 0) return sign;
  const int leading = lsb_exponent + bit_width(significand) - 1;
  const int exponent = leading > format.min_exponent() ? leading : format.min_exponent();
  if (exponent > format.bias() + 1)
    return sign | overflow_code(format, negative, rounding, overflow);

  const int shift = exponent - format.fraction_bits - lsb_exponent;
  const std::uint64_t kept = shift_right_rounded(negative, significand, shift, sticky, rounding);
  // A hidden bit in `kept` carries into the exponent field, as does a round-up to the next binade.
  const Code field = static_cast<Code>(exponent - format.min_exponent()) << format.fraction_bits;
  const Code magnitude = (field + kept) << format.ignored_bits();
  return sign |
         (magnitude > format.max_finite() ? overflow_code(format, negative, rounding, overflow)
                                          : magnitude);
}

/// A code of one format as a code of another. NaN becomes the destination's canonical NaN, for an
/// integer 0, and Inf the nearest integer.
BITMMA_HD constexpr Code convert(const Format& from, Code code, const Format& to, Rounding rounding,
                                 Overflow overflow = Overflow::ieee) {
  const Number number = decode(from, code);
  if (to.is_integer() && number.kind != Kind::finite)
    return number.kind == Kind::nan
               ? 0
               : encode_integer(to, number.negative, 1, to.storage_bits, rounding, false);
  const Code sign = number.negative ? to.sign_mask() : 0;
  switch (number.kind) {
    case Kind::nan:
      return to.nan();
    case Kind::infinite:
      return sign | (overflow == Overflow::saturate ? to.max_finite() : to.infinity());
    case Kind::finite:
      break;
  }
  return encode(to, number.negative, number.significand, number.exponent - from.fraction_bits,
                rounding, overflow);
}

/// The value as a double: exact for every format here.
constexpr double to_double(const Format& format, Code code) {
  return std::bit_cast<double>(convert(format, code, f64, Rounding::nearest_even));
}

/// The code nearest to a double.
constexpr Code from_double(const Format& format, double value,
                           Rounding rounding = Rounding::nearest_even,
                           Overflow overflow = Overflow::ieee) {
  return convert(f64, std::bit_cast<Code>(value), format, rounding, overflow);
}

}  // namespace bitmma
