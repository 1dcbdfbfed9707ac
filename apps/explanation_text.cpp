#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "bitmma/apps/explanation.hpp"
#include "bitmma/apps/table.hpp"
#include "bitmma/compare/value_text.hpp"
#include "bitmma/isa/lowering.hpp"
#include "bitmma/reference/exact_text.hpp"

namespace bitmma {
namespace {

constexpr int shown_digits = 9;
constexpr std::size_t steps_on_a_screen = 4;

std::string value_text(const ExactValue& value) { return to_decimal(value, shown_digits); }

/// Without any rounding: all decimal digits, or the bits in hexadecimal where those are too many.
std::string exact_text(const ExactValue& value) {
  constexpr std::size_t longest = 24;
  std::string text = to_decimal(value);
  return text.size() <= longest ? text : to_hexadecimal(value);
}

std::string code_value(const Format& format, Code code) {
  if (format.is_integer()) return to_decimal(exact_value(format, code));
  const bool negative_zero = code == format.sign_mask();
  return negative_zero ? "-0" : value_text(exact_value(format, code));
}

std::string code_text(const Format& format, Code code) {
  return fmt::format("{} = {}", hex_text(format, code), code_value(format, code));
}

std::string term_name(const ExplainedTerm& term) {
  return term.k ? fmt::format("k={}", *term.k) : "c";
}

std::string factors(const Instruction& row, const ExplainedTerm& term) {
  return term.k ? fmt::format("{} · {}", code_value(*row.a, term.a_code),
                              code_value(*row.b, term.b_code))
                : "";
}

std::string special_step(const Execution& execution, const ExplainedStep& step) {
  std::vector<std::string> terms;
  for (const ExplainedTerm& term : step.terms)
    if (term.special)
      terms.push_back(
          term.k ? fmt::format("{} ({})", term_name(term), factors(execution.instruction, term))
                 : term_name(term));
  return fmt::format("    NaN or Inf among the terms decides: {}\n", fmt::join(terms, ", "));
}

std::string terms_table(const Execution& execution, const ExplainedStep& step) {
  Table table({"term", "a · b", "exact value", "exponent", "shift", "significand, kept|cut",
               "value cut off"});
  std::size_t zeros = 0;
  for (const ExplainedTerm& term : step.terms) {
    if (term.value.is_zero()) {
      ++zeros;
      continue;
    }
    table.add({term_name(term), factors(execution.instruction, term), exact_text(term.value),
               fmt::format("{}", term.exponent), fmt::format("{}", term.shift), term.binary,
               term.cut.is_zero() ? "" : exact_text(term.cut)});
  }
  std::string text = zeros == step.terms.size() ? "" : table.text(4);
  if (zeros > 0) text += fmt::format("    ({} zero terms)\n", zeros);
  return text;
}

std::string_view conversion_name(Rounding rounding) {
  switch (rounding) {
    case Rounding::toward_zero:
      return "truncated";
    case Rounding::nearest_even:
      return "rounded to nearest even";
    case Rounding::toward_negative:
      return "rounded down";
    case Rounding::toward_positive:
      return "rounded up";
    case Rounding::nearest_away:
      break;
  }
  return "rounded to nearest, ties away";
}

std::string step_result(const Execution& execution, const ExplainedStep& step) {
  const Format& d = execution.program.step.d;
  std::string text;
  if (!step.special) text = fmt::format("    sum {}", exact_text(step.sum));
  text +=
      fmt::format("{}-> .{} {}", step.special ? "    " : " ", d.name, code_text(d, step.result));
  if (!step.special)
    text +=
        fmt::format(" ({}{})", conversion_name(execution.program.step.rounding),
                    step.rounding.is_zero() ? ": nothing lost" : ": " + exact_text(step.rounding));
  return text + "\n";
}

/// The k of a step's products as runs of neighbours: "0..15", "0..1, 4..5".
std::string product_range(const ExplainedStep& step) {
  std::vector<std::string> runs;
  const std::size_t products = step.terms.size() - 1;
  for (std::size_t first = 0; first < products;) {
    std::size_t last = first;
    while (last + 1 < products && *step.terms[last + 1].k == *step.terms[last].k + 1) ++last;
    runs.push_back(fmt::format("{}..{}", *step.terms[first].k, *step.terms[last].k));
    first = last + 1;
  }
  return fmt::format("{}", fmt::join(runs, ", "));
}

std::string step_title(const ExplainedStep& step, std::size_t number, std::size_t total,
                       const Execution& execution) {
  std::string text = fmt::format("  step {} of {}: k = {}", number, total, product_range(step));
  if (!step.special)
    text += fmt::format(", aligned to 2^{}, {} fraction bits kept: last place 2^{}", step.exponent,
                        execution.program.step.fraction_bits,
                        step.exponent - execution.program.step.fraction_bits);
  return text + "\n";
}

/// How an operation without fused steps comes from its last sum to its result.
std::string_view ending_name(const Execution& execution) {
  if (execution.program.arithmetic == Arithmetic::fma_chain)
    return "each multiply-add is rounded once";
  return execution.instruction.modifier == Modifier::satfinite
             ? "exact, clamped at the end to what s32 has"
             : "exact, modulo 2^32";
}

/// The products of f64, integers or bits that are not zero, with the sum so far.
std::string products_text(const Explanation& whole, const ExplainedOperation& explained) {
  const Instruction& row = whole.execution.instruction;
  Table table({"term", "a · b", "exact value", "sum"});
  std::size_t zeros = 0;
  for (const ExplainedProduct& product : explained.products) {
    if (product.value.is_zero()) {
      ++zeros;
      continue;
    }
    table.add({fmt::format("k={}", product.k),
               fmt::format("{} · {}", code_value(*row.a, product.a_code),
                           code_value(*row.b, product.b_code)),
               exact_text(product.value), exact_text(product.sum)});
  }
  std::string text = zeros == explained.products.size() ? "" : table.text(4);
  if (zeros > 0) text += fmt::format("    ({} zero terms)\n", zeros);
  return text + fmt::format("    -> .{} {} ({})\n", row.d->name,
                            code_text(*row.d, explained.traced.result),
                            ending_name(whole.execution));
}

/// The format of the slots that an operation other than mma reads.
const Format& operand_format(Opcode opcode) {
  return opcode == Opcode::hadd || opcode == Opcode::widen ? f16 : f32;
}

/// "c + s2" and the like: what an operation that is no mma does to which values.
std::string operation_text(const Explanation& whole, const ExplainedOperation& explained) {
  const TracedOperation& traced = explained.traced;
  const Operation& operation = traced.operation;
  const Instruction& row = whole.execution.instruction;
  const std::size_t k = explained.instruction * static_cast<std::size_t>(row.k) +
                        static_cast<std::size_t>(operation.k);
  const std::string product =
      k < whole.a.size()
          ? fmt::format("{} · {}", code_value(*row.a, whole.a[k]), code_value(*row.b, whole.b[k]))
          : "0 · 0";
  const std::string x = code_value(operand_format(operation.opcode), traced.x);
  const auto line = [&](const std::string& inputs) {
    return fmt::format("  {:<13} {} = {}\n", whole.operation_name(operation), inputs,
                       code_text(whole.result_format(operation), traced.result));
  };
  switch (operation.opcode) {
    case Opcode::fmul:
      return line(fmt::format("k={}: {}", k, product));
    case Opcode::ffma:
      return line(fmt::format("k={}: {} + {}", k, product, x));
    case Opcode::fadd:
    case Opcode::hadd:
      return line(
          fmt::format("{} + {}", x, code_value(operand_format(operation.opcode), traced.y)));
    case Opcode::widen:
      return line(fmt::format("f16 {} as f32", x));
    case Opcode::narrow:
      return line(fmt::format("f32 {} as f16, to nearest even", x));
    case Opcode::mma:
      break;
  }
  const bool has_steps = explained.products.empty();
  return fmt::format("  {}, c = {}\n", whole.operation_name(operation),
                     code_value(has_steps ? whole.execution.program.step.c : *row.c, traced.x));
}

/// How many codes have bits that the format ignores.
std::size_t with_ignored_bits(const Format& format, const std::vector<Code>& codes) {
  const Code ignored = (Code{1} << format.ignored_bits()) - 1;
  return static_cast<std::size_t>(
      std::ranges::count_if(codes, [&](Code code) { return (code & ignored) != 0; }));
}

/// What is known of a sequence that newer toolkits do not emit, as the line for it, or nothing.
std::string older_lowering(const Explanation& whole) {
  const Execution& execution = whole.execution;
  const std::optional<Lowering> lowering =
      find_lowering(execution.instruction, whole.target, execution.cuda);
  if (!lowering || lowering->older_evidence.empty()) return "";
  return fmt::format("as CUDA {} compiles it, before another sequence: {}\n",
                     cuda_text(execution.cuda), lowering->older_evidence);
}

std::string head(const Explanation& whole) {
  const Instruction& row = whole.execution.instruction;
  const Evidence& evidence = find_evidence(row, whole.target);
  std::string text = fmt::format(
      "{} on {}: {}; evidence: {} ({})\n{} products in {} instruction{}\n", short_name(row),
      whole.target.name, is_native(row, whole.target) ? "native" : "lowered",
      label_name(evidence.label), evidence.source, whole.a.size(),
      whole.operations.back().instruction + 1, whole.operations.back().instruction == 0 ? "" : "s");
  text += older_lowering(whole);
  const std::size_t truncated =
      with_ignored_bits(*row.a, whole.a) + with_ignored_bits(*row.b, whole.b);
  if (truncated > 0)
    text += fmt::format(
        ".{} ignores the low {} bits, which are not zero in {} of A's and B's elements: all below, "
        "the exact value too, is without them\n",
        row.a->name, row.a->ignored_bits(), truncated);
  return text + "\n";
}

std::string summary(const Explanation& whole) {
  const Format& d = *whole.execution.instruction.d;
  const ExplainedError& error = whole.error;
  const Code rounded = round_to(d, whole.exact);
  const std::string loop = d.is_integer()
                               ? ""
                               : fmt::format("f32 loop on a CPU, c first, without fma: {}\n",
                                             code_text(f32, whole.f32_loop));
  return fmt::format(
      "\nd      {}\nexact  {} ({})\n       correctly rounded {}\nerror  absolute {:.6g}, relative "
      "{:.6g}, {:.6g} ulp of .{}, relative to Σ|a||b|+|c| {:.6g}\n{}",
      code_text(d, whole.result), value_text(whole.exact), to_hexadecimal(whole.exact),
      code_text(d, rounded), error.absolute, error.relative, error.ulp, d.name,
      error.relative_to_terms, loop);
}

std::string measured_text(const Explanation& whole) {
  const Format& d = *whole.execution.instruction.d;
  return fmt::format("measured on a GPU: {}, {}\n", code_text(d, *whole.measured),
                     *whole.measured == whole.result ? "equal" : "DIFFERENT");
}

}  // namespace

std::string explanation_text(const Explanation& whole, std::optional<std::size_t> detail) {
  const std::size_t steps = whole.step_count();
  const bool all = steps <= steps_on_a_screen && !detail;
  std::string text = head(whole);
  std::size_t number = 0;
  for (const ExplainedOperation& operation : whole.operations) {
    text += operation_text(whole, operation);
    if (!operation.products.empty()) text += products_text(whole, operation);
    for (const ExplainedStep& step : operation.steps) {
      ++number;
      text += step_title(step, number, steps, whole.execution);
      if (step.special)
        text += special_step(whole.execution, step);
      else if (all || detail == number)
        text += terms_table(whole.execution, step);
      text += step_result(whole.execution, step);
    }
  }
  text += summary(whole);
  if (whole.measured) text += measured_text(whole);
  if (!all && !detail) text += fmt::format("\n--step 1 to {} shows one step's terms\n", steps);
  return text;
}

}  // namespace bitmma
