#include <doctest/doctest.h>

#include <string_view>
#include <vector>

#include "bitmma/tests/emulator/features.hpp"

using namespace bitmma;
using features::Features;

namespace {

struct Published {
  std::string_view name;
  Architecture architecture;
  OperandClass operands;
  Features features;
};

// Products a step, fraction bits and floors as published (Fasi et al. 2021, Khattak and Mikaitis
// 2025, Xie et al. 2025) or measured on an H200; the sources stand beside the rows of
// isa/target.hpp. This is the one place outside them that the numbers stand, so that neither can
// change alone.
const std::vector<Published> published{
    {"Volta", Architecture::volta, OperandClass::half, {4, 23, -131, -19}},
    {"Turing", Architecture::turing, OperandClass::half, {8, 24, -132, -20}},
    {"Ampere", Architecture::ampere, OperandClass::half, {8, 24, -132, -20}},
    {"Ada", Architecture::ada, OperandClass::half, {8, 24, -132, -20}},
    {"Ada FP8", Architecture::ada, OperandClass::fp8, {16, 13, -132, -20}},
    {"Hopper", Architecture::hopper, OperandClass::half, {16, 25, -133, -21}},
    {"Hopper FP8", Architecture::hopper, OperandClass::fp8, {32, 13, -133, -21}},
    {"Blackwell", Architecture::blackwell, OperandClass::half, {16, 25, -133, -21}},
    {"RTX Blackwell", Architecture::rtx_blackwell, OperandClass::half, {16, 25, -133, -21}},
    {"RTX Blackwell FP8", Architecture::rtx_blackwell, OperandClass::fp8, {32, 25, -133, -21}},
};

void check_features(const Features& measured, const Features& expected) {
  CHECK(measured.products == expected.products);
  CHECK(measured.fraction_bits == expected.fraction_bits);
  CHECK(measured.floor_f32 == expected.floor_f32);
  CHECK(measured.floor_f16 == expected.floor_f16);
}

}  // namespace

TEST_CASE("every datapath shows the published features") {
  CHECK(std::size(datapath_table) == published.size());
  for (const Published& expected : published) {
    CAPTURE(expected.name);
    const Datapath* datapath = find_datapath(expected.architecture, expected.operands);
    REQUIRE(datapath != nullptr);
    check_features(features::measure(*datapath), expected.features);
  }
}

TEST_CASE("no number of a datapath can change by one without a feature changing") {
  for (const Datapath& row : datapath_table) {
    CAPTURE(architecture_name(row.architecture));
    const Features truth = features::measure(row);
    for (int Datapath::*number :
         {&Datapath::fraction_bits, &Datapath::floor_f32, &Datapath::floor_f16})
      for (const int change : {-1, 1}) {
        Datapath other = row;
        other.*number += change;
        CHECK(features::measure(other) != truth);
      }
    for (const int step_bits : {row.step_bits / 2, row.step_bits * 2}) {
      Datapath other = row;
      other.step_bits = step_bits;
      if (step_bits > 256) continue;  // more products than a step can hold
      CHECK(features::measure(other) != truth);
    }
  }
}
