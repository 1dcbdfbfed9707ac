/// The campaign: a GPU against the emulator, on every case of a record.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "bitmma/compare/case_line.hpp"
#include "bitmma/emulator/instruction.hpp"
#include "bitmma/isa/target.hpp"
#include "bitmma/kernels/batch.hpp"
#include "bitmma/kernels/record.hpp"
#include "bitmma/kernels/slice.hpp"

namespace bitmma {

/// What a campaign asks of a GPU. Tests put an emulated one in its place, with or without a fault.
struct CampaignDevice {
  std::function<SliceResult(const Execution&, const Slice&)> run_slice;
  std::function<std::vector<Code>(const Batch&, ASource)> measure;
};

/// The current CUDA device.
CampaignDevice cuda_device();

/// The first output on which the two differ.
struct Mismatch {
  RecordLine line;  ///< kernel and family
  std::uint64_t tile;
  int row;  ///< in the tile
  int column;
  int cuda;     ///< version of the toolkit that compiled the kernels (lowering.hpp)
  DotCase dot;  ///< its operands, and as d what the GPU returned when it ran again
  Code emulated;
};

/// Called after every part of a line; false stops the campaign.
using Watch = std::function<bool()>;

/// Does what the record has left to do, a part of every line in turn, and notes it there. The first
/// outputs of each line also go through the host's emulator, which checks the GPU's build of it.
/// Stops at the first mismatch, which it returns. DeviceError as run_slice().
std::optional<Mismatch> run_campaign(Record& record, const CampaignDevice& device,
                                     const Watch& watch);

/// The kernels of this build that were compiled for that device, counted from 0, whose target is
/// given, and whose instruction it runs. Leaves that device current. DeviceError as devices().
std::vector<CampaignKernel> runnable_kernels(const Target& target, int device = 0);

}  // namespace bitmma
