#include "bitmma/emulator/shared_operand.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <random>
#include <string>
#include <vector>

#include "bitmma/emulator/matrix.hpp"

using namespace bitmma;

namespace {

constexpr std::uint32_t base = 0x400;
using Bytes = std::vector<std::byte>;

Instruction wgmma_row(std::string_view shape_and_types) {
  return find_instruction("wgmma." + std::string(shape_and_types)).value();
}

Execution on_hopper(const Instruction& row) { return resolve(row, *find_target("sm_90")); }

TileCodes random_codes(const Format& format, int count, std::mt19937_64& random) {
  TileCodes codes(static_cast<std::size_t>(count));
  const Code mask = (format.sign_mask() << 1) - 1;
  for (Code& code : codes) code = random() & mask;
  return codes;
}

/// Every element of D = A · B + C by run_chain(), as a fragment.
FragmentRegisters product(const Execution& execution, const TileCodes& a, const TileCodes& b,
                          const TileCodes& c) {
  const Instruction& row = execution.instruction;
  TileCodes d;
  std::vector<Code> column(static_cast<std::size_t>(row.k));
  for (int i = 0; i < row.m; ++i)
    for (int j = 0; j < row.n; ++j) {
      for (int k = 0; k < row.k; ++k)
        column[static_cast<std::size_t>(k)] = b[static_cast<std::size_t>(k * row.n + j)];
      d.push_back(run_chain(execution, &a[static_cast<std::size_t>(i * row.k)], column.data(),
                            column.size(), c[static_cast<std::size_t>(i * row.n + j)]));
    }
  return to_fragment(row, Operand::d, d);
}

/// A and B of a row in one memory of garbage, each behind its dense descriptor.
struct Shared {
  Bytes memory = Bytes(0x10000, std::byte{0xA5});
  std::uint64_t a = 0;
  std::uint64_t b = 0;

  Shared(const Instruction& row, const SwizzleMode& mode, Major a_major, Major b_major,
         const TileCodes& a_tile, const TileCodes& b_tile)
      : a(encode_descriptor(dense_descriptor(shared_tile(row, Operand::a, a_major), mode, 0x800))),
        b(encode_descriptor(
            dense_descriptor(shared_tile(row, Operand::b, b_major), mode, 0x4000))) {
    scatter_operand(row, Operand::a, a_major, a, a_tile, memory, base);
    scatter_operand(row, Operand::b, b_major, b, b_tile, memory, base);
  }
};

struct Operands {
  TileCodes a, b, c;
  explicit Operands(const Instruction& row, std::mt19937_64& random)
      : a(random_codes(*row.a, row.m * row.k, random)),
        b(random_codes(*row.b, row.k * row.n, random)),
        c(random_codes(*row.c, row.m * row.n, random)) {}
};

TileCodes scaled(const Format& format, TileCodes codes, int scale) {
  if (scale == -1)
    for (Code& code : codes)
      code = decode(format, code).negative ? code - format.sign_mask() : code + format.sign_mask();
  return codes;
}

template <class Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const WgmmaError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("a product through descriptors equals the product of the matrices") {
  std::mt19937_64 random(20);
  int products = 0;
  for (Instruction row : instruction_table) {
    if (row.family != Family::wgmma) continue;
    row.n = 64;
    const Execution execution = on_hopper(row);
    const Operands operands(row, random);
    const FragmentRegisters expected = product(execution, operands.a, operands.b, operands.c);
    const FragmentRegisters c = to_fragment(row, Operand::c, operands.c);
    for (const SwizzleMode& mode : swizzle_table)
      for (const bool a_transposed : {false, true})
        for (const bool b_transposed : {false, true}) {
          if (row.a->storage_bits != 16 && (a_transposed || b_transposed)) continue;
          CAPTURE(short_name(row));
          CAPTURE(std::string(mode.name));
          const Shared shared(row, mode, a_transposed ? Major::mn : Major::k,
                              b_transposed ? Major::mn : Major::k, operands.a, operands.b);
          const WgmmaModifiers modifiers{true, 1, 1, a_transposed, b_transposed};
          CHECK(wgmma(execution, shared.a, shared.b, c, modifiers, shared.memory, base) ==
                expected);
          ++products;
        }
  }
  CHECK(products == 3 * 4 * 4 + 9 * 4);
}

TEST_CASE("A of wgmma from registers is A of wgmma from shared memory") {
  std::mt19937_64 random(21);
  for (const char* name :
       {"m64n8k16.f16.f16.f16", "m64n24k8.f32.tf32.tf32", "m64n256k32.f32.e4m3.e5m2"}) {
    const Instruction row = wgmma_row(name);
    const Execution execution = on_hopper(row);
    const Operands operands(row, random);
    const Shared shared(row, swizzle_table[0], Major::k, Major::k, operands.a, operands.b);
    const FragmentRegisters c = to_fragment(row, Operand::c, operands.c);
    const FragmentRegisters a = to_fragment(row, Operand::a, operands.a);
    CHECK(wgmma(execution, a, shared.b, c, {}, shared.memory, base) ==
          product(execution, operands.a, operands.b, operands.c));
  }
}

TEST_CASE("scale-d 0 forgets the accumulator, imm-scale -1 negates an operand") {
  std::mt19937_64 random(22);
  for (const char* name : {"m64n16k16.f32.f16.f16", "m64n16k16.f32.bf16.bf16",
                           "m64n16k8.f32.tf32.tf32", "m64n16k32.f16.e4m3.e5m2"}) {
    const Instruction row = wgmma_row(name);
    const Execution execution = on_hopper(row);
    Operands operands(row, random);
    const Shared shared(row, swizzle_table[3], Major::k, Major::k, operands.a, operands.b);
    operands.c.assign(operands.c.size(), row.c->nan());
    operands.c[0] = 0;
    const FragmentRegisters c = to_fragment(row, Operand::c, operands.c);
    for (const bool scale_d : {true, false})
      for (const int scale_a : {1, -1})
        for (const int scale_b : {1, -1}) {
          const TileCodes addend = scale_d ? operands.c : TileCodes(operands.c.size());
          CHECK(wgmma(execution, shared.a, shared.b, c, {scale_d, scale_a, scale_b}, shared.memory,
                      base) == product(execution, scaled(*row.a, operands.a, scale_a),
                                       scaled(*row.b, operands.b, scale_b), addend));
        }
  }
}

TEST_CASE("B laid out by hand in the 128-byte mode") {
  // B[k][n] = 100 k + n stands K-major: chunk c of column n in place c ^ (n % 8) of its 128 bytes.
  const Instruction row = wgmma_row("m64n8k16.f32.f16.f16");
  Bytes memory(1024);
  for (int n = 0; n < 8; ++n)
    for (int k = 0; k < 16; ++k) {
      const Code code = from_double(f16, 100 * k + n);
      const int offset = 128 * n + 16 * ((k / 8) ^ n) + 2 * (k % 8);
      memory[static_cast<std::size_t>(offset)] = static_cast<std::byte>(code & 0xFF);
      memory[static_cast<std::size_t>(offset + 1)] = static_cast<std::byte>(code >> 8);
    }
  const std::uint64_t descriptor = encode_descriptor({0x400, 16, 1024, 0, 1});
  const TileCodes b = gather_operand(row, Operand::b, Major::k, descriptor, memory, base);
  for (int k = 0; k < 16; ++k)
    for (int n = 0; n < 8; ++n)
      CHECK(to_double(f16, b[static_cast<std::size_t>(8 * k + n)]) == 100 * k + n);
}

TEST_CASE("the writer changes the operand's bytes alone, and the reader reads them back") {
  std::mt19937_64 random(23);
  for (const SwizzleMode& mode : swizzle_table)
    for (const Major major : {Major::k, Major::mn}) {
      const Instruction row = wgmma_row("m64n64k16.f32.bf16.bf16");
      // No code has a byte of the garbage, so that the bytes written can be counted.
      const TileCodes codes(static_cast<std::size_t>(row.k * row.n), 0x1234);
      const std::uint64_t descriptor =
          encode_descriptor(dense_descriptor(shared_tile(row, Operand::b, major), mode, 0x800));
      Bytes memory(0x8000, std::byte{0xA5});
      scatter_operand(row, Operand::b, major, descriptor, codes, memory, base);
      CHECK(std::ranges::count(memory, std::byte{0xA5}) == 0x8000 - 2 * row.k * row.n);
      const TileCodes other = random_codes(bf16, row.k * row.n, random);
      scatter_operand(row, Operand::b, major, descriptor, other, memory, base);
      CHECK(gather_operand(row, Operand::b, major, descriptor, memory, base) == other);
    }
}

TEST_CASE("wgmma refuses what PTX does not allow, before it computes") {
  const Instruction row = wgmma_row("m64n64k8.f32.tf32.tf32");
  const Execution execution = on_hopper(row);
  std::mt19937_64 random(24);
  const Operands operands(row, random);
  const Shared shared(row, swizzle_table[1], Major::k, Major::k, operands.a, operands.b);
  const FragmentRegisters c = to_fragment(row, Operand::c, operands.c);
  const FragmentRegisters a = to_fragment(row, Operand::a, operands.a);
  const auto error = [&](const WgmmaA& a_operand, std::uint64_t b,
                         const FragmentRegisters& accumulator, const WgmmaModifiers& modifiers) {
    return error_of(
        [&] { wgmma(execution, a_operand, b, accumulator, modifiers, shared.memory, base); });
  };
  CHECK(error(shared.a, shared.b, c, {}) == "no error");
  CHECK(error(shared.a, shared.b, c, {true, 0, 1}) == "imm-scale-a is 0; right: 1 or -1");
  CHECK(error(shared.a, shared.b, c, {true, 1, 2}) == "imm-scale-b is 2; right: 1 or -1");
  CHECK(error(shared.a, shared.b, a, {}) ==
        "the accumulator has 512 registers over the warpgroup; right: 4096");
  CHECK(error(c, shared.b, c, {}) == "A has 4096 registers over the warpgroup; right: 512");
  CHECK(error(a, shared.b, c, {true, 1, 1, true}) ==
        "imm-trans-a is 1 with A in registers; right: A in shared memory");
  CHECK(error(shared.a, shared.b, c, {true, 1, 1, true})
            .starts_with(
                "descriptor of A: imm-trans-a and imm-trans-b exist for 16-bit elements alone"));
  CHECK(error(shared.a, shared.b | 1ULL << 60, c, {}).starts_with("descriptor of B: bits 14-15"));
  CHECK(error(shared.a, 0, c, {}).starts_with("descriptor of B: the leading dimension offset"));
  // A remark is no reason to refuse.
  CHECK(error(shared.a, shared.b ^ 5ULL << 16, c, {}) == "no error");
}

TEST_CASE("an operand outside the memory is refused, and nothing is written") {
  const Instruction row = wgmma_row("m64n8k16.f32.f16.f16");
  const std::uint64_t descriptor = encode_descriptor({0x400, 128, 256, 0, 0});
  const TileCodes codes(static_cast<std::size_t>(row.k * row.n), 0x1234);
  Bytes memory(255);
  const std::string_view message =
      "the operand takes bytes 1024 to 1280, the memory has 1024 to 1279";
  CHECK(error_of([&] {
          scatter_operand(row, Operand::b, Major::k, descriptor, codes, memory, base);
        }) == message);
  CHECK(memory == Bytes(255));
  CHECK(error_of([&] { gather_operand(row, Operand::b, Major::k, descriptor, memory, base); }) ==
        message);
}
