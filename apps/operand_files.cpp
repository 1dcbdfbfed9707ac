#include "bitmma/apps/operand_files.hpp"

#include <fmt/format.h>

#include "bitmma/apps/arguments.hpp"
#include "bitmma/apps/operand.hpp"

namespace bitmma {

void add_target_options(CLI::App& command, OperandOptions& options) {
  command.add_option("--arch", options.arch, "target: " + target_names())->required();
  command.add_option("--cuda", options.cuda,
                     "toolkit that compiles the instruction, such as 12.6; the newest if absent "
                     "(FP8 on sm_90 became another sequence with 12.8)");
}

Execution execution_of(const OperandOptions& options) {
  return execution_argument(options.arch, options.instr, cuda_argument(options.cuda));
}

void add_operand_options(CLI::App& command, OperandOptions& options) {
  command.add_option("--instr", options.instr, "instruction, in PTX's or the short spelling")
      ->required();
  command.add_option("A", options.a, "A.npy")->required();
  command.add_option("B", options.b, "B.npy")->required();
  command.add_option("C", options.c, "C.npy; zeros if absent");
  command.add_option("--round", options.round,
                     "convert wider arrays: rne nearest even, rz truncate, rna nearest away");
}

std::optional<Rounding> rounding_argument(const OperandOptions& options) {
  const std::optional<Rounding> rounding = find_rounding(options.round);
  if (!options.round.empty() && !rounding)
    throw UsageError(fmt::format("--round {}: choose rne, rz or rna", options.round));
  return rounding;
}

Operands read_operands(const OperandOptions& options, const Instruction& row) {
  const std::optional<Rounding> rounding = rounding_argument(options);
  const auto read = [&](const std::string& file, Operand operand) {
    return operand_codes(read_npy(file), row.format(operand), rounding, file);
  };
  Operands operands{read(options.a, Operand::a), read(options.b, Operand::b), std::nullopt};
  if (!options.c.empty()) operands.c = read(options.c, Operand::c);
  return operands;
}

MatrixView matrix_view(const NpyArray& array, std::size_t first, std::size_t columns) {
  const int bytes = array.type.item_bytes;
  const auto item = static_cast<std::size_t>(bytes);
  return {array.bytes.data() + first * item, bytes, static_cast<std::ptrdiff_t>(columns * item),
          bytes};
}

RowsShape rows_shape(const OperandOptions& options, const Operands& operands) {
  const std::vector<std::size_t>& shape = operands.a.shape;
  if (shape.size() != 2)
    throw UsageError(
        fmt::format("{}: shape {}; A must be (rows, k)", options.a, shape_text(shape)));
  if (operands.b.shape != shape)
    throw UsageError(fmt::format("{}: shape {}; B must have A's shape {}", options.b,
                                 shape_text(operands.b.shape), shape_text(shape)));
  if (operands.c && operands.c->shape != std::vector{shape[0]})
    throw UsageError(fmt::format("{}: shape {}; C must be {}", options.c,
                                 shape_text(operands.c->shape), shape_text({shape[0]})));
  return {shape[0], shape[1]};
}

void check_chain(const Instruction& row, std::size_t k) {
  if (k == 0) throw UsageError("k is 0: no instruction would run");
  if (k > static_cast<std::size_t>(row.k) && row.c != row.d)
    throw UsageError(fmt::format(
        "k = {} needs several of {}, but its .{} result cannot be the .{} c of the next; "
        "give k up to {}",
        k, short_name(row), row.d->name, row.c->name, row.k));
}

}  // namespace bitmma
