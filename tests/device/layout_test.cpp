/// Every element of A, B, C and D of every kernel stands where the layouts say: products of small
/// integers that no permutation leaves alone, against a plain matrix product.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <vector>

#include "bitmma/compare/families.hpp"
#include "bitmma/tests/device/devices_under_test.hpp"

namespace bitmma::test {
namespace {

constexpr std::size_t instructions = 48;

/// Of A and B: exact in every operand format; sums of 32 products and C are exact in f16 and with
/// 13 fraction bits. Unsigned integers have the low bits of all codes.
constexpr std::array values{-3, -2, -1, 1, 2, 3};
constexpr int greatest_c = 1023;

std::vector<Code> random_values(const Format& format, std::size_t count, Random& random) {
  std::vector<Code> codes(count);
  for (Code& code : codes)
    code = format.encoding == Encoding::unsigned_integer
               ? random.bits() & format.code_mask() & 7
               : from_double(format, values[static_cast<std::size_t>(random.between(0, 5))]);
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
  for (std::size_t i = 0; i < codes(row.m, row.n); ++i)
    batch.c.push_back(from_double(*row.c, random.between(0, greatest_c)));
  return batch;
}

/// True if any two places of the operand, over all tiles of an instruction, differ in one of the
/// instructions: then every permutation of lanes, registers, rows or columns changes the operand.
bool is_asymmetric(const std::vector<Code>& codes) {
  const std::size_t places = codes.size() / instructions;
  std::set<std::vector<Code>> distinct;
  for (std::size_t place = 0; place < places; ++place) {
    std::vector<Code> values_there;
    for (std::size_t i = place; i < codes.size(); i += places) values_there.push_back(codes[i]);
    distinct.insert(values_there);
  }
  return distinct.size() == places;
}

std::vector<Code> plain_product(const Batch& batch) {
  const Instruction& row = batch.row;
  std::vector<Code> d;
  for (std::size_t i = 0; i < batch.c.size(); ++i) {
    const OutputElement element = output_element(batch, i);
    double sum = to_double(*row.c, element.c);
    for (int k = 0; k < row.k; ++k)
      sum += row.modifier == Modifier::xor_popc
                 ? static_cast<double>(element.a[k] ^ element.b[k])
                 : to_double(*row.a, element.a[k]) * to_double(*row.b, element.b[k]);
    // IEEE: a sum of opposite terms is −0 where it is rounded toward −Inf.
    d.push_back(from_double(*row.d, sum == 0 && row.modifier == Modifier::rm ? -0.0 : sum));
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
    const std::string name = fmt::format("{} {} {}", target.name, short_name(kernel.row),
                                         a_source_name(kernel.a_source));
    INFO(name);
    const Batch batch = integer_batch(kernel.row);
    for (const std::vector<Code>* operand : {&batch.a, &batch.b, &batch.c})
      REQUIRE(is_asymmetric(*operand));
    const std::size_t wrong =
        mismatches(measure(batch, kernel.a_source, device), plain_product(batch));
    CHECK(wrong == 0);
    MESSAGE(fmt::format("{}: {} of {} mismatched", name, wrong, batch.c.size()));
  }
}

// Each fault moves as little as it can.

/// Exchanges a lane's first two registers, of one word or of two.
WordFault swap_two_registers(std::size_t register_words) {
  return [register_words](std::span<std::uint32_t> words, std::size_t) {
    std::ranges::swap_ranges(words.first(register_words),
                             words.subspan(register_words, register_words));
  };
}

void swap_two_lanes(std::span<std::uint32_t> words, std::size_t lane_words) {
  const auto lane = [&](std::size_t number) {
    return words.subspan(number * lane_words, lane_words);
  };
  std::ranges::swap_ranges(lane(1), lane(6));
}

/// Exchanges the two lowest elements of the first word.
WordFault swap_two_elements(int bits) {
  return [bits](std::span<std::uint32_t> words, std::size_t) {
    const std::uint32_t mask = (1U << bits) - 1;
    const std::uint32_t difference = (words[0] ^ words[0] >> bits) & mask;
    words[0] ^= difference | difference << bits;
  };
}

struct MovingFault {
  std::string moved;
  WordFault fault;
};

/// Faults that move elements, as far as the operand has two places to exchange.
std::vector<MovingFault> moving_faults(const CampaignKernel& kernel, Operand operand) {
  const Layout layout = operand_layout(kernel.row, kernel.a_source, operand);
  const int bits = kernel.row.format(operand).storage_bits;
  std::vector<MovingFault> faults;
  if (layout.elements() > 1 && layout.elements() * bits > 32)
    faults.push_back({"registers", swap_two_registers(bits == 64 ? 2 : 1)});
  if (layout.lanes() > 1) faults.push_back({"lanes", swap_two_lanes});
  if (bits < 32) faults.push_back({"elements", swap_two_elements(bits)});
  return faults;
}

void check_faults(std::span<const CampaignKernel> kernels, const RunWords& device) {
  for (const CampaignKernel& kernel : kernels) {
    const Batch batch = integer_batch(kernel.row);
    const std::vector<Code> product = plain_product(batch);
    for (const Operand operand : {Operand::a, Operand::b, Operand::c, Operand::d})
      for (const MovingFault& moving : moving_faults(kernel, operand)) {
        INFO(short_name(kernel.row), " ", a_source_name(kernel.a_source), ": ", moving.moved,
             " swapped in operand ", static_cast<int>(operand));
        const RunWords faulty = with_fault(device, operand, moving.fault);
        CHECK(mismatches(measure(batch, kernel.a_source, faulty), product) > 0);
      }
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

TEST_CASE("layouts: no permutation leaves an operand of the widest wgmma unchanged") {
  for (Instruction row : instruction_table) {
    if (row.family != Family::wgmma) continue;
    row.n = 256;
    CAPTURE(short_name(row));
    const Batch batch = integer_batch(row);
    for (const std::vector<Code>* operand : {&batch.a, &batch.b, &batch.c})
      CHECK(is_asymmetric(*operand));
  }
}

TEST_CASE("layouts: on the GPU, 0 of m·n mismatched, and every swap is seen") {
  const Target* target = gpu_target();
  if (target == nullptr) {
    MESSAGE("skipped: no CUDA device of a known target");
    return;
  }
  const std::vector<CampaignKernel> kernels = runnable_kernels(*target);
  CHECK_FALSE(kernels.empty());
  check_layouts(*target, kernels, run_on_device);
  check_faults(kernels, run_on_device);
}

}  // namespace bitmma::test
