/// The emulator against the independent implementation of tests/oracle, on random inputs.

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "bitmma/compare/families.hpp"
#include "bitmma/emulator/instruction.hpp"
#include "bitmma/tests/oracle/exact_oracle.hpp"
#include "bitmma/tests/oracle/oracle.hpp"

using namespace bitmma;

namespace {

struct Subject {
  Instruction row;
  Target target;
};

/// What a target's arithmetic for a row consists of.
auto arithmetic(const Instruction& row, const Target& target) {
  const ElementProgram program = resolve(row, target).program;
  return std::tuple{lowered_program(row, target).data(), program.step_products,
                    program.step.fraction_bits, program.step.floor};
}

/// Every row of the table on the first target of each distinct datapath and lowering.
std::vector<Subject> subjects() {
  std::vector<Subject> all;
  for (const Instruction& row : instruction_table) {
    std::set<decltype(arithmetic({}, {}))> seen;
    for (const Target& target : target_table)
      if (row.runs_on(target) && seen.insert(arithmetic(row, target)).second)
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

/// What the oracle for the row's arithmetic returns.
Code by_oracle(const Subject& subject, const Sample& sample) {
  const Instruction& row = subject.row;
  if (arithmetic_of(row) == Arithmetic::fused_steps)
    return oracle::multiply_accumulate(subject.target.name, as_oracle(row), sample.a, sample.b,
                                       sample.c);
  const std::string_view modifier =
      row.modifier == Modifier::none ? "" : spelling_of(row.modifier).ptx;
  return oracle::multiply_accumulate_exactly({row.a->name, row.b->name, modifier}, sample.a,
                                             sample.b, sample.c);
}

/// The first disagreement as a line that replays it, or an empty line.
std::string first_disagreement(const Subject& subject, std::size_t outputs) {
  const Execution execution = resolve(subject.row, subject.target);
  Sample sample;
  sample.a.resize(static_cast<std::size_t>(subject.row.k));
  sample.b.resize(sample.a.size());
  const DotInputs inputs{*subject.row.a, *subject.row.b, *subject.row.c,
                         sample.a,       sample.b,       sample.c};
  Random random(20'261'130);
  for (const NamedFamily& family : input_families) {
    if (!applies_to(family.family, *subject.row.a)) continue;
    for (std::size_t i = 0; i < outputs / std::size(input_families); ++i) {
      fill_inputs(family.family, inputs, random, any_place(random));
      const Code emulated =
          run_chain(execution, sample.a.data(), sample.b.data(), sample.a.size(), sample.c);
      const Code expected = by_oracle(subject, sample);
      if (emulated != expected) return replay_line(subject, sample, emulated, expected);
    }
  }
  return {};
}

/// first_disagreement(), or what it threw: no exception may leave a parallel region.
std::string disagreement_or_error(const Subject& subject, std::size_t outputs) {
  try {
    return first_disagreement(subject, outputs);
  } catch (const std::exception& error) {
    return fmt::format("{} {}: {}", subject.target.name, short_name(subject.row), error.what());
  }
}

}  // namespace

TEST_CASE("emulator and oracle agree on every row and distinct datapath, in every family") {
  const std::vector<Subject> all = subjects();
  const std::size_t outputs = outputs_each();
  REQUIRE(outputs >= std::size(input_families));
  std::vector<std::string> disagreements(all.size());
#pragma omp parallel for schedule(dynamic)
  for (std::size_t i = 0; i < all.size(); ++i)
    disagreements[i] = disagreement_or_error(all[i], outputs);
  for (const std::string& line : disagreements) {
    INFO(line);
    CHECK(line.empty());
  }
  MESSAGE(fmt::format("{} rows on distinct datapaths, {} outputs each", all.size(),
                      outputs / std::size(input_families) * std::size(input_families)));
}

TEST_CASE("the oracle catches a datapath number that is off by one") {
  // The same comparison must fail for a wrong emulator, or it shows nothing.
  for (int StepRule::*number : {&StepRule::fraction_bits, &StepRule::floor})
    for (const int change : {-1, 1}) {
      const Instruction row = find_instruction("m16n8k16.f32.bf16.bf16.f32").value();
      Execution wrong = resolve(row, *find_target("sm_90"));
      wrong.program.step.*number += change;
      Random random(1);
      std::vector<Code> a(16), b(16);
      Code c = 0;
      std::size_t different = 0;
      for (const NamedFamily& family : input_families)
        for (int i = 0; i < 500; ++i) {
          fill_inputs(family.family, {bf16, bf16, f32, a, b, c}, random, any_place(random));
          different += run_chain(wrong, a.data(), b.data(), a.size(), c) !=
                       oracle::multiply_accumulate("sm_90", as_oracle(row), a, b, c);
        }
      CHECK(different > 0);
    }
}
