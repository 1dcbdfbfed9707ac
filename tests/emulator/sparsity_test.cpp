#include "bitmma/emulator/sparsity.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "bitmma/emulator/integer.hpp"

using namespace bitmma;

namespace {

/// A sparse operand A of an instruction: a type, its significant bits, and the shape.
struct SparseOperand {
  std::string type;
  int element_bits;
  Code magnitude_bits;
  std::size_t k;

  SparseShape shape(std::size_t rows = 16) const { return {*find_sparsity(element_bits), rows, k}; }
};

const std::vector<SparseOperand> operands{
    {"f16", 16, f16.nan(), 16},   {"f16", 16, f16.nan(), 32},  {"bf16", 16, bf16.nan(), 16},
    {"bf16", 16, bf16.nan(), 32}, {"tf32", 32, tf32.nan(), 8}, {"tf32", 32, tf32.nan(), 16},
    {"e4m3", 8, e4m3.nan(), 64},  {"e5m2", 8, e5m2.nan(), 64}, {"s8", 8, 0xFF, 32},
    {"u8", 8, 0xFF, 64},          {"s4", 4, 0xF, 64},          {"u4", 4, 0xF, 128}};

/// Any fields that are valid, and any codes for the kept elements, zeros among them.
CompressedMatrix random_compressed(std::mt19937_64& random, const SparseOperand& operand,
                                   const SparseShape& shape, MetadataOrder order) {
  CompressedMatrix compressed;
  while (compressed.metadata.size() < shape.rows * shape.groups()) {
    const auto field = static_cast<MetadataField>(random() % 16);
    if (is_valid_metadata(shape.sparsity, order, field)) compressed.metadata.push_back(field);
  }
  const Code mask = ~Code{0} >> (64 - operand.element_bits);
  while (compressed.kept.size() < shape.rows * shape.k / 2)
    compressed.kept.push_back(random() % 4 == 0 ? 0 : random() & mask);
  return compressed;
}

/// The codes with +0 for every zero: compression may drop a sign, and bits that tf32 ignores.
std::vector<Code> plain_zeros(std::vector<Code> codes, const SparseOperand& operand) {
  for (Code& code : codes)
    if ((code & operand.magnitude_bits) == 0) code = 0;
  return codes;
}

CompressedMatrix compressed(const SparseShape& shape, const std::vector<Code>& a,
                            Code magnitude_bits) {
  return std::get<CompressedMatrix>(compress(shape, a, magnitude_bits));
}

/// One row of one group.
CompressedMatrix compressed_group(int element_bits, const std::vector<Code>& group,
                                  Code magnitude_bits) {
  return compressed({*find_sparsity(element_bits), 1, group.size()}, group, magnitude_bits);
}

std::string refusal(int element_bits, std::size_t rows, const std::vector<Code>& a,
                    Code magnitude_bits) {
  const SparseShape shape{*find_sparsity(element_bits), rows, a.size() / rows};
  return to_string(std::get<DenseGroup>(compress(shape, a, magnitude_bits)));
}

}  // namespace

TEST_CASE(
    "a matrix expanded from valid metadata compresses and expands to itself, in every format") {
  std::mt19937_64 random(1);
  for (const SparseOperand& operand : operands) {
    CAPTURE(operand.type);
    CAPTURE(operand.k);
    const SparseShape shape = operand.shape();
    for (int i = 0; i < 50; ++i) {
      const std::vector<Code> a =
          decompress(shape, random_compressed(random, operand, shape, MetadataOrder::any));
      const std::vector<Code> expanded =
          decompress(shape, compressed(shape, a, operand.magnitude_bits));
      REQUIRE(plain_zeros(expanded, operand) == plain_zeros(a, operand));
    }
  }
}

TEST_CASE("compressed matrices without zeros come back bit by bit, with their metadata") {
  std::mt19937_64 random(2);
  for (const SparseOperand& operand : operands) {
    CAPTURE(operand.type);
    const SparseShape shape = operand.shape();
    CompressedMatrix original = random_compressed(random, operand, shape, MetadataOrder::ascending);
    const Code lowest = operand.magnitude_bits & (~operand.magnitude_bits + 1);
    for (Code& code : original.kept) code |= lowest;
    const CompressedMatrix again =
        compressed(shape, decompress(shape, original), operand.magnitude_bits);
    CHECK(again.kept == original.kept);
    CHECK(again.metadata == original.metadata);
  }
}

TEST_CASE("metadata fields of single groups") {
  const auto field = [](int bits, const std::vector<Code>& group, Code magnitude_bits) {
    return compressed_group(bits, group, magnitude_bits).metadata.at(0);
  };
  const Code x = 0x3C00;
  CHECK(field(16, {x, x, 0, 0}, f16.nan()) == 0b0100);
  CHECK(field(16, {x, 0, x, 0}, f16.nan()) == 0b1000);
  CHECK(field(16, {0, x, x, 0}, f16.nan()) == 0b1001);
  CHECK(field(16, {x, 0, 0, x}, f16.nan()) == 0b1100);
  CHECK(field(16, {0, x, 0, x}, f16.nan()) == 0b1101);
  CHECK(field(16, {0, 0, x, x}, f16.nan()) == 0b1110);
  // fewer non-zeros than are kept: the first zero is kept too
  CHECK(field(16, {0, 0, 0, 0}, f16.nan()) == 0b0100);
  CHECK(field(16, {0, x, 0, 0}, f16.nan()) == 0b0100);
  CHECK(field(16, {0, 0, x, 0}, f16.nan()) == 0b1000);
  CHECK(field(16, {0, 0, 0, x}, f16.nan()) == 0b1100);
  // pairs of 4 bits, of which one may be zero
  CHECK(field(4, {0, 0, 0, 5, 0, 0, 7, 0}, 0xF) == 0b1101);
  CHECK(field(32, {0x3F800000, 0}, tf32.nan()) == 0b0100);
  CHECK(field(32, {0, 0x3F800000}, tf32.nan()) == 0b1110);
  CHECK(field(32, {0x1FFF, 0x3F800000}, tf32.nan()) == 0b1110);  // tf32 ignores 13 bits
}

TEST_CASE("minus zero is a zero of floating point, and kept where there is room") {
  const Code x = 0x3C00, minus = 0x8000;
  const CompressedMatrix dropped = compressed_group(16, {x, minus, x, minus}, f16.nan());
  CHECK(dropped.metadata.at(0) == 0b1000);
  CHECK(dropped.kept == std::vector<Code>{x, x});
  const CompressedMatrix kept = compressed_group(16, {minus, 0, x, 0}, f16.nan());
  CHECK(kept.kept == std::vector<Code>{minus, x});
  // of integers, every code but 0 is another number
  CHECK(compressed_group(8, {0x80, 0, 0, 1}, 0xFF).kept == std::vector<Code>{0x80, 1});
}

TEST_CASE("a matrix that is not sparse is refused with the first row and group that is too dense") {
  std::vector<Code> a(2 * 8);
  a[8 + 4] = a[8 + 5] = a[8 + 7] = 0x3C00;
  CHECK(refusal(16, 2, a, f16.nan()) ==
        "row 1, columns 4 to 7: 3 of 4 elements are not zero, at most 2 may be");
  a[1] = a[2] = a[3] = a[0] = 1;
  CHECK(refusal(16, 2, a, f16.nan()) ==
        "row 0, columns 0 to 3: 4 of 4 elements are not zero, at most 2 may be");
  CHECK(refusal(32, 1, {0, 0, 0x3F800000, 0x3F800000}, tf32.nan()) ==
        "row 0, columns 2 to 3: 2 of 2 elements are not zero, at most 1 may be");
  // three elements of 4 bits, in three pairs
  CHECK(refusal(4, 1, {1, 0, 1, 0, 0, 1, 0, 0}, 0xF) ==
        "row 0, columns 0 to 7: 3 of 4 pairs are not zero, at most 2 may be");
}

TEST_CASE("metadata goes to the lanes and back, in every format and with every selector") {
  std::mt19937_64 random(3);
  for (const MetadataOrder order : {MetadataOrder::any, MetadataOrder::ascending})
    for (const SparseOperand& operand : operands)
      for (const std::size_t rows : {std::size_t{16}, std::size_t{64}}) {
        const SparseShape shape = operand.shape(rows);
        CAPTURE(operand.type);
        for (int selector = 0; !selector_fault(shape, selector); ++selector) {
          const Metadata metadata = random_compressed(random, operand, shape, order).metadata;
          FragmentRegisters registers = metadata_fragment(shape, metadata, selector);
          CHECK(registers.size() == 2 * rows);
          // lanes that the selector leaves out hold nothing, and what they hold does not matter
          const Layout layout = metadata_layout(shape.sparsity, static_cast<int>(shape.k),
                                                static_cast<int>(rows) / 16);
          int left_out = 0;
          for (int lane = 0; lane < layout.lanes(); ++lane) {
            if (contributes_metadata(layout, selector, lane)) continue;
            std::uint32_t& idle = registers[static_cast<std::size_t>(lane)];
            left_out += idle == 0;
            idle = 0xFFFF'FFFF;
          }
          CHECK(left_out == layout.lanes() - layout.lanes() / selector_count(layout));
          CHECK(std::get<Metadata>(read_metadata(shape, registers, selector, order)) == metadata);
        }
      }
}

TEST_CASE("metadata registers of m16n8k16 f16 as they were measured") {
  const SparseShape shape{*find_sparsity(16), 16, 16};
  Metadata metadata(16 * 4, 0b0100);
  metadata[3 * 4 + 2] = 0b1110;   // row 3, group 2: nibble 2
  metadata[11 * 4 + 0] = 0b1001;  // row 11, group 0: nibble 4
  const FragmentRegisters registers = metadata_fragment(shape, metadata, 1);
  CHECK(registers[4 * 3 + 1] == 0x4449'4E44);
  CHECK(registers[4 * 2 + 1] == 0x4444'4444);
  CHECK(registers[4 * 3 + 0] == 0);
}

TEST_CASE("invalid metadata is refused with the lane, the bits, the value and the valid ones") {
  const auto fault = [](int element_bits, std::size_t k, std::size_t lane, std::uint32_t value,
                        int selector, MetadataOrder order) {
    const SparseShape shape{*find_sparsity(element_bits), 16, k};
    FragmentRegisters registers(32, 0x4444'4444);
    registers[lane] = value;
    return to_string(std::get<InvalidMetadata>(read_metadata(shape, registers, selector, order)));
  };
  using enum MetadataOrder;
  CHECK(fault(16, 16, 5, 0x4444'5444, 1, ascending) ==
        "lane 5, metadata bits 12 to 15 (row 1, columns 12 to 15): 0b0101 is invalid; valid are "
        "0b0100, 0b1000, 0b1001, 0b1100, 0b1101, 0b1110");
  CHECK(fault(16, 16, 5, 0x4404'4444, 1, any) ==
        "lane 5, metadata bits 20 to 23 (row 9, columns 4 to 7): 0b0000 is invalid; valid are "
        "0b0001, 0b0010, 0b0011, 0b0100, 0b0110, 0b0111, 0b1000, 0b1001, 0b1011, 0b1100, 0b1101, "
        "0b1110");
  CHECK(fault(32, 16, 2, 0x4444'4448, 1, any) ==
        "lane 2, metadata bits 0 to 3 (row 0, columns 0 to 1): 0b1000 is invalid; valid are "
        "0b0100, 0b1110");
  CHECK(fault(4, 128, 3, 0xF444'4444, 0, ascending) ==
        "lane 3, metadata bits 28 to 31 (row 8, columns 120 to 127): 0b1111 is invalid; valid are "
        "0b0100, 0b1000, 0b1001, 0b1100, 0b1101, 0b1110");
  // descending indices: only where the spelling promises an order
  const SparseShape shape{*find_sparsity(16), 16, 16};
  const FragmentRegisters descending(32, 0x1111'1111);
  CHECK(std::holds_alternative<Metadata>(read_metadata(shape, descending, 0, any)));
  CHECK(std::get<InvalidMetadata>(read_metadata(shape, descending, 3, ascending)).at ==
        FragmentPosition{3, 0});
}

TEST_CASE("a sparsity selector out of range is refused with the ones that there are") {
  const auto fault = [](int element_bits, std::size_t k, int selector) {
    return selector_fault({*find_sparsity(element_bits), 16, k}, selector).value_or("none");
  };
  CHECK(fault(16, 16, 3) == "none");
  CHECK(fault(16, 16, 4) == "sparsity selector 4: k = 16 of 16-bit elements takes 0, 1, 2, 3");
  CHECK(fault(16, 32, -1) == "sparsity selector -1: k = 32 of 16-bit elements takes 0, 1");
  CHECK(fault(8, 64, 1) == "sparsity selector 1: k = 64 of 8-bit elements takes 0");
}

TEST_CASE("kept elements times gathered B are the expanded A times B") {
  std::mt19937_64 random(4);
  for (const SparseOperand& operand : operands) {
    CAPTURE(operand.type);
    const SparseShape shape = operand.shape();
    const CompressedMatrix sparse = random_compressed(random, operand, shape, MetadataOrder::any);
    const std::vector<Code> a = decompress(shape, sparse);
    std::vector<Code> column(shape.k), gathered(shape.k / 2);
    for (Code& code : column) code = random() & 0xFF;
    // The low bits of the codes, whatever the format.
    const auto dot = [&](const Code* x, const Code* y, std::size_t k) {
      return integer_dot(s8, s8, x, y, static_cast<int>(k), 0, IntegerOverflow::wrap);
    };
    for (std::size_t row = 0; row < shape.rows; ++row) {
      gather_kept(shape.sparsity, sparse.metadata.data() + row * shape.groups(),
                  static_cast<int>(shape.k / 2), column.data(), gathered.data());
      CHECK(dot(sparse.kept.data() + row * shape.k / 2, gathered.data(), shape.k / 2) ==
            dot(a.data() + row * shape.k, column.data(), shape.k));
    }
  }
}
