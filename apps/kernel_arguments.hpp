/// The arguments --instr and --a-from of commands that run kernels.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "bitmma/kernels/campaign.hpp"

namespace bitmma {

struct KernelOptions {
  std::string instr = "all";
  std::string a_from = "all";
};

/// --a-from
void add_a_from_option(CLI::App& command, KernelOptions& options);

/// Before a GPU is looked for. Throws UsageError where the options contradict each other.
void check_a_from(const KernelOptions& options);

/// The kernels of this build that the target runs and the options name. Throws UsageError with the
/// choices where there is none.
std::vector<CampaignKernel> kernel_arguments(const KernelOptions& options, const Target& target);

}  // namespace bitmma
