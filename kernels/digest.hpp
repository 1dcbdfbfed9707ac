/// A number that stands for many outputs and their places.
#pragma once

#include <cstdint>

#include "bitmma/compare/families.hpp"
#include "bitmma/isa/host_device.hpp"

namespace bitmma {

/// An output's share: outputs are counted over all tiles of a kernel, family and seed, row after
/// row. The digest of several is the sum of their shares modulo 2^64, so that it does not depend on
/// their order, and digests of parts add up.
BITMMA_HD inline std::uint64_t output_digest(std::uint64_t output, Code code) {
  return Random(Random(output).bits() ^ code).bits();
}

}  // namespace bitmma
