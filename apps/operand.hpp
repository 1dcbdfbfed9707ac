/// Arrays as operands of an instruction: elements as codes of a number format.
///
/// | format | stored as it is            | converted exactly | converted with a rounding |
/// |--------|----------------------------|-------------------|---------------------------|
/// | f16    | <f2                        | f1                | <f4 <f8                   |
/// | bf16   | <u2 or V2, bit patterns    | f1                | <f2 <f4 <f8               |
/// | tf32   | <f4                        | f1 <f2            | <f4 <f8                   |
/// | e4m3   | u1 or V1, bit patterns     |                   | f1 <f2 <f4 <f8            |
/// | e5m2   | u1, V1 or f1, bit patterns |                   | <f2 <f4 <f8               |
/// | f32    | <f4                        | f1 <f2            | <f8                       |
/// | f64    | <f8                        | f1 <f2 <f4        |                           |
///
/// Integer formats take integers of any width, by value: s4 from −8 to 7, b1 0 and 1.
///
/// V2, V1 and f1 are what NumPy writes for ml_dtypes' bfloat16, for float8_e4m3fn and for
/// float8_e5m2 (NumPy 2.4, ml_dtypes 0.6). V1 names no format, so it means the operand's.
#pragma once

#include <optional>
#include <string_view>

#include "bitmma/apps/npy.hpp"
#include "bitmma/isa/format.hpp"

namespace bitmma {

struct RoundingChoice {
  std::string_view name;
  Rounding rounding;
};

/// What --round accepts.
inline constexpr RoundingChoice rounding_choices[] = {{"rne", Rounding::nearest_even},
                                                      {"rz", Rounding::toward_zero},
                                                      {"rna", Rounding::nearest_away}};

/// The rounding of that name, or nothing.
constexpr std::optional<Rounding> find_rounding(std::string_view name) {
  for (const RoundingChoice& choice : rounding_choices)
    if (choice.name == name) return choice.rounding;
  return std::nullopt;
}

/// The type in which codes of the format are stored and results are written: <f2 for f16, <u2 for
/// bf16, <f4 for tf32 and f32, |u1 for FP8, <f8 for f64, <i4 for s32; integers of less than a byte
/// take one. zeros(native_type(format), shape) is an array for results, set_bits(i, code) sets one,
/// and write_npy() writes it.
NpyType native_type(const Format& format);

/// The array's elements as codes of a format: an array of native_type(format) and the same shape,
/// whose bits(i) is element i's code. A type that stores the format's codes is passed on without a
/// copy and without a change of any bit, so a tf32 operand keeps the low bits of its <f4 elements;
/// with a rounding, they are converted to tf32 instead, as PTX's cvt does.
/// Other floats are converted exactly where every one of their values is one of the format's, and
/// else with the rounding; overflow gives Inf or the largest number (Overflow::ieee), for FP8
/// always the largest number (PTX has no cvt to FP8 but .satfinite). A NaN becomes the format's.
/// An integer format takes integers whose values it has.
/// `argument` is what messages call the array. Throws UsageError for a type that the table above
/// does not have for the format, or that needs a rounding where none is given.
NpyArray operand_codes(NpyArray array, const Format& format, std::optional<Rounding> rounding,
                       std::string_view argument);

/// The format of a result, by the type of its elements alone: what a float type names (f1: e5m2,
/// <f4: f32, <i4: s32), else the one format that is stored so. Several are, as u1 and V1: then the
/// one of them that `choice` names. `file` is what messages call the array. Throws UsageError for a
/// type that stores no format, or that stores several of which `choice` is none.
const Format& result_format(NpyType type, std::string_view choice, std::string_view file);

}  // namespace bitmma
