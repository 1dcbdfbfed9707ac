/// The GPU that commands run on.
#pragma once

#include "bitmma/isa/target.hpp"
#include "bitmma/kernels/device.hpp"

namespace bitmma {

struct CudaDevice {
  DeviceInfo info;
  const Target& target;
};

/// The CUDA devices. Throws UsageError "no CUDA device" where there is none.
std::vector<DeviceInfo> cuda_devices();

/// The first of them (CUDA_VISIBLE_DEVICES chooses it). Throws UsageError as cuda_devices(), and
/// for a device whose target the table does not have.
CudaDevice require_cuda_device();

}  // namespace bitmma
