/// Every element of A, B, C and D of every kernel stands where the layouts say: products of small
/// integers that no permutation leaves alone, against a plain matrix product.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "bitmma/compare/families.hpp"
#include "bitmma/tests/device/devices_under_test.hpp"

namespace bitmma::test {
namespace {

constexpr std::size_t instructions = 8;

/// Of A and B: exact in every operand format; sums of 32 products and C are exact in f16 and with
/// 13 fraction bits.
constexpr std::array values{-3, -2, -1, 1, 2, 3};
/// C's values repeat after so many elements, a prime number.
constexpr int c_values = 1021;

std::vector<Code> random_values(const Format& format, std::size_t count, Random& random) {
  std::vector<Code> codes(count);
  for (Code& code : codes)
    code = from_double(format, values[static_cast<std::size_t>(random.between(0, 5))]);
  return codes;
}

Batch integer_batch(const Instruction& row) {
  const std::size_t tiles = instructions * static_cast<std::size_t>(row.blocks());
  const auto codes = [&](int lines, int length) {
    return tiles * static_cast<std::size_t>(lines * length);
  };
  Random random(11);
  Batch batch{row,
              tiles,
              random_values(*row.a, codes(row.m, row.k), random),
              random_values(*row.b, codes(row.n, row.k), random),
              {}};
  const int offset = random.between(0, c_values);
  for (std::size_t i = 0; i < codes(row.m, row.n); ++i)
    batch.c.push_back(from_double(*row.c, (offset + static_cast<int>(i % c_values)) % c_values));
  return batch;
}

/// A and B have no two equal rows or columns over all the instructions together, so that exchanging
/// any two of them changes an operand.
bool is_asymmetric(const std::vector<Code>& codes, int lines, int length, std::size_t tiles) {
  const auto line_count = static_cast<std::size_t>(lines);
  const auto line_length = static_cast<std::size_t>(length);
  std::set<std::vector<Code>> rows;
  std::set<std::vector<Code>> columns;
  for (std::size_t line = 0; line < line_count; ++line) {
    std::vector<Code> row;
    for (std::size_t tile = 0; tile < tiles; ++tile)
      for (std::size_t i = 0; i < line_length; ++i)
        row.push_back(codes[(tile * line_count + line) * line_length + i]);
    rows.insert(row);
  }
  for (std::size_t i = 0; i < line_length; ++i) {
    std::vector<Code> column;
    for (std::size_t line = 0; line < tiles * line_count; ++line)
      column.push_back(codes[line * line_length + i]);
    columns.insert(column);
  }
  return rows.size() == line_count && columns.size() == line_length;
}

std::vector<Code> plain_product(const Batch& batch) {
  const Instruction& row = batch.row;
  std::vector<Code> d;
  for (std::size_t i = 0; i < batch.c.size(); ++i) {
    const OutputElement element = output_element(batch, i);
    double sum = to_double(*row.c, element.c);
    for (int k = 0; k < row.k; ++k)
      sum += to_double(*row.a, element.a[k]) * to_double(*row.b, element.b[k]);
    d.push_back(from_double(*row.d, sum));
  }
  return d;
}

std::size_t mismatches(const std::vector<Code>& x, const std::vector<Code>& y) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < x.size(); ++i) count += x[i] != y[i];
  return count;
}

void check_layouts(const Target& target, std::span<const CampaignKernel> kernels,
                   const RunWords& device) {
  for (const CampaignKernel& kernel : kernels) {
    const Batch batch = integer_batch(kernel.row);
    const std::size_t wrong =
        mismatches(measure(batch, kernel.a_source, device), plain_product(batch));
    INFO(short_name(kernel.row), " ", a_source_name(kernel.a_source));
    REQUIRE(is_asymmetric(batch.a, kernel.row.m, kernel.row.k, batch.tiles));
    REQUIRE(is_asymmetric(batch.b, kernel.row.n, kernel.row.k, batch.tiles));
    CHECK(wrong == 0);
    MESSAGE(fmt::format("{} {} {}: {} of {} mismatched", target.name, short_name(kernel.row),
                        a_source_name(kernel.a_source), wrong, batch.c.size()));
  }
}

void swap_lanes(std::span<std::uint32_t> words, std::size_t lane_words) {
  constexpr std::size_t x = 1;
  constexpr std::size_t y = 6;
  for (std::size_t word = 0; y * lane_words < words.size() && word < lane_words; ++word)
    std::swap(words[x * lane_words + word], words[y * lane_words + word]);
}

/// Rotates each word by the width of an element.
WordFault swap_elements(int bits) {
  return [bits](std::span<std::uint32_t> words, std::size_t) {
    for (std::uint32_t& word : words) word = bits == 32 ? word : word << bits | word >> (32 - bits);
  };
}

/// Faults that move elements, as far as the operand has two places to exchange.
std::vector<std::pair<std::string, WordFault>> moving_faults(const CampaignKernel& kernel,
                                                             Operand operand) {
  const Layout layout = operand_layout(kernel.row, kernel.a_source, operand);
  const int bits = kernel.row.format(operand).storage_bits;
  std::vector<std::pair<std::string, WordFault>> faults;
  if (layout.elements() * bits > 32) faults.emplace_back("registers", swap_registers);
  if (layout.lanes() > 1) faults.emplace_back("lanes", swap_lanes);
  if (bits < 32) faults.emplace_back("elements", swap_elements(bits));
  return faults;
}

void check_faults(std::span<const CampaignKernel> kernels, const RunWords& device) {
  for (const CampaignKernel& kernel : kernels)
    for (const Operand operand : {Operand::a, Operand::b, Operand::c, Operand::d})
      for (const auto& [name, fault] : moving_faults(kernel, operand)) {
        INFO(short_name(kernel.row), " ", a_source_name(kernel.a_source), ": ", name,
             " swapped in operand ", static_cast<int>(operand));
        const Batch batch = integer_batch(kernel.row);
        const RunWords faulty = with_fault(device, operand, fault);
        CHECK(mismatches(measure(batch, kernel.a_source, faulty), plain_product(batch)) > 0);
      }
}

}  // namespace

TEST_CASE("layouts: on an emulated device of each architecture, 0 of m·n mismatched") {
  for (const Target* target : architecture_targets())
    check_layouts(*target, emulated_kernels(*target), emulated_device(*target));
}

TEST_CASE("layouts: swapped registers, lanes or elements of any operand are seen") {
  const Target& target = *find_target("sm_90");
  check_faults(emulated_kernels(target), emulated_device(target));
}

TEST_CASE("layouts: on the GPU, 0 of m·n mismatched, and every swap is seen") {
  const Target* target = gpu_target();
  if (target == nullptr) {
    MESSAGE("skipped: no CUDA device");
    return;
  }
  const std::vector<CampaignKernel> kernels = runnable_kernels(*target);
  CHECK_FALSE(kernels.empty());
  check_layouts(*target, kernels, run_on_device);
  check_faults(kernels, run_on_device);
}

}  // namespace bitmma::test
