#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "bitmma/apps/arguments.hpp"
#include "bitmma/apps/commands.hpp"
#include "bitmma/apps/file.hpp"
#include "bitmma/apps/operand_files.hpp"
#include "bitmma/apps/product_files.hpp"
#include "bitmma/apps/progress.hpp"
#include "bitmma/reference/exact.hpp"

namespace bitmma {
namespace {

struct Options : OperandOptions {
  std::string output;
  std::string exact;
};

/// Multiply-adds between two looks at the clock.
constexpr std::size_t part_work = 10'000'000;

void check_outputs(const Options& options, const Instruction& row) {
  check_writable(options.output);
  if (options.exact.empty()) return;
  check_writable(options.exact);
  if (row.modifier == Modifier::xor_popc)
    throw UsageError(
        fmt::format("--exact: {} counts bits that differ, exactly; leave it out", short_name(row)));
}

/// The exact dot product of the operands' values, rounded once to f64.
Code exact_code(const Instruction& row, std::span<const Code> a, std::span<const Code> b, Code c) {
  return round_to(f64, exact_dot({{*row.a, a}, {*row.b, b}, *row.c, c}));
}

/// The exact results that --exact asks for, written beside the emulated ones.
class ExactResult {
 public:
  ExactResult(const Options& options, const Instruction& row, std::vector<std::size_t> shape)
      : path_(options.exact), row_(row) {
    if (!path_.empty()) result_.emplace(f64, std::move(shape));
  }
  /// Rows of A times rows of B, one result each.
  void store_rows(std::size_t first, std::size_t count, std::size_t k, const MatrixView& a,
                  const MatrixView& b, const MatrixView& c) {
    if (!result_) return;
    std::vector<Code> codes(count), a_row(k), b_row(k);
    for (std::size_t r = 0; r < count; ++r) {
      a.load_row(r, a_row);
      b.load_row(r, b_row);
      codes[r] = exact_code(row_, a_row, b_row, c.at_or_zero(r, 0));
    }
    result_->store(first, codes);
  }
  /// A (m, k) times B (k, n).
  void store_product(std::size_t first, std::size_t m, const MatrixView& a,
                     const GatheredColumns& b, const MatrixView& c) {
    if (!result_) return;
    std::vector<Code> codes, a_row(b.k);
    for (std::size_t i = 0; i < m; ++i) {
      a.load_row(i, a_row);
      for (std::size_t j = 0; j < b.n; ++j)
        codes.push_back(exact_code(row_, a_row, b.column(j), c.at_or_zero(i, j)));
    }
    result_->store(first, codes);
  }
  void write() const {
    if (result_) result_->write(path_);
  }

 private:
  std::string path_;
  Instruction row_;
  std::optional<Result> result_;
};

void run_dot(const Options& options) {
  const Execution execution = execution_of(options);
  check_outputs(options, execution.instruction);
  const Operands operands = read_operands(options, execution.instruction);
  const auto [rows, k] = rows_shape(options, operands);
  check_chain(execution.instruction, k);

  Result result(*execution.instruction.d, {rows});
  ExactResult exact(options, execution.instruction, {rows});
  Progress progress(rows, "rows");
  // A row is one thread's work.
  const std::size_t part_rows = part_size(part_work, k, thread_count());
  in_parts(rows, part_rows, progress, [&, k = k](std::size_t first, std::size_t count) {
    const MatrixView a = matrix_view(operands.a, first * k, k);
    const MatrixView b = matrix_view(operands.b, first * k, k);
    const MatrixView c = c_view(operands, first, 1);
    std::vector<Code> codes(count);
    multiply_rows(execution, count, k, a, b, c, codes.data());
    result.store(first, codes);
    exact.store_rows(first, count, k, a, b, c);
  });
  result.write(options.output);
  exact.write();
}

void run_mma(const Options& options) {
  const Execution execution = execution_of(options);
  check_outputs(options, execution.instruction);
  const Operands operands = read_operands(options, execution.instruction);
  const BatchShape shape = batch_shape(options, operands);
  const auto [m, n, k] = shape.product;
  check_chain(execution.instruction, k);

  Result result(*execution.instruction.d, shape.d_shape());
  ExactResult exact(options, execution.instruction, shape.d_shape());
  // Empty products take no memory, so there can be more of them than a loop ends with.
  const std::size_t products = m == 0 || n == 0 ? 0 : shape.batch;
  Progress progress(products * m, "rows");
  GatheredColumns columns;
  for (std::size_t index = 0; index < products; ++index) {
    const MatrixView b = matrix_view(operands.b, batch_offset(operands.b, index), n);
    if (index == 0 || operands.b.shape.size() == 3) columns = gather_columns(b, k, n);
    in_parts(m, part_size(part_work, n * k, 1), progress,
             [&, index, n = n, k = k, m = m](std::size_t first, std::size_t count) {
               const std::size_t c_offset = operands.c ? batch_offset(*operands.c, index) : 0;
               const MatrixView a =
                   matrix_view(operands.a, batch_offset(operands.a, index) + first * k, k);
               const MatrixView c = c_view(operands, c_offset + first * n, n);
               const std::size_t d_first = (index * m + first) * n;
               std::vector<Code> codes(count * n);
               multiply_matrices(execution, count, a, columns, c, codes.data());
               result.store(d_first, codes);
               exact.store_product(d_first, count, a, columns, c);
             });
  }
  result.write(options.output);
  exact.write();
}

CLI::App* add_product(CLI::App& app, const std::string& name, const std::string& description,
                      void (*run)(const Options&)) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(name, description);
  add_target_options(*command, *options);
  add_operand_options(*command, *options);
  command->add_option("-o,--output", options->output, "D.npy, the result")->required();
  command->add_option("--exact", options->exact,
                      "also write Z.npy: the exact results of the same operands, rounded to f64");
  command->callback([options, run] { run(*options); });
  return command;
}

}  // namespace

void add_dot(CLI::App& app) {
  add_product(app, "dot",
              "Dot products: A and B (rows, k), C (rows); one result a row, through as many\n"
              "instructions in ascending k as k needs, c entering the first\n"
              "example: bitmma dot --arch sm_70 --instr m8n8k4.f32.f16.f16.f32 a.npy b.npy c.npy "
              "-o d.npy",
              run_dot);
}

void add_mma(CLI::App& app) {
  add_product(app, "mma",
              "Matrix products: A (m, k), B (k, n), C (m, n) of any size, or batches of them\n"
              "example: bitmma mma --arch sm_90 --instr m16n8k16.f32.f16.f16.f32 a.npy b.npy "
              "-o d.npy",
              run_mma);
}

}  // namespace bitmma
