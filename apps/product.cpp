#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "bitmma/apps/arguments.hpp"
#include "bitmma/apps/commands.hpp"
#include "bitmma/apps/operand.hpp"
#include "bitmma/apps/operand_files.hpp"

namespace bitmma {
namespace {

struct Options : OperandOptions {
  std::string output;
};

/// Says on a terminal how far a long run is, and how long it will still take.
class Progress {
 public:
  explicit Progress(std::size_t total) : total_(total) {}
  ~Progress() {
    if (shown_) fmt::print(stderr, "\r\033[K");
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void advance(std::size_t rows) {
    done_ += rows;
    const std::chrono::duration<double> elapsed = Clock::now() - start_;
    if (!terminal_ || elapsed.count() < 1) return;
    const double fraction = static_cast<double>(done_) / static_cast<double>(total_);
    fmt::print(stderr, "\r{:3.0f} % of {} rows, {:.0f} s left\033[K", 100 * fraction, total_,
               elapsed.count() / fraction - elapsed.count());
    shown_ = true;
  }

 private:
  using Clock = std::chrono::steady_clock;
  std::size_t total_;
  std::size_t done_ = 0;
  Clock::time_point start_ = Clock::now();
  bool terminal_ = isatty(STDERR_FILENO) == 1;
  bool shown_ = false;
};

/// Rows of output between two looks at the clock, at least one.
std::size_t rows_at_a_time(std::size_t multiply_adds_a_row) {
  constexpr std::size_t multiply_adds = 10'000'000;
  return std::max<std::size_t>(1, multiply_adds / std::max<std::size_t>(1, multiply_adds_a_row));
}

/// The least multiple of `factor` that is not below the count.
std::size_t round_up(std::size_t count, std::size_t factor) {
  return (count + factor - 1) / factor * factor;
}

/// Calls part(first row, rows) for all rows in turn.
template <class Part>
void in_parts(std::size_t rows, std::size_t part_rows, Progress& progress, Part part) {
  for (std::size_t first = 0; first < rows; first += part_rows) {
    const std::size_t count = std::min(part_rows, rows - first);
    part(first, count);
    progress.advance(count);
  }
}

MatrixView c_view(const Operands& operands, std::size_t first, std::size_t columns) {
  return operands.c ? matrix_view(*operands.c, first, columns) : MatrixView{};
}

/// Collects codes as an array of the result's type and writes it.
class Result {
 public:
  Result(const Format& format, std::vector<std::size_t> shape)
      : array_(zeros(native_type(format), std::move(shape))) {}
  void store(std::size_t first, const std::vector<Code>& codes) {
    for (std::size_t i = 0; i < codes.size(); ++i) array_.set_bits(first + i, codes[i]);
  }
  void write(const std::string& path) const { write_npy(path, array_); }

 private:
  NpyArray array_;
};

void run_dot(const Options& options) {
  const Execution execution = execution_argument(options.arch, options.instr);
  check_writable(options.output);
  const Operands operands = read_operands(options, execution.instruction);
  const auto [rows, k] = rows_shape(options, operands);
  check_chain(execution.instruction, k);

  Result result(*execution.instruction.d, {rows});
  Progress progress(rows);
  // A row is one thread's work.
  const std::size_t part_rows = round_up(rows_at_a_time(k), thread_count());
  in_parts(rows, part_rows, progress, [&, k = k](std::size_t first, std::size_t count) {
    std::vector<Code> codes(count);
    multiply_rows(execution, count, k, matrix_view(operands.a, first * k, k),
                  matrix_view(operands.b, first * k, k), c_view(operands, first, 1), codes.data());
    result.store(first, codes);
  });
  result.write(options.output);
}

/// Products of a batch. An operand without a batch dimension takes part in each of them.
struct BatchShape {
  std::size_t batch;
  bool batched;
  ProductShape product;
};

/// The last two extents.
std::pair<std::size_t, std::size_t> matrix_extents(const NpyArray& array, const std::string& file,
                                                   std::string_view wanted) {
  const std::size_t rank = array.shape.size();
  if (rank != 2 && rank != 3)
    throw UsageError(fmt::format("{}: shape {}; choose {} or a batch of them, (batch, …)", file,
                                 shape_text(array.shape), wanted));
  return {array.shape[rank - 2], array.shape[rank - 1]};
}

BatchShape batch_shape(const Options& options, const Operands& operands) {
  const auto [m, k] = matrix_extents(operands.a, options.a, "(m, k)");
  const auto [b_rows, n] = matrix_extents(operands.b, options.b, "(k, n)");
  if (b_rows != k)
    throw UsageError(fmt::format("{}: shape {}; B must have k = {} rows, as many as A has columns",
                                 options.b, shape_text(operands.b.shape), k));
  BatchShape shape{1, false, {m, n, k}};
  const auto take_batch = [&shape](const NpyArray& array, const std::string& file) {
    if (array.shape.size() != 3) return;
    if (shape.batched && array.shape[0] != shape.batch)
      throw UsageError(fmt::format("{}: shape {}; the batch must be {} as before", file,
                                   shape_text(array.shape), shape.batch));
    shape.batched = true;
    shape.batch = array.shape[0];
  };
  take_batch(operands.a, options.a);
  take_batch(operands.b, options.b);
  if (operands.c) {
    if (matrix_extents(*operands.c, options.c, "(m, n)") != std::pair{m, n})
      throw UsageError(fmt::format("{}: shape {}; C must be ({}, {})", options.c,
                                   shape_text(operands.c->shape), m, n));
    take_batch(*operands.c, options.c);
  }
  return shape;
}

/// The first element of a matrix of the batch.
std::size_t batch_offset(const NpyArray& array, std::size_t index) {
  if (array.shape.size() != 3) return 0;
  return index * array.shape[1] * array.shape[2];
}

void run_mma(const Options& options) {
  const Execution execution = execution_argument(options.arch, options.instr);
  check_writable(options.output);
  const Operands operands = read_operands(options, execution.instruction);
  const BatchShape shape = batch_shape(options, operands);
  const auto [m, n, k] = shape.product;
  check_chain(execution.instruction, k);

  Result result(*execution.instruction.d,
                shape.batched ? std::vector{shape.batch, m, n} : std::vector{m, n});
  // Empty products take no memory, so there can be more of them than a loop ends with.
  const std::size_t products = m == 0 || n == 0 ? 0 : shape.batch;
  Progress progress(products * m);
  GatheredColumns b;
  for (std::size_t index = 0; index < products; ++index) {
    if (index == 0 || operands.b.shape.size() == 3)
      b = gather_columns(matrix_view(operands.b, batch_offset(operands.b, index), n), k, n);
    in_parts(m, rows_at_a_time(n * k), progress,
             [&, index, n = n, k = k, m = m](std::size_t first, std::size_t count) {
               std::vector<Code> codes(count * n);
               const std::size_t a_first = batch_offset(operands.a, index) + first * k;
               const std::size_t c_first =
                   (operands.c ? batch_offset(*operands.c, index) : 0) + first * n;
               multiply_matrices(execution, count, matrix_view(operands.a, a_first, k), b,
                                 c_view(operands, c_first, n), codes.data());
               result.store((index * m + first) * n, codes);
             });
  }
  result.write(options.output);
}

CLI::App* add_product(CLI::App& app, const std::string& name, const std::string& description,
                      void (*run)(const Options&)) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(name, description);
  add_operand_options(*command, *options);
  command->add_option("-o,--output", options->output, "D.npy, the result")->required();
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
