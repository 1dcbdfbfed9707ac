#include "bitmma/apps/explanation.hpp"

#include <algorithm>
#include <bit>
#include <span>
#include <utility>

#include "bitmma/reference/error.hpp"
#include "bitmma/reference/sequential.hpp"

namespace bitmma {
namespace {

ExactValue scaled(std::int64_t integer, int exponent) { return {BigInteger(integer), exponent}; }

ExactValue term_value(const Term& term) {
  const BigInteger significand = term.significand;
  return {term.negative ? -significand : significand, term.exponent - term.fraction_bits};
}

bool cuts_anything(std::uint64_t significand, int cut_digits) {
  if (cut_digits <= 0) return false;
  return cut_digits >= 64 || (significand & ((std::uint64_t{1} << cut_digits) - 1)) != 0;
}

/// The significand in binary, one digit or more before the point. Where anything is cut, | stands
/// after the last kept digit.
std::string binary_with_cut(const Term& term, int cut_digits) {
  const int total =
      std::max(static_cast<int>(std::bit_width(term.significand)), term.fraction_bits + 1);
  const int first_cut =
      cuts_anything(term.significand, cut_digits) ? std::max(0, total - cut_digits) : total;
  std::string text;
  for (int i = 0; i < total; ++i) {
    if (i == first_cut) text.push_back('|');
    if (i == total - term.fraction_bits) text.push_back('.');
    text.push_back((term.significand >> (total - 1 - i) & 1) != 0 ? '1' : '0');
  }
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

bool is_special_product(const ElementProgram& program, Code a, Code b) {
  return decode(program.a, a).kind != Kind::finite || decode(program.b, b).kind != Kind::finite;
}

/// Fills what a step without NaN and Inf makes of a term.
void explain_alignment(ExplainedTerm& explained, const Term& term, int exponent,
                       int fraction_bits) {
  explained.value = term_value(term);
  explained.exponent = term.exponent;
  explained.shift = exponent - term.exponent;
  explained.binary = binary_with_cut(term, explained.shift + term.fraction_bits - fraction_bits);
  explained.cut =
      explained.value - scaled(align(term, exponent, fraction_bits), exponent - fraction_bits);
}

/// The k of an mma operation's products, in the order of its steps.
std::vector<std::size_t> products_of(const ElementProgram& program, const Operation& operation,
                                     std::size_t instruction) {
  std::vector<std::size_t> ks;
  for (int k = 0; k < program.k; ++k)
    if (operation.takes(k))
      ks.push_back(instruction * static_cast<std::size_t>(program.k) + static_cast<std::size_t>(k));
  return ks;
}

ExplainedTerm explain_product(const Explanation& whole, std::size_t k) {
  ExplainedTerm term{};
  term.k = k;
  if (k < whole.a.size()) {
    term.a_code = whole.a[k];
    term.b_code = whole.b[k];
  }
  term.special = is_special_product(whole.execution.program, term.a_code, term.b_code);
  return term;
}

ExplainedTerm explain_addend(Kind kind) {
  ExplainedTerm term{};
  term.special = kind != Kind::finite;
  return term;
}

ExplainedStep explain_step(const Explanation& whole, const FusedStep& step,
                           std::span<const std::size_t> ks, Kind c_kind) {
  const StepRule& rule = whole.execution.program.step;
  ExplainedStep explained{step.special, step.exponent, {}, {}, step.result, {}};
  for (const std::size_t k : ks) explained.terms.push_back(explain_product(whole, k));
  explained.terms.push_back(explain_addend(c_kind));
  if (step.special) return explained;

  for (std::size_t i = 0; i < explained.terms.size(); ++i)
    explain_alignment(explained.terms[i], step.terms[i], step.exponent, rule.fraction_bits);
  explained.sum = scaled(step.sum, step.exponent - rule.fraction_bits);
  const ExactValue result = exact_value(rule.d, step.result);
  if (result.is_finite()) explained.rounding = result - explained.sum;
  return explained;
}

/// The value that a product adds.
ExactValue product_value(const Instruction& row, Code a, Code b) {
  if (row.modifier == Modifier::xor_popc) return {BigInteger(a ^ b), 0};
  return exact_value(*row.a, a) * exact_value(*row.b, b);
}

/// The products of one instruction from c on, as run_mma() takes them.
std::vector<ExplainedProduct> explain_products(const Explanation& whole,
                                               const TracedOperation& traced,
                                               std::size_t instruction) {
  const Instruction& row = whole.execution.instruction;
  const bool is_rounded = whole.execution.program.arithmetic == Arithmetic::fma_chain;
  std::vector<ExplainedProduct> products;
  Code rounded = traced.x;
  ExactValue sum = exact_value(*row.c, traced.x);
  for (const std::size_t k : products_of(whole.execution.program, traced.operation, instruction)) {
    const ExplainedTerm term = explain_product(whole, k);
    const ExactValue value = product_value(row, term.a_code, term.b_code);
    if (is_rounded) rounded = fma_f64(term.a_code, term.b_code, rounded, rounding_of(row.modifier));
    sum = is_rounded ? exact_value(f64, rounded) : sum + value;
    products.push_back({k, term.a_code, term.b_code, value, sum});
  }
  return products;
}

/// Σ aᵢ·bᵢ + c, or for xor c and how many bits differ.
ExactValue exact_result(const Instruction& row, const DotOperands& operands) {
  if (row.modifier != Modifier::xor_popc) return exact_dot(operands);
  ExactValue count = exact_value(operands.c_format, operands.c);
  for (std::size_t k = 0; k < operands.length(); ++k)
    count += product_value(row, operands.a.codes[k], operands.b.codes[k]);
  return count;
}

ExplainedOperation explain_operation(const Explanation& whole, const TracedOperation& traced,
                                     std::size_t instruction) {
  ExplainedOperation explained{instruction, traced, {}, {}};
  if (traced.operation.opcode != Opcode::mma) return explained;
  if (whole.execution.program.arithmetic != Arithmetic::fused_steps) {
    explained.products = explain_products(whole, traced, instruction);
    return explained;
  }
  const StepRule& rule = whole.execution.program.step;
  const std::vector<std::size_t> ks =
      products_of(whole.execution.program, traced.operation, instruction);
  std::size_t first = 0;
  // c of the first step is slot x, c of each later one the result before it.
  Kind c_kind = decode(rule.c, traced.x).kind;
  for (const FusedStep& step : traced.steps) {
    const auto count = static_cast<std::size_t>(step.products);
    explained.steps.push_back(
        explain_step(whole, step, std::span(ks).subspan(first, count), c_kind));
    first += count;
    c_kind = decode(rule.d, step.result).kind;
  }
  return explained;
}

}  // namespace

std::size_t Explanation::step_count() const {
  std::size_t count = 0;
  for (const ExplainedOperation& operation : operations) count += operation.steps.size();
  return count;
}

std::string Explanation::operation_name(const Operation& operation) const {
  const Instruction& row = execution.instruction;
  return is_native(row, target) ? short_name(row)
                                : machine_instruction(row, operation, target).name;
}

const Format& Explanation::result_format(const Operation& operation) const {
  switch (operation.opcode) {
    case Opcode::mma:
      return *execution.instruction.d;
    case Opcode::hadd:
    case Opcode::narrow:
      return f16;
    case Opcode::fmul:
    case Opcode::ffma:
    case Opcode::fadd:
    case Opcode::widen:
      break;
  }
  return f32;
}

Explanation explain(const Execution& execution, const Target& target, std::vector<Code> a,
                    std::vector<Code> b, Code c) {
  Explanation explanation{execution, target, std::move(a), std::move(b), c, {}, 0, {},
                          {},        0,      std::nullopt};
  Trace trace;
  explanation.result = run_chain(execution.program, explanation.a.data(), explanation.b.data(),
                                 explanation.a.size(), c, trace);
  const auto operations = static_cast<std::size_t>(execution.program.operation_count);
  for (std::size_t i = 0; i < trace.operations().size(); ++i)
    explanation.operations.push_back(
        explain_operation(explanation, trace.operations()[i], i / operations));

  const Instruction& row = execution.instruction;
  const DotOperands operands{{*row.a, explanation.a}, {*row.b, explanation.b}, *row.c, c};
  explanation.exact = exact_result(row, operands);
  const ExactValue computed = exact_value(*row.d, explanation.result);
  explanation.error = {
      absolute_error(computed, explanation.exact), relative_error(computed, explanation.exact),
      ulp_error(*row.d, computed, explanation.exact),
      error_relative_to_terms(computed, explanation.exact, exact_dot_magnitude(operands))};
  explanation.f32_loop = sequential_dot_f32(operands, MultiplyAdd::separate);
  return explanation;
}

}  // namespace bitmma
