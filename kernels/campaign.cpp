#include "bitmma/kernels/campaign.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "bitmma/isa/instruction.hpp"
#include "bitmma/isa/target.hpp"
#include "bitmma/kernels/device.hpp"
#include "bitmma/kernels/digest.hpp"
#include "bitmma/kernels/instruction_kernel.hpp"
#include "bitmma/kernels/measure.hpp"

namespace bitmma {
namespace {

/// Of a line before the next line has its turn: a few hundredths of a second on an H200.
constexpr std::size_t part_outputs = std::size_t{1} << 25;

/// Of each line that go through the host's emulator too.
constexpr std::size_t host_outputs = 20'000;

/// Runs one line of a record.
class LineRun {
 public:
  LineRun(RecordLine& line, const Record& record, const CampaignDevice& device)
      : line_(line),
        target_(*find_target(record.provenance.target)),
        cuda_(toolkit_of(record.provenance).value()),
        execution_(resolve(find_instruction(line.instruction).value(), target_, cuda_)),
        device_(device),
        slice_{line.a_source, find_family(line.family).value(), record.cases.seed, 0, 0} {}

  /// The next tiles of the line.
  std::optional<Mismatch> run_part() {
    slice_.first_tile = line_.first_tile + line_.done();
    slice_.tiles = std::min<std::uint64_t>(line_.tiles - line_.done(),
                                           tiles_of(execution_.instruction, part_outputs));
    if (line_.outputs == 0)
      if (const std::optional<std::uint64_t> index = check_on_host()) return mismatch(*index);
    const SliceResult result = device_.run_slice(execution_, slice_);
    note(result);
    if (!result.first_mismatch) return std::nullopt;
    return mismatch(*result.first_mismatch);
  }

 private:
  Batch batch(std::uint64_t first_tile, std::uint64_t tiles) const {
    return make_batch(execution_.instruction, slice_.family, slice_.seed, first_tile, tiles);
  }

  /// Emulates the part's first outputs on the host. Returns the index of the first difference; if
  /// there is none, the digest shows whether the operands that the GPU makes give the same outputs.
  std::optional<std::uint64_t> check_on_host() {
    Slice first = slice_;
    first.tiles =
        std::min<std::uint64_t>(slice_.tiles, tiles_of(execution_.instruction, host_outputs));
    const Batch sample = batch(first.first_tile, first.tiles);
    const std::vector<Code> measured = device_.measure(sample, line_.a_source);
    const std::vector<Code> emulated = emulate(execution_, sample);
    SliceResult result{measured.size(), 0, digest_of(first_output(), measured), std::nullopt};
    for (std::size_t i = 0; i < measured.size(); ++i)
      if (measured[i] != emulated[i] && result.mismatches++ == 0) result.first_mismatch = i;
    const SliceResult on_gpu = device_.run_slice(execution_, first);
    for (const SliceResult& each : {result, on_gpu})
      if (each.first_mismatch) {
        note(each);
        return each.first_mismatch;
      }
    if (on_gpu.digest != result.digest)
      throw DeviceError("the GPU returns other outputs for the operands that it makes itself: " +
                        line_.instruction + " " + line_.family);
    return std::nullopt;
  }

  void note(const SliceResult& result) {
    line_.outputs += result.outputs;
    line_.mismatches += result.mismatches;
    line_.digest += result.digest;
  }

  /// The number of the part's first output, counted from tile 0.
  std::uint64_t first_output() const {
    return slice_.first_tile * outputs_of_a_tile(execution_.instruction);
  }

  /// Runs the instruction of the part's differing output again.
  Mismatch mismatch(std::uint64_t output) const {
    const Instruction& row = execution_.instruction;
    const auto blocks = static_cast<std::uint64_t>(row.blocks());
    const std::uint64_t elements = outputs_of_a_tile(row);
    const std::uint64_t first_tile = slice_.first_tile + output / (elements * blocks) * blocks;
    const Batch again = batch(first_tile, blocks);
    const std::uint64_t index = output % (elements * blocks);
    const OutputElement element = output_element(again, index);
    const auto in_tile = static_cast<int>(index % elements);
    return {line_,
            first_tile + index / elements,
            in_tile / row.n,
            in_tile % row.n,
            cuda_,
            {row,
             &target_,
             {element.a, element.a + row.k},
             {element.b, element.b + row.k},
             element.c,
             device_.measure(again, line_.a_source)[index]},
            emulate(execution_, again)[index]};
  }

  RecordLine& line_;
  const Target& target_;
  int cuda_;
  Execution execution_;
  const CampaignDevice& device_;
  Slice slice_;
};

}  // namespace

CampaignDevice cuda_device() {
  return {run_slice, [](const Batch& batch, ASource a_source) { return measure(batch, a_source); }};
}

std::optional<Mismatch> run_campaign(Record& record, const CampaignDevice& device,
                                     const Watch& watch) {
  const auto left = [](const RecordLine& line) { return !line.is_complete(); };
  while (std::ranges::any_of(record.lines, left))
    for (RecordLine& line : record.lines) {
      if (line.is_complete()) continue;
      if (std::optional<Mismatch> found = LineRun(line, record, device).run_part()) return found;
      if (!watch()) return std::nullopt;
    }
  return std::nullopt;
}

std::vector<CampaignKernel> runnable_kernels(const Target& target, int device) {
  std::vector<CampaignKernel> kernels;
  for (const InstructionKernel& kernel : instruction_kernels()) {
    const Instruction row = find_instruction(kernel.name).value();
    if (row.runs_on(target) && has_image(kernel, device)) kernels.push_back({row, kernel.a_source});
  }
  return kernels;
}

}  // namespace bitmma
