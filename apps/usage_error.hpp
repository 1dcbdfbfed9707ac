/// The one error type of the command-line tool's own code.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>

namespace bitmma {

/// Wrong usage or bad input (exit status 2). The message is one line: control characters in it,
/// such as a newline in a file's name, become '?'.
class UsageError : public std::runtime_error {
 public:
  explicit UsageError(const std::string& message) : std::runtime_error(one_line(message)) {}

 private:
  static std::string one_line(std::string text) {
    const auto is_control = [](char c) { return (c >= 0 && c < ' ') || c == '\x7F'; };
    std::replace_if(text.begin(), text.end(), is_control, '?');
    return text;
  }
};

}  // namespace bitmma
