/// Plain-text tables: columns as wide as their widest cell, two blanks between them.
#pragma once

#include <string>
#include <vector>

namespace bitmma {

class Table {
 public:
  explicit Table(std::vector<std::string> head) { add(std::move(head)); }
  /// Rows may be shorter than the head.
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  /// The head, a rule and the rows, each line after `indent` blanks.
  std::string text(std::size_t indent = 0) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

/// Columns that a text takes in a terminal: the code points of its UTF-8.
std::size_t display_width(const std::string& text);

}  // namespace bitmma
