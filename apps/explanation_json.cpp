#include <nlohmann/json.hpp>

#include "bitmma/apps/explanation.hpp"
#include "bitmma/compare/value_text.hpp"
#include "bitmma/reference/exact_text.hpp"

namespace bitmma {
namespace {

using Json = nlohmann::ordered_json;

/// A step that a NaN or Inf decides aligns nothing.
Json term_json(const Instruction& row, const ExplainedTerm& term, bool special_step) {
  Json json{{"term", term.k ? Json(*term.k) : Json("c")}};
  if (term.k) {
    json["a"] = hex_text(*row.a, term.a_code);
    json["b"] = hex_text(*row.b, term.b_code);
  }
  json["special"] = term.special;
  if (special_step) return json;
  json["value"] = to_decimal(term.value);
  json["exponent"] = term.exponent;
  json["shift"] = term.shift;
  json["significand"] = term.binary;
  json["cut"] = to_decimal(term.cut);
  return json;
}

Json step_json(const Execution& execution, const ExplainedStep& step) {
  Json terms = Json::array();
  for (const ExplainedTerm& term : step.terms)
    terms.push_back(term_json(execution.instruction, term, step.special));
  Json json{{"special", step.special}};
  if (!step.special) {
    json["exponent"] = step.exponent;
    json["fraction_bits"] = execution.program.step.fraction_bits;
    json["sum"] = to_decimal(step.sum);
    json["rounding"] = to_decimal(step.rounding);
  }
  json["terms"] = terms;
  json["result"] = hex_text(execution.program.step.d, step.result);
  return json;
}

Json product_json(const Instruction& row, const ExplainedProduct& product) {
  return {{"k", product.k},
          {"a", hex_text(*row.a, product.a_code)},
          {"b", hex_text(*row.b, product.b_code)},
          {"value", to_decimal(product.value)},
          {"sum", to_decimal(product.sum)}};
}

Json operation_json(const Explanation& whole, const ExplainedOperation& explained) {
  const Operation& operation = explained.traced.operation;
  const bool is_mma = operation.opcode == Opcode::mma;
  Json json{{"instruction", explained.instruction},
            {"operation", whole.operation_name(operation)},
            {"result", hex_text(whole.result_format(operation), explained.traced.result)}};
  if (!is_mma) return json;
  if (!explained.products.empty()) {
    for (const ExplainedProduct& product : explained.products)
      json["products"].push_back(product_json(whole.execution.instruction, product));
    return json;
  }
  json["steps"] = Json::array();
  for (const ExplainedStep& step : explained.steps)
    json["steps"].push_back(step_json(whole.execution, step));
  return json;
}

}  // namespace

std::string explanation_json(const Explanation& whole) {
  const Instruction& row = whole.execution.instruction;
  const Evidence& evidence = find_evidence(row, whole.target);
  Json operations = Json::array();
  for (const ExplainedOperation& operation : whole.operations)
    operations.push_back(operation_json(whole, operation));
  const ExplainedError& error = whole.error;
  Json json{{"instr", short_name(row)},
            {"arch", whole.target.name},
            {"cuda", cuda_text(whole.execution.cuda)},
            {"native", is_native(row, whole.target)},
            {"evidence", label_name(evidence.label)},
            {"operations", operations},
            {"result", hex_text(*row.d, whole.result)},
            {"value", to_decimal(exact_value(*row.d, whole.result))},
            {"exact", to_decimal(whole.exact)},
            {"error",
             {{"absolute", json_number<Json>(error.absolute)},
              {"relative", json_number<Json>(error.relative)},
              {"ulp", json_number<Json>(error.ulp)},
              {"relative_to_terms", json_number<Json>(error.relative_to_terms)}}},
            {"f32_loop", hex_text(f32, whole.f32_loop)}};
  if (whole.measured) json["measured"] = hex_text(*row.d, *whole.measured);
  return json.dump(2);
}

}  // namespace bitmma
