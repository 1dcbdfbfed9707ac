/// bitmma::device where no CUDA compiler was found: no devices, no kernels.

#include "bitmma/kernels/device.hpp"
#include "bitmma/kernels/instruction_kernel.hpp"
#include "bitmma/kernels/slice.hpp"

namespace bitmma {
namespace {

[[noreturn]] void refuse() { throw DeviceError("this build has no CUDA kernels"); }

}  // namespace

std::vector<DeviceInfo> devices() { return {}; }

std::span<const InstructionKernel> instruction_kernels() { return {}; }

std::string_view kernel_compiler_version() { return ""; }

bool has_image(const InstructionKernel&, int) { return false; }

std::vector<std::uint32_t> run_on_device(const Instruction&, ASource, std::size_t,
                                         std::span<const std::uint32_t>,
                                         std::span<const std::uint32_t>,
                                         std::span<const std::uint32_t>) {
  refuse();
}

SliceResult run_slice(const Execution&, const Slice&) { refuse(); }

}  // namespace bitmma
