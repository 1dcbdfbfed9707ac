/// A campaign catches a wrong F, a swapped register of A and a lost c within its first outputs.

#include <fmt/format.h>

#include <algorithm>

#include "bitmma/kernels/instruction_kernel.hpp"
#include "bitmma/tests/device/devices_under_test.hpp"

namespace bitmma::test {
namespace {

/// By then every fault has been caught.
constexpr std::size_t first_outputs = 10'000;

/// A campaign's first cases of the kernel, in whole instructions.
Batch first_cases(const Instruction& row) {
  const auto blocks = static_cast<std::size_t>(row.blocks());
  const std::size_t instruction = static_cast<std::size_t>(row.m * row.n) * blocks;
  const std::size_t instructions = (first_outputs + instruction - 1) / instruction;
  return make_batch(row, families_for(row, campaign_families()).front().family, 1, 0,
                    instructions * blocks);
}

/// The number of the first output that differs, from 1; 0 for none.
std::size_t first_difference(const std::vector<Code>& x, const std::vector<Code>& y) {
  const auto different = std::ranges::mismatch(x, y);
  return different.in1 == x.end() ? 0 : static_cast<std::size_t>(different.in1 - x.begin()) + 1;
}

/// Every fault's latest catch.
struct Latest {
  std::size_t wrong_f = 0;
  std::size_t swapped_register = 0;
  std::size_t lost_c = 0;
};

void check_caught(std::size_t caught, const std::string& fault, std::size_t& latest) {
  CAPTURE(fault);
  CHECK(caught > 0);
  CHECK(caught <= first_outputs);
  latest = std::max(latest, caught);
}

void check_kernel(const Target& target, int cuda, const CampaignKernel& kernel,
                  const RunWords& device, Latest& latest) {
  INFO(target.name, " ", short_name(kernel.row), " ", a_source_name(kernel.a_source));
  const Batch batch = first_cases(kernel.row);
  const Execution execution = resolve(kernel.row, target, cuda);
  const std::vector<Code> emulated = emulate(execution, batch);
  const auto measured = [&](const RunWords& run) { return measure(batch, kernel.a_source, run); };
  const std::vector<Code> sound = measured(device);
  CHECK(first_difference(sound, emulated) == 0);

  const RunWords swapped = with_fault(device, Operand::a, swap_registers);
  check_caught(first_difference(measured(swapped), emulated), "swapped register",
               latest.swapped_register);
  const RunWords lost =
      with_fault(device, Operand::c,
                 [](std::span<std::uint32_t> words, std::size_t) { std::ranges::fill(words, 0U); });
  check_caught(first_difference(measured(lost), emulated), "lost c", latest.lost_c);

  if (execution.program.step_products == 0) return;  // no fused step, no F
  for (const int change : {-1, 1}) {
    Execution wrong = execution;
    wrong.program.step.fraction_bits += change;
    check_caught(first_difference(sound, emulate(wrong, batch)), fmt::format("F {:+}", change),
                 latest.wrong_f);
  }
}

void check_kernels(const Target& target, int cuda, std::span<const CampaignKernel> kernels,
                   const RunWords& device) {
  REQUIRE_FALSE(kernels.empty());
  Latest latest;
  for (const CampaignKernel& kernel : kernels) check_kernel(target, cuda, kernel, device, latest);
  MESSAGE(fmt::format(
      "{}: {} kernels; caught by output number {} (wrong F), {} (swapped register), {} (lost c)",
      target.name, kernels.size(), latest.wrong_f, latest.swapped_register, latest.lost_c));
}

}  // namespace

TEST_CASE("faults: caught within 10,000 outputs on an emulated device of each architecture") {
  for (const Target* target : architecture_targets())
    check_kernels(*target, newest_cuda, emulated_kernels(*target), emulated_device(*target));
}

TEST_CASE("faults: caught within 10,000 outputs on the GPU") {
  const Target* target = gpu_target();
  if (target == nullptr) {
    MESSAGE("skipped: no CUDA device of a known target");
    return;
  }
  const int cuda = parse_cuda(kernel_compiler_version()).value();
  check_kernels(*target, cuda, runnable_kernels(*target), run_on_device);
}

}  // namespace bitmma::test
