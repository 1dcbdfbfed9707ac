#include "bitmma/kernels/device.hpp"

#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <limits>

#include "bitmma/kernels/device_memory.hpp"

namespace bitmma {
namespace {

using device::check;
using device::DeviceArray;

/// CUDA writes version 13.0 as 13000.
std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

/// NVML is part of the driver and not of CUDA's runtime, so that it is looked up at run time.
std::string driver_version() {
  std::string version = "unknown";
  void* nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW);
  if (nvml == nullptr) return version;
  using Init = int (*)();
  using Version = int (*)(char*, unsigned);
  const auto init = reinterpret_cast<Init>(dlsym(nvml, "nvmlInit_v2"));
  const auto get_version = reinterpret_cast<Version>(dlsym(nvml, "nvmlSystemGetDriverVersion"));
  char text[81] = {};
  if (init != nullptr && get_version != nullptr && init() == 0 &&
      get_version(text, sizeof text - 1) == 0)
    version = text;
  dlclose(nvml);
  return version;
}

/// major · 10 + minor
int capability(int device) {
  int major = 0;
  int minor = 0;
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device),
        "cudaDeviceGetAttribute");
  check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device),
        "cudaDeviceGetAttribute");
  return major * 10 + minor;
}

const InstructionKernel& find_kernel(const Instruction& row, ASource a_source) {
  const std::string name = short_name(row);
  for (const InstructionKernel& kernel : instruction_kernels())
    if (kernel.name == name && kernel.a_source == a_source) return kernel;
  throw DeviceError("no kernel was built for " + name);
}

void check_size(const std::string& operand, std::size_t words, std::size_t expected) {
  if (words != expected)
    throw DeviceError("operand " + operand + " has " + std::to_string(words) +
                      " words, the instruction needs " + std::to_string(expected));
}

}  // namespace

void device::check(cudaError_t status, const std::string& call) {
  if (status != cudaSuccess) throw DeviceError(call + ": " + cudaGetErrorString(status));
}

void device::launch_instruction(const Instruction& row, ASource a_source, std::size_t count,
                                const std::uint32_t* a, const std::uint32_t* b,
                                const std::uint32_t* c, std::uint32_t* d) {
  const InstructionKernel& kernel = find_kernel(row, a_source);
  if (count > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
    throw DeviceError("more instances than one launch takes: " + std::to_string(count));
  const auto threads = static_cast<unsigned>(fragment_layout(row, Operand::d).lanes());
  void* arguments[] = {&a, &b, &c, &d};
  check(cudaLaunchKernel(kernel.function, dim3(static_cast<unsigned>(count)), dim3(threads),
                         arguments, 0, nullptr),
        "launch of " + std::string(kernel.name));
}

std::vector<DeviceInfo> devices() {
  int cuda = 0;
  check(cudaDriverGetVersion(&cuda), "cudaDriverGetVersion");
  if (cuda == 0) return {};  // no driver is installed
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaErrorNoDevice) return {};
  check(status, "cudaGetDeviceCount");
  int runtime = 0;
  check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");

  std::vector<DeviceInfo> found;
  for (int device = 0; device < count; ++device) {
    cudaDeviceProp properties;
    check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
    found.push_back({properties.name, capability(device), driver_version(), version_text(runtime)});
  }
  return found;
}

bool has_image(const InstructionKernel& kernel, int device) {
  check(cudaSetDevice(device), "cudaSetDevice");
  cudaFuncAttributes attributes;
  const cudaError_t status = cudaFuncGetAttributes(&attributes, kernel.function);
  if (status == cudaErrorNoKernelImageForDevice || status == cudaErrorInvalidDeviceFunction) {
    cudaGetLastError();  // else the next launch would report it
    return false;
  }
  check(status, "cudaFuncGetAttributes of " + std::string(kernel.name));
  return attributes.ptxVersion == capability(device);
}

std::vector<std::uint32_t> run_on_device(const Instruction& row, ASource a_source,
                                         std::size_t count, std::span<const std::uint32_t> a,
                                         std::span<const std::uint32_t> b,
                                         std::span<const std::uint32_t> c) {
  const auto words = [&](Operand operand) { return count * operand_words(row, a_source, operand); };
  check_size("A", a.size(), words(Operand::a));
  check_size("B", b.size(), words(Operand::b));
  check_size("C", c.size(), words(Operand::c));
  if (count == 0) return {};

  const DeviceArray<std::uint32_t> device_a(a);
  const DeviceArray<std::uint32_t> device_b(b);
  const DeviceArray<std::uint32_t> device_c(c);
  const DeviceArray<std::uint32_t> device_d(words(Operand::d));
  const auto run_over = [&](int garbage_byte) {
    check(cudaMemset(device_d.get(), garbage_byte, device_d.size() * sizeof(std::uint32_t)),
          "cudaMemset");
    device::launch_instruction(row, a_source, count, device_a.get(), device_b.get(), device_c.get(),
                               device_d.get());
    check(cudaDeviceSynchronize(), "run of " + short_name(row));
    return device_d.to_host();
  };
  const std::vector<std::uint32_t> d = run_over(0xA5);
  if (d != run_over(0x5A))
    throw DeviceError("two runs of " + short_name(row) +
                      " differ: D was not written, or there is a race");
  return d;
}

}  // namespace bitmma
