#include "bitmma/isa/sparsity.hpp"

#include <doctest/doctest.h>

#include <utility>
#include <vector>

using namespace bitmma;

namespace {

const Sparsity& of(int element_bits) { return *find_sparsity(element_bits); }

std::vector<int> valid_fields(int element_bits, MetadataOrder order) {
  std::vector<int> fields;
  for (int field = 0; field < 256; ++field)
    if (is_valid_metadata(of(element_bits), order, static_cast<MetadataField>(field)))
      fields.push_back(field);
  return fields;
}

std::vector<int> places(int element_bits, MetadataField field) {
  std::vector<int> result;
  for (int i = 0; i < of(element_bits).kept(); ++i)
    result.push_back(kept_place(of(element_bits), field, i));
  return result;
}

struct Place {
  int lane, nibble;
};

/// Checks a metadata layout against a formula for the place of a row's group.
template <class Formula>
void check_layout(int element_bits, int k, int selectors, Formula place) {
  const Layout layout = metadata_layout(of(element_bits), k);
  CAPTURE(element_bits);
  CAPTURE(k);
  CHECK(selector_count(layout) == selectors);
  const int groups = k / of(element_bits).group;
  for (int selector = 0; selector < selectors; ++selector)
    for (int row = 0; row < 16; ++row)
      for (int group = 0; group < groups; ++group) {
        const Place expected = place(row, group, selector);
        const FragmentPosition at = position(layout, {row, group, selector});
        CHECK(at == FragmentPosition{expected.lane, expected.nibble});
        CHECK(coordinates(layout, at.lane, at.index) == Coordinates{row, group, selector});
      }
}

}  // namespace

TEST_CASE("2:4 metadata: the fields that PTX calls meaningful, in both orders") {
  const std::vector<int> ordered{0b0100, 0b1000, 0b1001, 0b1100, 0b1101, 0b1110};
  // every value but the four with equal indices
  const std::vector<int> any{1, 2, 3, 4, 6, 7, 8, 9, 11, 12, 13, 14};
  for (const int bits : {4, 8, 16}) {
    CHECK(valid_fields(bits, MetadataOrder::ascending) == ordered);
    CHECK(valid_fields(bits, MetadataOrder::any) == any);
  }
  const std::vector<int> halves{0b0100, 0b1110};
  CHECK(valid_fields(32, MetadataOrder::ascending) == halves);
  CHECK(valid_fields(32, MetadataOrder::any) == halves);
}

TEST_CASE("a metadata field names the places of the kept elements") {
  CHECK(places(16, 0b0100) == std::vector{0, 1});
  CHECK(places(16, 0b1001) == std::vector{1, 2});
  CHECK(places(8, 0b1110) == std::vector{2, 3});
  CHECK(places(8, 0b0011) == std::vector{3, 0});  // not ordered
  CHECK(places(4, 0b1100) == std::vector{0, 1, 6, 7});
  CHECK(places(4, 0b1001) == std::vector{2, 3, 4, 5});
  CHECK(places(32, 0b0100) == std::vector{0});
  CHECK(places(32, 0b1110) == std::vector{1});
}

TEST_CASE("half of a group is kept, and its quarters are 16 or 8 bits") {
  for (const Sparsity& row : sparsity_table) {
    CHECK(find_sparsity(row.element_bits) == &row);
    CHECK(2 * row.kept() == row.group);
    CHECK(row.group * row.element_bits / 4 == (row.element_bits < 16 ? 8 : 16));
  }
  CHECK(find_sparsity(6) == nullptr);
}

TEST_CASE("metadata stands in the lanes and nibbles that were measured on an H200") {
  for (const auto& [bits, k] : {std::pair{16, 16}, {32, 8}})
    check_layout(bits, k, 4, [](int r, int g, int selector) {
      return Place{4 * (r % 8) + selector, g + 4 * (r / 8)};
    });
  for (const auto& [bits, k] : {std::pair{16, 32}, {32, 16}})
    check_layout(bits, k, 2, [](int r, int g, int selector) {
      return Place{4 * (r % 8) + 2 * selector + g / 4, g % 4 + 4 * (r / 8)};
    });
  for (const auto& [bits, k] : {std::pair{8, 32}, {4, 64}})
    check_layout(bits, k, 2, [](int r, int g, int selector) {
      return Place{4 * (r % 8) + 2 * selector + r / 8, g};
    });
  for (const auto& [bits, k] : {std::pair{8, 64}, {4, 128}})
    check_layout(bits, k, 1, [](int r, int g, int) {
      return Place{4 * (r % 8) + 2 * (g / 8) + r / 8, g % 8};
    });
}

TEST_CASE("every metadata layout fills every lane's register, in a warpgroup too") {
  for (const int warps : {1, 4})
    for (const auto& [bits, k] :
         {std::pair{16, 16}, {32, 8}, {16, 32}, {32, 16}, {8, 32}, {4, 64}, {8, 64}, {4, 128}}) {
      const Layout layout = metadata_layout(of(bits), k, warps);
      CHECK(is_bijective(layout));
      CHECK(layout.lanes() == 32 * warps);
      CHECK(layout.elements() * metadata_field_bits == 32);
      CHECK(layout.extent(Axis::row) == 16 * warps);
      CHECK(layout.extent(Axis::column) == k / of(bits).group);
    }
}

TEST_CASE("the selector picks a lane, a pair of lanes or all four of a quad") {
  const auto contributing = [](int bits, int k, int selector) {
    std::vector<int> lanes;
    for (int lane = 4; lane < 8; ++lane)
      if (contributes_metadata(metadata_layout(of(bits), k), selector, lane)) lanes.push_back(lane);
    return lanes;
  };
  CHECK(contributing(16, 16, 3) == std::vector{7});
  CHECK(contributing(16, 32, 0) == std::vector{4, 5});
  CHECK(contributing(32, 16, 1) == std::vector{6, 7});
  CHECK(contributing(8, 32, 1) == std::vector{6, 7});
  CHECK(contributing(4, 128, 0) == std::vector{4, 5, 6, 7});
}
