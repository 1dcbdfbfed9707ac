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

/// Rows of the result that one part of a long run computes: whole tiles, at least one.
std::size_t part_rows(std::size_t tile_rows, std::size_t codes_a_row) {
  constexpr std::size_t codes = std::size_t{1} << 22;
  return std::max<std::size_t>(1, codes / std::max<std::size_t>(1, codes_a_row * tile_rows)) *
         tile_rows;
}

void run_rows(const Options& options, const CampaignKernel& kernel, const RunBatch& run) {
  const Instruction& row = kernel.row;
  const Operands operands = read_operands(options, row);
  const auto [rows, k] = rows_shape(options, operands);
  check_chain(row, k);
  Result result(*row.d, {rows});
  Progress progress(rows, "rows");
  const std::size_t part =
      part_rows(static_cast<std::size_t>(std::min(row.m, row.n)), static_cast<std::size_t>(row.m));
  for (std::size_t first = 0; first < rows; first += part) {
    const std::size_t count = std::min(part, rows - first);
    result.store(
        first, tiled_rows(row, count, k, matrix_view(operands.a, first * k, k),
                          matrix_view(operands.b, first * k, k), c_view(operands, first, 1), run));
    progress.advance(count);
  }
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
  const std::size_t part = part_rows(static_cast<std::size_t>(row.m), n);
  for (std::size_t index = 0; index < products; ++index)
    for (std::size_t first = 0; first < m; first += part) {
      const std::size_t count = std::min(part, m - first);
      const std::size_t c_first = operands.c ? batch_offset(*operands.c, index) : 0;
      result.store(
          (index * m + first) * n,
          tiled_product(row, {count, n, k},
                        matrix_view(operands.a, batch_offset(operands.a, index) + first * k, k),
                        matrix_view(operands.b, batch_offset(operands.b, index), n),
                        c_view(operands, c_first + first * n, n), run));
      progress.advance(count);
    }
  result.write(options.output);
}

void run(Options options) {
  options.kernel.instr = options.instr;
  instruction_argument(options.instr);
  check_writable(options.output);
  const CudaDevice device = require_cuda_device();
  const CampaignKernel kernel = chosen_kernel(options, device.target);
  const RunBatch measured = [&](const Batch& batch) { return measure(batch, kernel.a_source); };
  options.dot ? run_rows(options, kernel, measured) : run_product(options, kernel, measured);
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
