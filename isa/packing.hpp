/// How a layout's elements stand in 32-bit words: registers, lane after lane, or shared memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bitmma/isa/format.hpp"
#include "bitmma/isa/layout.hpp"

namespace bitmma {

/// A part of a word: the number of its code, and how far the code is shifted to the left, or to the
/// right where that is negative. An element of 64 bits stands in two words, the low half first.
struct PackedElement {
  std::size_t code;
  int shift;

  /// The code's bits in their place.
  BITMMA_HD constexpr std::uint32_t placed(Code bits) const {
    return static_cast<std::uint32_t>(shift < 0 ? bits >> -shift : bits << shift);
  }
  /// The code's bits out of its word; `mask` are those of a whole code.
  BITMMA_HD constexpr Code taken(std::uint32_t word, Code mask) const {
    return shift < 0 ? Code{word} << -shift : word >> shift & mask;
  }
};

/// How the codes of a tile and the words that hold them belong together.
struct Packing {
  /// In the order of the words, of each word from its lowest bits on: the same number for each.
  std::vector<PackedElement> elements;
  std::size_t codes;
  std::size_t words;
  Code mask;  ///< the bits of a code

  std::size_t per_word() const { return elements.size() / words; }
};

/// The packing of a layout's elements. Codes are numbered along lines, line after line, block after
/// block: a line is a row, or with Axis::column a column.
inline Packing layout_packing(const Layout& layout, int element_bits, Axis line_axis) {
  const Axis along = line_axis == Axis::row ? Axis::column : Axis::row;
  const int lines = layout.extent(line_axis);
  const int length = layout.extent(along);
  const int halves = std::max(1, element_bits / 32);
  const auto cells = static_cast<std::size_t>(layout.lanes() * layout.elements());
  Packing packing{{},
                  cells,
                  cells * static_cast<std::size_t>(element_bits) / 32,
                  ~Code{0} >> (64 - element_bits)};
  for (int lane = 0; lane < layout.lanes(); ++lane)
    for (int index = 0; index < layout.elements(); ++index) {
      const Coordinates cell = coordinates(layout, lane, index);
      const int line = line_axis == Axis::row ? cell.row : cell.column;
      const int place = line_axis == Axis::row ? cell.column : cell.row;
      const auto code = static_cast<std::size_t>((cell.block * lines + line) * length + place);
      for (int half = 0; half < halves; ++half)
        packing.elements.push_back({code, index * element_bits % 32 - 32 * half});
    }
  return packing;
}

/// Sets the words that hold the codes.
inline void pack(const Packing& packing, std::span<const Code> codes,
                 std::span<std::uint32_t> words) {
  std::ranges::fill(words, 0U);
  for (std::size_t i = 0; i < packing.elements.size(); ++i)
    words[i / packing.per_word()] |= packing.elements[i].placed(codes[packing.elements[i].code]);
}

/// Sets the codes that the words hold: the inverse of pack().
inline void unpack(const Packing& packing, std::span<const std::uint32_t> words,
                   std::span<Code> codes) {
  std::ranges::fill(codes, Code{0});
  for (std::size_t i = 0; i < packing.elements.size(); ++i)
    codes[packing.elements[i].code] |=
        packing.elements[i].taken(words[i / packing.per_word()], packing.mask);
}

}  // namespace bitmma
