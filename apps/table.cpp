#include "bitmma/apps/table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace bitmma {

std::size_t display_width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;  // not a UTF-8 continuation
  }));
}

std::string Table::text(std::size_t indent) const {
  std::vector<std::size_t> widths(rows_.front().size());
  for (const auto& row : rows_)
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], display_width(row[i]));

  const auto line = [&](const std::vector<std::string>& cells) {
    std::string text(indent, ' ');
    for (std::size_t i = 0; i < cells.size(); ++i) {
      text += cells[i];
      if (i + 1 < cells.size()) text.append(widths[i] - display_width(cells[i]) + 2, ' ');
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text + "\n";
  };
  std::vector<std::string> rule;
  for (const std::size_t width : widths) rule.emplace_back(width, '-');
  std::string text = line(rows_.front()) + line(rule);
  for (std::size_t i = 1; i < rows_.size(); ++i) text += line(rows_[i]);
  return text;
}

std::string Table::markdown() const {
  const auto line = [](const std::vector<std::string>& cells) {
    return fmt::format("| {} |\n", fmt::join(cells, " | "));
  };
  std::string text = line(rows_.front());
  text += line(std::vector<std::string>(rows_.front().size(), "---"));
  for (std::size_t i = 1; i < rows_.size(); ++i) text += line(rows_[i]);
  return text;
}

std::string with_counts(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t first = 0; first < names.size();) {
    std::size_t last = first;
    while (last < names.size() && names[last] == names[first]) ++last;
    text += first == 0 ? "" : ", ";
    text += last - first > 1 ? fmt::format("{} × {}", last - first, names[first]) : names[first];
    first = last;
  }
  return text;
}

}  // namespace bitmma
