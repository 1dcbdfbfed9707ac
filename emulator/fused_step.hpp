/// One fused step of a tensor core: d = round(Σ aᵢ·bᵢ + c), over integers.
///
/// Five parts: special values, multiply, align, sum, round and pack. The numbers that differ from
/// one architecture to the next stand in isa/target.hpp. Source of the steps: Fasi et al. 2021,
/// Khattak and Mikaitis 2025, Xie et al. 2025; measured on an H200.
#pragma once

#include <cstdint>
#include <optional>

#include "bitmma/isa/format.hpp"
#include "bitmma/isa/host_device.hpp"
#include "bitmma/isa/target.hpp"

namespace bitmma {

/// The formats that one step reads and writes.
struct StepFormats {
  Format a;
  Format b;
  Format c;
  Format d;
};

/// ±significand · 2^(exponent − fraction_bits). A product is exact and not normalised: its
/// significand is in [0, 4), its exponent the sum of the operands' exponents.
struct Term {
  std::uint64_t significand;
  int exponent;
  int fraction_bits;
  bool negative;
};

/// 256 step bits over 8 element bits.
inline constexpr int max_step_products = 32;

/// A step with all that it went through, for those who want to look.
struct FusedStep {
  Term terms[max_step_products + 1];  ///< the products in order, then c
  int products;
  int exponent;      ///< that the terms were aligned to; meaningless if `special`
  std::int64_t sum;  ///< of the aligned terms, in units of 2^(exponent − fraction_bits)
  bool special;      ///< NaN or Inf among the operands decided the result
  Code result;
};

/// Multiplies significands. Finite operands only.
BITMMA_HD constexpr Term multiply(const Number& x, int x_fraction_bits, const Number& y,
                                  int y_fraction_bits) {
  return {x.significand * y.significand, x.exponent + y.exponent, x_fraction_bits + y_fraction_bits,
          x.negative != y.negative};
}

/// The result where a NaN, an Inf · 0, or an Inf is among the terms; empty if all are finite.
/// H200: the NaN is always the same, an Inf keeps its sign, opposite Infs are NaN.
class SpecialValues {
 public:
  BITMMA_HD constexpr void add_product(const Number& x, const Number& y) {
    if (x.kind == Kind::finite && y.kind == Kind::finite) return;
    const bool x_zero = x.kind == Kind::finite && x.significand == 0;
    const bool y_zero = y.kind == Kind::finite && y.significand == 0;
    const bool nan = x.kind == Kind::nan || y.kind == Kind::nan || x_zero || y_zero;
    add(nan ? Kind::nan : Kind::infinite, x.negative != y.negative);
  }
  BITMMA_HD constexpr void add(Kind kind, bool negative) {
    nan_ |= kind == Kind::nan;
    if (kind == Kind::infinite) (negative ? minus_infinity_ : plus_infinity_) = true;
  }
  BITMMA_HD constexpr bool any() const { return nan_ || plus_infinity_ || minus_infinity_; }
  BITMMA_HD constexpr Code result(const Format& d) const {
    if (nan_ || (plus_infinity_ && minus_infinity_)) return d.nan();
    return minus_infinity_ ? d.sign_mask() | d.infinity() : d.infinity();
  }

 private:
  bool nan_ = false;
  bool plus_infinity_ = false;
  bool minus_infinity_ = false;
};

/// The largest exponent of a nonzero term, and never below the floor.
BITMMA_HD constexpr int alignment_exponent(const FusedStep& step, int floor) {
  int largest = floor;
  for (int i = 0; i <= step.products; ++i) {
    const Term& term = step.terms[i];
    if (term.significand != 0 && term.exponent > largest) largest = term.exponent;
  }
  return largest;
}

/// The term in units of 2^(exponent − fraction_bits), truncated toward zero in magnitude.
///
/// A product is below 4, c below 2, so that an aligned term is below 2^(fraction_bits + 2) and 33
/// of them below 2^(fraction_bits + 8): 33 bits and a sign at fraction_bits = 25.
BITMMA_HD constexpr std::int64_t align(const Term& term, int exponent, int fraction_bits) {
  if (term.significand == 0) return 0;  // its exponent may be above the one aligned to
  const int shift = (exponent - term.exponent) + term.fraction_bits - fraction_bits;
  const std::uint64_t magnitude = shift <= 0   ? term.significand << -shift
                                  : shift < 64 ? term.significand >> shift
                                               : 0;
  return term.negative ? -static_cast<std::int64_t>(magnitude)
                       : static_cast<std::int64_t>(magnitude);
}

/// f32: truncation to min(23, fraction_bits) bits, Inf from 2^128 on. f16: nearest even. A zero is
/// always +0.
BITMMA_HD constexpr Code round_and_pack(const Format& d, std::int64_t sum, int lsb_exponent,
                                        int fraction_bits) {
  const bool negative = sum < 0;
  const auto magnitude = static_cast<std::uint64_t>(negative ? -sum : sum);
  if (d != f32) {
    const Code code =
        encode(d, negative, magnitude, lsb_exponent, Rounding::nearest_even, Overflow::infinity);
    return code == d.sign_mask() ? 0 : code;
  }
  const Code code =
      encode(d, negative, magnitude, lsb_exponent, Rounding::toward_zero, Overflow::infinity);
  const int dropped = fraction_bits < d.fraction_bits ? d.fraction_bits - fraction_bits : 0;
  const Code kept = code >> dropped << dropped;
  return kept == d.sign_mask() ? 0 : kept;
}

/// `products` pairs a[i], b[i] and c through one step. products ≤ max_step_products.
BITMMA_HD constexpr FusedStep fused_step(const Datapath& datapath, const StepFormats& formats,
                                         const Code* a, const Code* b, int products, Code c) {
  FusedStep step{};
  step.products = products;
  SpecialValues specials;
  for (int i = 0; i < products; ++i) {
    const Number x = decode(formats.a, a[i]);
    const Number y = decode(formats.b, b[i]);
    specials.add_product(x, y);
    step.terms[i] = multiply(x, formats.a.fraction_bits, y, formats.b.fraction_bits);
  }
  const Number addend = decode(formats.c, c);
  specials.add(addend.kind, addend.negative);
  step.terms[products] = {addend.significand, addend.exponent, formats.c.fraction_bits,
                          addend.negative};
  step.special = specials.any();
  if (step.special) {
    step.result = specials.result(formats.d);
    return step;
  }

  step.exponent =
      alignment_exponent(step, formats.d == f16 ? datapath.floor_f16 : datapath.floor_f32);
  for (int i = 0; i <= products; ++i)
    step.sum += align(step.terms[i], step.exponent, datapath.fraction_bits);
  step.result = round_and_pack(formats.d, step.sum, step.exponent - datapath.fraction_bits,
                               datapath.fraction_bits);
  return step;
}

}  // namespace bitmma
