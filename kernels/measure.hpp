/// A batch of tiles through the GPU.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "bitmma/kernels/batch.hpp"
#include "bitmma/kernels/device.hpp"

namespace bitmma {

/// What runs instructions on packed words, as run_on_device() does. Tests put others in its place.
using RunWords = std::function<std::vector<std::uint32_t>(
    const Instruction& row, ASource a_source, std::size_t count, std::span<const std::uint32_t> a,
    std::span<const std::uint32_t> b, std::span<const std::uint32_t> c)>;

/// D's codes as the current device returns them, ordered as C. Errors as run_on_device().
std::vector<Code> measure(const Batch& batch, ASource a_source,
                          const RunWords& run = run_on_device);

}  // namespace bitmma
