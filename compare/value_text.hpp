/// Codes and numbers as reports spell them, in text and in JSON.
#pragma once

#include <cmath>
#include <string>

#include "bitmma/isa/format.hpp"

namespace bitmma {

/// The code in upper-case hexadecimal, as wide as the format's storage: "0x3F800000" for 1 in f32.
std::string hex_text(const Format& format, Code code);

/// The value as `Json`, a type of nlohmann::basic_json: a number, or one of the strings "nan",
/// "inf" and "-inf", since JSON has no such numbers.
template <class Json>
Json json_number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  return value;
}

}  // namespace bitmma
