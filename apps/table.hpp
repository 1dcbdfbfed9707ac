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
  /// The same as a table of Markdown.
  std::string markdown() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

/// Columns that a text takes in a terminal: the code points of its UTF-8.
std::size_t display_width(const std::string& text);

/// Names with neighbours that are equal counted: "2 × HMMA.16816.F32, FADD".
std::string with_counts(const std::vector<std::string>& names);

}  // namespace bitmma
