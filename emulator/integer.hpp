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

/// s8, u8, s4, u4: how the low bits of a code are read.
struct IntegerType {
  int bits;
  bool is_signed;
};

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

/// The value of a code, two's complement if signed. Bits above the type's are ignored.
BITMMA_HD constexpr std::int64_t integer_value(IntegerType type, Code code) {
  const Code modulus = Code{1} << type.bits;
  const Code field = code & (modulus - 1);
  const bool negative = type.is_signed && field >= modulus / 2;
  return static_cast<std::int64_t>(field) - (negative ? static_cast<std::int64_t>(modulus) : 0);
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
BITMMA_HD constexpr Code integer_dot(IntegerType a_type, IntegerType b_type, const Code* a,
                                     const Code* b, int k, Code c, IntegerOverflow overflow) {
  std::int64_t sum = integer_value({32, true}, c);
  for (int i = 0; i < k; ++i) sum += integer_value(a_type, a[i]) * integer_value(b_type, b[i]);
  return encode_s32(sum, overflow);
}

/// c plus how many of k pairs of bits the operation counts, modulo 2^32. A code is one bit; c and
/// the result are s32.
BITMMA_HD constexpr Code bit_dot(BitOperation operation, const Code* a, const Code* b, int k,
                                 Code c) {
  std::int64_t count = integer_value({32, true}, c);
  for (int i = 0; i < k; ++i) {
    const Code both = operation == BitOperation::xor_popc ? a[i] ^ b[i] : a[i] & b[i];
    count += static_cast<std::int64_t>(both & 1);
  }
  return encode_s32(count, IntegerOverflow::wrap);
}

}  // namespace bitmma
