#include "bitmma/isa/layout.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <set>
#include <tuple>

#include "bitmma/isa/instruction.hpp"

using namespace bitmma;

namespace {

/// Calls visit(instruction, operand, layout) for every fragment of the table.
template <class Visit>
void for_each_fragment(Visit visit) {
  for (Instruction row : instruction_table) {
    if (row.n == 0) row.n = 24;
    for (const Operand operand : {Operand::a, Operand::b, Operand::c, Operand::d})
      if (has_fragment(row, operand)) visit(row, operand, fragment_layout(row, operand));
  }
}

}  // namespace

TEST_CASE("every fragment visits every cell once, and both directions agree") {
  int fragments = 0;
  for_each_fragment([&](const Instruction& row, Operand, const Layout& layout) {
    CAPTURE(short_name(row));
    std::set<std::tuple<int, int, int>> cells;
    bool inverse = true;
    for (int lane = 0; lane < layout.lanes(); ++lane)
      for (int index = 0; index < layout.elements(); ++index) {
        const Coordinates cell = coordinates(layout, lane, index);
        cells.emplace(cell.block, cell.row, cell.column);
        inverse = inverse && position(layout, cell) == FragmentPosition{lane, index};
        const int offset = fragment_offset(layout, lane, index);
        inverse = inverse && fragment_decode(layout, offset) == FragmentPosition{lane, index};
      }
    CHECK(inverse);
    CHECK(static_cast<int>(cells.size()) == layout.lanes() * layout.elements());
    CHECK(*cells.rbegin() == std::tuple{layout.extent(Axis::block) - 1,
                                        layout.extent(Axis::row) - 1,
                                        layout.extent(Axis::column) - 1});
    ++fragments;
  });
  CHECK(fragments >= 3 * static_cast<int>(std::size(instruction_table)));
}

TEST_CASE("the m16n8k16 accumulator follows the published formula") {
  for (int lane = 0; lane < 32; ++lane)
    for (int j = 0; j < 4; ++j) {
      const int offset = (j & 1) + 2 * (lane % 4) + 8 * (lane / 4) + 64 * (j >> 1);
      CHECK(acc_offset(lane, j) == offset);
      CHECK(acc_coords(lane, j) == Coordinates{offset / 8, offset % 8, 0});
      CHECK(acc_decode(offset) == FragmentPosition{lane, j});
    }
  // lane 5, x[3] of the accumulator stands at (9, 3)
  static_assert(acc_coords(5, 3) == Coordinates{9, 3, 0});
}

TEST_CASE("the offset in a strided matrix is empty where it would overflow") {
  constexpr std::uint64_t limit = std::numeric_limits<std::uint64_t>::max();
  static_assert(acc_matrix_offset(5, 3, 16, 8, 100) == (16 + 9) * 100 + 8 + 3);
  CHECK(acc_matrix_offset(5, 3, 0, 0, 0) == 3);
  CHECK(acc_matrix_offset(31, 3, limit, 0, 1) == std::nullopt);
  CHECK(acc_matrix_offset(31, 3, 0, limit, 1) == std::nullopt);
  CHECK(acc_matrix_offset(31, 3, 0, 0, limit) == std::nullopt);
  CHECK(acc_matrix_offset(4, 0, 0, 0, limit) == limit);  // row 1, column 0
  CHECK(acc_matrix_offset(4, 1, 0, 0, limit) == std::nullopt);
  CHECK(acc_matrix_offset(0, 0, limit, limit, 0) == limit);
}

// The pictures of PTX ISA, "Matrix Fragments for mma.m8n8k4 … m16n8k32", as their formulas.

TEST_CASE("A and B of m16n8k16 .f16 stand where PTX draws them") {
  const Instruction row = find_instruction("m16n8k16.f32.f16.f16.f32").value();
  const Layout a = fragment_layout(row, Operand::a);
  const Layout b = fragment_layout(row, Operand::b);
  for (int lane = 0; lane < 32; ++lane) {
    const int group = lane >> 2;
    const int thread = lane % 4;
    for (int i = 0; i < 8; ++i) {
      const int a_row = (i < 2 || (i >= 4 && i < 6)) ? group : group + 8;
      const int a_column = thread * 2 + (i & 1) + (i < 4 ? 0 : 8);
      CHECK(coordinates(a, lane, i) == Coordinates{a_row, a_column, 0});
    }
    for (int i = 0; i < 4; ++i)
      CHECK(coordinates(b, lane, i) ==
            Coordinates{thread * 2 + (i & 1) + (i < 2 ? 0 : 8), group, 0});
  }
}

TEST_CASE("A and B of m16n8k8 .tf32 and m16n8k32 FP8 stand where PTX draws them") {
  const Instruction tf = find_instruction("m16n8k8.f32.tf32.tf32.f32").value();
  const Instruction fp8 = find_instruction("m16n8k32.f32.e4m3.e5m2.f32").value();
  for (int lane = 0; lane < 32; ++lane) {
    const int group = lane >> 2;
    const int thread = lane % 4;
    for (int i = 0; i < 4; ++i)
      CHECK(coordinates(fragment_layout(tf, Operand::a), lane, i) ==
            Coordinates{i % 2 == 0 ? group : group + 8, i < 2 ? thread : thread + 4, 0});
    for (int i = 0; i < 2; ++i)
      CHECK(coordinates(fragment_layout(tf, Operand::b), lane, i) ==
            Coordinates{i < 1 ? thread : thread + 4, group, 0});
    for (int i = 0; i < 16; ++i)
      CHECK(coordinates(fragment_layout(fp8, Operand::a), lane, i) ==
            Coordinates{(i < 4 || (i >= 8 && i < 12)) ? group : group + 8,
                        thread * 4 + (i & 3) + (i < 8 ? 0 : 16), 0});
    for (int i = 0; i < 8; ++i)
      CHECK(coordinates(fragment_layout(fp8, Operand::b), lane, i) ==
            Coordinates{thread * 4 + (i & 3) + (i < 4 ? 0 : 16), group, 0});
  }
}

TEST_CASE("m8n8k4: quad pairs, both layouts of A and B, both accumulators") {
  const auto layout_of = [](std::string_view name, Operand operand) {
    return fragment_layout(find_instruction(name).value(), operand);
  };
  const Layout a_row = layout_of("m8n8k4.row.col.f32.f16.f16.f32", Operand::a);
  const Layout a_col = layout_of("m8n8k4.col.col.f32.f16.f16.f32", Operand::a);
  const Layout b_row = layout_of("m8n8k4.row.row.f32.f16.f16.f32", Operand::b);
  const Layout b_col = layout_of("m8n8k4.row.col.f32.f16.f16.f32", Operand::b);
  const Layout f16_c = layout_of("m8n8k4.row.col.f32.f16.f16.f16", Operand::c);
  const Layout f32_d = layout_of("m8n8k4.row.col.f32.f16.f16.f16", Operand::d);
  for (int lane = 0; lane < 32; ++lane) {
    const int pair = lane / 4 % 4;  // lanes 4p..4p+3 and 4p+16..4p+19
    const int outer = lane % 4 + (lane < 16 ? 0 : 4);
    const int upper = lane < 16 ? 0 : 4;
    for (int i = 0; i < 4; ++i) {
      CHECK(coordinates(a_row, lane, i) == Coordinates{outer, i, pair});
      CHECK(coordinates(a_col, lane, i) == Coordinates{i + upper, lane % 4, pair});
      CHECK(coordinates(b_row, lane, i) == Coordinates{lane % 4, i + upper, pair});
      CHECK(coordinates(b_col, lane, i) == Coordinates{i, outer, pair});
    }
    for (int i = 0; i < 8; ++i) {
      CHECK(coordinates(f16_c, lane, i) == Coordinates{outer, i, pair});
      CHECK(coordinates(f32_d, lane, i) ==
            Coordinates{(lane & 1) + (i & 2) + upper, (i & 4) + (lane & 2) + (i & 1), pair});
    }
  }
}

TEST_CASE("a layout whose strides do not nest is not a bijection") {
  // cutlass issue 3140: stride 32 where 64 is right reaches index 159 of 255
  const Layout wrong{{{4, Axis::column, 32}, {8, Axis::column, 1}}, {{8, Axis::column, 8}}};
  const Layout right{{{4, Axis::column, 64}, {8, Axis::column, 1}}, {{8, Axis::column, 8}}};
  CHECK_FALSE(is_bijective(wrong));
  CHECK(is_bijective(right));
}

TEST_CASE("registers a lane holds") {
  const auto registers = [](std::string_view name) {
    const Instruction row = find_instruction(name).value();
    return std::tuple{fragment_registers(row, Operand::a), fragment_registers(row, Operand::b),
                      fragment_registers(row, Operand::c), fragment_registers(row, Operand::d)};
  };
  CHECK(registers("m16n8k16.f32.f16.f16.f32") == std::tuple{4, 2, 4, 4});
  CHECK(registers("m16n8k16.f16.f16.f16.f16") == std::tuple{4, 2, 2, 2});
  CHECK(registers("m16n8k8.f32.bf16.bf16.f32") == std::tuple{2, 1, 4, 4});
  CHECK(registers("m16n8k4.f32.tf32.tf32.f32") == std::tuple{2, 1, 4, 4});
  CHECK(registers("m16n8k32.f32.e4m3.e4m3.f32") == std::tuple{4, 2, 4, 4});
  CHECK(registers("m16n8k16.f16.e4m3.e4m3.f16") == std::tuple{2, 1, 2, 2});
  CHECK(registers("m8n8k4.f32.f16.f16.f16") == std::tuple{2, 2, 4, 8});
}
