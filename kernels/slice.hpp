/// A campaign's unit of work, done on the GPU alone: operands are made, the instruction is run, the
/// emulator compiled for the GPU computes every output again, and the bits are compared.
#pragma once

#include <cstdint>
#include <optional>

#include "bitmma/emulator/instruction.hpp"
#include "bitmma/kernels/operand_layout.hpp"
#include "bitmma/kernels/tile_cases.hpp"

namespace bitmma {

/// Tiles first_tile … first_tile + tiles − 1 of one kernel, family and seed. Whole instructions.
struct Slice {
  ASource a_source = ASource::registers;
  InputFamily family = InputFamily::normal;
  std::uint64_t seed = 0;
  std::uint64_t first_tile = 0;
  std::uint64_t tiles = 0;
};

struct SliceResult {
  std::uint64_t outputs = 0;
  std::uint64_t mismatches = 0;
  std::uint64_t digest = 0;  ///< of the GPU's outputs (digest.hpp)
  /// The first output that differs, counted over the slice's tiles, row after row.
  std::optional<std::uint64_t> first_mismatch;
};

/// Runs the slice on the current device. DeviceError as run_on_device().
SliceResult run_slice(const Execution& execution, const Slice& slice);

}  // namespace bitmma
