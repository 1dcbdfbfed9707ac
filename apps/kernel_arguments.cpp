#include "bitmma/apps/kernel_arguments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "bitmma/apps/arguments.hpp"
#include "bitmma/kernels/instruction_kernel.hpp"

namespace bitmma {
namespace {

/// wgmma without an N stands for every N.
bool is_wanted(const CampaignKernel& kernel, const Instruction& wanted) {
  const Instruction row = wanted.n == 0 ? table_row(kernel.row) : kernel.row;
  return short_name(row) == short_name(wanted);
}

/// Says which kernels the build has instead. `built` are those that the GPU can run.
[[noreturn]] void refuse(const KernelOptions& options, const Target& target,
                         std::span<const CampaignKernel> built) {
  if (built.empty())
    throw UsageError(
        fmt::format("this build has no kernels for {}; name it in the CMake option "
                    "BITMMA_CUDA_TARGETS",
                    target.name));
  std::set<int> n;
  for (const CampaignKernel& kernel : built)
    if (kernel.row.family == Family::wgmma) n.insert(kernel.row.n);
  throw UsageError(fmt::format(
      "{}: no kernel was built for it; for wgmma there are N = {} (CMake option BITMMA_WGMMA_N)",
      options.instr, fmt::join(n, ", ")));
}

}  // namespace

void add_a_from_option(CLI::App& command, KernelOptions& options) {
  command.add_option("--a-from", options.a_from, "where wgmma reads A")
      ->check(CLI::IsMember({"all", "registers", "shared"}))
      ->capture_default_str();
}

void check_a_from(const KernelOptions& options) {
  if (options.a_from != "shared" || options.instr == "all") return;
  if (instruction_argument(options.instr).family == Family::mma_sync)
    throw UsageError(
        fmt::format("--a-from shared: {} takes A from registers; wgmma alone reads it "
                    "from shared memory",
                    options.instr));
}

std::vector<CampaignKernel> kernel_arguments(const KernelOptions& options, const Target& target) {
  const std::vector<CampaignKernel> built = runnable_kernels(target);
  std::vector<CampaignKernel> kernels = built;
  if (options.instr != "all") {
    const int cuda = cuda_argument(kernel_compiler_version());
    const Instruction wanted = execution_argument(target.name, options.instr, cuda).instruction;
    std::erase_if(kernels,
                  [&](const CampaignKernel& kernel) { return !is_wanted(kernel, wanted); });
  }
  if (options.a_from != "all")
    std::erase_if(kernels, [&](const CampaignKernel& kernel) {
      return a_source_name(kernel.a_source) != options.a_from;
    });
  if (kernels.empty()) refuse(options, target, built);
  return kernels;
}

}  // namespace bitmma
