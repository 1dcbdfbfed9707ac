#include "bitmma/apps/kernel_arguments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "bitmma/apps/arguments.hpp"

namespace bitmma {
namespace {

/// wgmma without an N stands for every N.
bool is_wanted(const CampaignKernel& kernel, const Instruction& wanted) {
  const Instruction row = wanted.n == 0 ? table_row(kernel.row) : kernel.row;
  return short_name(row) == short_name(wanted);
}

[[noreturn]] void refuse(const KernelOptions& options, const Target& target) {
  if (options.a_from == "shared" && instruction_argument(options.instr).family == Family::mma_sync)
    throw UsageError(
        fmt::format("--a-from shared: {} takes A from registers; wgmma alone reads it "
                    "from shared memory",
                    options.instr));
  std::set<int> n;
  for (const CampaignKernel& kernel : runnable_kernels(target))
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

std::vector<CampaignKernel> kernel_arguments(const KernelOptions& options, const Target& target) {
  std::vector<CampaignKernel> kernels = runnable_kernels(target);
  if (options.instr != "all") {
    const Instruction wanted = execution_argument(target.name, options.instr).instruction;
    std::erase_if(kernels,
                  [&](const CampaignKernel& kernel) { return !is_wanted(kernel, wanted); });
  }
  if (options.a_from != "all")
    std::erase_if(kernels, [&](const CampaignKernel& kernel) {
      return a_source_name(kernel.a_source) != options.a_from;
    });
  if (kernels.empty()) refuse(options, target);
  return kernels;
}

}  // namespace bitmma
