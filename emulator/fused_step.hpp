/// One fused step of a tensor core: d = round(Σ aᵢ·bᵢ + c), over integers.
///
/// Five parts: special values, multiply, align, sum, round and pack. The numbers that differ from
/// one architecture to the next stand in isa/target.hpp. Source of the steps: Fasi et al. 2021,
/// Khattak and Mikaitis 2025, Xie et al. 2025; measured on an H200.
#pragma once

#include <algorithm>
#include <cstdint>

#include "bitmma/isa/format.hpp"
#include "bitmma/isa/host_device.hpp"
#include "bitmma/isa/target.hpp"

namespace bitmma {

/// How one step computes: a datapath row for given formats. Values alone, so that it can be
/// handed to a GPU.
struct StepRule {
  Format a;
  Format b;
  Format c;
  Format d;
  int fraction_bits;  ///< that a term keeps below the exponent it is aligned to
  int floor;          ///< smallest exponent that terms are aligned to
  int dropped_bits;   ///< low bits of d that stay zero: d has at most fraction_bits
  Rounding rounding;  ///< of the sum to d
};

/// Requires find_accumulator(d).
constexpr StepRule step_rule(const Datapath& datapath, const Format& a, const Format& b,
                             const Format& c, const Format& d) {
  const Accumulator& accumulator = *find_accumulator(d);
  return {a,
          b,
          c,
          d,
          datapath.fraction_bits,
          datapath.*accumulator.floor,
          std::max(0, d.fraction_bits - datapath.fraction_bits),
          accumulator.rounding};
}

/// ±significand · 2^(exponent − fraction_bits). A product is exact and not normalised: its
/// significand is in [0, 4), its exponent the sum of the operands' exponents.
struct Term {
  std::uint32_t significand;  ///< at most 24 bits: a product of two 11-bit ones, or an f32
  std::int16_t exponent;
  std::int8_t fraction_bits;
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

BITMMA_HD constexpr Term make_term(std::uint64_t significand, int exponent, int fraction_bits,
                                   bool negative) {
  return {static_cast<std::uint32_t>(significand), static_cast<std::int16_t>(exponent),
          static_cast<std::int8_t>(fraction_bits), negative};
}

/// Finite operands only.
BITMMA_HD constexpr Term multiply(const Number& x, const Number& y, int fraction_bits) {
  return make_term(x.significand * y.significand, x.exponent + y.exponent, fraction_bits,
                   x.negative != y.negative);
}

/// The result where a NaN, an Inf · 0, or an Inf is among the terms.
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
  const std::uint64_t significand = term.significand;
  const std::uint64_t magnitude = shift <= 0   ? significand << -shift
                                  : shift < 64 ? significand >> shift
                                               : 0;
  return term.negative ? -static_cast<std::int64_t>(magnitude)
                       : static_cast<std::int64_t>(magnitude);
}

/// The sum as a code of d: rounded once, without the dropped bits, Inf beyond the largest number,
/// and a zero always +0.
BITMMA_HD constexpr Code round_and_pack(const StepRule& rule, std::int64_t sum, int lsb_exponent) {
  const bool negative = sum < 0;
  const auto magnitude = static_cast<std::uint64_t>(negative ? -sum : sum);
  const Code code =
      encode(rule.d, negative, magnitude, lsb_exponent, rule.rounding, Overflow::infinity);
  const Code kept = code >> rule.dropped_bits << rule.dropped_bits;
  return kept == rule.d.sign_mask() ? 0 : kept;
}

/// `products` pairs a[i], b[i] and c through one step. products ≤ max_step_products.
BITMMA_HD constexpr FusedStep fused_step(const StepRule& rule, const Code* a, const Code* b,
                                         int products, Code c) {
  FusedStep step{};
  step.products = products;
  SpecialValues specials;
  for (int i = 0; i < products; ++i) {
    const Number x = decode(rule.a, a[i]);
    const Number y = decode(rule.b, b[i]);
    specials.add_product(x, y);
    step.terms[i] = multiply(x, y, rule.a.fraction_bits + rule.b.fraction_bits);
  }
  const Number addend = decode(rule.c, c);
  specials.add(addend.kind, addend.negative);
  step.terms[products] =
      make_term(addend.significand, addend.exponent, rule.c.fraction_bits, addend.negative);
  step.special = specials.any();
  if (step.special) {
    step.result = specials.result(rule.d);
    return step;
  }

  step.exponent = alignment_exponent(step, rule.floor);
  for (int i = 0; i <= products; ++i)
    step.sum += align(step.terms[i], step.exponent, rule.fraction_bits);
  step.result = round_and_pack(rule, step.sum, step.exponent - rule.fraction_bits);
  return step;
}

}  // namespace bitmma
