#include "bitmma/apps/kernel_arguments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>
#include <string_view>

#include "bitmma/apps/arguments.hpp"
#include "bitmma/isa/evidence.hpp"
#include "bitmma/isa/instruction.hpp"
#include "bitmma/kernels/instruction_kernel.hpp"

namespace bitmma {
namespace {

/// wgmma without an N stands for every N.
bool is_wanted(const CampaignKernel& kernel, const Instruction& wanted) {
  const Instruction row = wanted.n == 0 ? table_row(kernel.row) : kernel.row;
  return short_name(row) == short_name(wanted);
}

std::set<std::string_view> a_sources_of(std::span<const CampaignKernel> kernels) {
  std::set<std::string_view> names;
  for (const CampaignKernel& kernel : kernels) names.insert(a_source_name(kernel.a_source));
  return names;
}

/// Says which kernels the build has instead.
[[noreturn]] void refuse_instr(const Instruction& wanted, std::span<const CampaignKernel> built) {
  std::set<int> n;
  for (const CampaignKernel& kernel : built)
    if (kernel.row.family == Family::wgmma) n.insert(kernel.row.n);
  if (wanted.family != Family::wgmma || n.empty())
    throw UsageError(fmt::format("{}: this build has no kernel for it; 'bitmma devices' shows all",
                                 short_name(wanted)));
  throw UsageError(fmt::format(
      "{}: no kernel was built for it; for wgmma there are N = {} (CMake option BITMMA_WGMMA_N)",
      short_name(wanted), fmt::join(n, ", ")));
}

}  // namespace

void add_a_from_option(CLI::App& command, KernelOptions& options) {
  command.add_option("--a-from", options.a_from, "where wgmma reads A")
      ->check(CLI::IsMember({"all", "registers", "shared"}))
      ->capture_default_str();
}

void check_a_from(const KernelOptions& options) {
  if (options.a_from != "shared" || !options.names_one()) return;
  if (instruction_argument(options.instr).family == Family::mma_sync)
    throw UsageError(
        fmt::format("--a-from shared: {} takes A from registers; wgmma alone reads it "
                    "from shared memory",
                    options.instr));
}

std::vector<CampaignKernel> chosen_kernels(const KernelOptions& options, const Target& target,
                                           std::span<const CampaignKernel> built) {
  if (built.empty())
    throw UsageError(fmt::format(
        "this build has no kernels for {}; name it in the CMake option BITMMA_CUDA_TARGETS",
        target.name));
  std::vector<CampaignKernel> kernels(built.begin(), built.end());
  if (options.names_one()) {
    const int cuda = cuda_argument(kernel_compiler_version());
    const Instruction wanted = execution_argument(target.name, options.instr, cuda).instruction;
    std::erase_if(kernels,
                  [&](const CampaignKernel& kernel) { return !is_wanted(kernel, wanted); });
    if (kernels.empty()) refuse_instr(wanted, built);
  } else if (options.instr != "all") {
    std::erase_if(kernels, [&](const CampaignKernel& kernel) {
      return !matches(options.instr, short_name(kernel.row));
    });
    if (kernels.empty())
      throw UsageError(fmt::format(
          "--instr {}: no kernel of this build fits; 'bitmma devices' shows all", options.instr));
  }
  if (options.a_from == "all") return kernels;
  const std::set<std::string_view> a_sources = a_sources_of(kernels);
  if (!a_sources.contains(options.a_from))
    throw UsageError(
        fmt::format("--a-from {0}: for --instr {1} this build's kernels of {2} take A from {3} "
                    "alone; choose all or {3}",
                    options.a_from, options.instr, target.name, fmt::join(a_sources, ", ")));
  std::erase_if(kernels, [&](const CampaignKernel& kernel) {
    return a_source_name(kernel.a_source) != options.a_from;
  });
  return kernels;
}

std::vector<CampaignKernel> kernel_arguments(const KernelOptions& options, const Target& target) {
  return chosen_kernels(options, target, runnable_kernels(target));
}

}  // namespace bitmma
