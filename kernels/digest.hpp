/// A number that stands for many outputs and their places.
#pragma once

#include <cstdint>
#include <span>

#include "bitmma/compare/families.hpp"
#include "bitmma/isa/host_device.hpp"

namespace bitmma {

/// An output's share: outputs are counted over all tiles of a kernel, family and seed, row after
/// row. The digest of several is the sum of their shares modulo 2^64, so that it does not depend on
/// their order, and digests of parts add up.
BITMMA_HD inline std::uint64_t output_digest(std::uint64_t output, Code code) {
  return Random(Random(output).bits() ^ code).bits();
}

/// Of outputs in a row, the first of which has that number.
inline std::uint64_t digest_of(std::uint64_t first_output, std::span<const Code> codes) {
  std::uint64_t digest = 0;
  for (const Code code : codes) digest += output_digest(first_output++, code);
  return digest;
}

}  // namespace bitmma
