/// The operands of one dot product, Σ aᵢ·bᵢ + c, as codes.
#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>

#include "bitmma/isa/format.hpp"

namespace bitmma {

/// Codes of one format. Neither the format nor the codes are copied.
struct CodeVector {
  const Format& format;
  std::span<const Code> codes;
};

/// Σ aᵢ·bᵢ + c, where a, b and c may have different formats.
struct DotOperands {
  CodeVector a;
  CodeVector b;
  const Format& c_format;
  Code c;

  /// The number of products. Throws std::invalid_argument if a and b differ in length.
  std::size_t length() const {
    if (a.codes.size() != b.codes.size())
      throw std::invalid_argument("dot product: a and b differ in length");
    return a.codes.size();
  }
};

}  // namespace bitmma
