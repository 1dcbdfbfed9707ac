#include "bitmma/compare/case_line.hpp"

#include <fmt/format.h>

#include <charconv>
#include <iterator>
#include <span>
#include <sstream>

namespace bitmma {
namespace {

/// Codes of less than a byte are digits of one word.
bool shares_word(const Format& format) { return format.storage_bits < 8; }

void append_code(std::string& line, const Format& format, Code code) {
  line += fmt::format(" {:0{}x}", code, format.storage_bits / 4);
}

void append_codes(std::string& line, const Format& format, std::span<const Code> codes) {
  if (shares_word(format)) line += ' ';
  for (const Code code : codes)
    if (shares_word(format))
      line += fmt::format("{:x}", code);
    else
      append_code(line, format, code);
}

Code parse_code(const std::string& word, const Format& format) {
  Code code = 0;
  const char* end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, code, 16);
  if (error != std::errc{} || stop != end || code > format.code_mask())
    throw CaseLineError(fmt::format("{} is no code of {} in hexadecimal", word, format.name));
  return code;
}

std::vector<Code> parse_codes(std::span<const std::string> words, const Format& format) {
  std::vector<Code> codes;
  for (const std::string& word : words) codes.push_back(parse_code(word, format));
  return codes;
}

/// The words that an operand's codes take.
std::size_t word_count(const Instruction& row, const Format& format) {
  return shares_word(format) ? 1 : static_cast<std::size_t>(row.k);
}

std::vector<Code> parse_operand(const Instruction& row, std::span<const std::string> words,
                                const Format& format) {
  if (!shares_word(format)) return parse_codes(words, format);
  std::vector<std::string> digits;
  for (const char digit : words.front()) digits.emplace_back(1, digit);
  if (digits.size() != static_cast<std::size_t>(row.k))
    throw CaseLineError(fmt::format("{} has {} digits; {} has {} of {} in one word", words.front(),
                                    digits.size(), short_name(row), row.k, format.name));
  return parse_codes(digits, format);
}

}  // namespace

std::string case_line(const DotCase& dot) {
  std::string line = fmt::format("{} {}", short_name(dot.row), dot.target->name);
  append_codes(line, *dot.row.a, dot.a);
  append_codes(line, *dot.row.b, dot.b);
  append_code(line, *dot.row.c, dot.c);
  if (dot.d) append_code(line, *dot.row.d, *dot.d);
  return line;
}

DotCase parse_case_line(std::string_view line) {
  std::istringstream text{std::string(line)};
  const std::vector<std::string> words{std::istream_iterator<std::string>(text), {}};
  if (words.size() < 2) throw CaseLineError("expected INSTRUCTION TARGET and codes");
  const std::optional<Instruction> row = find_instruction(words[0]);
  if (!row) throw CaseLineError(fmt::format("{}: unknown instruction", words[0]));
  const Target* target = find_target(words[1]);
  if (target == nullptr) throw CaseLineError(fmt::format("{}: unknown target", words[1]));
  const std::size_t a_words = word_count(*row, *row->a);
  const std::size_t b_words = word_count(*row, *row->b);
  const std::span<const std::string> codes = std::span(words).subspan(2);
  const bool is_measured = codes.size() == a_words + b_words + 2;
  if (!is_measured && codes.size() != a_words + b_words + 1)
    throw CaseLineError(fmt::format("{} codes; {} has {} of A, {} of B, c and, if measured, d",
                                    codes.size(), words[0], a_words, b_words));
  DotCase dot{*row,
              target,
              parse_operand(*row, codes.first(a_words), *row->a),
              parse_operand(*row, codes.subspan(a_words, b_words), *row->b),
              parse_code(codes[a_words + b_words], *row->c),
              std::nullopt};
  if (is_measured) dot.d = parse_code(codes.back(), *row->d);
  return dot;
}

}  // namespace bitmma
