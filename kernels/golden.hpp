/// Measured output elements as lines of text, which tests replay without a GPU.
#pragma once

#include <ostream>
#include <span>

#include "bitmma/kernels/campaign.hpp"

namespace bitmma {

/// Writes the provenance, then `rows` case_line()s of each instruction, shared out among the
/// families: matched elements (tile_cases.hpp) of the first tiles. Of several kernels of one
/// instruction the first is run.
void write_golden(std::ostream& out, const Provenance& provenance, std::uint64_t seed,
                  std::span<const CampaignKernel> kernels, std::span<const NamedFamily> families,
                  std::size_t rows, const CampaignDevice& device);

}  // namespace bitmma
