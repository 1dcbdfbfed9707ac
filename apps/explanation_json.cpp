#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "bitmma/apps/explanation.hpp"
#include "bitmma/reference/exact_text.hpp"

namespace bitmma {
namespace {

using Json = nlohmann::ordered_json;

Json code_json(const Format& format, Code code) {
  return fmt::format("0x{:0{}X}", code, format.storage_bits / 4);
}

/// JSON has no infinity: null stands for one.
Json number_json(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json term_json(const Instruction& row, const ExplainedTerm& term) {
  Json json{{"term", term.k ? Json(*term.k) : Json("c")}};
  if (term.k) {
    json["a"] = code_json(*row.a, term.a_code);
    json["b"] = code_json(*row.b, term.b_code);
  }
  json["special"] = term.special;
  if (term.special) return json;
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
    terms.push_back(term_json(execution.instruction, term));
  Json json{{"special", step.special}};
  if (!step.special) {
    json["exponent"] = step.exponent;
    json["fraction_bits"] = execution.datapath.fraction_bits;
    json["sum"] = to_decimal(step.sum);
    json["rounding"] = to_decimal(step.rounding);
  }
  json["terms"] = terms;
  json["result"] = code_json(execution.formats.d, step.result);
  return json;
}

Json operation_json(const Explanation& whole, const ExplainedOperation& explained) {
  const Instruction& row = whole.execution.instruction;
  const Operation& operation = explained.traced.operation;
  const bool is_mma = operation.opcode == Opcode::mma;
  Json json{{"instruction", explained.instruction},
            {"operation", is_mma && is_native(row, whole.target) ? short_name(row)
                                                                 : machine_name(row, operation)},
            {"result", fmt::format("0x{:X}", explained.traced.result)}};
  if (!is_mma) return json;
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
  const Json json{{"instr", short_name(row)},
                  {"arch", whole.target.name},
                  {"native", is_native(row, whole.target)},
                  {"evidence", label_name(evidence.label)},
                  {"operations", operations},
                  {"result", code_json(*row.d, whole.result)},
                  {"value", to_decimal(exact_value(*row.d, whole.result))},
                  {"exact", to_decimal(whole.exact)},
                  {"error",
                   {{"absolute", number_json(error.absolute)},
                    {"relative", number_json(error.relative)},
                    {"ulp", number_json(error.ulp)},
                    {"relative_to_terms", number_json(error.relative_to_terms)}}},
                  {"f32_loop", code_json(f32, whole.f32_loop)}};
  return json.dump(2);
}

}  // namespace bitmma
