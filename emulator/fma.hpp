/// The IEEE 754 fused multiply-add of any format with at most 53 significant bits, over integers
/// alone: no flag of a compiler and no mode of a processor changes it, and a GPU runs the same
/// code.
#pragma once

#include <cstdint>

#include "bitmma/emulator/fused_step.hpp"
#include "bitmma/isa/format.hpp"
#include "bitmma/isa/host_device.hpp"

namespace bitmma {

namespace detail {

__extension__ typedef unsigned __int128 WideInteger;

/// (significand + s) · 2^lsb_exponent, where 0 < s < 1 if `sticky`, else s = 0.
struct WideMagnitude {
  WideInteger significand;
  int lsb_exponent;
  bool sticky = false;
};

BITMMA_HD constexpr int wide_bit_width(WideInteger value) {
  const auto high = static_cast<std::uint64_t>(value >> 64);
  return high != 0 ? 64 + bit_width(high) : bit_width(static_cast<std::uint64_t>(value));
}

/// The same value with its leading bit at 2^125 of the significand, which is not 0: a product of
/// two 53-bit significands has 106 bits, and a sum of two such magnitudes fits in 127.
BITMMA_HD constexpr WideMagnitude normalized(const WideMagnitude& x) {
  const int shift = 126 - wide_bit_width(x.significand);
  return {x.significand << shift, x.lsb_exponent - shift};
}

/// The same value in units that are 2^shift as large, shift ≥ 0; what is cut off makes it sticky.
BITMMA_HD constexpr WideMagnitude shifted_right(const WideMagnitude& x, int shift) {
  if (shift >= 128) return {0, x.lsb_exponent + shift, true};
  const WideInteger kept = x.significand >> shift;
  return {kept, x.lsb_exponent + shift, x.sticky || kept << shift != x.significand};
}

/// |large − small| or large + small of normalized magnitudes. A difference loses no bit that
/// counts: bits are cut off small only where it is more than 2^20 times smaller.
BITMMA_HD constexpr WideMagnitude combined(const WideMagnitude& large, const WideMagnitude& small,
                                           bool subtract) {
  const WideMagnitude aligned = shifted_right(small, large.lsb_exponent - small.lsb_exponent);
  const WideInteger significand =
      subtract ? large.significand - aligned.significand - (aligned.sticky ? 1 : 0)
               : large.significand + aligned.significand;
  return {significand, large.lsb_exponent, aligned.sticky};
}

BITMMA_HD constexpr Code encode_wide(const Format& format, bool negative, const WideMagnitude& x,
                                     Rounding rounding) {
  const int excess = wide_bit_width(x.significand) - 64;
  const WideMagnitude narrow = shifted_right(x, excess > 0 ? excess : 0);
  return encode(format, negative, static_cast<std::uint64_t>(narrow.significand),
                narrow.lsb_exponent, rounding, Overflow::ieee, narrow.sticky);
}

/// A sum of two numbers, x and y, that is exactly zero: −0 if both are negative, and of opposite
/// signs where magnitudes cancel, the rounding decides.
BITMMA_HD constexpr Code zero_sum(const Format& format, bool x_negative, bool y_negative,
                                  Rounding rounding) {
  const bool negative =
      x_negative == y_negative ? x_negative : rounding == Rounding::toward_negative;
  return negative ? format.sign_mask() : 0;
}

/// x · y + z of finite numbers.
BITMMA_HD constexpr Code fma_finite(const Format& format, const Number& x, const Number& y,
                                    const Number& z, Rounding rounding) {
  const bool negative = x.negative != y.negative;
  const WideMagnitude product{static_cast<WideInteger>(x.significand) * y.significand,
                              x.exponent + y.exponent - 2 * format.fraction_bits};
  const WideMagnitude addend{z.significand, z.exponent - format.fraction_bits};
  if (product.significand == 0 && addend.significand == 0)
    return zero_sum(format, negative, z.negative, rounding);
  if (product.significand == 0) return encode_wide(format, z.negative, addend, rounding);
  if (addend.significand == 0) return encode_wide(format, negative, product, rounding);

  const WideMagnitude p = normalized(product);
  const WideMagnitude s = normalized(addend);
  const bool product_larger = p.lsb_exponent != s.lsb_exponent ? p.lsb_exponent > s.lsb_exponent
                                                               : p.significand > s.significand;
  const WideMagnitude sum = product_larger ? combined(p, s, negative != z.negative)
                                           : combined(s, p, negative != z.negative);
  if (sum.significand == 0) return zero_sum(format, negative, z.negative, rounding);
  return encode_wide(format, product_larger ? negative : z.negative, sum, rounding);
}

}  // namespace detail

/// x · y + z, rounded once, subnormals kept. Every NaN, those of the operands too, is `nan`.
BITMMA_HD constexpr Code fma(const Format& format, Code x, Code y, Code z, Rounding rounding,
                             Code nan) {
  const Number a = decode(format, x);
  const Number b = decode(format, y);
  const Number c = decode(format, z);
  SpecialValues specials;
  specials.add_product(a, b);
  specials.add(c.kind, c.negative);
  if (!specials.any()) return detail::fma_finite(format, a, b, c, rounding);
  const Code special = specials.result(format);
  return special == format.nan() ? nan : special;
}

/// a · b + sum as a tensor core computes it in f64. The first operand that is a NaN among b, the
/// sum and a gives the result its sign and payload, made quiet; a NaN that no operand brings is
/// 0xFFF8000000000000 (H200: 94,387 NaN results, all as this says).
BITMMA_HD constexpr Code fma_f64(Code a, Code b, Code sum, Rounding rounding) {
  constexpr Format format = f64;
  constexpr Code quiet = Code{1} << (format.fraction_bits - 1);
  constexpr Code invalid = format.sign_mask() | format.infinity() | quiet;
  const Code result = fma(format, a, b, sum, rounding, invalid);
  if (result != invalid) return result;  // no number has this code
  for (const Code operand : {b, sum, a})
    if (decode(format, operand).kind == Kind::nan) return operand | quiet;
  return invalid;
}

}  // namespace bitmma
