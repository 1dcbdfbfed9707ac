/// What an instruction runs as on each target: one tensor-core operation where it is native, else
/// the sequence that the compiler emits. Programs are data; the emulator interprets them.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bitmma/isa/instruction.hpp"

namespace bitmma {

enum class Opcode : std::uint8_t {
  mma,     ///< the chosen k in ascending order, from slot x, as the formats ask: fused steps,
           ///< fused multiply-adds (f64), exact sums of integers, counts of bits
  fmul,    ///< a[k] · b[k], IEEE f32
  ffma,    ///< a[k] · b[k] + slot x, IEEE f32
  fadd,    ///< slot x + slot y, IEEE f32
  hadd,    ///< slot x + slot y, IEEE f16
  widen,   ///< slot x, f16, as f32: exact
  narrow,  ///< slot x, f32, as f16: round to nearest even
};

/// The part of k that an mma operation takes: those k whose residue modulo 4 is in the mask.
using ResidueMask = std::uint8_t;
inline constexpr ResidueMask every_k = 0b1111;

/// One operation on one output element. Values stand in numbered slots of 32 bits.
struct Operation {
  Opcode opcode;
  std::uint8_t into;   ///< the slot that takes the result
  std::uint8_t x = 0;  ///< slots
  std::uint8_t y = 0;
  int k = 0;                       ///< fmul and ffma: which product
  ResidueMask residues = every_k;  ///< mma: which products
  bool as_f16 = false;             ///< mma: A and B are converted to f16 first, exactly

  BITMMA_HD constexpr bool takes(int product) const { return (residues >> (product % 4) & 1) != 0; }
};

inline constexpr int slots = 6;
inline constexpr std::uint8_t zero_slot = 0;  ///< holds +0
inline constexpr std::uint8_t c_slot = 1;     ///< holds c; the last operation's slot is d

namespace program {

constexpr Operation fmul(std::uint8_t into, int k) { return {Opcode::fmul, into, 0, 0, k}; }
constexpr Operation ffma(std::uint8_t into, int k, std::uint8_t plus) {
  return {Opcode::ffma, into, plus, 0, k};
}
constexpr Operation fadd(std::uint8_t into, std::uint8_t x, std::uint8_t y) {
  return {Opcode::fadd, into, x, y};
}
constexpr Operation hadd(std::uint8_t into, std::uint8_t x, std::uint8_t y) {
  return {Opcode::hadd, into, x, y};
}
constexpr Operation widen(std::uint8_t into, std::uint8_t from) {
  return {Opcode::widen, into, from};
}
constexpr Operation narrow(std::uint8_t into, std::uint8_t from) {
  return {Opcode::narrow, into, from};
}
constexpr Operation mma(std::uint8_t into, std::uint8_t plus) { return {Opcode::mma, into, plus}; }
/// FP8 unpacked to f16, only the k of these residues.
constexpr Operation mma_as_f16(std::uint8_t into, std::uint8_t plus, ResidueMask residues) {
  return {Opcode::mma, into, plus, 0, 0, residues, true};
}

inline constexpr Operation native[] = {mma(2, c_slot)};

// Read off the machine code that ptxas 13.0 emits for m8n8k4 on sm_80 and later: shuffles bring a
// row and a column into each lane, no tensor core takes part.
inline constexpr Operation ffma_chain[] = {
    ffma(2, 0, zero_slot), ffma(2, 1, 2), ffma(2, 2, 2), ffma(2, 3, 2), fadd(2, c_slot, 2),
};
inline constexpr Operation ffma_chain_c_f16[] = {
    ffma(2, 0, zero_slot), ffma(2, 1, 2),    ffma(2, 2, 2),
    ffma(2, 3, 2),         widen(3, c_slot), fadd(2, 3, 2),
};
inline constexpr Operation product_pairs[] = {
    fmul(2, 0),       ffma(2, 1, 2),                               // p01
    fmul(3, 2),       ffma(3, 3, 3),                               // p23
    widen(4, c_slot), fadd(4, 4, 2), fadd(4, 4, 3), narrow(4, 4),  // (c + p01) + p23
};

// FP8 where mma.sync has no FP8 tensor core: unpacking pairs of bytes to f16 leaves each half of
// the products in another register, hence the residues.
inline constexpr Operation fp8_as_f16_f32[] = {
    mma_as_f16(2, zero_slot, 0b0011),
    mma_as_f16(2, 2, 0b1100),
    fadd(2, c_slot, 2),
};
inline constexpr Operation fp8_as_f16_f32_apart[] = {
    mma_as_f16(2, zero_slot, 0b0011),
    mma_as_f16(3, zero_slot, 0b1100),
    fadd(2, 2, 3),
    fadd(2, c_slot, 2),
};
inline constexpr Operation fp8_as_f16_f16[] = {
    mma_as_f16(2, zero_slot, 0b0011),
    mma_as_f16(2, 2, 0b1100),
    hadd(2, c_slot, 2),
};

}  // namespace program

/// The newest CUDA toolkit that the tables tell from older ones, whose ptxas chooses the machine
/// code: 1208 for CUDA 12.8.
inline constexpr int newest_cuda = 1300;

/// 1208 for "12.8" and for "12.8.93"; empty for a text that is no version.
constexpr std::optional<int> parse_cuda(std::string_view text) {
  const int major = detail::take_number(text);
  if (major < 0 || !detail::take_prefix(text, ".")) return std::nullopt;
  const bool zero = detail::take_prefix(text, "0");
  const int minor = zero ? 0 : detail::take_number(text);
  if (minor < 0 || minor > 99 || (!text.empty() && text.front() != '.')) return std::nullopt;
  if (text.find_first_not_of("0123456789.") != text.npos) return std::nullopt;
  return 100 * major + minor;
}

/// "12.8" for 1208: the inverse of parse_cuda().
inline std::string cuda_text(int cuda) {
  return std::to_string(cuda / 100).append(".").append(std::to_string(cuda % 100));
}

/// One row: on these targets and up to that toolkit, instructions of this m, operand class and
/// accumulator types run as the program. The first row that fits stands; instructions without one
/// are native.
struct Lowering {
  int first_sm;
  int last_sm;
  int m;
  OperandClass operands;
  const Format* d;
  const Format* c;
  std::span<const Operation> program;
  int last_cuda = newest_cuda;           ///< the last toolkit that emits it
  std::string_view older_evidence = {};  ///< of a row that a newer toolkit has another one for
};

// Source: SASS of ptxas 13.0 for sm_80 to sm_120, and of 12.4, 12.5, 12.6, 12.8 and 12.9 for FP8 on
// sm_90: from 12.8 on the second half continues the first one's sum, before that both start from
// zero. The arithmetic was checked on an H200 (sm_90) and against the B200 vectors (sm_100, FP8).
inline constexpr Lowering lowering_table[] = {
    {80, any_later_sm, 8, OperandClass::half, &f32, &f32, program::ffma_chain},
    {80, any_later_sm, 8, OperandClass::half, &f32, &f16, program::ffma_chain_c_f16},
    {80, any_later_sm, 8, OperandClass::half, &f16, &f16, program::product_pairs},
    // RTX Blackwell (sm_120) has FP8 tensor cores for mma.sync again.
    {90, 90, 16, OperandClass::fp8, &f32, &f32, program::fp8_as_f16_f32_apart, 1206,
     "measured on 5.6 million outputs of an H200, docs/measurements.md"},
    {90, 119, 16, OperandClass::fp8, &f32, &f32, program::fp8_as_f16_f32},
    {90, 119, 16, OperandClass::fp8, &f16, &f16, program::fp8_as_f16_f16},
};

/// The row for the instruction on the target, compiled by that toolkit; empty where it is native. A
/// toolkit newer than the newest counts as that. Requires row.runs_on(target).
constexpr std::optional<Lowering> find_lowering(const Instruction& row, const Target& target,
                                                int cuda = newest_cuda) {
  for (const Lowering& lowering : lowering_table)
    if (lowering.first_sm <= target.sm && target.sm <= lowering.last_sm && lowering.m == row.m &&
        lowering.operands == operand_class(*row.a) && *lowering.d == *row.d &&
        *lowering.c == *row.c && std::min(cuda, newest_cuda) <= lowering.last_cuda)
      return lowering;
  return std::nullopt;
}

/// The operations that the instruction runs as. Requires row.runs_on(target).
constexpr std::span<const Operation> lowered_program(const Instruction& row, const Target& target,
                                                     int cuda = newest_cuda) {
  const std::optional<Lowering> lowering = find_lowering(row, target, cuda);
  return lowering ? lowering->program : program::native;
}

/// True if the two toolkits compile every instruction to the same operations on the target.
constexpr bool lower_alike(const Target& target, int cuda, int other_cuda) {
  for (const Instruction& row : instruction_table)
    if (row.runs_on(target) && lowered_program(row, target, cuda).data() !=
                                   lowered_program(row, target, other_cuda).data())
      return false;
  return true;
}

/// Instructions whose result does not depend on how they are divided, sums of integers and f64's
/// chain, may run as several smaller ones: the machine code shows them, while the program stays one
/// operation.
struct Division {
  int first_sm;
  int last_sm;
  OperandClass operands;
  int m;                                     ///< that the instruction has; 0 for any
  std::optional<Modifier> modifier;          ///< that it has; empty for any
  int machine_m;                             ///< of each smaller one; 0 for the instruction's own
  int machine_k;                             ///< the same; half_k for half of its own
  bool as_int8;                              ///< A and B are widened to s8 and u8
  std::optional<Modifier> machine_modifier;  ///< empty for its own
  int repeats = 1;
};

inline constexpr int half_k = -1;

// Source: SASS of ptxas 13.0 for sm_75 to sm_120. Which elements each half of int4 takes cannot be
// seen from results; .satfinite clamps once, after both (H200).
inline constexpr Division division_table[] = {
    {90, 99, OperandClass::int4, 0, {}, 0, half_k, true, Modifier::none},
    {100, any_later_sm, OperandClass::int4, 0, {}, 16, half_k, true, Modifier::none},
    {100, any_later_sm, OperandClass::int8, 8, {}, 16, 0, false, {}},
    {90, 99, OperandClass::bit, 0, Modifier::xor_popc, 0, 0, false, Modifier::and_popc, 2},
    {100, any_later_sm, OperandClass::bit, 0, {}, 16, 32, true, Modifier::none},
    {100, any_later_sm, OperandClass::fp64, 16, {}, 8, 4, false, {}},
};

/// The row for the instruction on the target; empty where it is not divided.
constexpr std::optional<Division> find_division(const Instruction& row, const Target& target) {
  for (const Division& division : division_table)
    if (division.first_sm <= target.sm && target.sm <= division.last_sm &&
        division.operands == operand_class(*row.a) && (division.m == 0 || division.m == row.m) &&
        division.modifier.value_or(row.modifier) == row.modifier)
      return division;
  return std::nullopt;
}

/// True if the target has a machine instruction for it, of its own shape and types.
constexpr bool is_native(const Instruction& row, const Target& target) {
  return !find_lowering(row, target) && !find_division(row, target);
}

namespace detail {

inline std::string upper_case(std::string_view text) {
  std::string upper;
  for (const char c : text)
    upper.push_back(c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c);
  return upper;
}

/// HMMA multiplies f16, bf16 and tf32, QMMA FP8, IMMA integers, BMMA bits and DMMA f64; HGMMA and
/// QGMMA are those of a warpgroup.
inline std::string tensor_opcode(const Instruction& row, const Format& a) {
  std::string name;
  switch (operand_class(a).value()) {
    case OperandClass::half:
      name = "H";
      break;
    case OperandClass::fp8:
      name = "Q";
      break;
    case OperandClass::fp64:
      name = "D";
      break;
    case OperandClass::int8:
    case OperandClass::int4:
      name = "I";
      break;
    case OperandClass::bit:
      name = "B";
      break;
  }
  return name.append(row.family == Family::wgmma ? "GMMA" : "MMA");
}

/// 16816, or 64x8x16 for a warpgroup, with the row's own N, and for f64 from sm_90 on.
inline std::string machine_shape(const Instruction& row, int k, const Target& target) {
  const bool crosses = row.family == Family::wgmma || (*row.a == f64 && target.sm >= 90);
  const std::string between = crosses ? "x" : "";
  std::string shape = std::to_string(row.m);
  shape.append(between).append(row.n == 0 ? "N" : std::to_string(row.n));
  return shape.append(between).append(std::to_string(k));
}

/// What follows the shape for fused steps: D's type, and A's and B's unless they are f16; for
/// m8n8k4 D's and C's.
inline std::string machine_types(const Instruction& row, const Format& a, const Format& b) {
  std::string types = ".";
  types.append(upper_case(row.d->name));
  if (row.is_quad_pair()) return types.append(".").append(upper_case(row.c->name));
  if (a != f16) types.append(".").append(upper_case(a.name));
  if (operand_class(a) == OperandClass::fp8) types.append(".").append(upper_case(b.name));
  return types;
}

/// The same for integers, bits and f64: .S8.U8.SAT, .XOR.POPC, .RZ.
inline std::string exact_types(const Instruction& row) {
  std::string types;
  if (*row.a != f64 && *row.a != b1)
    types.append(".").append(upper_case(row.a->name)).append(".").append(upper_case(row.b->name));
  if (row.modifier == Modifier::satfinite) return types.append(".SAT");
  if (row.modifier == Modifier::none) return types;
  return types.append(".").append(upper_case(spelling_of(row.modifier).ptx));
}

inline std::string tensor_instruction(const Instruction& row, const Operation& operation,
                                      const Target& target) {
  const Format& a = operation.as_f16 ? f16 : *row.a;
  const Format& b = operation.as_f16 ? f16 : *row.b;
  const int k = row.k * std::popcount(operation.residues) / 4;
  return tensor_opcode(row, a)
      .append(".")
      .append(machine_shape(row, k, target))
      .append(find_accumulator(*row.d) ? machine_types(row, a, b) : exact_types(row));
}

/// The smaller instruction.
constexpr Instruction divided(Instruction row, const Division& division) {
  const auto widened = [](const Format& format) {
    return format.encoding == Encoding::signed_integer ? &s8 : &u8;
  };
  if (division.machine_m != 0) row.m = division.machine_m;
  if (division.machine_k != 0)
    row.k = division.machine_k == half_k ? row.k / 2 : division.machine_k;
  if (division.as_int8) row.a = widened(*row.a);
  if (division.as_int8) row.b = widened(*row.b);
  row.modifier = division.machine_modifier.value_or(row.modifier);
  return row;
}

}  // namespace detail

/// A machine instruction, as SASS spells it, and how often it stands in a row.
struct MachineInstruction {
  std::string name;
  int count = 1;
};

/// The machine instructions that compute an operation, for one element of D that a lane holds where
/// no tensor core takes part. Native m8n8k4 of f16 is a sequence of its steps, .STEP0 and so on,
/// which this leaves out.
/// Source: the listings of the generated kernels for sm_75 to sm_120 (CUDA 13.0).
inline MachineInstruction machine_instruction(const Instruction& row, const Operation& operation,
                                              const Target& target) {
  switch (operation.opcode) {
    case Opcode::mma:
      break;
    case Opcode::fmul:
      return {"FMUL"};
    case Opcode::ffma:
      return {"FFMA"};
    case Opcode::fadd:
      return {"FADD"};
    case Opcode::hadd:
      return {"HADD2"};
    case Opcode::widen:
      return {"HADD2.F32"};
    case Opcode::narrow:
      return {"F2FP.F16.F32"};
  }
  const std::optional<Division> division = find_division(row, target);
  if (!division) return {detail::tensor_instruction(row, operation, target)};
  const Instruction piece = detail::divided(row, *division);
  const int pieces = std::max(1, row.m / piece.m) * (row.k / piece.k) * division->repeats;
  return {detail::tensor_instruction(piece, operation, target), pieces};
}

/// The machine instructions that the instruction becomes on the target, in order.
inline std::vector<std::string> machine_code(const Instruction& row, const Target& target,
                                             int cuda = newest_cuda) {
  std::vector<std::string> names;
  for (const Operation& operation : lowered_program(row, target, cuda)) {
    const MachineInstruction machine = machine_instruction(row, operation, target);
    names.insert(names.end(), static_cast<std::size_t>(machine.count), machine.name);
  }
  return names;
}

}  // namespace bitmma
