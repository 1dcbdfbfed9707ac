/// Compilation targets and the arithmetic of their tensor cores, one row each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "bitmma/isa/format.hpp"

namespace bitmma {

enum class Architecture : std::uint8_t {
  volta,
  turing,
  ampere,
  ada,
  hopper,
  blackwell,
  rtx_blackwell,
};

inline constexpr std::string_view architecture_names[] = {
    "Volta", "Turing", "Ampere", "Ada", "Hopper", "Blackwell", "RTX Blackwell",
};

constexpr std::string_view architecture_name(Architecture architecture) {
  return architecture_names[static_cast<std::size_t>(architecture)];
}

struct Target {
  std::string_view name;
  int sm;
  Architecture architecture;
  std::string_view suffixes;  ///< of its variants: a adds what only it has, f what its family has
  int first_cuda;             ///< the first toolkit that compiles for it; 1208 is CUDA 12.8
};

// Source of first_cuda: PTX ISA, "Release Notes"; for sm_70 to sm_75, which are older than
// mma.sync, the first toolkit that has it.
inline constexpr Target target_table[] = {
    {"sm_70", 70, Architecture::volta, "", 1001},
    {"sm_72", 72, Architecture::volta, "", 1001},
    {"sm_75", 75, Architecture::turing, "", 1001},
    {"sm_80", 80, Architecture::ampere, "", 1100},
    {"sm_86", 86, Architecture::ampere, "", 1101},
    {"sm_87", 87, Architecture::ampere, "", 1104},
    {"sm_89", 89, Architecture::ada, "", 1108},
    {"sm_90", 90, Architecture::hopper, "a", 1108},
    {"sm_100", 100, Architecture::blackwell, "af", 1208},
    {"sm_103", 103, Architecture::blackwell, "af", 1209},
    {"sm_110", 110, Architecture::blackwell, "af", 1300},
    {"sm_120", 120, Architecture::rtx_blackwell, "af", 1208},
};

/// The row of that name, or nullptr. A variant (sm_90a, sm_100f) names its target: it adds
/// instructions and changes no arithmetic.
constexpr const Target* find_target(std::string_view name) {
  for (const Target& target : target_table) {
    if (!name.starts_with(target.name)) continue;
    const std::string_view suffix = name.substr(target.name.size());
    if (suffix.empty() || (suffix.size() == 1 && target.suffixes.find(suffix) < 2)) return &target;
  }
  return nullptr;
}

/// The row of that compute capability, major · 10 + minor, or nullptr.
constexpr const Target* find_target(int sm) {
  for (const Target& target : target_table)
    if (target.sm == sm) return &target;
  return nullptr;
}

/// Operands that share a datapath row: f16, bf16 and tf32; e4m3 and e5m2. The others need none:
/// f64 is a chain of IEEE fused multiply-adds, sums of integers and counts of bits are exact.
enum class OperandClass : std::uint8_t { half, fp8, fp64, int8, int4, bit };

/// Empty for a format that no instruction multiplies.
constexpr std::optional<OperandClass> operand_class(const Format& format) {
  if (format == f16 || format == bf16 || format == tf32) return OperandClass::half;
  if (format == e4m3 || format == e5m2) return OperandClass::fp8;
  if (format == f64) return OperandClass::fp64;
  if (format == s8 || format == u8) return OperandClass::int8;
  if (format == s4 || format == u4) return OperandClass::int4;
  if (format == b1) return OperandClass::bit;
  return std::nullopt;
}

/// One fused step, d = round(Σ aᵢ·bᵢ + c): each term is shifted to the largest exponent among the
/// terms, truncated toward zero to `fraction_bits` bits, and the truncated terms are added exactly.
/// accumulator_table says how the sum is rounded.
struct Datapath {
  Architecture architecture;
  OperandClass operands;
  int step_bits;      ///< bits of A's row in one step: products a step = step_bits / element bits
  int fraction_bits;  ///< kept below the largest exponent
  int floor_f32;      ///< smallest exponent that terms are aligned to, f32 accumulator
  int floor_f16;      ///< the same, f16 accumulator
};

// Evidence, in the order of the rows. "Vectors" are the rows measured by Khattak and Mikaitis
// (MATLAB-tensor-core, 2025): they pin fraction_bits, show step_bits from below where k is one
// step, and pin no floor. Xie et al. 2025 is the MMA-Sim paper. The floors follow
// min_exponent(accumulator) − 5 − (fraction_bits − 23) of the f16/bf16/tf32 row, which fits all
// that were measured; the published ones for f16 are known to within one.
inline constexpr Datapath datapath_table[] = {
    // V100 vectors; 64 and floors: Xie et al. (f16: −19 or −20).
    {Architecture::volta, OperandClass::half, 64, 23, -131, -19},
    // Xie et al.; one other source says 64 for step_bits (f16 floor: −20 or −21).
    {Architecture::turing, OperandClass::half, 128, 24, -132, -20},
    // A100 and A2 vectors; 128 and floors: Xie et al. (f16: −20 or −21).
    {Architecture::ampere, OperandClass::half, 128, 24, -132, -20},
    // Ada and L40S vectors, which pin FP8's step_bits from both sides; 128 for the others and
    // floors
    // as for Ampere.
    {Architecture::ada, OperandClass::half, 128, 24, -132, -20},
    {Architecture::ada, OperandClass::fp8, 128, 13, -132, -20},
    // Measured on an H200 (tests/vectors/sm_90); no instruction's k is beyond one step.
    {Architecture::hopper, OperandClass::half, 256, 25, -133, -21},
    // wgmma alone: mma.sync has no FP8 of its own on Hopper (lowering.hpp).
    {Architecture::hopper, OperandClass::fp8, 256, 13, -133, -21},
    // B200 vectors; floors: Xie et al. (f16: −21 or −22).
    {Architecture::blackwell, OperandClass::half, 256, 25, -133, -21},
    // Xie et al.; the f16 floor follows the pattern.
    {Architecture::rtx_blackwell, OperandClass::half, 256, 25, -133, -21},
    {Architecture::rtx_blackwell, OperandClass::fp8, 256, 25, -133, -21},
};

/// The row, or nullptr where the architecture has no tensor core for such operands.
constexpr const Datapath* find_datapath(Architecture architecture, OperandClass operands) {
  for (const Datapath& datapath : datapath_table)
    if (datapath.architecture == architecture && datapath.operands == operands) return &datapath;
  return nullptr;
}

/// What depends on the format of D. A result never has more than the datapath's fraction_bits
/// (E8M13 inside an f32 where they are 13), and overflows to Inf under either rounding (H200).
struct Accumulator {
  const Format* format;
  Rounding rounding;
  int Datapath::*floor;
};

inline constexpr Accumulator accumulator_table[] = {
    {&f32, Rounding::toward_zero, &Datapath::floor_f32},
    {&f16, Rounding::nearest_even, &Datapath::floor_f16},
};

/// The row, or nullptr where no fused step accumulates in the format.
constexpr const Accumulator* find_accumulator(const Format& format) {
  for (const Accumulator& accumulator : accumulator_table)
    if (*accumulator.format == format) return &accumulator;
  return nullptr;
}

}  // namespace bitmma
