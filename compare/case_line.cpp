#include "bitmma/compare/case_line.hpp"

#include <fmt/format.h>

#include <charconv>
#include <iterator>
#include <span>
#include <sstream>

namespace bitmma {
namespace {

void append_code(std::string& line, const Format& format, Code code) {
  line += fmt::format(" {:0{}x}", code, format.storage_bits / 4);
}

Code parse_code(const std::string& word, const Format& format) {
  Code code = 0;
  const char* end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, code, 16);
  if (error != std::errc{} || stop != end || code >> (format.storage_bits - 1) > 1)
    throw CaseLineError(fmt::format("{} is no code of {} in hexadecimal", word, format.name));
  return code;
}

std::vector<Code> parse_codes(std::span<const std::string> words, const Format& format) {
  std::vector<Code> codes;
  for (const std::string& word : words) codes.push_back(parse_code(word, format));
  return codes;
}

}  // namespace

std::string case_line(const DotCase& dot) {
  std::string line = fmt::format("{} {}", short_name(dot.row), dot.target->name);
  for (const Code code : dot.a) append_code(line, *dot.row.a, code);
  for (const Code code : dot.b) append_code(line, *dot.row.b, code);
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
  const auto k = static_cast<std::size_t>(row->k);
  const std::span<const std::string> codes = std::span(words).subspan(2);
  if (codes.size() != 2 * k + 1 && codes.size() != 2 * k + 2)
    throw CaseLineError(fmt::format("{} codes; {} has {} of A, {} of B, c and, if measured, d",
                                    codes.size(), words[0], k, k));
  DotCase dot{*row,
              target,
              parse_codes(codes.first(k), *row->a),
              parse_codes(codes.subspan(k, k), *row->b),
              parse_code(codes[2 * k], *row->c),
              std::nullopt};
  if (codes.size() == 2 * k + 2) dot.d = parse_code(codes[2 * k + 1], *row->d);
  return dot;
}

}  // namespace bitmma
