#include "bitmma/kernels/device.hpp"

#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <limits>
#include <memory>

#include "bitmma/kernels/instruction_kernel.hpp"

namespace bitmma {
namespace {

void check(cudaError_t status, const std::string& call) {
  if (status != cudaSuccess) throw DeviceError(call + ": " + cudaGetErrorString(status));
}

struct FreeDeviceMemory {
  void operator()(std::uint32_t* words) const { cudaFree(words); }
};
using DeviceWords = std::unique_ptr<std::uint32_t, FreeDeviceMemory>;

DeviceWords allocate(std::size_t words) {
  void* memory = nullptr;
  check(cudaMalloc(&memory, words * sizeof(std::uint32_t)), "cudaMalloc");
  return DeviceWords(static_cast<std::uint32_t*>(memory));
}

DeviceWords copy_to_device(std::span<const std::uint32_t> words) {
  DeviceWords copy = allocate(words.size());
  check(cudaMemcpy(copy.get(), words.data(), words.size_bytes(), cudaMemcpyHostToDevice),
        "cudaMemcpy to the device");
  return copy;
}

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

struct Launch {
  const InstructionKernel& kernel;
  unsigned blocks;
  unsigned threads;
  std::size_t d_words;
};

/// D's words after one launch over memory that was filled with the byte.
std::vector<std::uint32_t> launch_over(int garbage_byte, const Launch& launch,
                                       const std::uint32_t* a, const std::uint32_t* b,
                                       const std::uint32_t* c) {
  const DeviceWords memory = allocate(launch.d_words);
  std::vector<std::uint32_t> d(launch.d_words);
  const std::size_t bytes = d.size() * sizeof(std::uint32_t);
  check(cudaMemset(memory.get(), garbage_byte, bytes), "cudaMemset");
  std::uint32_t* d_pointer = memory.get();
  void* arguments[] = {&a, &b, &c, &d_pointer};
  const std::string name(launch.kernel.name);
  check(cudaLaunchKernel(launch.kernel.function, dim3(launch.blocks), dim3(launch.threads),
                         arguments, 0, nullptr),
        "launch of " + name);
  check(cudaDeviceSynchronize(), "run of " + name);
  check(cudaMemcpy(d.data(), memory.get(), bytes, cudaMemcpyDeviceToHost),
        "cudaMemcpy from the device");
  return d;
}

}  // namespace

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
    found.push_back({properties.name, properties.major * 10 + properties.minor, driver_version(),
                     version_text(runtime)});
  }
  return found;
}

std::vector<std::uint32_t> run_on_device(const Instruction& row, ASource a_source,
                                         std::size_t count, std::span<const std::uint32_t> a,
                                         std::span<const std::uint32_t> b,
                                         std::span<const std::uint32_t> c) {
  const InstructionKernel& kernel = find_kernel(row, a_source);
  const auto words = [&](Operand operand) { return count * operand_words(row, a_source, operand); };
  check_size("A", a.size(), words(Operand::a));
  check_size("B", b.size(), words(Operand::b));
  check_size("C", c.size(), words(Operand::c));
  if (count == 0) return {};
  if (count > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
    throw DeviceError("more instances than one launch takes: " + std::to_string(count));

  const DeviceWords device_a = copy_to_device(a);
  const DeviceWords device_b = copy_to_device(b);
  const DeviceWords device_c = copy_to_device(c);
  const auto threads = static_cast<unsigned>(fragment_layout(row, Operand::d).lanes());
  const Launch launch{kernel, static_cast<unsigned>(count), threads, words(Operand::d)};
  std::vector<std::uint32_t> d =
      launch_over(0xA5, launch, device_a.get(), device_b.get(), device_c.get());
  if (d != launch_over(0x5A, launch, device_a.get(), device_b.get(), device_c.get()))
    throw DeviceError("two runs of " + std::string(kernel.name) +
                      " differ: D was not written, or there is a race");
  return d;
}

}  // namespace bitmma
