/// Running instructions on the GPU. No CUDA type appears here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "bitmma/isa/instruction.hpp"
#include "bitmma/kernels/instruction_kernel.hpp"
#include "bitmma/kernels/operand_layout.hpp"

namespace bitmma {

/// A CUDA call that failed, or a result that cannot be trusted; what() is one line.
struct DeviceError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct DeviceInfo {
  std::string name;
  int sm;               ///< compute capability, major · 10 + minor: 90
  std::string driver;   ///< the driver's own version, 580.159.04, or "unknown" without NVML
  std::string runtime;  ///< the CUDA version of the runtime library that is linked in
};

/// The CUDA devices. Empty if there is no driver or no device; DeviceError on any other failure.
std::vector<DeviceInfo> devices();

/// True if the kernel was compiled for the capability of that device, counted from 0: code for
/// another one may leave the instruction out, or become machine code of the driver's own choice.
/// Leaves that device current. DeviceError as devices().
bool has_image(const InstructionKernel& kernel, int device);

/// D's words after `count` independent instances of the instruction on the current device. The
/// operands are laid out as operand_layout(), instance after instance. Every instance runs twice
/// over different garbage in D: words that were not written, or differ, are a DeviceError, as are
/// a row without a kernel, operands of another size and every failure of a CUDA call.
std::vector<std::uint32_t> run_on_device(const Instruction& row, ASource a_source,
                                         std::size_t count, std::span<const std::uint32_t> a,
                                         std::span<const std::uint32_t> b,
                                         std::span<const std::uint32_t> c);

}  // namespace bitmma
