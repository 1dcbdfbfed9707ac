/// Measured output elements as lines of text, which tests replay without a GPU.
#pragma once

#include <ostream>
#include <span>

#include "bitmma/kernels/campaign.hpp"

namespace bitmma {

/// Writes the provenance, then `rows` case_line()s of each instruction: matched elements
/// (tile_cases.hpp) of the first tiles. A family gets a quarter of what those before it have left,
/// the last one the rest, so that the first ones, which are aimed at edge cases, have the most. Of
/// several kernels of one row of the table, as of wgmma's at every N, the first is run.
void write_golden(std::ostream& out, const Provenance& provenance, std::uint64_t seed,
                  std::span<const CampaignKernel> kernels, std::span<const NamedFamily> families,
                  std::size_t rows, const CampaignDevice& device);

}  // namespace bitmma
