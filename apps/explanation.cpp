#include "bitmma/apps/explanation.hpp"

#include "bitmma/reference/error.hpp"
#include "bitmma/reference/sequential.hpp"

namespace bitmma {
namespace {

ExactValue scaled(std::int64_t integer, int exponent) { return {BigInteger(integer), exponent}; }

ExactValue term_value(const Term& term) {
  const BigInteger significand = term.significand;
  return {term.negative ? -significand : significand, term.exponent - term.fraction_bits};
}

/// The significand in binary, one digit or more before the point, | after the last kept digit.
std::string binary_with_cut(const Term& term, int cut_digits) {
  std::string digits;
  for (int bit =
           std::max(static_cast<int>(std::bit_width(term.significand)), term.fraction_bits + 1);
       bit-- > 0;)
    digits.push_back((term.significand >> bit & 1) != 0 ? '1' : '0');
  const int total = static_cast<int>(digits.size());
  const int point = total - term.fraction_bits;
  const int cut = std::max(0, total - std::max(0, cut_digits));

  std::string text;
  for (int i = 0; i < total; ++i) {
    if (i == cut) text.push_back('|');
    if (i == point) text.push_back('.');
    text.push_back(digits[static_cast<std::size_t>(i)]);
  }
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

bool is_special_product(const Execution& execution, Code a, Code b) {
  return decode(*execution.instruction.a, a).kind != Kind::finite ||
         decode(*execution.instruction.b, b).kind != Kind::finite;
}

ExplainedTerm explain_term(const Term& term, int exponent, int fraction_bits) {
  ExplainedTerm explained{};
  explained.value = term_value(term);
  explained.exponent = term.exponent;
  explained.shift = exponent - term.exponent;
  explained.binary = binary_with_cut(term, explained.shift + term.fraction_bits - fraction_bits);
  explained.cut =
      explained.value - scaled(align(term, exponent, fraction_bits), exponent - fraction_bits);
  return explained;
}

/// The k of an mma operation's products, in the order of its steps.
std::vector<std::size_t> products_of(const Execution& execution, const Operation& operation,
                                     std::size_t instruction) {
  std::vector<std::size_t> ks;
  for (int k = 0; k < execution.instruction.k; ++k)
    if ((operation.residues >> (k % 4) & 1) != 0)
      ks.push_back(instruction * static_cast<std::size_t>(execution.instruction.k) +
                   static_cast<std::size_t>(k));
  return ks;
}

ExplainedStep explain_step(const Explanation& whole, const FusedStep& step,
                           std::span<const std::size_t> ks, Kind c_kind) {
  const Execution& execution = whole.execution;
  const int fraction_bits = execution.datapath.fraction_bits;
  ExplainedStep explained{step.special, step.exponent, {}, {}, step.result, {}};
  for (int i = 0; i <= step.products; ++i) {
    ExplainedTerm term = explain_term(step.terms[i], step.exponent, fraction_bits);
    if (i < step.products) {
      term.k = ks[static_cast<std::size_t>(i)];
      if (*term.k < whole.a.size()) {
        term.a_code = whole.a[*term.k];
        term.b_code = whole.b[*term.k];
      }
      term.special = is_special_product(execution, term.a_code, term.b_code);
    } else {
      term.special = c_kind != Kind::finite;
    }
    explained.terms.push_back(std::move(term));
  }
  if (!step.special) {
    explained.sum = scaled(step.sum, step.exponent - fraction_bits);
    const ExactValue result = exact_value(execution.formats.d, step.result);
    if (result.is_finite()) explained.rounding = result - explained.sum;
  }
  return explained;
}

ExplainedOperation explain_operation(const Explanation& whole, const TracedOperation& traced,
                                     std::size_t instruction) {
  ExplainedOperation explained{instruction, traced, {}};
  const std::vector<std::size_t> ks = products_of(whole.execution, traced.operation, instruction);
  std::size_t first = 0;
  // c of the first step is slot x, c of each later one the result before it.
  Kind c_kind = decode(whole.execution.formats.c, traced.x).kind;
  for (const FusedStep& step : traced.steps) {
    const auto count = static_cast<std::size_t>(step.products);
    explained.steps.push_back(
        explain_step(whole, step, std::span(ks).subspan(first, count), c_kind));
    first += count;
    c_kind = decode(whole.execution.formats.d, step.result).kind;
  }
  return explained;
}

}  // namespace

Explanation explain(const Execution& execution, const Target& target, std::vector<Code> a,
                    std::vector<Code> b, Code c) {
  Explanation explanation{execution, target, std::move(a), std::move(b), c, {}, 0, {}, {}, 0};
  Trace trace;
  explanation.result = run_chain(execution, explanation.a.data(), explanation.b.data(),
                                 explanation.a.size(), c, trace);
  const std::size_t operations = execution.program.size();
  for (std::size_t i = 0; i < trace.operations().size(); ++i)
    explanation.operations.push_back(
        explain_operation(explanation, trace.operations()[i], i / operations));

  const Instruction& row = execution.instruction;
  const DotOperands operands{{*row.a, explanation.a}, {*row.b, explanation.b}, *row.c, c};
  explanation.exact = exact_dot(operands);
  const ExactValue computed = exact_value(*row.d, explanation.result);
  explanation.error = {
      absolute_error(computed, explanation.exact), relative_error(computed, explanation.exact),
      ulp_error(*row.d, computed, explanation.exact),
      error_relative_to_terms(computed, explanation.exact, exact_dot_magnitude(operands))};
  explanation.f32_loop = sequential_dot_f32(operands, MultiplyAdd::separate);
  return explanation;
}

}  // namespace bitmma
