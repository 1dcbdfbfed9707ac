/// Features of a datapath measured from outside, as the literature does on hardware (Fasi et al.
/// 2021): only the results of steps are looked at.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "bitmma/emulator/fused_step.hpp"

namespace bitmma::features {

inline constexpr int give_up = 400;

struct Features {
  int products;  ///< in one step
  int fraction_bits;
  int floor_f32;  ///< smallest exponent that terms are aligned to
  int floor_f16;
  friend bool operator==(const Features&, const Features&) = default;
};

/// A product of two powers of two: 2^exponent.
struct Product {
  int exponent;
  bool negative = false;
  bool zero = false;
};

/// d of a chain of steps over any number of products, from c = 0.
inline double chain(const Datapath& datapath, const Format& operand, const Format& accumulator,
                    const std::vector<Product>& products) {
  std::vector<Code> a, b;
  for (const Product& product : products) {
    const int half = product.exponent / 2;
    const double magnitude = product.zero ? 0 : std::ldexp(1, half);
    a.push_back(from_double(operand, product.negative ? -magnitude : magnitude));
    b.push_back(from_double(operand, std::ldexp(1, product.exponent - half)));
  }
  const StepRule rule = step_rule(datapath, operand, operand, accumulator, accumulator);
  const auto step = static_cast<std::size_t>(datapath.step_bits / operand.storage_bits);
  Code d = 0;
  for (std::size_t k = 0; k < a.size(); k += step)
    d = fused_step(rule, &a[k], &b[k], static_cast<int>(std::min(step, a.size() - k)), d).result;
  return to_double(accumulator, d);
}

/// The smallest 2^-n that survives beside 1 and −1, which cancel.
inline int fraction_bits(const Datapath& datapath, const Format& operand) {
  int n = 0;
  while (n < give_up && chain(datapath, operand, f32, {{0}, {0, true}, {-n - 1}}) != 0) ++n;
  return n;
}

/// The first place at which 2^-30 survives after 2^28 and −2^28: in their step it is cut.
inline int step_products(const Datapath& datapath, const Format& operand) {
  std::vector<Product> products{{28}, {28, true}, {-30}};
  while (chain(datapath, operand, f32, products) == 0 && products.size() < give_up)
    products.insert(products.begin() + 2, {0, false, true});
  return static_cast<int>(products.size()) - 1;
}

/// Below the accumulator's smallest numbers, the last bit that still changes the result says where
/// terms are cut: floor − fraction_bits. `last_place` is the last one that a result can have.
inline int floor(const Datapath& datapath, const Format& accumulator, int fraction_bits) {
  const int last_place =
      accumulator.min_exponent() - std::min(fraction_bits, accumulator.fraction_bits);
  const auto kept = [&](int exponent) {
    // One last place less a bit truncates to zero; half of one and a bit rounds up from the tie.
    return accumulator == f32
               ? chain(datapath, bf16, f32, {{last_place}, {exponent, true}}) == 0
               : chain(datapath, bf16, accumulator, {{last_place - 1}, {exponent}}) != 0;
  };
  int exponent = last_place - 1;
  while (exponent > -give_up && kept(exponent - 1)) --exponent;
  return exponent + fraction_bits;
}

inline Features measure(const Datapath& datapath) {
  const Format& operand = datapath.operands == OperandClass::fp8 ? e5m2 : bf16;
  const int bits = fraction_bits(datapath, operand);
  return {step_products(datapath, operand), bits, floor(datapath, f32, bits),
          floor(datapath, f16, bits)};
}

}  // namespace bitmma::features
