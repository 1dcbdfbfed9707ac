#include "bitmma/apps/operand.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bitmma/apps/usage_error.hpp"

using namespace bitmma;

namespace {

using Codes = std::vector<Code>;

NpyArray array_of(NpyType type, const Codes& elements) {
  NpyArray array = zeros(type, {elements.size()});
  for (std::size_t i = 0; i < elements.size(); ++i) array.set_bits(i, elements[i]);
  return array;
}

NpyArray doubles(const std::vector<double>& elements) {
  NpyArray array = zeros({'f', 8}, {elements.size()});
  for (std::size_t i = 0; i < elements.size(); ++i)
    array.set_bits(i, std::bit_cast<Code>(elements[i]));
  return array;
}

Codes codes_of(const NpyArray& array) {
  Codes codes;
  for (std::size_t i = 0; i < array.size(); ++i) codes.push_back(array.bits(i));
  return codes;
}

Codes operand(NpyArray array, const Format& format, std::optional<Rounding> rounding = {}) {
  const NpyArray result = operand_codes(std::move(array), format, rounding, "--a x.npy");
  CHECK(result.type == native_type(format));
  return codes_of(result);
}

std::string operand_error(NpyArray array, const Format& format) {
  try {
    operand_codes(std::move(array), format, std::nullopt, "--a x.npy");
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

constexpr NpyType f1{'f', 1}, f2{'f', 2}, f4{'f', 4}, f8{'f', 8};
constexpr NpyType u1{'u', 1}, u2{'u', 2}, v1{'V', 1}, v2{'V', 2};
constexpr NpyType all_types[] = {{'b', 1}, {'i', 1}, {'i', 2}, {'i', 4}, {'i', 8}, u1, u2, {'u', 4},
                                 {'u', 8}, f1,       f2,       f4,       f8,       v1, v2};

/// The types of the table in operand.hpp.
struct AcceptedTypes {
  const Format& format;
  std::vector<NpyType> stored;
  std::vector<NpyType> exact;
  std::vector<NpyType> rounded;
};

const AcceptedTypes accepted_types[] = {
    {f16, {f2}, {f1}, {f4, f8}},
    {bf16, {u2, v2}, {f1}, {f2, f4, f8}},
    {tf32, {f4}, {f1, f2}, {f8}},
    {e4m3, {u1, v1}, {}, {f1, f2, f4, f8}},
    {e5m2, {u1, v1, f1}, {}, {f2, f4, f8}},
    {f32, {f4}, {f1, f2}, {f8}},
    {f64, {f8}, {f1, f2, f4}, {}},
};

bool contains(const std::vector<NpyType>& types, NpyType type) {
  for (const NpyType& other : types)
    if (other == type) return true;
  return false;
}

}  // namespace

TEST_CASE("each format accepts the documented types and no others") {
  CHECK(std::size(accepted_types) == std::size(format_table));
  for (const AcceptedTypes& row : accepted_types)
    for (const NpyType& type : all_types) {
      CAPTURE(row.format.name);
      CAPTURE(spelling(type));
      const bool without_rounding = contains(row.stored, type) || contains(row.exact, type);
      const std::string message = operand_error(zeros(type, {1}), row.format);
      CHECK((message == "no error") == without_rounding);
      const bool needs_rounding = message.find("give --round rne|rz|rna") != message.npos;
      CHECK(needs_rounding == contains(row.rounded, type));
      if (needs_rounding)
        CHECK(operand(zeros(type, {1}), row.format, Rounding::toward_zero) == Codes{0});
    }
}

TEST_CASE("a type that stores the format's codes is passed on without a copy") {
  for (const AcceptedTypes& row : accepted_types)
    for (const NpyType& type : row.stored) {
      NpyArray array = array_of(type, {0x81, 0x7F, 0x01, 0xFF});
      array.shape = {2, 2};
      const std::vector<std::byte> bytes = array.bytes;
      const std::byte* const buffer = array.bytes.data();
      const NpyArray result = operand_codes(std::move(array), row.format, std::nullopt, "");
      CHECK(result.bytes.data() == buffer);
      CHECK(result.bytes == bytes);
      CHECK(result.type == native_type(row.format));
      CHECK(result.shape == std::vector<std::size_t>{2, 2});
    }
}

TEST_CASE("results are written as the types that operands are read from") {
  CHECK(native_type(f16) == f2);
  CHECK(native_type(bf16) == u2);
  CHECK(native_type(tf32) == f4);
  CHECK(native_type(e4m3) == u1);
  CHECK(native_type(e5m2) == u1);
  CHECK(native_type(f32) == f4);
  CHECK(native_type(f64) == f8);
}

TEST_CASE("tf32 operands keep their low bits unless a rounding is given") {
  // 3.14 and a signaling NaN that the hardware takes for Inf; a tie.
  const NpyArray array = array_of(f4, {0x4048F5C3, 0x7F800001, 0x3F801000});
  CHECK(operand(array, tf32) == Codes{0x4048F5C3, 0x7F800001, 0x3F801000});
  CHECK(operand(array, tf32, Rounding::nearest_away) == Codes{0x40490000, 0x7FFFE000, 0x3F802000});
  CHECK(operand(array, tf32, Rounding::nearest_even) == Codes{0x40490000, 0x7FFFE000, 0x3F800000});
  CHECK(operand(array, tf32, Rounding::toward_zero) == Codes{0x4048E000, 0x7FFFE000, 0x3F800000});
  CHECK(operand(array, f32, Rounding::toward_zero) == Codes{0x4048F5C3, 0x7F800001, 0x3F801000});
}

TEST_CASE("each rounding treats ties and signs in its own way") {
  // 1 + 2^-11 and 1 + 3 * 2^-11 are ties in f16; the third value is just above one.
  const NpyArray array = doubles({1 + 0x1p-11, -(1 + 3 * 0x1p-11), 1 + 0x1p-11 + 0x1p-40});
  CHECK(operand(array, f16, Rounding::nearest_even) == Codes{0x3C00, 0xBC02, 0x3C01});
  CHECK(operand(array, f16, Rounding::toward_zero) == Codes{0x3C00, 0xBC01, 0x3C00});
  CHECK(operand(array, f16, Rounding::nearest_away) == Codes{0x3C01, 0xBC02, 0x3C01});
}

TEST_CASE("a double is rounded once, not by way of f32") {
  // Rounded to f32 first, this is the tie 1 + 2^-11, and then 1.
  CHECK(operand(doubles({1 + 0x1p-11 + 0x1p-50}), f16, Rounding::nearest_even) == Codes{0x3C01});
}

TEST_CASE("overflow gives Inf or the largest number, and in FP8 always the largest number") {
  const NpyArray array = array_of(f4, {0x48435000, 0xFF800000, 0x7FC00000});  // 2e5, -Inf, NaN
  CHECK(operand(array, f16, Rounding::nearest_even) == Codes{0x7C00, 0xFC00, 0x7FFF});
  CHECK(operand(array, f16, Rounding::toward_zero) == Codes{0x7BFF, 0xFC00, 0x7FFF});
  CHECK(operand(array, e4m3, Rounding::nearest_even) == Codes{0x7E, 0xFE, 0x7F});
  CHECK(operand(array, e5m2, Rounding::nearest_even) == Codes{0x7B, 0xFB, 0x7F});
  CHECK(operand(doubles({1e300}), f32, Rounding::nearest_away) == Codes{0x7F800000});
}

TEST_CASE("f32 becomes bf16 and FP8 with every rounding") {
  // 1.00390625 = 1 + 2^-8 is a tie in bf16, 1.0625 = 1 + 2^-4 in e4m3, 1.125 in e5m2.
  const NpyArray array = array_of(f4, {0x3F808000, 0x3F880000, 0x3F900000});
  CHECK(operand(array, bf16, Rounding::nearest_even) == Codes{0x3F80, 0x3F88, 0x3F90});
  CHECK(operand(array, bf16, Rounding::nearest_away) == Codes{0x3F81, 0x3F88, 0x3F90});
  CHECK(operand(array, e4m3, Rounding::nearest_even) == Codes{0x38, 0x38, 0x39});
  CHECK(operand(array, e4m3, Rounding::nearest_away) == Codes{0x38, 0x39, 0x39});
  CHECK(operand(array, e5m2, Rounding::nearest_even) == Codes{0x3C, 0x3C, 0x3C});
  CHECK(operand(array, e5m2, Rounding::nearest_away) == Codes{0x3C, 0x3C, 0x3D});
}

TEST_CASE("every f16 value becomes tf32, f32 and f64 exactly") {
  Codes all;
  for (Code code = 0; code < 0x10000; ++code) all.push_back(code);
  for (const Format* format : {&tf32, &f32, &f64}) {
    const Codes converted = operand(array_of(f2, all), *format);
    int wrong = 0;
    for (const Code code : all) {
      const bool is_nan = (code & 0x7FFF) > 0x7C00;
      wrong += is_nan ? converted[code] != format->nan()
                      : to_double(*format, converted[code]) != to_double(f16, code);
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("float8_e5m2 arrays of ml_dtypes, f1, are codes of e5m2 and values elsewhere") {
  const NpyArray array = array_of(f1, {0x3C, 0xC1, 0x01, 0x7C});
  CHECK(operand(array, e5m2) == Codes{0x3C, 0xC1, 0x01, 0x7C});
  CHECK(operand(array, f16) == Codes{0x3C00, 0xC100, 0x0100, 0x7C00});
  CHECK(operand(array, e4m3, Rounding::nearest_even) == Codes{0x38, 0xC2, 0x00, 0x7E});
}

TEST_CASE("the shape is kept by a conversion") {
  NpyArray array = zeros(f4, {2, 3, 4});
  const NpyArray result = operand_codes(std::move(array), f16, Rounding::nearest_even, "");
  CHECK(result.shape == std::vector<std::size_t>{2, 3, 4});
  CHECK(result.bytes.size() == 48);
}

TEST_CASE("refusals say what would be accepted") {
  CHECK(operand_error(zeros(f4, {1}), f16) ==
        "--a x.npy: dtype '<f4' has values that f16 does not have; give --round rne|rz|rna to "
        "convert them, or store f16 as '<f2'");
  CHECK(operand_error(zeros({'i', 4}, {1}), f16) ==
        "--a x.npy: dtype '<i4' is not accepted for f16; accepted are '<f2', '|f1', "
        "'<f4' with --round rne|rz|rna, '<f8' with --round rne|rz|rna");
  CHECK(operand_error(zeros(u2, {1}), f16).find("dtype '<u2' is not accepted for f16") !=
        std::string::npos);
  CHECK(operand_error(zeros({'b', 1}, {1}), e5m2) ==
        "--a x.npy: dtype '|b1' is not accepted for e5m2; accepted are '|u1' (bit patterns), "
        "'|V1' (bit patterns), '|f1', '<f2' with --round rne|rz|rna, "
        "'<f4' with --round rne|rz|rna, '<f8' with --round rne|rz|rna");
}

TEST_CASE("the type of a result gives its format, where one byte may be either FP8 by choice") {
  const std::pair<NpyType, const Format*> formats[] = {{f1, &e5m2}, {f2, &f16},  {f4, &f32},
                                                       {f8, &f64},  {u2, &bf16}, {v2, &bf16}};
  for (const auto& [type, format] : formats) {
    CHECK(result_format(type, "", "x.npy") == *format);
    CHECK(result_format(type, "e4m3", "x.npy") == *format);
  }
  for (const NpyType& type : {u1, v1}) {
    CHECK(result_format(type, "e4m3", "x.npy") == e4m3);
    CHECK(result_format(type, "e5m2", "x.npy") == e5m2);
    for (const char* choice : {"", "f16"})
      CHECK_THROWS_WITH_AS(
          result_format(type, choice, "x.npy"),
          ("x.npy: dtype '" + spelling(type) + "' may be e4m3 or e5m2; say which with --fp8")
              .c_str(),
          UsageError);
  }
  CHECK_THROWS_WITH_AS(
      result_format({'u', 4}, "e4m3", "x.npy"),
      "x.npy: dtype '<u4' holds no number format; choose from '<f2' (f16), '<u2' (bf16), "
      "'<V2' (bf16), '<f4' (f32), '|u1' (e4m3 or e5m2), '|V1' (e4m3 or e5m2), '|f1' (e5m2), "
      "'<f8' (f64), '|i1' (s8), '<i4' (s32)",
      UsageError);
}

TEST_CASE("the roundings have names") {
  CHECK(find_rounding("rne") == Rounding::nearest_even);
  CHECK(find_rounding("rz") == Rounding::toward_zero);
  CHECK(find_rounding("rna") == Rounding::nearest_away);
  CHECK_FALSE(find_rounding("rn"));
  CHECK_FALSE(find_rounding(""));
}

TEST_CASE("integer formats take integers of any width whose values they have") {
  for (const NpyType& type : {NpyType{'i', 1}, NpyType{'i', 2}, NpyType{'i', 8}}) {
    CAPTURE(spelling(type));
    CHECK(operand(array_of(type, {7, static_cast<Code>(-8), static_cast<Code>(-1)}), s4) ==
          Codes{7, 8, 15});
  }
  CHECK(operand(array_of({'u', 4}, {0, 255}), u8) == Codes{0, 255});
  CHECK(operand(array_of({'b', 1}, {0, 1}), b1) == Codes{0, 1});
  CHECK(native_type(s32) == NpyType{'i', 4});
  CHECK(native_type(u4) == NpyType{'u', 1});
  CHECK(result_format({'i', 4}, "", "d.npy") == s32);
  CHECK(operand_error(array_of({'i', 2}, {0, 128}), s8)
            .find("element 1 (in C order) is 128; s8 has -128 to 127") != std::string::npos);
  CHECK(operand_error(array_of({'u', 8}, {~Code{0}}), s32).find("s32 has -2147483648 to") !=
        std::string::npos);
  CHECK(operand_error(array_of({'i', 1}, {static_cast<Code>(-1)}), b1).find("b1 has 0 to 1") !=
        std::string::npos);
  CHECK(operand_error(zeros({'f', 4}, {1}), s8).find("dtype '<f4' is not accepted for s8") !=
        std::string::npos);
}
