#include "bitmma/kernels/campaign.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <tuple>

#include "bitmma/kernels/golden.hpp"
#include "bitmma/tests/kernels/emulated_campaign.hpp"

namespace bitmma {
namespace {

const Target& target = *find_target("sm_90");

bool go_on() { return true; }

TEST_CASE("a campaign does every tile of its lines and finds no mismatch where there is none") {
  Record record = test::small_record({1, 5000, {}});
  CHECK_FALSE(run_campaign(record, test::faultless_device(target), go_on));
  for (const RecordLine& line : record.lines) {
    CAPTURE(line.instruction);
    CHECK(line.is_complete());
    CHECK(line.outputs >= 5000);
    CHECK(line.mismatches == 0);
    CHECK(line.digest != 0);
  }
}

TEST_CASE("a campaign that was stopped goes on to the same record") {
  const Record whole = test::finished_record({1, 2000, {}});
  for (const int parts : {1, 4}) {
    Record record = test::small_record({1, 2000, {}});
    int left = parts;
    run_campaign(record, test::faultless_device(target), [&] { return --left > 0; });
    CHECK(std::ranges::count_if(record.lines, &RecordLine::is_complete) == parts);
    run_campaign(record, test::faultless_device(target), go_on);
    CHECK(record.lines == whole.lines);
  }
}

/// A device that emulates no more than a line's first outputs, which the host checks; the digest of
/// other slices is made of their tiles' numbers. For lines that are too long to emulate.
CampaignDevice counting_device() {
  CampaignDevice device = test::faultless_device(target);
  constexpr std::uint64_t emulated_tiles = 1000;
  device.run_slice = [emulate_slice = device.run_slice](const Execution& execution,
                                                        const Slice& slice) {
    if (slice.tiles <= emulated_tiles) return emulate_slice(execution, slice);
    SliceResult result{test::outputs_before(execution.instruction, slice.tiles), 0, 0, {}};
    for (std::uint64_t tile = 0; tile < slice.tiles; ++tile)
      result.digest += (slice.first_tile + tile) * (slice.first_tile + tile);
    return result;
  };
  return device;
}

TEST_CASE("a campaign that was stopped in the middle of its lines goes on there") {
  constexpr std::uint64_t several_parts = 100'000'000;
  Record whole = test::small_record({1, several_parts, {}});
  run_campaign(whole, counting_device(), go_on);
  for (const int parts : {1, 10, 17}) {
    Record record = test::small_record({1, several_parts, {}});
    int left = parts;
    run_campaign(record, counting_device(), [&] { return --left > 0; });
    CHECK(record.lines.front().outputs > 0);
    CHECK_FALSE(record.lines.front().is_complete());
    run_campaign(record, counting_device(), go_on);
    CHECK(record.lines == whole.lines);
    CHECK(std::ranges::all_of(record.lines, &RecordLine::is_complete));
  }
}

/// Changes the last bit of the outputs whose operands are those of that element of the tile.
test::Fault flip(const Instruction& row, std::uint64_t tile, std::size_t index) {
  const auto blocks = static_cast<std::uint64_t>(row.blocks());
  const Batch faulty = make_batch(row, InputFamily::ties, 1, tile / blocks * blocks, blocks);
  const std::size_t at = tile % blocks * static_cast<std::size_t>(row.m * row.n) + index;
  return [=](const Batch& batch, std::vector<Code>& d) {
    const OutputElement wanted = output_element(faulty, at);
    for (std::size_t i = 0; i < d.size(); ++i) {
      const OutputElement element = output_element(batch, i);
      if (element.c == wanted.c && std::equal(element.a, element.a + row.k, wanted.a) &&
          std::equal(element.b, element.b + row.k, wanted.b))
        d[i] ^= 1;
    }
  };
}

TEST_CASE("the first mismatch ends a campaign, and says where it is and what was multiplied") {
  for (const std::string instruction :
       {"m8n8k4.f16.f16.f16.f16", "m16n8k8.f32.tf32.tf32.f32", "wgmma.m64n24k32.f16.e4m3.e5m2"}) {
    CAPTURE(instruction);
    const Instruction row = find_instruction(instruction).value();
    // Within the outputs that the host checks too, and beyond them.
    for (const std::uint64_t tile : {9U, 400U}) {
      Record record = test::small_record({1, 700'000, {}});
      std::erase_if(record.lines,
                    [&](const RecordLine& line) { return line.instruction != instruction; });
      const std::optional<Mismatch> found = run_campaign(
          record,
          test::emulated_device(target, flip(row, tile, static_cast<std::size_t>(3 * row.n + 2))),
          go_on);
      REQUIRE(found);
      CHECK(found->line.instruction == instruction);
      CHECK(found->line.family == "ties");
      CHECK(record.lines.front().mismatches > 0);
      CHECK(found->tile == tile);
      CHECK(found->row == 3);
      CHECK(found->column == 2);
      const DotCase& dot = found->dot;
      NoObserver observer;
      const Execution execution = resolve(row, target);
      CHECK(found->emulated ==
            run_element(execution.program, dot.a.data(), dot.b.data(), dot.c, observer));
      CHECK(dot.d == (found->emulated ^ 1));
    }
  }
}

TEST_CASE("golden lines hold what the device returned, for every family in turn") {
  const CampaignKernel kernel{find_instruction("m16n8k8.f16.f16.f16.f16").value(),
                              ASource::registers};
  const CampaignKernel again{kernel.row, ASource::shared_memory};
  const std::vector<NamedFamily> families = campaign_families();
  const test::Fault flip_all = [](const Batch&, std::vector<Code>& d) {
    for (Code& code : d) code ^= 1;
  };
  std::ostringstream text;
  write_golden(text, test::small_record({}).provenance, 4, std::vector{kernel, again}, families, 30,
               test::emulated_device(target, flip_all));
  std::istringstream lines(text.str());
  int rows = 0;
  const Execution execution = resolve(kernel.row, target);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("#")) continue;
    const DotCase dot = parse_case_line(line);
    CHECK(dot.d == (run_chain(execution, dot.a.data(), dot.b.data(), dot.a.size(), dot.c) ^ 1));
    ++rows;
  }
  CHECK(rows == 30);
}

/// Every pair of codes that a tile's elements multiply at its k.
void collect_pairs(const Batch& batch, std::set<std::tuple<int, Code, Code>>& pairs) {
  for (std::size_t i = 0; i < batch.c.size(); ++i) {
    const OutputElement element = output_element(batch, i);
    const Code negative_zero = batch.row.a->sign_mask();
    for (int k = 0; k < batch.row.k; ++k)
      if ((element.a[k] | negative_zero) != negative_zero ||
          (element.b[k] | negative_zero) != negative_zero)
        pairs.insert({k, element.a[k], element.b[k]});
  }
}

TEST_CASE("the exhaustive family multiplies every pair of FP8 codes at every k, with c zero") {
  const Instruction row = find_instruction("m16n8k16.f32.e4m3.e5m2.f32").value();
  const std::uint64_t tiles = 16 * (256 / 16) * (256 / 8);
  const Batch batch = make_batch(row, InputFamily::exhaustive, 1, 0, tiles);
  std::set<std::tuple<int, Code, Code>> pairs;
  collect_pairs(batch, pairs);
  CHECK(pairs.size() >= 16U * (256 * 256 - 4));
  CHECK(std::ranges::all_of(batch.c, [](Code c) { return c == 0 || c == 0x80000000; }));
  const Batch next = make_batch(row, InputFamily::exhaustive, 1, tiles, 1);
  CHECK(std::ranges::any_of(next.c, [](Code c) { return c != 0 && c != 0x80000000; }));
}

TEST_CASE("the near_overflow family overflows and stays just below it") {
  for (const std::string name : {"m16n8k16.f16.f16.f16.f16", "m16n8k16.f32.bf16.bf16.f32"}) {
    CAPTURE(name);
    const Instruction row = find_instruction(name).value();
    const Batch batch = make_batch(row, InputFamily::near_overflow, 1, 0, 200);
    const std::vector<Code> d = emulate(resolve(row, target), batch);
    const auto magnitudes = [&](Code code) {
      return std::ranges::count_if(
          d, [&](Code each) { return (each & (row.d->sign_mask() - 1)) == code; });
    };
    CHECK(magnitudes(row.d->infinity()) > 100);
    CHECK(magnitudes(row.d->max_finite()) > 100);
  }
}

}  // namespace
}  // namespace bitmma
