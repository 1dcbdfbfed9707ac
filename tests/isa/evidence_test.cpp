#include "bitmma/isa/evidence.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>

using namespace bitmma;

TEST_CASE("patterns") {
  CHECK(matches("m16*", "m16n8k16"));
  CHECK(matches("*", ""));
  CHECK(matches("m*.f16.*", "m16n8k8.f32.f16.f16.f32"));
  CHECK_FALSE(matches("m16", "m16n8k16"));
  CHECK_FALSE(matches("m*.bf16", "m16n8k8.f32.bf16.bf16.f32"));
}

TEST_CASE("every instruction on every target has evidence, and no row of the table is stale") {
  std::set<const Evidence*> used;
  for (const Target& target : target_table)
    for (const Instruction& row : instruction_table)
      if (row.runs_on(target)) used.insert(&find_evidence(row, target));
  for (const Evidence& evidence : evidence_table) {
    CAPTURE(evidence.target);
    CAPTURE(evidence.instructions);
    CHECK(used.contains(&evidence));
    CHECK_FALSE(evidence.source.empty());
  }
}

TEST_CASE("labels") {
  const auto label = [](std::string_view name, std::string_view target) {
    return label_name(find_evidence(find_instruction(name).value(), *find_target(target)).label);
  };
  CHECK(label("m8n8k4.f32.f16.f16.f32", "sm_70") == "vectors");
  CHECK(label("m8n8k4.f32.f16.f16.f16", "sm_70") == "unverified");
  CHECK(label("m16n8k16.f32.f16.f16.f32", "sm_80") == "published");
  CHECK(label("m16n8k8.f32.f16.f16.f32", "sm_80") == "vectors");
  CHECK(label("m16n8k32.f32.e4m3.e5m2.f32", "sm_90") == "hardware");
  CHECK(label("wgmma.m64n8k16.f32.f16.f16", "sm_90") == "hardware");
  CHECK(label("m16n8k16.f32.f16.f16.f32", "sm_103") == "unverified");
}
