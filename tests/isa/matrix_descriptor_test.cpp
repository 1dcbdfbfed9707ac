#include "bitmma/isa/matrix_descriptor.hpp"

#include <doctest/doctest.h>

#include <initializer_list>
#include <set>
#include <string>
#include <vector>

using namespace bitmma;

namespace {

/// One mode of a CuTe layout: shape and stride, in elements.
struct Mode {
  int shape;
  int stride;
};
using Nested = std::vector<Mode>;

/// The offset of a coordinate in ((s0, s1, …)):((d0, d1, …)), the first mode running fastest.
int nested_offset(const Nested& modes, int coordinate) {
  int offset = 0;
  for (const Mode& mode : modes) {
    offset += coordinate % mode.shape * mode.stride;
    coordinate /= mode.shape;
  }
  return offset;
}

int extent(const Nested& modes) {
  int cells = 1;
  for (const Mode& mode : modes) cells *= mode.shape;
  return cells;
}

/// CuTe's Swizzle<bits, 4, 3> of a byte offset.
int cute_swizzle(int bits, int offset) {
  const int mask = ((1 << bits) - 1) << 7;
  return offset ^ ((offset & mask) >> 3);
}

int swizzle_bits(const SwizzleMode& mode) {
  return mode.name == "128B" ? 3 : mode.name == "64B" ? 2 : mode.name == "32B" ? 1 : 0;
}

const SwizzleMode& mode_named(std::string_view name) {
  for (const SwizzleMode& mode : swizzle_table)
    if (mode.name == name) return mode;
  FAIL("no such mode");
  return swizzle_table[0];
}

/// Compares every address with Swizzle o (outer, k), a canonical layout in elements.
void check_layout(const MatrixDescriptor& descriptor, Major major, int bytes, const Nested& outer,
                  const Nested& k) {
  const SharedTile tile{extent(outer), extent(k), bytes, major};
  const int bits = swizzle_bits(descriptor.swizzle());
  for (int i = 0; i < tile.outer; ++i)
    for (int j = 0; j < tile.k; ++j) {
      const int offset = (nested_offset(outer, i) + nested_offset(k, j)) * bytes;
      CHECK(element_address(descriptor, tile, i, j) ==
            descriptor.start_address + cute_swizzle(bits, offset));
    }
}

template <class Visit>
void for_each_tile(int outer, Visit visit) {
  for (const SwizzleMode& mode : swizzle_table)
    for (const Major major : {Major::k, Major::mn})
      for (const int bytes : {1, 2, 4}) {
        const SharedTile tile{outer, 32 / bytes, bytes, major};
        CAPTURE(std::string(mode.name));
        CAPTURE(bytes);
        if (has_major(tile)) visit(mode, tile);
      }
}

}  // namespace

TEST_CASE("a matrix descriptor's fields stand where PTX has them") {
  const MatrixDescriptor descriptor{0x12340, 16, 1024, 5, 2};
  CHECK(encode_descriptor(descriptor) ==
        (0x1234ULL | 1ULL << 16 | 64ULL << 32 | 5ULL << 49 | 2ULL << 62));
  CHECK(decode_descriptor(0x4000004000010000) == MatrixDescriptor{0, 16, 1024, 0, 1});
  CHECK(reserved_descriptor_bits() == 0x3FF1C000C000C000);
  for (const DescriptorField& field : descriptor_field_table) {
    MatrixDescriptor largest;
    largest.*field.value = ((1 << field.bits) - 1) * field.unit;
    CHECK(encode_descriptor(largest) == field.mask());
    CHECK(decode_descriptor(field.mask()) == largest);
  }
}

TEST_CASE("a descriptor keeps bits 4 to 17 of an address, as matrix-descriptor-encode does") {
  for (const int address : {0x4FFFF, 0x0FFF0, 0x7000F})
    CHECK(encode_descriptor({address, 0, 0, 0, 0}) ==
          static_cast<std::uint64_t>((address & 0x3FFFF) >> 4));
}

TEST_CASE("operands stand where the examples of PTX ISA put them") {
  // "Canonical Layouts", figures 166 to 170; offsets in the descriptor are given there as encoded.
  constexpr Major k = Major::k, mn = Major::mn;
  check_layout(decode_descriptor(16ULL << 16 | 8ULL << 32), k, 4, {{8, 4}, {2, 32}},
               {{4, 1}, {4, 64}});
  check_layout(decode_descriptor(1ULL << 16 | 16ULL << 32 | 3ULL << 62), k, 4, {{8, 8}, {2, 64}},
               {{4, 1}, {2, 4}});
  check_layout(decode_descriptor(16ULL << 16 | 8ULL << 32), mn, 2, {{8, 1}, {1, 8}, {2, 64}},
               {{8, 8}, {2, 128}});
  check_layout(decode_descriptor(16ULL << 16 | 32ULL << 32 | 3ULL << 62), mn, 2,
               {{8, 1}, {2, 8}, {2, 128}}, {{8, 16}, {2, 256}});
  check_layout(decode_descriptor(32ULL << 16 | 64ULL << 32 | 2ULL << 62), mn, 2,
               {{8, 1}, {4, 8}, {2, 256}}, {{8, 32}, {2, 512}});
}

TEST_CASE("every mode and major-ness follows its canonical layout, whatever the offsets") {
  constexpr int leading = 5 * 1024, stride = 3 * 1024;
  for_each_tile(64, [&](const SwizzleMode& mode, const SharedTile& tile) {
    const int t = chunk_bytes / tile.element_bytes;
    const int w = 1 << swizzle_bits(mode);  // chunks in a row
    const int lbo = leading / tile.element_bytes, sbo = stride / tile.element_bytes;
    const MatrixDescriptor descriptor{0x2000, leading, stride, 0, mode.code};
    const Nested tail_k{{t, 1}, {2, mode.is_none() ? lbo : t}};
    if (tile.major == Major::k)
      check_layout(descriptor, Major::k, tile.element_bytes, {{8, w * t}, {8, sbo}}, tail_k);
    else
      check_layout(descriptor, Major::mn, tile.element_bytes,
                   {{t, 1}, {w, t}, {8 / w, mode.is_none() ? sbo : lbo}},
                   {{8, w * t}, {2, mode.is_none() ? lbo : sbo}});
  });
}

TEST_CASE("the swizzled chunks of the first rows") {
  // Chunk c of row r stands in place c ^ r of 128 bytes; narrower rows share 128 bytes.
  const auto chunk = [](std::string_view name, int row, int c) {
    const SwizzleMode& mode = mode_named(name);
    const SharedTile tile{64, 16 * 4, 2, Major::k};
    return element_address({0, 16, mode.atom_bytes(), 0, mode.code}, tile, row, 8 * c);
  };
  for (int row = 0; row < 8; ++row)
    for (int c = 0; c < 8; ++c) CHECK(chunk("128B", row, c) == 128 * row + 16 * (c ^ row));
  for (int row = 0; row < 8; ++row)
    for (int c = 0; c < 4; ++c) CHECK(chunk("64B", row, c) == 64 * row + 16 * (c ^ (row / 2)));
  for (int row = 0; row < 8; ++row)
    for (int c = 0; c < 2; ++c) CHECK(chunk("32B", row, c) == 32 * row + 16 * (c ^ (row / 4)));
  CHECK(chunk("128B", 9, 0) == 1024 + 128 + 16);
}

TEST_CASE(
    "dense layouts are bijections onto their bytes, K-major ones over a row's steps along k") {
  for_each_tile(128, [](const SwizzleMode& mode, const SharedTile& tile) {
    constexpr int start = 0x8000;
    MatrixDescriptor descriptor = dense_descriptor(tile, mode, start);
    const int steps =
        tile.major == Major::k && !mode.is_none() ? mode.row_bytes / tile.line_bytes() : 1;
    std::set<int> addresses;
    for (int step = 0; step < steps; ++step) {
      descriptor.start_address = start + step * tile.line_bytes();
      for (int outer = 0; outer < tile.outer; ++outer)
        for (int k = 0; k < tile.k; ++k)
          addresses.insert(element_address(descriptor, tile, outer, k));
    }
    const int elements = steps * tile.outer * tile.k;
    CHECK(addresses.size() == static_cast<std::size_t>(elements));
    CHECK(*addresses.begin() == start);
    CHECK(*addresses.rbegin() == start + (elements - 1) * tile.element_bytes);
    for (const int address : addresses) CHECK(address % tile.element_bytes == 0);
  });
}

TEST_CASE("dense descriptors have the offsets that CUTLASS's layouts have") {
  const auto dense = [](Major major, std::string_view mode, int outer = 64) {
    return dense_descriptor({outer, 16, 2, major}, mode_named(mode), 0x400);
  };
  CHECK(dense(Major::k, "none") == MatrixDescriptor{0x400, 128, 256, 0, 0});
  CHECK(dense(Major::k, "128B") == MatrixDescriptor{0x400, 16, 1024, 0, 1});
  CHECK(dense(Major::k, "64B") == MatrixDescriptor{0x400, 16, 512, 0, 2});
  CHECK(dense(Major::k, "32B") == MatrixDescriptor{0x400, 16, 256, 0, 3});
  CHECK(dense(Major::mn, "none") == MatrixDescriptor{0x400, 1024, 128, 0, 0});
  CHECK(dense(Major::mn, "128B") == MatrixDescriptor{0x400, 16, 1024, 0, 1});
  CHECK(dense(Major::mn, "64B") == MatrixDescriptor{0x400, 512, 1024, 0, 2});
  CHECK(dense(Major::mn, "128B", 256) == MatrixDescriptor{0x400, 1024, 4096, 0, 1});
  CHECK(dense(Major::k, "none", 8) == MatrixDescriptor{0x400, 128, 16, 0, 0});
}

TEST_CASE("the base offset moves the pattern to where the operand starts") {
  for_each_tile(64, [](const SwizzleMode& mode, const SharedTile& tile) {
    if (mode.is_none()) return;
    const MatrixDescriptor aligned = dense_descriptor(tile, mode, 0x4000);
    for (int base_offset = 0; base_offset < mode.atom_bytes() / 128; ++base_offset) {
      const int shift = 128 * base_offset;
      MatrixDescriptor moved = aligned;
      moved.start_address += shift;
      moved.base_offset = (moved.start_address >> 7) & 7;  // PTX ISA, "Matrix Descriptor Format"
      CHECK(moved.base_offset == base_offset);
      for (int outer = 0; outer < tile.outer; ++outer)
        for (int k = 0; k < tile.k; ++k)
          CHECK(element_address(moved, tile, outer, k) ==
                element_address(aligned, tile, outer, k) + shift);
    }
  });
}

TEST_CASE("the bytes that an operand lies in end behind its last chunk") {
  const SharedTile tile{64, 16, 2, Major::k};
  const OperandBytes none = operand_bytes({0x400, 128, 256, 0, 0}, tile);
  CHECK(none.first == 0x400);
  CHECK(none.end == 0x400 + 64 * 32);
  // Row 63 is row 7 of its atom: its two chunks stand in places 7 and 6 of 128 bytes.
  const OperandBytes swizzled = operand_bytes({0x400, 16, 1024, 0, 1}, tile);
  CHECK(swizzled.first == 0x400);
  CHECK(swizzled.end == 0x400 + 64 * 128);
}
