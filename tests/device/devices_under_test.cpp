#include "bitmma/tests/device/devices_under_test.hpp"

#include <utility>

namespace bitmma::test {
namespace {

/// An operand's codes from its words, instruction after instruction.
std::vector<Code> unpacked(const Instruction& row, ASource a_source, Operand operand,
                           std::size_t count, std::span<const std::uint32_t> words) {
  const Packing packing = operand_packing(row, a_source, operand);
  std::vector<Code> codes(count * packing.codes);
  for (std::size_t i = 0; i < count; ++i)
    unpack(packing, words.subspan(i * packing.words, packing.words),
           std::span(codes).subspan(i * packing.codes, packing.codes));
  return codes;
}

std::vector<std::uint32_t> packed_d(const Instruction& row, ASource a_source, std::size_t count,
                                    const std::vector<Code>& codes) {
  const Packing packing = operand_packing(row, a_source, Operand::d);
  std::vector<std::uint32_t> words(count * packing.words);
  for (std::size_t i = 0; i < count; ++i)
    pack(packing, std::span(codes).subspan(i * packing.codes, packing.codes),
         std::span(words).subspan(i * packing.words, packing.words));
  return words;
}

}  // namespace

RunWords emulated_device(const Target& target) {
  return [&target](const Instruction& row, ASource a_source, std::size_t count,
                   std::span<const std::uint32_t> a, std::span<const std::uint32_t> b,
                   std::span<const std::uint32_t> c) {
    const Batch batch{row, count * static_cast<std::size_t>(row.blocks()),
                      unpacked(row, a_source, Operand::a, count, a),
                      unpacked(row, a_source, Operand::b, count, b),
                      unpacked(row, a_source, Operand::c, count, c)};
    return packed_d(row, a_source, count, emulate(resolve(row, target), batch));
  };
}

RunWords with_fault(const RunWords& device, Operand operand, const WordFault& fault) {
  return [=](const Instruction& row, ASource a_source, std::size_t count,
             std::span<const std::uint32_t> a, std::span<const std::uint32_t> b,
             std::span<const std::uint32_t> c) {
    const auto faulty = [&](Operand which, std::span<const std::uint32_t> words) {
      std::vector<std::uint32_t> copy(words.begin(), words.end());
      if (which != operand) return copy;
      const std::size_t each = copy.size() / count;
      const auto lanes = static_cast<std::size_t>(operand_layout(row, a_source, operand).lanes());
      for (std::size_t i = 0; i < count; ++i)
        fault(std::span(copy).subspan(i * each, each), each / lanes);
      return copy;
    };
    const std::vector<std::uint32_t> d = device(row, a_source, count, faulty(Operand::a, a),
                                                faulty(Operand::b, b), faulty(Operand::c, c));
    return faulty(Operand::d, d);
  };
}

void swap_registers(std::span<std::uint32_t> words, std::size_t) {
  for (std::size_t word = 0; word + 1 < words.size(); word += 2)
    std::swap(words[word], words[word + 1]);
}

std::vector<const Target*> architecture_targets() {
  std::vector<const Target*> targets;
  for (const Target& target : target_table)
    if (targets.empty() || targets.back()->architecture != target.architecture)
      targets.push_back(&target);
  return targets;
}

std::vector<CampaignKernel> emulated_kernels(const Target& target) {
  std::vector<CampaignKernel> kernels;
  for (Instruction row : instruction_table) {
    if (!row.runs_on(target)) continue;
    if (row.family == Family::wgmma) {
      row.n = 8;
      kernels.push_back({row, ASource::shared_memory});
    }
    kernels.push_back({row, ASource::registers});
  }
  return kernels;
}

const Target* gpu_target() {
  const std::vector<DeviceInfo> found = devices();
  return found.empty() ? nullptr : find_target(found.front().sm);
}

}  // namespace bitmma::test
