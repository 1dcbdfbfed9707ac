#include "bitmma/apps/product_files.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "bitmma/apps/operand.hpp"
#include "bitmma/apps/usage_error.hpp"

namespace bitmma {
namespace {

/// The last two extents.
std::pair<std::size_t, std::size_t> matrix_extents(const NpyArray& array, const std::string& file,
                                                   std::string_view wanted) {
  const std::size_t rank = array.shape.size();
  if (rank != 2 && rank != 3)
    throw UsageError(fmt::format("{}: shape {}; choose {} or a batch of them, (batch, …)", file,
                                 shape_text(array.shape), wanted));
  return {array.shape[rank - 2], array.shape[rank - 1]};
}

}  // namespace

std::vector<std::size_t> BatchShape::d_shape() const {
  const auto [m, n, k] = product;
  return batched ? std::vector{batch, m, n} : std::vector{m, n};
}

BatchShape batch_shape(const OperandOptions& options, const Operands& operands) {
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

std::size_t batch_offset(const NpyArray& array, std::size_t index) {
  if (array.shape.size() != 3) return 0;
  return index * array.shape[1] * array.shape[2];
}

MatrixView c_view(const Operands& operands, std::size_t first, std::size_t columns) {
  return operands.c ? matrix_view(*operands.c, first, columns) : MatrixView{};
}

Result::Result(const Format& format, std::vector<std::size_t> shape)
    : array_(zeros(native_type(format), std::move(shape))) {}

void Result::store(std::size_t first, const std::vector<Code>& codes) {
  for (std::size_t i = 0; i < codes.size(); ++i) array_.set_bits(first + i, codes[i]);
}

}  // namespace bitmma
