/// wgmma with operands in a simulated shared memory, which its matrix descriptors describe.
///
/// A memory is given as its bytes and the shared address of the first one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <variant>

#include "bitmma/emulator/fragment.hpp"
#include "bitmma/isa/matrix_descriptor.hpp"

namespace bitmma {

/// A wgmma that PTX does not allow; what() says in one line which rule, what was seen and what
/// would be right.
struct WgmmaError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The codes of A (m × k) or B (k × n) of a wgmma row, row after row, read through a descriptor.
/// Contradictions in it are none here (check_descriptor() reports them): the address rule is
/// followed. Throws WgmmaError if an element stands outside the memory. Requires a concrete N.
TileCodes gather_operand(const Instruction& row, Operand operand, Major major,
                         std::uint64_t descriptor, std::span<const std::byte> memory,
                         std::uint32_t base);

/// Writes the codes where gather_operand() reads them, and touches no other byte. The descriptor
/// of a dense layout is dense_descriptor()'s. Throws as gather_operand() does, before it writes.
void scatter_operand(const Instruction& row, Operand operand, Major major, std::uint64_t descriptor,
                     std::span<const Code> codes, std::span<std::byte> memory, std::uint32_t base);

/// What follows the operands of wgmma.mma_async, by PTX's names and values.
struct WgmmaModifiers {
  bool scale_d = true;       ///< false: D = A · B, whatever the accumulator holds
  int imm_scale_a = 1;       ///< −1 negates every element of A
  int imm_scale_b = 1;       ///< the same for B
  bool imm_trans_a = false;  ///< A is M-major; needs A in shared memory and 16-bit elements
  bool imm_trans_b = false;  ///< B is N-major; needs 16-bit elements
};

/// A of wgmma: a descriptor, or the warpgroup's registers.
using WgmmaA = std::variant<std::uint64_t, FragmentRegisters>;

/// D's registers after one warpgroup executed the wgmma on A, B and the accumulator's registers c.
///
/// Negation flips an element's sign bit. Nothing of how a zero or a NaN is negated can be seen: no
/// result is −0, and every NaN result is one code. scale_d = 0 adds +0. Both follow PTX ISA,
/// "wgmma.mma_async".
///
/// Throws WgmmaError if a descriptor contradicts itself, the row or the memory, if a modifier has
/// another value than PTX allows, or if registers are missing. Requires Family::wgmma and a
/// concrete N.
FragmentRegisters wgmma(const Execution& execution, const WgmmaA& a, std::uint64_t b_descriptor,
                        std::span<const std::uint32_t> c, const WgmmaModifiers& modifiers,
                        std::span<const std::byte> memory, std::uint32_t base);

}  // namespace bitmma
