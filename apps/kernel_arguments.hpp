/// The arguments --instr and --a-from of commands that run kernels.
#pragma once

#include <CLI/CLI.hpp>
#include <span>
#include <string>
#include <vector>

#include "bitmma/isa/target.hpp"
#include "bitmma/kernels/campaign.hpp"

namespace bitmma {

struct KernelOptions {
  std::string instr = "all";  ///< or an instruction, or a pattern of short names: m*.f64.*
  std::string a_from = "all";

  /// True if one instruction is named.
  bool names_one() const { return instr != "all" && instr.find_first_of("*?") == instr.npos; }
};

/// --a-from
void add_a_from_option(CLI::App& command, KernelOptions& options);

/// Before a GPU is looked for. Throws UsageError where the options contradict each other.
void check_a_from(const KernelOptions& options);

/// Those that the options name among the kernels that were built for the target. Throws UsageError
/// with the choices where there is none.
std::vector<CampaignKernel> chosen_kernels(const KernelOptions& options, const Target& target,
                                           std::span<const CampaignKernel> built);

/// The same among the kernels of this build that the current device runs.
std::vector<CampaignKernel> kernel_arguments(const KernelOptions& options, const Target& target);

}  // namespace bitmma
