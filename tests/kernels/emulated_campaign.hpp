/// A campaign without a GPU: the host's emulator stands in for the device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "bitmma/kernels/campaign.hpp"
#include "bitmma/kernels/digest.hpp"

namespace bitmma::test {

/// Changes what the device returns for a batch.
using Fault = std::function<void(const Batch&, std::vector<Code>&)>;

inline std::uint64_t outputs_before(const Instruction& row, std::uint64_t tile) {
  return tile * outputs_of_a_tile(row);
}

/// A device that returns what the emulator does, but for the fault.
inline CampaignDevice emulated_device(const Target& target, const Fault& fault) {
  const auto measure = [&target, fault](const Batch& batch, ASource) {
    std::vector<Code> d = emulate(resolve(batch.row, target), batch);
    fault(batch, d);
    return d;
  };
  const auto run_slice = [measure](const Execution& execution, const Slice& slice) {
    const Instruction& row = execution.instruction;
    const Batch batch = make_batch(row, slice.family, slice.seed, slice.first_tile, slice.tiles);
    const std::vector<Code> d = measure(batch, slice.a_source);
    const std::vector<Code> emulated = emulate(execution, batch);
    SliceResult result{d.size(), 0, digest_of(outputs_before(row, slice.first_tile), d),
                       std::nullopt};
    for (std::size_t i = 0; i < d.size(); ++i) {
      if (d[i] != emulated[i] && result.mismatches++ == 0) result.first_mismatch = i;
    }
    return result;
  };
  return {run_slice, measure};
}

inline CampaignDevice faultless_device(const Target& target) {
  return emulated_device(target, [](const Batch&, std::vector<Code>&) {});
}

/// A record of a campaign over a few kernels, not yet run.
inline Record small_record(const CampaignCases& cases) {
  const std::vector<CampaignKernel> kernels{
      {find_instruction("m8n8k4.f16.f16.f16.f16").value(), ASource::registers},
      {find_instruction("m16n8k8.f32.tf32.tf32.f32").value(), ASource::registers},
      {find_instruction("wgmma.m64n24k32.f16.e4m3.e5m2").value(), ASource::shared_memory}};
  const std::vector<NamedFamily> families = campaign_families();
  return {{"NVIDIA H200", "sm_90", "580.159.04", "13.0", "13.0.88", "0.1.0", "2026-11-30"},
          cases,
          plan_campaign(kernels, std::span(families).first(3), cases)};
}

/// A small record, run to its end without a fault.
inline Record finished_record(const CampaignCases& cases) {
  Record record = small_record(cases);
  run_campaign(record, faultless_device(*find_target("sm_90")), [] { return true; });
  return record;
}

/// A small record that looks finished, without a run: as if every output were +0. Digests of its
/// shards add up as those of a run do.
inline Record filled_record(const CampaignCases& cases) {
  Record record = small_record(cases);
  for (RecordLine& line : record.lines) {
    const std::uint64_t tile = outputs_of_a_tile(find_instruction(line.instruction).value());
    line.outputs = line.tiles * tile;
    line.digest = digest_of(line.first_tile * tile, std::vector<Code>(line.outputs));
  }
  return record;
}

}  // namespace bitmma::test
