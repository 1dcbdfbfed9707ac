#include "bitmma/compare/report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "bitmma/compare/value_text.hpp"

namespace bitmma {
namespace {

using Json = nlohmann::ordered_json;
using Lines = fmt::memory_buffer;

/// Two results that a table names by their letters.
struct Pair {
  std::string_view x;
  std::string_view y;
  const Difference* difference;
};

constexpr std::string_view special_class_phrases[] = {
    "NaN against a number", "NaN against NaN with other bits", "Inf against a finite number",
    "+Inf against -Inf", "+0 against -0"};
static_assert(std::size(special_class_phrases) == std::size(special_class_names));

template <class... Arguments>
void add_line(Lines& lines, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  fmt::format_to(std::back_inserter(lines), format, std::forward<Arguments>(arguments)...);
  lines.push_back('\n');
}

std::string grouped(std::size_t count) {
  std::string digits = std::to_string(count);
  for (std::size_t place = digits.size(); place > 3;) digits.insert(place -= 3, 1, ',');
  return digits;
}

std::string counted(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", grouped(count), noun, count == 1 ? "" : "s");
}

std::string decimal(const Format& format, Code code) {
  const double value = to_double(format, code);
  if (std::isnan(value)) return "nan";
  return format == f64 ? fmt::format("{}", value) : fmt::format("{}", static_cast<float>(value));
}

/// "(2, 3)", or "3" in one dimension.
std::string place(const Comparison& comparison, std::size_t index) {
  if (comparison.shape.size() == 1) return std::to_string(index);
  return fmt::format("({})", fmt::join(element_coordinates(comparison.shape, index), ", "));
}

std::string policy_phrase(const Policy& policy) {
  std::string phrase = policy.any_nan ? "any NaN equal" : "";
  if (policy.any_nan && policy.max_ulp) phrase += ", ";
  if (policy.max_ulp) phrase += fmt::format("within {} ulp", *policy.max_ulp);
  return phrase;
}

/// The pairs of results that differ at all.
std::vector<Pair> unequal_pairs(const Comparison& comparison) {
  std::vector<Pair> pairs{{"X", "Y", &comparison.x_y}};
  if (comparison.exact) {
    pairs.push_back({"X", "Z", &comparison.exact->x});
    pairs.push_back({"Y", "Z", &comparison.exact->y});
  }
  std::erase_if(pairs, [](const Pair& pair) { return pair.difference->different_bits() == 0; });
  return pairs;
}

/// The pairs whose histograms stand in the report: X against Y alone, or both against Z.
std::vector<Pair> histogram_pairs(std::vector<Pair> pairs) {
  if (pairs.size() > 1 && pairs.front().y == "Y") pairs.erase(pairs.begin());
  return pairs;
}

void add_summary(Lines& lines, const Difference& difference) {
  const std::string elements = counted(difference.count, "element");
  const bool one_format = *difference.x_format == *difference.y_format;
  if (difference.count == 0)
    add_line(lines, "{}, nothing to compare", elements);
  else if (difference.different_bits() == 0)
    add_line(lines, "{}, all {} equal", elements, one_format ? "bits" : "values");
  else
    add_line(lines, "{}, {} equal, {} different", elements, grouped(difference.equal_bits),
             grouped(difference.different_bits()));
}

void add_policy(Lines& lines, const Comparison& comparison) {
  const std::string phrase = policy_phrase(comparison.policy);
  const Difference& difference = comparison.x_y;
  if (phrase.empty() || difference.different_bits() == 0) return;
  if (comparison.equal())
    add_line(lines, "Policy ({}): equal", phrase);
  else
    add_line(lines, "Policy ({}): {} unequal, first at {}", phrase,
             counted(difference.rejected, "element"),
             place(comparison, difference.first_rejected->index));
}

void add_value(Lines& lines, std::string_view name, const Format& format, Code code) {
  add_line(lines, "  {}  {:<4}  {:<18}  {}", name, format.name, hex_text(format, code),
           decimal(format, code));
}

void add_first_difference(Lines& lines, const Comparison& comparison) {
  const Difference& difference = comparison.x_y;
  if (!difference.first_different) return;
  const ElementPair& first = *difference.first_different;
  const std::string where =
      comparison.shape.size() == 1 ? "" : " at " + place(comparison, first.index);
  add_line(lines, "\nFirst difference: element {}{}", first.index, where);
  add_value(lines, "X", *difference.x_format, first.x_code);
  add_value(lines, "Y", *difference.y_format, first.y_code);
  if (comparison.exact)
    add_value(lines, "Z", *comparison.exact->x.y_format, comparison.exact->at_first_different);
}

void add_exact_counts(Lines& lines, const Comparison& comparison) {
  if (!comparison.exact) return;
  const ExactComparison& exact = *comparison.exact;
  add_line(lines, "\n{:<26}{:>14}{:>14}", "Against Z", "X", "Y");
  add_line(lines, "  {:<24}{:>14}{:>14}", "correctly rounded", grouped(exact.x_correctly_rounded),
           grouped(exact.y_correctly_rounded));
  add_line(lines, "  {:<24}{:>14}{:>14}", "nearer", grouped(exact.x_nearer),
           grouped(exact.y_nearer));
  add_line(lines, "  {:<24}{:>14}", "equally near", grouped(exact.equally_near));
  add_line(lines, "  {:<24}{:>14}", "one value, both wrong", grouped(exact.equal_but_wrong));
}

std::string measure_phrase(Measure measure, const Difference& difference) {
  switch (measure) {
    case Measure::ulp:
      return fmt::format("ulp of {}", difference.ulp_format->name);
    case Measure::magnitude:
      return "of sum|a||b|+|c|";
    default:
      return std::string(measure_names[static_cast<std::size_t>(measure)]);
  }
}

void add_errors(Lines& lines, const Comparison& comparison, const Pair& pair) {
  const std::size_t finite = pair.difference->error(Measure::absolute).count;
  for (std::size_t row = 0; row < std::size(measure_names); ++row) {
    const ErrorSummary& error = pair.difference->errors[row];
    if (error.count == 0) continue;
    std::string where = error.largest == 0 ? "-" : place(comparison, error.largest_index);
    if (error.count < finite)
      where += fmt::format("  (undefined: {})", grouped(finite - error.count));
    add_line(lines, "  {} - {}  {:<17}{:>10.3g}{:>18.3g}{:>11.3g}  {}", pair.x, pair.y,
             measure_phrase(static_cast<Measure>(row), *pair.difference), error.largest,
             error.root_mean_square, error.mean, where);
  }
}

void add_error_table(Lines& lines, const Comparison& comparison, const std::vector<Pair>& pairs) {
  add_line(lines, "\n{:<26}{:>10}{:>18}{:>11}  {}", "Errors", "largest", "root mean square", "mean",
           "largest at");
  for (const Pair& pair : pairs) add_errors(lines, comparison, pair);
}

void add_specials(Lines& lines, const Comparison& comparison, const std::vector<Pair>& pairs) {
  bool is_first = true;
  for (const Pair& pair : pairs) {
    for (std::size_t row = 0; row < std::size(special_class_phrases); ++row) {
      const Occurrences& special = pair.difference->specials[row];
      if (special.count == 0) continue;
      if (std::exchange(is_first, false)) add_line(lines, "\nSpecial values");
      add_line(lines, "  {}, {}   {:<32}{:>11}  first at {}", pair.x, pair.y,
               special_class_phrases[row], grouped(special.count),
               place(comparison, special.first_index));
    }
  }
}

struct HistogramRow {
  std::string label;
  std::string below;
  std::string above;
  std::size_t count;
};

std::string bucket_label(std::size_t bucket) {
  return bucket < Histogram::bounded_buckets
             ? fmt::format("<= {}", std::size_t{1} << bucket)
             : fmt::format("> {}", std::size_t{1} << (Histogram::bounded_buckets - 1));
}

/// Every row, empty ones too, so that rows of two histograms correspond.
std::vector<HistogramRow> histogram_rows(const Histogram& histogram) {
  std::vector<HistogramRow> rows{{"0", "", grouped(histogram.zero), histogram.zero}};
  for (std::size_t index = 0; index < histogram.buckets.size(); ++index) {
    const auto& [below, above] = histogram.buckets[index];
    rows.push_back({bucket_label(index), grouped(below), grouped(above), below + above});
  }
  rows.push_back(
      {"not comparable", "", grouped(histogram.not_comparable), histogram.not_comparable});
  return rows;
}

/// '#' in proportion to the share of all elements, at least one unless the count is 0.
std::string bar(std::size_t count, std::size_t total, std::size_t columns) {
  if (count == 0) return "";
  const double share = static_cast<double>(count) / static_cast<double>(total);
  return std::string(static_cast<std::size_t>(std::ceil(share * static_cast<double>(columns))),
                     '#');
}

void add_trimmed_line(Lines& lines, std::string text) {
  text.erase(text.find_last_not_of(' ') + 1);
  add_line(lines, "{}", text);
}

/// Pairs stand next to each other; rows that are empty in all of them are left out.
void add_histogram(Lines& lines, const std::vector<Pair>& pairs) {
  constexpr std::size_t label_columns = 15;
  constexpr std::size_t count_columns = 25;
  const std::size_t bar_columns = (80 - label_columns) / pairs.size() - count_columns;

  std::string header = fmt::format("\n{:<{}}", "Error in ulp", label_columns);
  std::vector<std::vector<HistogramRow>> rows;
  for (const Pair& pair : pairs) {
    header +=
        fmt::format("{:>7} < {}{:>8} > {}  {:{}}", pair.x, pair.y, pair.x, pair.y, "", bar_columns);
    rows.push_back(histogram_rows(pair.difference->histogram));
  }
  add_trimmed_line(lines, header);

  for (std::size_t index = 0; index < rows.front().size(); ++index) {
    std::size_t count = 0;
    std::string line = fmt::format("{:>{}}", rows.front()[index].label, label_columns - 1) + " ";
    for (std::size_t pair = 0; pair < pairs.size(); ++pair) {
      const HistogramRow& row = rows[pair][index];
      count += row.count;
      line += fmt::format("{:>11}{:>12}  {:<{}}", row.below, row.above,
                          bar(row.count, pairs[pair].difference->count, bar_columns), bar_columns);
    }
    if (count != 0) add_trimmed_line(lines, line);
  }
}

Json json_value(const Format& format, Code code) {
  return {{"code", hex_text(format, code)}, {"value", json_number<Json>(to_double(format, code))}};
}

Json json_element(const Comparison& comparison, const Difference& difference,
                  const std::optional<ElementPair>& element) {
  if (!element) return nullptr;
  return {{"index", element->index},
          {"coordinates", element_coordinates(comparison.shape, element->index)},
          {"x", json_value(*difference.x_format, element->x_code)},
          {"y", json_value(*difference.y_format, element->y_code)}};
}

Json json_errors(const Difference& difference) {
  Json errors;
  for (std::size_t row = 0; row < std::size(measure_names); ++row) {
    const ErrorSummary& error = difference.errors[row];
    errors[std::string(measure_names[row])] = {
        {"count", error.count},
        {"largest", json_number<Json>(error.largest)},
        {"largest_index", error.largest == 0 ? Json() : Json(error.largest_index)},
        {"root_mean_square", json_number<Json>(error.root_mean_square)},
        {"mean", json_number<Json>(error.mean)}};
  }
  return errors;
}

Json json_specials(const Difference& difference) {
  Json specials;
  for (std::size_t row = 0; row < std::size(special_class_names); ++row) {
    const Occurrences& special = difference.specials[row];
    specials[std::string(special_class_names[row])] = {
        {"count", special.count},
        {"first_index", special.count == 0 ? Json() : Json(special.first_index)}};
  }
  return specials;
}

Json json_histogram(const Histogram& histogram) {
  Json buckets = Json::array();
  for (std::size_t index = 0; index < histogram.buckets.size(); ++index) {
    const bool bounded = index < Histogram::bounded_buckets;
    buckets.push_back({{"over", index == 0 ? 0 : std::size_t{1} << (index - 1)},
                       {"up_to", bounded ? Json(std::size_t{1} << index) : Json()},
                       {"below", histogram.buckets[index].below},
                       {"above", histogram.buckets[index].above}});
  }
  return {{"zero", histogram.zero},
          {"not_comparable", histogram.not_comparable},
          {"buckets", std::move(buckets)}};
}

Json json_difference(const Comparison& comparison, const Difference& difference) {
  return {{"x_format", difference.x_format->name},
          {"y_format", difference.y_format->name},
          {"ulp_format", difference.ulp_format->name},
          {"count", difference.count},
          {"equal_bits", difference.equal_bits},
          {"different_bits", difference.different_bits()},
          {"rejected", difference.rejected},
          {"first_different", json_element(comparison, difference, difference.first_different)},
          {"first_rejected", json_element(comparison, difference, difference.first_rejected)},
          {"errors", json_errors(difference)},
          {"specials", json_specials(difference)},
          {"histogram", json_histogram(difference.histogram)}};
}

Json json_exact(const Comparison& comparison) {
  if (!comparison.exact) return nullptr;
  const ExactComparison& exact = *comparison.exact;
  return {{"x", json_difference(comparison, exact.x)},
          {"y", json_difference(comparison, exact.y)},
          {"x_nearer", exact.x_nearer},
          {"y_nearer", exact.y_nearer},
          {"equally_near", exact.equally_near},
          {"x_correctly_rounded", exact.x_correctly_rounded},
          {"y_correctly_rounded", exact.y_correctly_rounded},
          {"equal_but_wrong", exact.equal_but_wrong},
          {"at_first_different", comparison.x_y.first_different
                                     ? json_value(*exact.x.y_format, exact.at_first_different)
                                     : Json()}};
}

}  // namespace

std::string report_text(const Comparison& comparison) {
  Lines lines;
  add_summary(lines, comparison.x_y);
  add_policy(lines, comparison);
  add_first_difference(lines, comparison);
  add_exact_counts(lines, comparison);
  const std::vector<Pair> pairs = unequal_pairs(comparison);
  if (!pairs.empty()) {
    add_error_table(lines, comparison, pairs);
    add_specials(lines, comparison, pairs);
    add_histogram(lines, histogram_pairs(pairs));
  }
  return fmt::to_string(lines);
}

std::string report_json(const Comparison& comparison) {
  const Policy& policy = comparison.policy;
  const Json report{{"shape", comparison.shape},
                    {"equal", comparison.equal()},
                    {"policy",
                     {{"any_nan", policy.any_nan},
                      {"max_ulp", policy.max_ulp ? json_number<Json>(*policy.max_ulp) : Json()}}},
                    {"x_y", json_difference(comparison, comparison.x_y)},
                    {"exact", json_exact(comparison)}};
  return report.dump(2);
}

}  // namespace bitmma
