/// What the device's own sources share: checked calls, memory that frees itself, launches.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bitmma/isa/instruction.hpp"
#include "bitmma/kernels/operand_layout.hpp"

namespace bitmma::device {

/// Throws DeviceError, naming the call.
void check(cudaError_t status, const std::string& call);

struct Free {
  void operator()(void* memory) const { cudaFree(memory); }
};

/// `size` elements in the device's own memory.
template <class Element>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t size) : size_(size) {
    void* memory = nullptr;
    check(cudaMalloc(&memory, size * sizeof(Element)), "cudaMalloc");
    memory_.reset(static_cast<Element*>(memory));
  }
  explicit DeviceArray(std::span<const Element> elements) : DeviceArray(elements.size()) {
    check(cudaMemcpy(get(), elements.data(), elements.size_bytes(), cudaMemcpyHostToDevice),
          "cudaMemcpy to the device");
  }
  explicit DeviceArray(const std::vector<Element>& elements)
      : DeviceArray(std::span<const Element>(elements)) {}

  Element* get() const { return memory_.get(); }
  std::size_t size() const { return size_; }
  std::vector<Element> to_host() const {
    std::vector<Element> elements(size_);
    check(cudaMemcpy(elements.data(), get(), size_ * sizeof(Element), cudaMemcpyDeviceToHost),
          "cudaMemcpy from the device");
    return elements;
  }

 private:
  std::unique_ptr<Element, Free> memory_;
  std::size_t size_ = 0;
};

/// Launches the row's kernel over `count` instances whose words are on the device. Throws
/// DeviceError for a row without a kernel and for more instances than one launch takes.
void launch_instruction(const Instruction& row, ASource a_source, std::size_t count,
                        const std::uint32_t* a, const std::uint32_t* b, const std::uint32_t* c,
                        std::uint32_t* d);

}  // namespace bitmma::device
