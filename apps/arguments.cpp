#include "bitmma/apps/arguments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <vector>

namespace bitmma {
namespace {

/// Insertions, deletions and replacements that turn one text into the other (Levenshtein).
std::size_t edit_distance(std::string_view x, std::string_view y) {
  std::vector<std::size_t> line(y.size() + 1);
  std::iota(line.begin(), line.end(), std::size_t{0});
  for (const char from : x) {
    std::size_t diagonal = line[0]++;
    for (std::size_t j = 0; j < y.size(); ++j) {
      const std::size_t replaced = diagonal + (from != y[j] ? 1 : 0);
      diagonal = line[j + 1];
      line[j + 1] = std::min({replaced, line[j] + 1, diagonal + 1});
    }
  }
  return line.back();
}

/// The short name nearest to a text among the table's rows that `eligible` admits.
template <class Table, class Eligible>
std::string nearest_name(std::string_view text, const Table& table, Eligible eligible) {
  std::string nearest;
  for (const auto& row : table) {
    const std::string name = short_name(row);
    if (eligible(row) &&
        (nearest.empty() || edit_distance(text, name) < edit_distance(text, nearest)))
      nearest = name;
  }
  return nearest;
}

std::string_view without_qualifiers(std::string_view text) {
  const std::size_t qualifiers = text.find("aligned.");
  return qualifiers == std::string_view::npos ? text : text.substr(qualifiers + 8);
}

std::string absent_message(const Instruction& row, const Target& target) {
  const std::string name = short_name(row);
  // The same operands matter more to a user than a similar shape.
  std::string nearest = nearest_name(name, instruction_table, [&](const Instruction& other) {
    return other.runs_on(target) && other.a == row.a && other.b == row.b && other.d == row.d;
  });
  if (nearest.empty())
    nearest = nearest_name(name, instruction_table,
                           [&](const Instruction& other) { return other.runs_on(target); });
  // An instruction of a single target is one of its variant with the suffix a.
  const std::string needed = row.first_sm == row.last_sm
                                 ? fmt::format("sm_{}a", row.first_sm)
                                 : fmt::format("sm_{} or later", row.first_sm);
  return fmt::format("{} is not on {}: it needs {}; nearest there: {}", name, target.name, needed,
                     nearest);
}

}  // namespace

std::optional<std::uint64_t> parse_number(std::string_view text) {
  const bool is_hex = text.starts_with("0x") || text.starts_with("0X");
  if (is_hex) text.remove_prefix(2);
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value, is_hex ? 16 : 10);
  if (error != std::errc{} || stopped != end) return std::nullopt;
  return value;
}

std::string whole_number_error(const std::string& text) {
  constexpr std::size_t most_digits = 18;  // of those that every std::size_t has
  const bool leading_zero = text.size() > 1 && text.front() == '0';
  if (text.find_first_not_of("0123456789") == std::string::npos && !leading_zero &&
      text.size() <= most_digits)
    return "";
  return fmt::format("{} is no whole number from 0 to 10^{} - 1", text, most_digits);
}

std::string target_names() {
  std::vector<std::string_view> names;
  for (const Target& target : target_table) names.push_back(target.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

const Target& target_argument(std::string_view text) {
  const Target* target = find_target(text);
  if (target == nullptr)
    throw UsageError(
        fmt::format("--arch {}: unknown target; choose from {}", text, target_names()));
  return *target;
}

Instruction instruction_argument(std::string_view text) {
  const std::optional<Instruction> row = find_instruction(text);
  if (!row)
    throw UsageError(fmt::format("{}: unknown instruction; nearest: {} ('bitmma list' shows all)",
                                 text,
                                 nearest_name(without_qualifiers(text), instruction_table,
                                              [](const Instruction&) { return true; })));
  return *row;
}

std::optional<DataMovement> data_movement_argument(std::string_view text) {
  if (const std::optional<DataMovement> row = find_data_movement(text)) return row;
  const auto begins_text = [&](std::string_view name) { return text.starts_with(name); };
  if (std::ranges::none_of(movement_names, begins_text)) return std::nullopt;
  throw UsageError(fmt::format(
      "{}: unknown instruction; nearest: {}", text,
      nearest_name(text, data_movement_table, [](const DataMovement&) { return true; })));
}

WmmaInstruction wmma_argument(std::string_view text) {
  const std::optional<WmmaInstruction> row = find_wmma(text);
  if (!row)
    throw UsageError(
        fmt::format("{}: unknown form of WMMA; nearest: {}", text,
                    nearest_name(text, wmma_table, [](const WmmaInstruction&) { return true; })));
  return *row;
}

int cuda_argument(std::string_view text) {
  if (text.empty()) return newest_cuda;
  const std::optional<int> cuda = parse_cuda(text);
  if (!cuda) throw UsageError(fmt::format("--cuda {}: choose a version such as 12.6", text));
  return *cuda;
}

Execution execution_argument(std::string_view arch, std::string_view instr, int cuda) {
  const Target& target = target_argument(arch);
  const Instruction row = instruction_argument(instr);
  if (!row.runs_on(target)) throw UsageError(absent_message(row, target));
  const int first_cuda = std::max(target.first_cuda, row.first_cuda);
  if (cuda < first_cuda)
    throw UsageError(fmt::format("{} on {} needs CUDA {} or later, not {}", short_name(row),
                                 target.name, cuda_text(first_cuda), cuda_text(cuda)));
  return resolve(row, target, cuda);
}

}  // namespace bitmma
