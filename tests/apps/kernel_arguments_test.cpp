#include "bitmma/apps/kernel_arguments.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "bitmma/apps/usage_error.hpp"
#include "bitmma/isa/target.hpp"

namespace bitmma::test {
namespace {

const Target& target = *find_target("sm_90");

CampaignKernel kernel(const std::string& name, ASource a_source = ASource::registers) {
  return {find_instruction(name).value(), a_source};
}

const std::vector<CampaignKernel> mma_alone{kernel("m16n8k8.f32.f16.f16.f32")};

const std::vector<CampaignKernel> with_wgmma{
    kernel("m16n8k8.f32.f16.f16.f32"), kernel("wgmma.m64n8k16.f32.f16.f16"),
    kernel("wgmma.m64n8k16.f32.f16.f16", ASource::shared_memory),
    kernel("wgmma.m64n64k16.f32.f16.f16"), kernel("wgmma.m64n64k8.f32.tf32.tf32")};

/// "m16n8k8.f32.f16.f16.f32 registers, …", or the error's message.
std::string chosen(const KernelOptions& options, const std::vector<CampaignKernel>& built) {
  std::string names;
  try {
    for (const CampaignKernel& each : chosen_kernels(options, target, built))
      names.append(names.empty() ? "" : ", ")
          .append(short_name(each.row))
          .append(" ")
          .append(a_source_name(each.a_source));
  } catch (const UsageError& error) {
    return error.what();
  }
  return names;
}

TEST_CASE("--instr and --a-from choose among the kernels that were built") {
  CHECK(chosen({"all", "all"}, mma_alone) == "m16n8k8.f32.f16.f16.f32 registers");
  CHECK(chosen({"all", "shared"}, with_wgmma) == "wgmma.m64n8k16.f32.f16.f16 shared");
  CHECK(chosen({"wgmma.m64nNk16.f32.f16.f16", "registers"}, with_wgmma) ==
        "wgmma.m64n8k16.f32.f16.f16 registers, wgmma.m64n64k16.f32.f16.f16 registers");
  CHECK(chosen({"wgmma.m64n8k16.f32.f16.f16", "all"}, with_wgmma) ==
        "wgmma.m64n8k16.f32.f16.f16 registers, wgmma.m64n8k16.f32.f16.f16 shared");
}

TEST_CASE("--a-from without such a kernel is refused with what there is") {
  CHECK(chosen({"all", "shared"}, mma_alone) ==
        "--a-from shared: for --instr all this build's kernels of sm_90 take A from registers "
        "alone; choose all or registers");
  CHECK(chosen({"wgmma.m64n64k16.f32.f16.f16", "shared"}, with_wgmma) ==
        "--a-from shared: for --instr wgmma.m64n64k16.f32.f16.f16 this build's kernels of sm_90 "
        "take A from registers alone; choose all or registers");
}

TEST_CASE("--instr without a kernel is refused with what there is") {
  CHECK(chosen({"wgmma.m64n16k16.f32.f16.f16", "all"}, with_wgmma) ==
        "wgmma.m64n16k16.f32.f16.f16: no kernel was built for it; for wgmma there are N = 8, 64 "
        "(CMake option BITMMA_WGMMA_N)");
  CHECK(chosen({"wgmma.m64n16k16.f32.f16.f16", "all"}, mma_alone) ==
        "wgmma.m64n16k16.f32.f16.f16: this build has no kernel for it; 'bitmma devices' shows all");
  CHECK(chosen({"m16n8k16.f32.f16.f16.f32", "all"}, with_wgmma) ==
        "m16n8k16.f32.f16.f16.f32: this build has no kernel for it; 'bitmma devices' shows all");
  CHECK(chosen({"all", "all"}, {}) ==
        "this build has no kernels for sm_90; name it in the CMake option BITMMA_CUDA_TARGETS");
}

}  // namespace
}  // namespace bitmma::test
