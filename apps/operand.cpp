#include "bitmma/apps/operand.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "bitmma/apps/usage_error.hpp"
#include "bitmma/isa/target.hpp"

namespace bitmma {
namespace {

/// A type whose elements are codes of a format.
struct StoredType {
  const Format* format;
  NpyType type;

  /// False where an integer or untyped element holds the bits of a float.
  constexpr bool is_float() const { return type.kind == 'f'; }
};

// The first row of a format is the type in which its codes are written.
constexpr StoredType stored_types[] = {
    {&f16, {'f', 2}},  {&bf16, {'u', 2}}, {&bf16, {'V', 2}}, {&tf32, {'f', 4}},
    {&e4m3, {'u', 1}}, {&e4m3, {'V', 1}}, {&e5m2, {'u', 1}}, {&e5m2, {'V', 1}},
    {&e5m2, {'f', 1}}, {&f32, {'f', 4}},  {&f64, {'f', 8}},
};

constexpr const StoredType* find_stored_type(const Format& format) {
  for (const StoredType& stored : stored_types)
    if (*stored.format == format) return &stored;
  return nullptr;
}

static_assert(std::ranges::all_of(format_table, [](const Format* format) {
  return find_stored_type(*format) != nullptr;
}));
static_assert(std::ranges::all_of(stored_types, [](const StoredType& stored) {
  return stored.format->storage_bits == 8 * stored.type.item_bytes;
}));

constexpr bool stores(NpyType type, const Format& format) {
  return std::ranges::any_of(stored_types, [&](const StoredType& stored) {
    return stored.type == type && *stored.format == format;
  });
}

/// True if a row says which numbers a type's elements are by themselves. <f4 means f32, not tf32.
constexpr bool names_values(const StoredType& stored) {
  return stored.is_float() && stored.format->ignored_bits() == 0;
}

/// The format of a float type's values, or nullptr.
const Format* value_format(NpyType type) {
  for (const StoredType& stored : stored_types)
    if (stored.type == type && names_values(stored)) return stored.format;
  return nullptr;
}

/// True if each value of one IEEE format is a value of another format.
bool is_subset(const Format& from, const Format& to) {
  return from.exponent_bits <= to.exponent_bits && from.fraction_bits <= to.fraction_bits;
}

std::string rounding_names() {
  std::vector<std::string_view> names;
  for (const RoundingChoice& choice : rounding_choices) names.push_back(choice.name);
  return fmt::format("--round {}", fmt::join(names, "|"));
}

/// One row of the table in operand.hpp, for a message.
std::string accepted_types(const Format& format) {
  std::vector<std::string> types;
  for (const StoredType& stored : stored_types)
    if (*stored.format == format)
      types.push_back(
          fmt::format("'{}'{}", spelling(stored.type), stored.is_float() ? "" : " (bit patterns)"));
  for (const StoredType& stored : stored_types)
    if (names_values(stored) && !stores(stored.type, format))
      types.push_back(
          fmt::format("'{}'{}", spelling(stored.type),
                      is_subset(*stored.format, format) ? "" : " with " + rounding_names()));
  return fmt::format("{}", fmt::join(types, ", "));
}

/// Integers narrower than a byte take one each.
NpyType integer_type(const Format& format) {
  return {format.encoding == Encoding::signed_integer ? 'i' : 'u',
          std::max(1, format.storage_bits / 8)};
}

/// The formats that a type's elements may be codes of: the one that a float type names, else all
/// that are stored so, else the integer format of all its bits.
std::vector<const Format*> possible_formats(NpyType type) {
  if (const Format* const values = value_format(type)) return {values};
  std::vector<const Format*> formats;
  for (const StoredType& stored : stored_types)
    if (stored.type == type) formats.push_back(stored.format);
  if (!formats.empty()) return formats;
  for (const Format* format : integer_format_table)
    if (integer_type(*format) == type && format->storage_bits == 8 * type.item_bytes)
      formats.push_back(format);
  return formats;
}

/// "e4m3 or e5m2"
std::string alternatives(const std::vector<const Format*>& formats) {
  std::vector<std::string_view> names;
  for (const Format* format : formats) names.push_back(format->name);
  return fmt::format("{}", fmt::join(names, " or "));
}

/// Every type that stores a format, with what it may hold: "'<f2' (f16), …, '|u1' (e4m3 or e5m2)".
std::string storing_types() {
  std::vector<std::string> types;
  const auto add = [&](NpyType type) {
    const std::string text =
        fmt::format("'{}' ({})", spelling(type), alternatives(possible_formats(type)));
    if (std::ranges::find(types, text) == types.end()) types.push_back(text);
  };
  for (const StoredType& stored : stored_types) add(stored.type);
  for (const Format* format : integer_format_table)
    if (format->storage_bits >= 8) add(integer_type(*format));
  return fmt::format("{}", fmt::join(types, ", "));
}

/// The value of an integer array's element. Those beyond 63 bits are no operand's.
std::int64_t integer_at(const NpyArray& array, std::size_t index) {
  const int spare = 64 - 8 * array.type.item_bytes;
  const std::uint64_t shifted = array.bits(index) << spare;
  if (array.type.kind == 'i') return static_cast<std::int64_t>(shifted) >> spare;
  return static_cast<std::int64_t>(
      std::min<std::uint64_t>(shifted >> spare, std::numeric_limits<std::int64_t>::max()));
}

NpyArray integer_codes(const NpyArray& array, const Format& format, std::string_view argument) {
  if (array.type.kind != 'i' && array.type.kind != 'u' && array.type.kind != 'b')
    throw UsageError(fmt::format(
        "{}: dtype '{}' is not accepted for {}; accepted are integers of any width whose values "
        "{} has",
        argument, spelling(array.type), format.name, format.name));
  const bool is_signed = format.encoding == Encoding::signed_integer;
  const std::int64_t most =
      static_cast<std::int64_t>(is_signed ? format.code_mask() >> 1 : format.code_mask());
  const std::int64_t least = is_signed ? -most - 1 : 0;
  NpyArray codes = zeros(integer_type(format), array.shape);
  for (std::size_t i = 0; i < array.size(); ++i) {
    const std::int64_t value = integer_at(array, i);
    if (value < least || value > most)
      throw UsageError(fmt::format("{}: element {} (in C order) is {}; {} has {} to {}", argument,
                                   i, value, format.name, least, most));
    codes.set_bits(i, static_cast<Code>(value) & format.code_mask());
  }
  return codes;
}

NpyArray converted(const NpyArray& array, const Format& from, const Format& to, Rounding rounding) {
  const Overflow overflow =
      operand_class(to) == OperandClass::fp8 ? Overflow::saturate : Overflow::ieee;
  NpyArray result = zeros(native_type(to), array.shape);
  for (std::size_t i = 0; i < array.size(); ++i)
    result.set_bits(i, convert(from, array.bits(i), to, rounding, overflow));
  return result;
}

}  // namespace

NpyType native_type(const Format& format) {
  return format.is_integer() ? integer_type(format) : find_stored_type(format)->type;
}

NpyArray operand_codes(NpyArray array, const Format& format, std::optional<Rounding> rounding,
                       std::string_view argument) {
  if (format.is_integer()) return integer_codes(array, format, argument);
  const bool is_stored = stores(array.type, format);
  if (is_stored && !(rounding && format.ignored_bits() > 0)) {
    array.type = native_type(format);
    return array;
  }
  const Format* const values = value_format(array.type);
  if (values == nullptr)
    throw UsageError(fmt::format("{}: dtype '{}' is not accepted for {}; accepted are {}", argument,
                                 spelling(array.type), format.name, accepted_types(format)));
  if (!rounding && !is_subset(*values, format))
    throw UsageError(
        fmt::format("{}: dtype '{}' has values that {} does not have; give {} to convert them, or "
                    "store {} as '{}'",
                    argument, spelling(array.type), format.name, rounding_names(), format.name,
                    spelling(native_type(format))));
  return converted(array, *values, format, rounding.value_or(Rounding::nearest_even));
}

const Format& result_format(NpyType type, std::string_view choice, std::string_view file) {
  const std::vector<const Format*> formats = possible_formats(type);
  if (formats.empty())
    throw UsageError(fmt::format("{}: dtype '{}' holds no number format; choose from {}", file,
                                 spelling(type), storing_types()));
  if (formats.size() == 1) return *formats.front();
  const auto chosen = std::ranges::find(formats, choice, &Format::name);
  if (chosen == formats.end())
    throw UsageError(fmt::format("{}: dtype '{}' may be {}; say which with --fp8", file,
                                 spelling(type), alternatives(formats)));
  return **chosen;
}

}  // namespace bitmma
