/// The table of generated kernels: generate.cpp prints its definition beside the kernels.
#pragma once

#include <span>
#include <string_view>

#include "bitmma/kernels/operand_layout.hpp"

namespace bitmma {

/// A kernel that runs one instruction per block of threads, a warp or a warpgroup:
/// __global__ void(const uint32_t* a, const uint32_t* b, const uint32_t* c, uint32_t* d).
/// Instance i reads and writes the i-th operand_words() words of each.
struct InstructionKernel {
  std::string_view name;  ///< short_name() of the row, with a concrete N
  ASource a_source;
  const void* function;
};

std::span<const InstructionKernel> instruction_kernels();

/// The version of nvcc that compiled the kernels: "13.0.88". Empty in a build without kernels.
std::string_view kernel_compiler_version();

}  // namespace bitmma
