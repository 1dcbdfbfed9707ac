/// Compilation targets and the arithmetic of their tensor cores, one row each.
#pragma once

#include <cstddef>
#include <cstdint>
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
};

inline constexpr Target target_table[] = {
    {"sm_70", 70, Architecture::volta},       {"sm_72", 72, Architecture::volta},
    {"sm_75", 75, Architecture::turing},      {"sm_80", 80, Architecture::ampere},
    {"sm_86", 86, Architecture::ampere},      {"sm_87", 87, Architecture::ampere},
    {"sm_89", 89, Architecture::ada},         {"sm_90", 90, Architecture::hopper},
    {"sm_100", 100, Architecture::blackwell}, {"sm_103", 103, Architecture::blackwell},
    {"sm_110", 110, Architecture::blackwell}, {"sm_120", 120, Architecture::rtx_blackwell},
};

/// The row of that name, or nullptr. The suffix of an architecture- or family-specific target is
/// accepted (sm_90a, sm_100f): it adds instructions and changes no arithmetic.
constexpr const Target* find_target(std::string_view name) {
  if (name.ends_with('a') || name.ends_with('f')) name.remove_suffix(1);
  for (const Target& target : target_table)
    if (target.name == name) return &target;
  return nullptr;
}

/// Operands that share a datapath row.
enum class OperandClass : std::uint8_t { half_or_wider, fp8 };

constexpr OperandClass operand_class(const Format& format) {
  return format.storage_bits == 8 ? OperandClass::fp8 : OperandClass::half_or_wider;
}

/// One fused step, d = round(Σ aᵢ·bᵢ + c): each term is shifted to the largest exponent among the
/// terms, truncated toward zero to `fraction_bits` bits, and the truncated terms are added exactly.
/// An f32 result is truncated to min(23, fraction_bits) fraction bits, an f16 result is rounded to
/// nearest even.
struct Datapath {
  Architecture architecture;
  OperandClass operands;
  int step_bits;      ///< bits of A's row in one step: products a step = step_bits / element bits
  int fraction_bits;  ///< kept below the largest exponent
  int floor_f32;      ///< smallest exponent that terms are aligned to, f32 accumulator
  int floor_f16;      ///< the same, f16 accumulator
};

// Evidence, in the order of the rows. "V100 vectors" and the like are the rows measured by Khattak
// and Mikaitis (MATLAB-tensor-core, 2025); Xie et al. 2025 is the MMA-Sim paper. The floors follow
// min_exponent(accumulator) − 5 − (fraction_bits − 23) of the f16/bf16/tf32 row, which fits all
// that were measured; the published ones for f16 are known to within one.
inline constexpr Datapath datapath_table[] = {
    // V100 vectors for 64, 23; floors: Xie et al. (f16: −19 or −20).
    {Architecture::volta, OperandClass::half_or_wider, 64, 23, -131, -19},
    // Xie et al.; one other source says 64 for step_bits (f16 floor: −20 or −21).
    {Architecture::turing, OperandClass::half_or_wider, 128, 24, -132, -20},
    // A100 and A2 vectors for 128, 24; floors: Xie et al. (f16: −20 or −21).
    {Architecture::ampere, OperandClass::half_or_wider, 128, 24, -132, -20},
    // Ada and L40S vectors; floors as for Ampere.
    {Architecture::ada, OperandClass::half_or_wider, 128, 24, -132, -20},
    {Architecture::ada, OperandClass::fp8, 128, 13, -132, -20},
    // H200 and H100 vectors; floors measured on an H200.
    {Architecture::hopper, OperandClass::half_or_wider, 256, 25, -133, -21},
    // wgmma alone: mma.sync has no FP8 of its own on Hopper (lowering.hpp).
    {Architecture::hopper, OperandClass::fp8, 256, 13, -133, -21},
    // B200 vectors; floors: Xie et al. (f16: −21 or −22).
    {Architecture::blackwell, OperandClass::half_or_wider, 256, 25, -133, -21},
    // Xie et al.; the f16 floor follows the pattern.
    {Architecture::rtx_blackwell, OperandClass::half_or_wider, 256, 25, -133, -21},
    {Architecture::rtx_blackwell, OperandClass::fp8, 256, 25, -133, -21},
};

/// The row, or nullptr where the architecture has no tensor core for such operands.
constexpr const Datapath* find_datapath(Architecture architecture, OperandClass operands) {
  for (const Datapath& datapath : datapath_table)
    if (datapath.architecture == architecture && datapath.operands == operands) return &datapath;
  return nullptr;
}

}  // namespace bitmma
