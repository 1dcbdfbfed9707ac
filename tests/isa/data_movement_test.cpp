#include "bitmma/isa/data_movement.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <tuple>

using namespace bitmma;

static_assert(every_movement_is_consistent());

namespace {

DataMovement form(std::string_view name) { return find_data_movement(name).value(); }

}  // namespace

TEST_CASE("a data movement's names are unique, and each names its own row") {
  std::set<std::string> names;
  for (const DataMovement& row : data_movement_table) {
    CAPTURE(ptx_name(row));
    CHECK(names.insert(short_name(row)).second);
    for (const std::string& name : {short_name(row), ptx_name(row)}) {
      const DataMovement found = form(name);
      CHECK(ptx_name(found) == ptx_name(row));
      CHECK(found.first_target == row.first_target);
      CHECK(found.first_cuda == row.first_cuda);
    }
  }
  CHECK(names.size() == 28);
  CHECK(ptx_name(form("ldmatrix.m8n16.x2.b8x16.b6x16_p32")) ==
        "ldmatrix.sync.aligned.m8n16.x2.shared.b8x16.b6x16_p32");
  CHECK(short_name(form("movmatrix.sync.aligned.m8n8.trans.b16")) == "movmatrix.m8n8.trans.b16");
}

TEST_CASE("a data movement's qualifiers stand in any order, as ptxas takes them") {
  for (const std::string_view text :
       {"ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r1, %r2, %r3, %r4}, [%r5];",
        "  ldmatrix.sync.aligned.x4.trans.m8n8.shared.b16",
        "ldmatrix.sync.aligned.x4.m8n8.shared.trans.b16", "ldmatrix.m8n8.trans.x4.shared::cta.b16",
        "ldmatrix.sync.aligned.m8n8.x4.trans.b16"})
    CHECK(short_name(form(text)) == "ldmatrix.m8n8.x4.trans.b16");
}

TEST_CASE("spellings that name no data movement") {
  for (const std::string_view text : {"",
                                      "ldmatrix",
                                      "ldmatrix.",
                                      "ldmatrix.b16",
                                      "ldmatrixm8n8.x4.b16",
                                      "ldmatrix.m8n8.b16",
                                      "ldmatrix.m8n8.x3.b16",
                                      "ldmatrix.m8n8.x.b16",
                                      "ldmatrix.m8n8.x4.x4.b16",
                                      "ldmatrix.m8n8.m8n8.x4.b16",
                                      "ldmatrix.m8n8.x4.trans.trans.b16",
                                      "ldmatrix.m8n8.x4.shared.shared.b16",
                                      "ldmatrix.m8n8.x4.shared::cluster.b16",
                                      "ldmatrix.m8n8.x4",
                                      "ldmatrix.m8n8.x4.b16.b16",
                                      "ldmatrix.m8n8.x4.b8",
                                      "ldmatrix.m16n16.x1.b8",
                                      "ldmatrix.m16n16.x4.trans.b8",
                                      "ldmatrix.m8n16.x1.b8",
                                      "ldmatrix.m8n16.x1.trans.b8x16.b4x16_p64",
                                      "ldmatrix.m8n16.x1.b6x16_p32",
                                      "ldmatrix.m16n8.x1.trans.b8",
                                      "stmatrix.m16n8.x1.b8",
                                      "stmatrix.m16n16.x1.trans.b8",
                                      "movmatrix.m8n8.b16",
                                      "movmatrix.m8n8.x1.trans.b16",
                                      "movmatrix.m8n8.trans.shared.b16",
                                      "ldmatrix.aligned.m8n8.x4.b16",
                                      "mma.sync.aligned.m8n8.x4.b16"}) {
    CAPTURE(text);
    CHECK_FALSE(find_data_movement(text).has_value());
  }
}

TEST_CASE("a data movement's first target") {
  const auto first = [](std::string_view name) {
    for (const Target& target : target_table)
      if (form(name).runs_on(target)) return target.name;
    return std::string_view{};
  };
  CHECK(first("ldmatrix.m8n8.x1.b16") == "sm_75");
  CHECK(first("movmatrix.m8n8.trans.b16") == "sm_75");
  CHECK(first("stmatrix.m8n8.x1.trans.b16") == "sm_90");
  CHECK(first("ldmatrix.m16n16.x2.trans.b8") == "sm_100");
  CHECK(first("stmatrix.m16n8.x4.trans.b8") == "sm_100");
  for (const DataMovement& row : data_movement_table) {
    const bool narrow = row.element.register_bits == 8;
    CHECK((row.first_target == "sm_100a") == narrow);
    CHECK((row.first_cuda == 1208) == narrow);
    CHECK((evidence_label(row) == EvidenceLabel::unverified) == narrow);
  }
}

TEST_CASE("each matrix row's address comes from a lane of its own; the other lanes' are ignored") {
  for (const DataMovement& row : data_movement_table) {
    CAPTURE(short_name(row));
    int provided = 0;
    for (int lane = 0; lane < warp_lanes; ++lane) {
      const std::optional<MemoryRow> memory_row = provided_row(row, lane);
      if (!memory_row) continue;
      CHECK(lane == memory_row->matrix * row.memory_rows() + memory_row->row);
      ++provided;
    }
    CHECK(provided == row.providing_lanes());
  }
  // PTX ISA, "ldmatrix": lanes 0 to 7 address the rows of the first 8 × 8 matrix, and so on.
  CHECK(form("ldmatrix.m8n8.x1.b16").providing_lanes() == 8);
  CHECK(form("ldmatrix.m8n8.x2.trans.b16").providing_lanes() == 16);
  CHECK(provided_row(form("stmatrix.m8n8.x4.b16"), 21) == MemoryRow{2, 5});
  CHECK(form("ldmatrix.m16n16.x1.trans.b8").providing_lanes() == 16);
  CHECK(provided_row(form("ldmatrix.m16n16.x2.trans.b8"), 21) == MemoryRow{1, 5});
  CHECK(provided_row(form("stmatrix.m16n8.x2.trans.b8"), 15) == MemoryRow{1, 7});
  CHECK(form("movmatrix.m8n8.trans.b16").providing_lanes() == 0);
}

TEST_CASE("up to sm_75 every lane's address must be valid, from sm_80 on those that are used") {
  const DataMovement row = form("ldmatrix.m8n8.x1.b16");
  CHECK(checked_lanes(row, *find_target("sm_75")) == 32);
  CHECK(checked_lanes(row, *find_target("sm_80")) == 8);
  CHECK(checked_lanes(form("movmatrix.m8n8.trans.b16"), *find_target("sm_75")) == 0);
}

TEST_CASE("every element of a data movement has a register and a place in memory of its own") {
  for (const DataMovement& row : data_movement_table) {
    CAPTURE(short_name(row));
    const Layout layout = fragment_layout(row);
    std::set<std::pair<int, int>> places;
    for (int lane = 0; lane < layout.lanes(); ++lane)
      for (int index = 0; index < layout.elements(); ++index) {
        const Coordinates cell = coordinates(layout, lane, index);
        CHECK(position(layout, cell) == FragmentPosition{lane, index});
        const MemoryPlace place = memory_place(row, cell);
        CHECK(place.lane < warp_lanes);
        CHECK(place.bit + row.element.memory_bits <= 8 * matrix_row_bytes);
        places.insert({place.lane, place.bit});
      }
    CHECK(places.size() == static_cast<std::size_t>(row.rows * row.columns * row.count));
  }
}

TEST_CASE("a data movement's fragments hold what PTX draws") {
  // Lane 5 is number 1 of group 1. Figures of "ldmatrix", "stmatrix".
  const Layout b16 = fragment_layout(form("ldmatrix.m8n8.x4.b16"));
  CHECK(coordinates(b16, 5, 0) == Coordinates{1, 2, 0});
  CHECK(coordinates(b16, 5, 7) == Coordinates{1, 3, 3});
  const Layout m16n16 = fragment_layout(form("ldmatrix.m16n16.x2.trans.b8"));
  CHECK(coordinates(m16n16, 5, 3) == Coordinates{1, 7, 0});
  CHECK(coordinates(m16n16, 5, 4) == Coordinates{9, 4, 0});
  CHECK(coordinates(m16n16, 5, 8) == Coordinates{1, 4, 1});
  const Layout m8n16 = fragment_layout(form("ldmatrix.m8n16.x2.b8x16.b4x16_p64"));
  CHECK(coordinates(m8n16, 5, 4) == Coordinates{1, 4, 1});
  const Layout m16n8 = fragment_layout(form("stmatrix.m16n8.x1.trans.b8"));
  CHECK(coordinates(m16n8, 5, 1) == Coordinates{1, 3, 0});
  CHECK(coordinates(m16n8, 5, 2) == Coordinates{9, 2, 0});
  CHECK(memory_place(form("ldmatrix.m8n8.x2.b16"), {1, 3, 1}) == MemoryPlace{9, 48});
  CHECK(memory_place(form("ldmatrix.m8n8.x2.trans.b16"), {1, 3, 1}) == MemoryPlace{11, 16});
  CHECK(memory_place(form("ldmatrix.m8n16.x1.b8x16.b6x16_p32"), {1, 15, 0}) == MemoryPlace{1, 90});
}

TEST_CASE("registers of a data movement") {
  CHECK(fragment_registers(form("ldmatrix.m8n8.x4.b16")) == 4);
  CHECK(fragment_registers(form("ldmatrix.m16n16.x1.trans.b8x16.b4x16_p64")) == 2);
  CHECK(fragment_registers(form("ldmatrix.m16n16.x2.trans.b8")) == 4);
  CHECK(fragment_registers(form("ldmatrix.m8n16.x2.b8x16.b6x16_p32")) == 2);
  CHECK(fragment_registers(form("stmatrix.m16n8.x4.trans.b8")) == 4);
  CHECK(fragment_registers(form("movmatrix.m8n8.trans.b16")) == 1);
}
