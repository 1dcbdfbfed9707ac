#include <fmt/format.h>

#include <utility>
#include <vector>

#include "bitmma/apps/arguments.hpp"
#include "bitmma/apps/commands.hpp"
#include "bitmma/apps/explanation.hpp"
#include "bitmma/apps/operand_files.hpp"
#include "bitmma/compare/case_line.hpp"

namespace bitmma {
namespace {

struct Options : OperandOptions {
  std::size_t row = 0;
  std::vector<std::size_t> element;
  std::optional<std::size_t> step;
  std::string dot_case;
  bool json = false;
};

/// One output element's operands.
struct Element {
  std::vector<Code> a;
  std::vector<Code> b;
  Code c;
};

std::vector<Code> every(const NpyArray& array, std::size_t first, std::size_t step,
                        std::size_t count) {
  std::vector<Code> codes(count);
  for (std::size_t i = 0; i < count; ++i) codes[i] = array.bits(first + i * step);
  return codes;
}

Code addend(const Operands& operands, std::size_t index) {
  return operands.c ? operands.c->bits(index) : 0;
}

/// Row --row of A and of B, as dot takes them.
Element element_of_rows(const Options& options, const Operands& operands) {
  const auto [rows, k] = rows_shape(options, operands);
  if (rows == 0) throw UsageError(fmt::format("{}: no rows to explain", options.a));
  if (options.row >= rows)
    throw UsageError(fmt::format("--row {}: choose 0 to {}", options.row, rows - 1));
  return {every(operands.a, options.row * k, 1, k), every(operands.b, options.row * k, 1, k),
          addend(operands, options.row)};
}

/// Element --element of the product of A (m, k) and B (k, n), as mma takes them.
Element element_of_product(const Options& options, const Operands& operands) {
  const std::vector<std::size_t>& a = operands.a.shape;
  const std::vector<std::size_t>& b = operands.b.shape;
  const std::size_t row = options.element[0];
  const std::size_t column = options.element[1];
  if (a.size() != 2 || b.size() != 2 || a[1] != b[0])
    throw UsageError(
        fmt::format("{} and {}: shapes {} and {}; with --element, A must be (m, k) and "
                    "B (k, n)",
                    options.a, options.b, shape_text(a), shape_text(b)));
  if (operands.c && operands.c->shape != std::vector{a[0], b[1]})
    throw UsageError(fmt::format("{}: shape {}; C must be {}", options.c,
                                 shape_text(operands.c->shape), shape_text({a[0], b[1]})));
  if (row >= a[0] || column >= b[1])
    throw UsageError(
        fmt::format("--element {},{}: the product is {}", row, column, shape_text({a[0], b[1]})));
  return {every(operands.a, row * a[1], 1, a[1]), every(operands.b, column, b[1], b[0]),
          addend(operands, row * b[1] + column)};
}

void check_step(const Options& options, const Explanation& explanation) {
  const std::size_t steps = explanation.step_count();
  if (!options.step || (*options.step >= 1 && *options.step <= steps)) return;
  throw UsageError(steps == 0 ? fmt::format("--step {}: no fused steps here", *options.step)
                              : fmt::format("--step {}: choose 1 to {}", *options.step, steps));
}

Explanation explain_files(const Options& options) {
  if (options.arch.empty() || options.instr.empty() || options.a.empty() || options.b.empty())
    throw UsageError("explain: give --arch, --instr, A.npy and B.npy, or --case");
  const Execution execution = execution_of(options);
  const Operands operands = read_operands(options, execution.instruction);
  Element element = options.element.empty() ? element_of_rows(options, operands)
                                            : element_of_product(options, operands);
  check_chain(execution.instruction, element.a.size());
  return explain(execution, target_argument(options.arch), std::move(element.a),
                 std::move(element.b), element.c);
}

DotCase case_argument(const std::string& line) {
  try {
    return parse_case_line(line);
  } catch (const CaseLineError& error) {
    throw UsageError(fmt::format("--case: {}", error.what()));
  }
}

Explanation explain_case(const Options& options) {
  DotCase dot = case_argument(options.dot_case);
  const Execution execution =
      execution_argument(dot.target->name, short_name(dot.row), cuda_argument(options.cuda));
  Explanation explanation =
      explain(execution, *dot.target, std::move(dot.a), std::move(dot.b), dot.c);
  explanation.measured = dot.d;
  return explanation;
}

void run(const Options& options) {
  const Explanation explanation =
      options.dot_case.empty() ? explain_files(options) : explain_case(options);
  check_step(options, explanation);
  if (options.json)
    fmt::print("{}\n", explanation_json(explanation));
  else
    fmt::print("{}", explanation_text(explanation, options.step));
}

}  // namespace

void add_explain(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "explain",
      "One dot product step by step: exact terms, alignment, cut bits, sum, conversion, error.\n"
      "A and B (rows, k), C (rows), as for dot; with --element (m, k), (k, n), (m, n), as for mma\n"
      "example: bitmma explain --arch sm_90 --instr m16n8k16.f32.f16.f16.f32 a.npy b.npy c.npy "
      "--row 3");
  add_target_options(*command, *options);
  add_operand_options(*command, *options);
  CLI::Option* row =
      command->add_option("--row", options->row, "which row, from 0")->check(whole_number_error);
  command
      ->add_option("--element", options->element,
                   "ROW,COLUMN of a matrix product, instead of a row")
      ->delimiter(',')
      ->expected(2)
      ->check(whole_number_error)
      ->excludes(row);
  CLI::Option* dot_case =
      command->add_option("--case", options->dot_case,
                          "one output element as a line of a golden file, instead of arrays: "
                          "INSTRUCTION TARGET A… B… C [D], codes in hexadecimal");
  for (const char* array : {"--arch", "--instr", "A", "B", "C", "--round", "--row", "--element"})
    command->get_option(array)->required(false)->excludes(dot_case);
  CLI::Option* step =
      command->add_option("--step", options->step, "show the terms of this fused step, from 1")
          ->check(whole_number_error);
  command->add_flag("--json", options->json, "everything, as one object")->excludes(step);
  command->callback([options] { run(*options); });
}

}  // namespace bitmma
