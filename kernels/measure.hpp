/// A batch of tiles through the GPU.
#pragma once

#include <vector>

#include "bitmma/kernels/batch.hpp"

namespace bitmma {

/// D's codes as the current device returns them, ordered as C. Errors as run_on_device().
std::vector<Code> measure(const Batch& batch, ASource a_source);

}  // namespace bitmma
