/// The emulator against the independent implementation of tests/oracle, on random inputs.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "bitmma/compare/families.hpp"
#include "bitmma/emulator/instruction.hpp"
#include "bitmma/tests/oracle/oracle.hpp"

using namespace bitmma;

namespace {

struct Subject {
  Instruction row;
  Target target;
};

/// What makes two executions of one row the same arithmetic.
auto arithmetic(const Execution& execution) {
  const Datapath& path = execution.datapath;
  return std::tuple{execution.program.data(), path.step_bits, path.fraction_bits, path.floor_f32,
                    path.floor_f16};
}

/// Every row of the table on the first target of each distinct datapath and lowering.
std::vector<Subject> subjects() {
  std::vector<Subject> all;
  for (const Instruction& row : instruction_table) {
    std::set<decltype(arithmetic({}))> seen;
    for (const Target& target : target_table)
      if (row.runs_on(target) && seen.insert(arithmetic(resolve(row, target))).second)
        all.push_back({row, target});
  }
  return all;
}

/// Outputs a subject, all families together: BITMMA_DIFFERENTIAL_OUTPUTS, or a number that suits
/// every run of the tests.
std::size_t outputs_each() {
  const char* asked = std::getenv("BITMMA_DIFFERENTIAL_OUTPUTS");
  return asked == nullptr ? 2400 : std::strtoull(asked, nullptr, 10);
}

struct Sample {
  std::vector<Code> a;
  std::vector<Code> b;
  Code c = 0;
};

std::string replay_line(const Subject& subject, const Sample& sample, Code emulated, Code oracle) {
  return fmt::format("{} {} a={:X} b={:X} c={:X}: emulator {:X}, oracle {:X}", subject.target.name,
                     short_name(subject.row), fmt::join(sample.a, ","), fmt::join(sample.b, ","),
                     sample.c, emulated, oracle);
}

oracle::Instruction as_oracle(const Instruction& row) {
  return {row.family == Family::wgmma ? oracle::Family::wgmma : oracle::Family::mma_sync,
          row.k,
          row.d->name,
          row.a->name,
          row.b->name,
          row.c->name};
}

/// The first disagreement as a line that replays it, or an empty line.
std::string first_disagreement(const Subject& subject, std::size_t outputs) {
  const Execution execution = resolve(subject.row, subject.target);
  const oracle::Instruction oracle_row = as_oracle(subject.row);
  Sample sample;
  sample.a.resize(static_cast<std::size_t>(subject.row.k));
  sample.b.resize(sample.a.size());
  const DotInputs inputs{*subject.row.a, *subject.row.b, *subject.row.c,
                         sample.a,       sample.b,       sample.c};
  Random random(20'261'130);
  for (const NamedFamily& family : input_families)
    for (std::size_t i = 0; i < outputs / std::size(input_families); ++i) {
      fill_inputs(family.family, inputs, random);
      const Code emulated =
          run_chain(execution, sample.a.data(), sample.b.data(), sample.a.size(), sample.c);
      const Code expected = oracle::multiply_accumulate(subject.target.name, oracle_row, sample.a,
                                                        sample.b, sample.c);
      if (emulated != expected) return replay_line(subject, sample, emulated, expected);
    }
  return {};
}

}  // namespace

TEST_CASE("emulator and oracle agree on every row and distinct datapath, in every family") {
  const std::vector<Subject> all = subjects();
  const std::size_t outputs = outputs_each();
  REQUIRE(outputs >= std::size(input_families));
  std::vector<std::string> disagreements(all.size());
#pragma omp parallel for schedule(dynamic)
  for (std::size_t i = 0; i < all.size(); ++i)
    disagreements[i] = first_disagreement(all[i], outputs);
  for (const std::string& line : disagreements) {
    INFO(line);
    CHECK(line.empty());
  }
  MESSAGE(fmt::format("{} rows on distinct datapaths, {} outputs each", all.size(),
                      outputs / std::size(input_families) * std::size(input_families)));
}

TEST_CASE("the oracle catches a datapath number that is off by one") {
  // The same comparison must fail for a wrong emulator, or it shows nothing.
  for (int Datapath::*number : {&Datapath::fraction_bits, &Datapath::floor_f32})
    for (const int change : {-1, 1}) {
      const Instruction row = find_instruction("m16n8k16.f32.bf16.bf16.f32");
      Execution wrong = resolve(row, *find_target("sm_90"));
      wrong.datapath.*number += change;
      Random random(1);
      std::vector<Code> a(16), b(16);
      Code c = 0;
      std::size_t different = 0;
      for (const NamedFamily& family : input_families)
        for (int i = 0; i < 500; ++i) {
          fill_inputs(family.family, {bf16, bf16, f32, a, b, c}, random);
          different += run_chain(wrong, a.data(), b.data(), a.size(), c) !=
                       oracle::multiply_accumulate("sm_90", as_oracle(row), a, b, c);
        }
      CHECK(different > 0);
    }
}
