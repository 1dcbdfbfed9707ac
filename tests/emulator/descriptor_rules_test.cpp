#include "bitmma/emulator/descriptor_rules.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

using namespace bitmma;

namespace {

constexpr SharedTile k_major{64, 16, 2, Major::k};
constexpr SharedTile mn_major{64, 16, 2, Major::mn};

/// Checks that the one finding is this contradiction.
void check_contradiction(const std::vector<DescriptorFinding>& findings, std::string_view text) {
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].level == FindingLevel::contradiction);
  CHECK(finding_text(findings[0]) == text);
}

void check_contradiction(const MatrixDescriptor& descriptor, const SharedTile& tile,
                         std::string_view text) {
  check_contradiction(check_descriptor(encode_descriptor(descriptor), tile), text);
}

void check_remark(const MatrixDescriptor& descriptor, const SharedTile& tile,
                  std::string_view text) {
  const auto findings = check_descriptor(encode_descriptor(descriptor), tile);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].level == FindingLevel::remark);
  CHECK(finding_text(findings[0]) == text);
}

}  // namespace

TEST_CASE("dense descriptors are free of contradictions, at every step along k") {
  for (const SwizzleMode& mode : swizzle_table)
    for (const Major major : {Major::k, Major::mn})
      for (const int bytes : {1, 2, 4})
        for (int outer = 64; outer <= 256; outer += 64) {
          const SharedTile tile{outer, 32 / bytes, bytes, major};
          if (!has_major(tile)) continue;
          MatrixDescriptor descriptor = dense_descriptor(tile, mode, 0x400);
          const int steps = major == Major::k && !mode.is_none() ? mode.row_bytes / 32 : 1;
          for (int step = 0; step < steps; ++step, descriptor.start_address += 32) {
            CAPTURE(std::string(mode.name));
            CAPTURE(descriptor.start_address);
            CHECK(check_descriptor(encode_descriptor(descriptor), tile).empty());
          }
        }
}

TEST_CASE("reserved bits") {
  constexpr std::uint64_t dense = encode_descriptor({0x400, 128, 256, 0, 0});
  check_contradiction(check_descriptor(dense | 1ULL << 15),
                      "bits 14-15, 30-31, 46-48 and 52-61 are reserved: "
                      "0x0000000000008000 is set there; right: 0");
  check_contradiction(check_descriptor(dense | 1ULL << 46, k_major),
                      "bits 14-15, 30-31, 46-48 and 52-61 are reserved: 0x0000400000000000 is set "
                      "there; right: 0; bit 46 marks a descriptor of tcgen05, not of wgmma");
  for (int bit = 0; bit < 64; ++bit)
    if ((reserved_descriptor_bits() >> bit & 1) != 0)
      CHECK(check_descriptor(dense | std::uint64_t{1} << bit).size() == 1);
}

TEST_CASE("a base offset without swizzle") {
  check_contradiction({0x400, 128, 256, 3, 0}, k_major,
                      "the base offset is valid in the swizzled modes alone: base offset 3 without "
                      "swizzle; right: base offset 0");
}

TEST_CASE("an operand that starts inside its swizzle pattern") {
  check_contradiction(
      {0x480, 16, 1024, 0, 1}, k_major,
      "an operand starts in row 0 of its pattern; 128B swizzle repeats every 1024 bytes: start "
      "address 0x00480 is in row 1 (base offset 0); right: a start address from 0x00400 to "
      "0x00470, or base offset 1 if the pattern starts there");
  check_contradiction(
      {0x440, 16, 512, 0, 2}, k_major,
      "an operand starts in row 0 of its pattern; 64B swizzle repeats every 512 bytes: start "
      "address 0x00440 is in row 1 (base offset 0); right: a start address from 0x00400 to "
      "0x00430");
  check_contradiction(
      {0, 16, 256, 1, 3}, k_major,
      "an operand starts in row 0 of its pattern; 32B swizzle repeats every 256 bytes: start "
      "address 0x00000 is in row 4 (base offset 1); right: a start address in the first 32 bytes "
      "of a pattern, or base offset 0 if the pattern starts there");
  CHECK(check_descriptor(encode_descriptor({0x480, 16, 1024, 1, 1}), k_major).empty());
}

TEST_CASE("transposition of elements that are not 16 bits") {
  check_contradiction({0x400, 512, 256, 0, 0}, SharedTile{64, 8, 4, Major::mn},
                      "imm-trans-a and imm-trans-b exist for 16-bit elements alone: MN-major with "
                      "elements of 32 bits; right: K-major");
}

TEST_CASE("a line that leaves its swizzled row") {
  check_contradiction({0x470, 16, 1024, 0, 1}, k_major,
                      "the 32 bytes of a line lie in one row of 128 bytes: the start address is "
                      "112 bytes into its row; right: at most 96 bytes into it");
}

TEST_CASE("offsets that are zero or lead into the middle of a pattern") {
  check_contradiction({0x400, 0, 128, 0, 0}, k_major,
                      "the leading dimension offset leads from one atom to the next: leading "
                      "dimension offset 0 bytes; right: 128 bytes where atoms are dense");
  check_contradiction({0x400, 16, 0, 0, 1}, k_major,
                      "the stride dimension offset leads from one atom to the next: stride "
                      "dimension offset 0 bytes; right: 1024 bytes where atoms are dense");
  check_contradiction({0x400, 0, 1024, 0, 2}, mn_major,
                      "the leading dimension offset leads from one atom to the next: leading "
                      "dimension offset 0 bytes; right: 512 bytes where atoms are dense");
  check_contradiction({0x400, 16, 1280, 0, 1}, k_major,
                      "every atom starts at a pattern; 128B swizzle repeats every 1024 bytes: "
                      "stride dimension offset 1280 bytes; right: a multiple of 1024");
  // One atom along the axis: nothing uses the offset.
  CHECK(check_descriptor(encode_descriptor({0x400, 128, 0, 0, 0}), {8, 16, 2, Major::k}).empty());
  CHECK(check_descriptor(encode_descriptor({0x400, 0, 1024, 0, 1}), mn_major).empty());
}

TEST_CASE("core matrices that overlap") {
  check_contradiction({0x400, 128, 128, 0, 0}, k_major,
                      "every element has bytes of its own: (mn 0, k 8) and (mn 8, k 0) both stand "
                      "at 0x00480; right: leading 128 and stride 256 bytes where atoms are dense");
  check_contradiction({0x400, 512, 512, 0, 2}, mn_major,
                      "every element has bytes of its own: (mn 32, k 0) and (mn 0, k 8) both stand "
                      "at 0x00600; right: leading 512 and stride 1024 bytes where atoms are dense");
}

TEST_CASE("an operand that leaves the shared memory") {
  check_contradiction(
      {0x38FF0, 128, 256, 0, 0}, k_major,
      "an operand lies in the shared memory, 0x00000 to 0x39000: it takes 0x38ff0 to "
      "0x397f0; right: a start address that leaves it 2048 bytes");
  CHECK(check_descriptor(encode_descriptor({0x38800, 128, 256, 0, 0}), k_major).empty());
  const auto outside =
      check_descriptor(encode_descriptor({0x400, 128, 256, 0, 0}), k_major, {0x800, 0x10000});
  check_contradiction(outside,
                      "an operand lies in the shared memory, 0x00800 to 0x10000: it takes 0x00400 "
                      "to 0x00c00; right: a start address that leaves it 2048 bytes");
}

TEST_CASE("remarks: an offset that is not used, an atom that is used in part") {
  check_remark({0x400, 64, 1024, 0, 1}, k_major,
               "swizzled K-major layouts do not use the leading dimension offset: leading "
               "dimension offset 64 bytes; right: 16 bytes, encoded 1");
  check_remark({0x400, 1024, 2048, 0, 1}, SharedTile{96, 16, 2, Major::mn},
               "MN-major canonical layouts are whole atoms of 64 elements along mn: mn is 96; "
               "right: a multiple of 64, or a narrower swizzle");
}
