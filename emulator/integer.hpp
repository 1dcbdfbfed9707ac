/// Dot products of integers and of single bits: exact sums of products, put into 32 bits at the
/// end.
///
/// Source: PTX ISA, "mma" (integer and .b1); measured on an H200, where they also hold for
/// instructions that are lowered to several (docs/measurements.md).
#pragma once

#include <cstdint>

#include "bitmma/isa/format.hpp"
#include "bitmma/isa/host_device.hpp"

namespace bitmma {

/// What a sum beyond 32 bits becomes.
enum class IntegerOverflow : std::uint8_t {
  wrap,      ///< the sum modulo 2^32
  saturate,  ///< the nearest of −2^31 and 2^31 − 1: PTX's .satfinite
};

/// What is counted where two bits meet.
enum class BitOperation : std::uint8_t {
  xor_popc,  ///< bits that differ
  and_popc,  ///< bits that are both set
};

/// The value of an integer format's code. Bits above the format's are ignored.
BITMMA_HD constexpr std::int64_t integer_value(const Format& format, Code code) {
  const Number number = decode_integer(format, code);
  const auto magnitude = static_cast<std::int64_t>(number.significand);
  return number.negative ? -magnitude : magnitude;
}

/// An exact sum as the code of an s32.
BITMMA_HD constexpr Code encode_s32(std::int64_t sum, IntegerOverflow overflow) {
  constexpr std::int64_t largest = 0x7FFF'FFFF;
  if (overflow == IntegerOverflow::saturate && sum > largest) sum = largest;
  if (overflow == IntegerOverflow::saturate && sum < -largest - 1) sum = -largest - 1;
  return static_cast<std::uint32_t>(sum);
}

/// Σ a[i]·b[i] + c over k codes, exact up to one overflow at the end. c and the result are s32. A
/// product is below 2^16, so that no k takes the sum beyond 64 bits.
BITMMA_HD constexpr Code integer_dot(const Format& a_format, const Format& b_format, const Code* a,
                                     const Code* b, int k, Code c, IntegerOverflow overflow) {
  constexpr Format accumulator = s32;
  std::int64_t sum = integer_value(accumulator, c);
  for (int i = 0; i < k; ++i) sum += integer_value(a_format, a[i]) * integer_value(b_format, b[i]);
  return encode_s32(sum, overflow);
}

/// c plus how many of k pairs of bits the operation counts, modulo 2^32. A code is one bit; c and
/// the result are s32.
BITMMA_HD constexpr Code bit_dot(BitOperation operation, const Code* a, const Code* b, int k,
                                 Code c) {
  constexpr Format accumulator = s32;
  std::int64_t count = integer_value(accumulator, c);
  for (int i = 0; i < k; ++i) {
    const Code both = operation == BitOperation::xor_popc ? a[i] ^ b[i] : a[i] & b[i];
    count += static_cast<std::int64_t>(both & 1);
  }
  return encode_s32(count, IntegerOverflow::wrap);
}

}  // namespace bitmma
