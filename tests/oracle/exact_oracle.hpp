/// The oracle for what is exact or IEEE: integers, bits, and f64's chain of fused multiply-adds. It
/// shares nothing with isa/ and emulator/.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace bitmma::oracle {

using Code = std::uint64_t;

/// An instruction by PTX's names: types s8, u8, s4, u4, b1 or f64, and modifier "", rz, rm, rp,
/// satfinite, xor.popc or and.popc.
struct ExactInstruction {
  std::string_view a;
  std::string_view b;
  std::string_view modifier;
};

/// One element of D, s32 or f64. Throws std::invalid_argument for an unknown name.
Code multiply_accumulate_exactly(const ExactInstruction& instruction, std::span<const Code> a,
                                 std::span<const Code> b, Code c);

}  // namespace bitmma::oracle
