#include <fmt/format.h>

#include <algorithm>

#include "bitmma/apps/arguments.hpp"
#include "bitmma/apps/commands.hpp"
#include "bitmma/apps/cuda_device.hpp"
#include "bitmma/apps/file.hpp"
#include "bitmma/apps/kernel_arguments.hpp"
#include "bitmma/apps/product_files.hpp"
#include "bitmma/apps/progress.hpp"
#include "bitmma/apps/tiled_product.hpp"
#include "bitmma/kernels/measure.hpp"

namespace bitmma {
namespace {

struct Options : OperandOptions {
  KernelOptions kernel;
  std::string output;
  bool dot = false;
};

/// Of the kernels that fit, the one with the smallest N; A from registers if there is a choice.
CampaignKernel chosen_kernel(const Options& options, const Target& target) {
  return std::ranges::min(kernel_arguments(options.kernel, target), {},
                          [](const CampaignKernel& kernel) { return kernel.row.n; });
}

/// Multiply-adds between two looks at the clock.
constexpr std::size_t part_work = std::size_t{1} << 29;

/// An extent of the operands that an instruction works on, though it may be shorter.
std::size_t at_least(int tile, std::size_t extent) {
  return std::max(static_cast<std::size_t>(tile), extent);
}

void run_rows(const Options& options, const CampaignKernel& kernel, const RunBatch& run) {
  const Instruction& row = kernel.row;
  const Operands operands = read_operands(options, row);
  const auto [rows, k] = rows_shape(options, operands);
  check_chain(row, k);
  Result result(*row.d, {rows});
  Progress progress(rows, "rows");
  const auto diagonal = static_cast<std::size_t>(std::min(row.m, row.n));
  const auto beside = static_cast<std::size_t>(std::max(row.m, row.n));
  const std::size_t part = part_size(part_work, beside * at_least(row.k, k), diagonal);
  in_parts(rows, part, progress, [&, k = k](std::size_t first, std::size_t count) {
    result.store(
        first, tiled_rows(row, count, k, matrix_view(operands.a, first * k, k),
                          matrix_view(operands.b, first * k, k), c_view(operands, first, 1), run));
  });
  result.write(options.output);
}

void run_product(const Options& options, const CampaignKernel& kernel, const RunBatch& run) {
  const Instruction& row = kernel.row;
  const Operands operands = read_operands(options, row);
  const BatchShape shape = batch_shape(options, operands);
  const auto [m, n, k] = shape.product;
  check_chain(row, k);
  Result result(*row.d, shape.d_shape());
  const std::size_t products = m == 0 || n == 0 ? 0 : shape.batch;
  Progress progress(products * m, "rows");
  const std::size_t part = part_size(part_work, at_least(row.n, n) * at_least(row.k, k),
                                     static_cast<std::size_t>(row.m));
  for (std::size_t index = 0; index < products; ++index)
    in_parts(m, part, progress, [&, m = m, n = n, k = k](std::size_t first, std::size_t count) {
      const std::size_t a_first = batch_offset(operands.a, index) + first * k;
      const std::size_t c_first = operands.c ? batch_offset(*operands.c, index) + first * n : 0;
      const MatrixView b = matrix_view(operands.b, batch_offset(operands.b, index), n);
      result.store((index * m + first) * n,
                   tiled_product(row, {count, n, k}, matrix_view(operands.a, a_first, k), b,
                                 c_view(operands, c_first, n), run));
    });
  result.write(options.output);
}

void run(Options options) {
  options.kernel.instr = options.instr;
  check_a_from(options.kernel);
  instruction_argument(options.instr);
  rounding_argument(options);
  check_writable(options.output);
  const CudaDevice device = require_cuda_device();
  const CampaignKernel kernel = chosen_kernel(options, device.target);
  const RunBatch measured = [&](const Batch& batch) { return measure(batch, kernel.a_source); };
  if (options.dot)
    run_rows(options, kernel, measured);
  else
    run_product(options, kernel, measured);
}

}  // namespace

void add_run(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "run",
      "The product that the GPU's tensor cores compute: as mma, or as dot with --dot, but on the\n"
      "hardware of this machine. Zeros fill the last tiles, instructions follow in ascending k\n"
      "example: bitmma run --instr m16n8k16.f32.f16.f16.f32 a.npy b.npy c.npy -o d.npy");
  add_operand_options(*command, *options);
  add_a_from_option(*command, options->kernel);
  command->add_flag("--dot", options->dot, "A and B (rows, k), C (rows): one result a row");
  command->add_option("-o,--output", options->output, "D.npy, the result")->required();
  command->callback([options] { run(*options); });
}

}  // namespace bitmma
