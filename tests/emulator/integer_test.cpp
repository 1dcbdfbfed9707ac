#include "bitmma/emulator/integer.hpp"

#include <doctest/doctest.h>

#include <bitset>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

using namespace bitmma;

namespace {

constexpr Format types[] = {s8, u8, s4, u4};

constexpr std::int64_t smallest = std::numeric_limits<std::int32_t>::min();
constexpr std::int64_t largest = std::numeric_limits<std::int32_t>::max();

constexpr bool is_signed(const Format& type) { return type.encoding == Encoding::signed_integer; }
constexpr std::int64_t lowest(const Format& type) {
  return is_signed(type) ? -(std::int64_t{1} << (type.storage_bits - 1)) : 0;
}
constexpr std::int64_t highest(const Format& type) {
  return (std::int64_t{1} << (is_signed(type) ? type.storage_bits - 1 : type.storage_bits)) - 1;
}

Code code_of(const Format& type, std::int64_t value) {
  return static_cast<Code>(value) & ((Code{1} << type.storage_bits) - 1);
}
Code s32_code(std::int64_t value) { return code_of(s32, value); }

/// Operands whose values are drawn first and encoded then, the other way round than the emulator's.
struct Draw {
  std::vector<Code> a, b;
  std::int64_t products = 0;
  std::int64_t c = 0;
};

Draw draw(std::mt19937_64& random, const Format& a_type, const Format& b_type, int k) {
  Draw drawn;
  const bool extreme = random() % 4 == 0;
  const auto value = [&](const Format& type) {
    if (extreme) return random() % 8 == 0 ? lowest(type) : highest(type);
    return std::uniform_int_distribution<std::int64_t>(lowest(type), highest(type))(random);
  };
  for (int i = 0; i < k; ++i) {
    const std::int64_t x = value(a_type), y = value(b_type);
    drawn.a.push_back(code_of(a_type, x));
    drawn.b.push_back(code_of(b_type, y));
    drawn.products += x * y;
  }
  const auto offset = static_cast<std::int64_t>(random() % 20'000);
  const std::int64_t anywhere = static_cast<std::int32_t>(random());
  const std::int64_t choices[] = {smallest + offset, largest - offset, anywhere};
  drawn.c = choices[random() % 3];
  return drawn;
}

/// The representative of the value in [−2^31, 2^31), by subtraction.
std::int64_t wrapped(std::int64_t value) {
  constexpr std::int64_t modulus = std::int64_t{1} << 32;
  while (value > largest) value -= modulus;
  while (value < smallest) value += modulus;
  return value;
}

}  // namespace

TEST_CASE("every code of the integer types has its value") {
  CHECK(integer_value(s8, 0x7F) == 127);
  CHECK(integer_value(s8, 0x80) == -128);
  CHECK(integer_value(s8, 0xFF) == -1);
  CHECK(integer_value(u8, 0xFF) == 255);
  CHECK(integer_value(s4, 0x7) == 7);
  CHECK(integer_value(s4, 0x8) == -8);
  CHECK(integer_value(u4, 0xF) == 15);
  CHECK(integer_value(s4, 0xF0) == 0);  // bits above the type's
  for (const Format& type : types)
    for (std::int64_t value = lowest(type); value <= highest(type); ++value)
      CHECK(integer_value(type, code_of(type, value)) == value);
}

TEST_CASE("sums at the edges of 32 bits wrap, or saturate once") {
  using enum IntegerOverflow;
  const auto dot = [](std::vector<Code> a, std::vector<Code> b, std::int64_t c,
                      IntegerOverflow overflow) {
    return integer_dot(s8, s8, a.data(), b.data(), static_cast<int>(a.size()), s32_code(c),
                       overflow);
  };
  CHECK(dot({1}, {1}, largest, wrap) == 0x8000'0000);
  CHECK(dot({1}, {1}, largest, saturate) == 0x7FFF'FFFF);
  CHECK(dot({1}, {0xFF}, smallest, wrap) == 0x7FFF'FFFF);
  CHECK(dot({1}, {0xFF}, smallest, saturate) == 0x8000'0000);
  CHECK(dot({1}, {1}, largest - 1, saturate) == 0x7FFF'FFFF);
  CHECK(dot({1}, {0xFF}, smallest + 1, saturate) == 0x8000'0000);
  // beyond the limit on the way, not at the end
  CHECK(dot({100, 100}, {100, 0x9C}, largest, saturate) == 0x7FFF'FFFF);
  CHECK(dot({100, 0x9C, 1}, {100, 100, 0xFB}, largest, saturate) == 0x7FFF'FFFA);
  CHECK(dot({0x80, 0x80}, {0x80, 0x80}, 5, wrap) == 2 * 128 * 128 + 5);
}

TEST_CASE(
    "integer dot products equal 64-bit sums of the drawn values, at every k and pair of types") {
  std::mt19937_64 random(1);
  int wrong = 0, overflowing = 0;
  for (const Format& a_type : types)
    for (const Format& b_type : types)
      for (const int k : {16, 32, 64, 128})
        for (int i = 0; i < 2000; ++i) {
          const Draw o = draw(random, a_type, b_type, k);
          const std::int64_t sum = o.products + o.c;
          const auto dot = [&](IntegerOverflow overflow) {
            return integer_dot(a_type, b_type, o.a.data(), o.b.data(), k, s32_code(o.c), overflow);
          };
          const std::int64_t clamped = sum > largest ? largest : sum < smallest ? smallest : sum;
          wrong += dot(IntegerOverflow::wrap) != s32_code(wrapped(sum));
          wrong += dot(IntegerOverflow::saturate) != s32_code(clamped);
          overflowing += clamped != sum;
        }
  CHECK(wrong == 0);
  CHECK(overflowing > 20'000);  // of 128,000
}

TEST_CASE("bit dot products count the bits of the whole words and wrap") {
  std::mt19937_64 random(2);
  int wrong = 0;
  for (int i = 0; i < 4000; ++i) {
    std::vector<Code> a, b;
    std::uint32_t differing = 0, common = 0;
    for (int word = 0; word < 4; ++word) {
      const std::bitset<64> x(random() & (random() | (i % 2 == 0 ? ~Code{0} : 0)));
      const std::bitset<64> y(random());
      for (std::size_t bit = 0; bit < 64; ++bit) {
        a.push_back(x[bit]);
        b.push_back(y[bit]);
      }
      differing += static_cast<std::uint32_t>((x ^ y).count());
      common += static_cast<std::uint32_t>((x & y).count());
    }
    const std::uint32_t c = i % 3 == 0 ? 0x7FFF'FFC0 : i % 3 == 1 ? 0xFFFF'FFC0 : 17;
    wrong += bit_dot(BitOperation::xor_popc, a.data(), b.data(), 256, c) != Code{c + differing};
    wrong += bit_dot(BitOperation::and_popc, a.data(), b.data(), 256, c) != Code{c + common};
  }
  CHECK(wrong == 0);
  const Code ones[] = {1, 1, 0, 0}, others[] = {1, 0, 1, 0};
  CHECK(bit_dot(BitOperation::xor_popc, ones, others, 4, 0xFFFF'FFFF) == 1);
  CHECK(bit_dot(BitOperation::and_popc, ones, others, 4, 0x7FFF'FFFF) == 0x8000'0000);
}
