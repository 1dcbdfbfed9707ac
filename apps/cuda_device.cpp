#include "bitmma/apps/cuda_device.hpp"

#include <fmt/format.h>

#include "bitmma/apps/arguments.hpp"
#include "bitmma/kernels/instruction_kernel.hpp"

namespace bitmma {

std::vector<DeviceInfo> cuda_devices() {
  std::vector<DeviceInfo> found = devices();
  if (found.empty())
    throw UsageError(kernel_compiler_version().empty()
                         ? "no CUDA device: no CUDA compiler was found for this build of bitmma"
                         : "no CUDA device");
  return found;
}

CudaDevice require_cuda_device() {
  const std::vector<DeviceInfo> found = cuda_devices();
  const Target* target = find_target(found.front().sm);
  if (target == nullptr)
    throw UsageError(fmt::format("{} is sm_{}, an unknown target; there are {}", found.front().name,
                                 found.front().sm, target_names()));
  return {found.front(), *target};
}

}  // namespace bitmma
