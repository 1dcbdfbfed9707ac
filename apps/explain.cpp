#include <fmt/format.h>

#include "bitmma/apps/arguments.hpp"
#include "bitmma/apps/commands.hpp"
#include "bitmma/apps/explanation.hpp"
#include "bitmma/apps/operand_files.hpp"

namespace bitmma {
namespace {

struct Options : OperandOptions {
  std::size_t row = 0;
  std::optional<std::size_t> step;
  bool json = false;
};

std::vector<Code> codes_of_row(const NpyArray& array, std::size_t row, std::size_t k) {
  std::vector<Code> codes(k);
  for (std::size_t i = 0; i < k; ++i) codes[i] = array.bits(row * k + i);
  return codes;
}

std::size_t step_count(const Explanation& explanation) {
  std::size_t count = 0;
  for (const ExplainedOperation& operation : explanation.operations)
    count += operation.steps.size();
  return count;
}

void check_step(const Options& options, const Explanation& explanation) {
  const std::size_t steps = step_count(explanation);
  if (!options.step || (*options.step >= 1 && *options.step <= steps)) return;
  throw UsageError(steps == 0 ? fmt::format("--step {}: no fused steps here", *options.step)
                              : fmt::format("--step {}: choose 1 to {}", *options.step, steps));
}

void run(const Options& options) {
  const Execution execution = execution_argument(options.arch, options.instr);
  const Operands operands = read_operands(options, execution.instruction);
  const auto [rows, k] = rows_shape(options, operands);
  check_chain(execution.instruction, k);
  if (rows == 0) throw UsageError(fmt::format("{}: no rows to explain", options.a));
  if (options.row >= rows)
    throw UsageError(fmt::format("--row {}: choose 0 to {}", options.row, rows - 1));

  const Code c = operands.c ? operands.c->bits(options.row) : 0;
  const Explanation explanation =
      explain(execution, target_argument(options.arch), codes_of_row(operands.a, options.row, k),
              codes_of_row(operands.b, options.row, k), c);
  check_step(options, explanation);
  fmt::print("{}\n", options.json ? explanation_json(explanation)
                                  : explanation_text(explanation, options.step));
}

}  // namespace

void add_explain(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "explain",
      "One dot product step by step: exact terms, alignment, cut bits, sum, conversion, error.\n"
      "A and B (rows, k), C (rows), as for dot\n"
      "example: bitmma explain --arch sm_90 --instr m16n8k16.f32.f16.f16.f32 a.npy b.npy c.npy "
      "--row 3");
  add_operand_options(*command, *options);
  command->add_option("--row", options->row, "which row, from 0")->check(whole_number_error);
  command->add_option("--step", options->step, "show the terms of this fused step, from 1")
      ->check(whole_number_error);
  command->add_flag("--json", options->json, "everything, as one object");
  command->callback([options] { run(*options); });
}

}  // namespace bitmma
