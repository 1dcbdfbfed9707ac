/// What stands behind the answer for an instruction on a target.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "bitmma/isa/instruction.hpp"

namespace bitmma {

enum class EvidenceLabel : std::uint8_t {
  unverified,  ///< taken over from a related target, or read off machine code: not run there
  published,   ///< the datapath was published by others; no rows were compared
  vectors,     ///< equal on rows that others measured on that GPU and published
  hardware,    ///< equal on outputs that this project measured on that GPU
};

constexpr std::string_view label_name(EvidenceLabel label) {
  switch (label) {
    case EvidenceLabel::published:
      return "published";
    case EvidenceLabel::vectors:
      return "vectors";
    case EvidenceLabel::hardware:
      return "hardware";
    case EvidenceLabel::unverified:
      break;
  }
  return "unverified";
}

struct Evidence {
  std::string_view target;
  std::string_view instructions;  ///< short names, as matches() reads a pattern
  EvidenceLabel label;
  std::string_view source;
};

/// The first row that fits stands; every instruction and target must find one. "Rows" are those of
/// MATLAB-tensor-core (Khattak and Mikaitis, 2025), half of the published ones; they pin no floor.
/// "Xie et al." is the MMA-Sim paper (2025).
inline constexpr Evidence evidence_table[] = {
    {"sm_90", "m*.f64.f64.f64.f64", EvidenceLabel::hardware,
     "H200: over 1000 million outputs of each kernel, tests/vectors/sm_90"},
    {"sm_90", "m*.s32.??.??.s32*", EvidenceLabel::hardware,
     "H200: over 1000 million outputs of each kernel, tests/vectors/sm_90"},
    {"sm_*", "m*.f64.f64.f64.f64", EvidenceLabel::unverified,
     "IEEE fused multiply-adds as on sm_90; not run there"},
    {"sm_*", "m*.s32.??.??.s32*", EvidenceLabel::unverified,
     "exact, as PTX ISA says; not run there"},
    {"sm_70", "m8n8k4*.f32.f16.f16.f32", EvidenceLabel::vectors, "V100: 2,500 rows of one layout"},
    {"sm_70", "m8n8k4*.f16.f16.f16.f16", EvidenceLabel::vectors,
     "V100: 2,500 rows of one layout; floor of f16 known to within one"},
    {"sm_70", "m8n8k4*.f32.f16.f16.f16", EvidenceLabel::unverified, "taken over from .f32 c"},
    {"sm_75", "m16*.f16", EvidenceLabel::published,
     "Xie et al.; one source has 4 products a step; floor of f16 known to within one"},
    {"sm_75", "m16*", EvidenceLabel::published, "Xie et al.; one source has 4 products a step"},
    {"sm_80", "m16n8k8.f16.f16.*", EvidenceLabel::vectors,
     "A100: 2,500 rows; floor of f16 known to within one"},
    {"sm_80", "m16n8k8.f32.f16.*", EvidenceLabel::vectors, "A100: 2,500 rows"},
    {"sm_80", "m16n8k8.*.bf16.*", EvidenceLabel::vectors, "A100: 2,500 rows"},
    {"sm_80", "m16n8k4.*", EvidenceLabel::vectors, "A100: 2,500 rows"},
    {"sm_80", "m16*.f16", EvidenceLabel::published, "Xie et al.; floor of f16 known to within one"},
    {"sm_80", "m16*", EvidenceLabel::published, "Xie et al."},
    {"sm_86", "m16n8k8.f16.f16.*", EvidenceLabel::vectors,
     "A2: 2,500 rows; floor of f16 known to within one"},
    {"sm_86", "m16n8k8.f32.f16.*", EvidenceLabel::vectors, "A2: 2,500 rows"},
    {"sm_86", "m16n8k8.*.bf16.*", EvidenceLabel::vectors, "A2: 2,500 rows"},
    {"sm_86", "m16n8k4.*", EvidenceLabel::vectors, "A2: 2,500 rows"},
    {"sm_86", "m16*.f16", EvidenceLabel::published, "Xie et al.; floor of f16 known to within one"},
    {"sm_86", "m16*", EvidenceLabel::published, "Xie et al."},
    {"sm_89", "m16n8k8.f16.f16.*", EvidenceLabel::vectors,
     "Ada and L40S: 5,000 rows; floor of f16 known to within one"},
    {"sm_89", "m16n8k8.f32.f16.*", EvidenceLabel::vectors, "Ada and L40S: 5,000 rows"},
    {"sm_89", "m16n8k8.*.bf16.*", EvidenceLabel::vectors, "Ada and L40S: 5,000 rows"},
    {"sm_89", "m16n8k4.*", EvidenceLabel::vectors, "Ada and L40S: 5,000 rows"},
    {"sm_89", "m16n8k32.f32.e4m3.e4m3.*", EvidenceLabel::vectors, "Ada and L40S: 5,000 rows"},
    {"sm_89", "m16n8k32.f16.e4m3.e4m3.*", EvidenceLabel::vectors,
     "Ada: 2,500 rows; floor of f16 known to within one"},
    {"sm_89", "m16n8k32.f32.e5m2.e5m2.*", EvidenceLabel::vectors, "Ada and L40S: 5,000 rows"},
    {"sm_89", "m16n8k32.f16.e5m2.e5m2.*", EvidenceLabel::vectors,
     "Ada: 2,500 rows; floor of f16 known to within one"},
    {"sm_89", "m16*.f16", EvidenceLabel::published, "Xie et al.; floor of f16 known to within one"},
    {"sm_89", "m16*", EvidenceLabel::published, "Xie et al."},
    {"sm_90", "m8n8k4*", EvidenceLabel::hardware,
     "H200: over 1000 million outputs of each kernel, tests/vectors/sm_90"},
    {"sm_90", "m16n8k*", EvidenceLabel::hardware,
     "H200: over 1000 million outputs of each kernel, tests/vectors/sm_90"},
    {"sm_90", "wgmma.m64n*", EvidenceLabel::hardware,
     "H200: over 1000 million outputs of each kernel at N = 8, 64, 256, tests/vectors/sm_90"},
    {"sm_100", "m16n8k16.f16.f16.*", EvidenceLabel::vectors,
     "B200: 2,500 rows; floor of f16 known to within one"},
    {"sm_100", "m16n8k16.f32.f16.*", EvidenceLabel::vectors, "B200: 2,500 rows"},
    {"sm_100", "m16n8k16.*.bf16.*", EvidenceLabel::vectors, "B200: 2,500 rows"},
    {"sm_100", "m16n8k4.*", EvidenceLabel::vectors, "B200: 2,500 rows"},
    {"sm_100", "m16n8k32.f32.e4m3.e4m3.*", EvidenceLabel::vectors, "B200: 2,500 rows"},
    {"sm_100", "m16n8k32.f16.e4m3.e4m3.*", EvidenceLabel::vectors,
     "B200: 2,500 rows; floor of f16 known to within one"},
    {"sm_100", "m16n8k32.f32.e5m2.e5m2.*", EvidenceLabel::vectors, "B200: 2,500 rows"},
    {"sm_100", "m16n8k32.f16.e5m2.e5m2.*", EvidenceLabel::vectors,
     "B200: 2,500 rows; floor of f16 known to within one"},
    {"sm_100", "m16n8k*.e?m?.*", EvidenceLabel::unverified, "machine code read, not run"},
    {"sm_103", "m16n8k*.e?m?.*", EvidenceLabel::unverified, "machine code read, not run"},
    {"sm_110", "m16n8k*.e?m?.*", EvidenceLabel::unverified, "machine code read, not run"},
    {"sm_100", "m16*.f16", EvidenceLabel::published,
     "Xie et al.; floor of f16 known to within one"},
    {"sm_100", "m16*", EvidenceLabel::published, "Xie et al."},
    {"sm_120", "m16*.f16", EvidenceLabel::unverified, "floor of f16 taken over from Hopper"},
    {"sm_120", "m16*", EvidenceLabel::published, "Xie et al."},
    {"sm_72", "*", EvidenceLabel::unverified, "taken over from sm_70"},
    {"sm_87", "m16*", EvidenceLabel::unverified, "taken over from sm_80"},
    {"sm_103", "m16*", EvidenceLabel::unverified, "taken over from sm_100"},
    {"sm_110", "m16*", EvidenceLabel::unverified, "taken over from sm_100"},
    {"sm_*", "m8n8k4*", EvidenceLabel::unverified, "machine code read, not run"},
};

/// True if the text fits the pattern, in which * stands for any characters and ? for any one.
constexpr bool matches(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern.front() != '*')
    return !text.empty() && (pattern.front() == '?' || pattern.front() == text.front()) &&
           matches(pattern.substr(1), text.substr(1));
  return matches(pattern.substr(1), text) || (!text.empty() && matches(pattern, text.substr(1)));
}

/// What stands behind the instruction on the target. Requires row.runs_on(target).
inline const Evidence& find_evidence(const Instruction& row, const Target& target) {
  const std::string name = short_name(row);
  const Evidence* evidence = evidence_table;
  while (!matches(evidence->target, target.name) || !matches(evidence->instructions, name))
    ++evidence;
  return *evidence;
}

}  // namespace bitmma
