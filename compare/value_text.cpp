#include "bitmma/compare/value_text.hpp"

#include <fmt/format.h>

namespace bitmma {

std::string hex_text(const Format& format, Code code) {
  return fmt::format("0x{:0{}X}", code, format.storage_bits / 4);
}

}  // namespace bitmma
