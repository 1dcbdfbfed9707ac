/// The IEEE operations that a lowered instruction runs as, on codes. Every NaN is canonical, as
/// FADD, FMUL, FFMA and HADD2 return it. All go through one fused multiply-add, so that no compiler
/// flag can contract or split them. The constants are copied in each function since device code
/// cannot refer to a host's.
#pragma once

#ifdef __FAST_MATH__
#error "bitmma: these operations follow IEEE 754; compile without -ffast-math"
#endif

#include <bit>
#include <cmath>

#include "bitmma/isa/format.hpp"
#include "bitmma/isa/host_device.hpp"

namespace bitmma::ieee {

/// x · y + z in f32, rounded once to nearest even.
BITMMA_HD inline Code fma(Code x, Code y, Code z) {
  constexpr Format single = f32;
  const float result = std::fma(std::bit_cast<float>(static_cast<std::uint32_t>(x)),
                                std::bit_cast<float>(static_cast<std::uint32_t>(y)),
                                std::bit_cast<float>(static_cast<std::uint32_t>(z)));
  const Code code = std::bit_cast<std::uint32_t>(result);
  return decode(single, code).kind == Kind::nan ? single.nan() : code;
}

/// x · y in f32; adding −0 changes no product.
BITMMA_HD inline Code mul(Code x, Code y) { return fma(x, y, std::bit_cast<std::uint32_t>(-0.0F)); }

/// x + y in f32.
BITMMA_HD inline Code add(Code x, Code y) { return fma(x, std::bit_cast<std::uint32_t>(1.0F), y); }

/// A code of a format within f32, as f32: exact.
BITMMA_HD constexpr Code widen(const Format& format, Code code) {
  constexpr Format single = f32;
  return convert(format, code, single, Rounding::nearest_even);
}
BITMMA_HD constexpr Code widen_f16(Code code) {
  constexpr Format half = f16;
  return widen(half, code);
}
BITMMA_HD constexpr Code narrow_f16(Code code) {
  constexpr Format single = f32;
  constexpr Format half = f16;
  return convert(single, code, half, Rounding::nearest_even);
}

/// x + y in f16. The f32 sum rounds innocuously: 24 bits are at least 2 · 11 + 2 (Figueroa 1995).
BITMMA_HD inline Code add_f16(Code x, Code y) {
  return narrow_f16(add(widen_f16(x), widen_f16(y)));
}

}  // namespace bitmma::ieee
