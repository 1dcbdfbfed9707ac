#include "bitmma/kernels/operand_layout.hpp"

#include <algorithm>

namespace bitmma {

std::vector<PackedElement> packed_elements(const Instruction& row, ASource a_source,
                                           Operand operand) {
  const Layout layout = operand_layout(row, a_source, operand);
  const int bits = row.format(operand).storage_bits;
  const bool columns = operand == Operand::b;
  const int rows = layout.extent(Axis::row);
  const int lines = columns ? layout.extent(Axis::column) : rows;
  const int length = columns ? rows : layout.extent(Axis::column);
  std::vector<PackedElement> elements;
  for (int lane = 0; lane < layout.lanes(); ++lane)
    for (int index = 0; index < layout.elements(); ++index) {
      const Coordinates cell = coordinates(layout, lane, index);
      const int line = columns ? cell.column : cell.row;
      const int place = columns ? cell.row : cell.column;
      elements.push_back({static_cast<std::size_t>((cell.block * lines + line) * length + place),
                          index * bits % 32});
    }
  return elements;
}

void pack(std::span<const PackedElement> elements, std::span<const Code> codes,
          std::span<std::uint32_t> words) {
  const std::size_t per_word = elements.size() / words.size();
  std::ranges::fill(words, 0U);
  for (std::size_t i = 0; i < elements.size(); ++i)
    words[i / per_word] |= static_cast<std::uint32_t>(codes[elements[i].code] << elements[i].shift);
}

void unpack(std::span<const PackedElement> elements, std::span<const std::uint32_t> words,
            std::span<Code> codes) {
  const std::size_t per_word = elements.size() / words.size();
  const std::uint32_t mask = ~std::uint32_t{0} >> (32 - 32 / per_word);
  for (std::size_t i = 0; i < elements.size(); ++i)
    codes[elements[i].code] = words[i / per_word] >> elements[i].shift & mask;
}

}  // namespace bitmma
