/// The IEEE operations that a lowered instruction runs as, on codes. Every NaN is canonical, as
/// FADD, FMUL, FFMA and HADD2 return it. All go through one fused multiply-add, so that no compiler
/// flag can contract or split them.
#pragma once

#include <bit>
#include <cmath>

#include "bitmma/isa/format.hpp"
#include "bitmma/isa/host_device.hpp"

namespace bitmma::ieee {

/// x · y + z in f32, rounded once to nearest even.
BITMMA_HD inline Code fma(Code x, Code y, Code z) {
  const float result = std::fma(std::bit_cast<float>(static_cast<std::uint32_t>(x)),
                                std::bit_cast<float>(static_cast<std::uint32_t>(y)),
                                std::bit_cast<float>(static_cast<std::uint32_t>(z)));
  return std::isnan(result) ? f32.nan() : std::bit_cast<std::uint32_t>(result);
}

/// x · y in f32; adding −0 changes no product.
BITMMA_HD inline Code mul(Code x, Code y) { return fma(x, y, f32.sign_mask()); }

/// x + y in f32.
BITMMA_HD inline Code add(Code x, Code y) { return fma(x, std::bit_cast<std::uint32_t>(1.0F), y); }

BITMMA_HD constexpr Code widen(Code half) {
  return convert(f16, half, f32, Rounding::nearest_even);
}
BITMMA_HD constexpr Code narrow(Code single) {
  return convert(f32, single, f16, Rounding::nearest_even);
}

/// x + y in f16. The f32 sum rounds innocuously: 24 bits are at least 2 · 11 + 2 (Figueroa 1995).
BITMMA_HD inline Code add_f16(Code x, Code y) { return narrow(add(widen(x), widen(y))); }

}  // namespace bitmma::ieee
