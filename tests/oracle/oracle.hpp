/// A second implementation of every instruction's arithmetic, to compare the emulator with.
///
/// It shares nothing with isa/ and emulator/: formats, parameters and lowering are written down
/// again as plain numbers. A finite value is a whole number of 2^-150 in 1024-bit integers, a
/// product of two a whole number of 2^-300; alignment and rounding are divisions of these numbers.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace bitmma::oracle {

/// The bit pattern of one element, right-aligned in 64 bits.
using Code = std::uint64_t;

enum class Family : std::uint8_t { mma_sync, wgmma };

/// An instruction by what its arithmetic depends on. Formats by PTX's names: f16, bf16, tf32,
/// e4m3, e5m2, f32. k = 4 with f16 operands is m8n8k4, any other mma.sync is an m16n8 shape.
struct Instruction {
  Family family;
  int k;
  std::string_view d;
  std::string_view a;
  std::string_view b;
  std::string_view c;
};

/// One element of D: the codes of a row of A and of a column of B (k each) and of the element of C
/// give the code of the element of D, as the instruction runs on the target ("sm_90").
/// Throws std::invalid_argument if a name is unknown, if a and b do not hold k codes each, or if
/// the target has no such operands. Whether PTX has that k for that target is not checked.
Code multiply_accumulate(std::string_view target, const Instruction& instruction,
                         std::span<const Code> a, std::span<const Code> b, Code c);

}  // namespace bitmma::oracle
