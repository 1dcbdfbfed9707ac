/// The devices that these tests run on: the emulator in a GPU's place, and a GPU.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "bitmma/kernels/campaign.hpp"
#include "bitmma/kernels/device.hpp"
#include "bitmma/kernels/measure.hpp"

namespace bitmma::test {

/// Changes one instruction's words of an operand; `lane_words` is how many a lane has.
using WordFault = std::function<void(std::span<std::uint32_t> words, std::size_t lane_words)>;

/// A device that runs what the emulator does for the target.
RunWords emulated_device(const Target& target);

/// The device with a fault in the words that it takes or returns.
RunWords with_fault(const RunWords& device, Operand operand, const WordFault& fault);

/// Exchanges the first register of each pair with the second, in all lanes; words of shared memory
/// alike.
void swap_registers(std::span<std::uint32_t> words, std::size_t lane_words);

/// One target of each architecture.
std::vector<const Target*> architecture_targets();

/// Every kernel that the target could run: wgmma at N = 8, with A from both places.
std::vector<CampaignKernel> emulated_kernels(const Target& target);

/// The target of the first GPU; nullptr, which tests report as skipped, without a GPU or where
/// target_table lacks its own.
const Target* gpu_target();

}  // namespace bitmma::test
