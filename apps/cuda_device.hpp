/// The GPU that commands run on.
#pragma once

#include "bitmma/isa/target.hpp"
#include "bitmma/kernels/device.hpp"

namespace bitmma {

struct CudaDevice {
  DeviceInfo info;
  const Target& target;
};

/// The first CUDA device (CUDA_VISIBLE_DEVICES chooses it). Throws UsageError "no CUDA device"
/// where there is none, and for one whose target the table does not have.
CudaDevice require_cuda_device();

}  // namespace bitmma
