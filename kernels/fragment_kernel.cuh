/// What the generated kernels share: operands between memory and registers or shared memory.
/// A block is one instance of the instruction; thread t holds lane t's registers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bitmma/kernels/operand_layout.hpp"

namespace bitmma::device {

template <class Register, int count>
struct Registers {
  Register at[count];
};

/// This thread's first word, where each has so many.
__device__ inline std::size_t first_word(int words) {
  return (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x) * static_cast<std::size_t>(words);
}

__device__ inline void assign(std::uint32_t& to, const std::uint32_t* from) { to = *from; }
__device__ inline void assign(float& to, const std::uint32_t* from) { to = __uint_as_float(*from); }
__device__ inline void assign(double& to, const std::uint32_t* from) {
  to = __hiloint2double(static_cast<int>(from[1]), static_cast<int>(from[0]));
}
__device__ inline void assign(std::uint32_t* to, std::uint32_t from) { *to = from; }
__device__ inline void assign(std::uint32_t* to, float from) { *to = __float_as_uint(from); }
__device__ inline void assign(std::uint32_t* to, double from) {
  to[0] = static_cast<std::uint32_t>(__double2loint(from));
  to[1] = static_cast<std::uint32_t>(__double2hiint(from));
}

template <class Register>
constexpr int words_of = sizeof(Register) / sizeof(std::uint32_t);

template <class Register, int count>
__device__ Registers<Register, count> load(const std::uint32_t* words) {
  Registers<Register, count> registers;
  const std::uint32_t* lane = words + first_word(count * words_of<Register>);
#pragma unroll
  for (int i = 0; i < count; ++i) assign(registers.at[i], lane + i * words_of<Register>);
  return registers;
}

template <class Register, int count>
__device__ void store(std::uint32_t* words, const Registers<Register, count>& registers) {
  std::uint32_t* lane = words + first_word(count * words_of<Register>);
#pragma unroll
  for (int i = 0; i < count; ++i) assign(lane + i * words_of<Register>, registers.at[i]);
}

/// This block's tile of `words` words, as it stands in memory.
__device__ inline void copy_to_shared(std::uint32_t* tile, const std::uint32_t* from, int words) {
  from += std::size_t{blockIdx.x} * static_cast<std::size_t>(words);
  for (int i = static_cast<int>(threadIdx.x); i < words; i += static_cast<int>(blockDim.x))
    tile[i] = from[i];
}

/// Makes ordinary stores to shared memory visible to wgmma, which reads through the async proxy.
__device__ inline void publish_shared() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
}

/// Describes a tile that is laid out as core_matrix_layout(). Source: PTX ISA, "Matrix Descriptor
/// Format": bits 0–13 start address, 16–29 leading dimension byte offset (to the next core matrix
/// along k), 32–45 stride dimension byte offset (to the next core matrix along M or N), each
/// divided by 16; 49–51 base offset 0; 62–63 swizzle mode 0, none.
__device__ inline std::uint64_t matrix_descriptor(const std::uint32_t* tile) {
  constexpr std::uint64_t leading = core_matrix_bytes;
  constexpr std::uint64_t stride = core_matrices_along_k * core_matrix_bytes;
  const auto address = static_cast<std::uint64_t>(__cvta_generic_to_shared(tile));
  return (address & 0x3FFFF) >> 4 | leading >> 4 << 16 | stride >> 4 << 32;
}

}  // namespace bitmma::device
