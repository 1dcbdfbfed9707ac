#include "bitmma/emulator/matrix.hpp"

#include <doctest/doctest.h>

#include <random>
#include <vector>

using namespace bitmma;

static_assert(every_instruction_resolves());

namespace {

std::vector<std::uint16_t> random_halves(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::uint16_t> codes(count);
  for (std::uint16_t& code : codes) code = static_cast<std::uint16_t>(random());
  return codes;
}

MatrixView view(const std::vector<std::uint16_t>& codes, std::size_t columns) {
  return {reinterpret_cast<const std::byte*>(codes.data()), 2,
          static_cast<std::ptrdiff_t>(2 * columns), 2};
}

}  // namespace

TEST_CASE("every element of a product is the chain over its row and column, whatever the size") {
  const Execution execution =
      resolve(find_instruction("m16n8k16.f32.f16.f16.f32").value(), *find_target("sm_90"));
  const ProductShape shape{17, 5, 37};
  const auto a = random_halves(shape.m * shape.k, 1);
  const auto b = random_halves(shape.k * shape.n, 2);
  std::vector<Code> d(shape.m * shape.n);
  multiply_matrices(execution, shape, view(a, shape.k), view(b, shape.n), {}, d.data());
  for (std::size_t i = 0; i < shape.m; ++i)
    for (std::size_t j = 0; j < shape.n; ++j) {
      std::vector<Code> row, column;
      for (std::size_t k = 0; k < shape.k; ++k) {
        row.push_back(a[i * shape.k + k]);
        column.push_back(b[k * shape.n + j]);
      }
      CHECK(d[i * shape.n + j] == run_chain(execution, row.data(), column.data(), shape.k, 0));
    }
}

TEST_CASE("products by one B share its columns, a row at a time and all rows at once") {
  const Execution execution =
      resolve(find_instruction("m16n8k8.f32.f16.f16.f32").value(), *find_target("sm_80"));
  const ProductShape shape{7, 11, 13};
  const auto a = random_halves(shape.m * shape.k, 4);
  const auto b = random_halves(shape.k * shape.n, 5);
  std::vector<Code> whole(shape.m * shape.n), by_rows(shape.m * shape.n);
  multiply_matrices(execution, shape, view(a, shape.k), view(b, shape.n), {}, whole.data());

  const GatheredColumns columns = gather_columns(view(b, shape.n), shape.k, shape.n);
  for (std::size_t k = 0; k < shape.k; ++k)
    for (std::size_t j = 0; j < shape.n; ++j) CHECK(columns.column(j)[k] == b[k * shape.n + j]);
  for (std::size_t i = 0; i < shape.m; ++i) {
    MatrixView row = view(a, shape.k);
    row.data += static_cast<std::ptrdiff_t>(i) * row.row_stride;
    multiply_matrices(execution, 1, row, columns, {}, by_rows.data() + i * shape.n);
  }
  CHECK(by_rows == whole);
  CHECK(thread_count() >= 1);
}

TEST_CASE("strides: a transposed view, and a repeated row") {
  const Execution execution =
      resolve(find_instruction("m16n8k8.f16.f16.f16.f16").value(), *find_target("sm_80"));
  const ProductShape shape{4, 4, 8};
  const auto a = random_halves(shape.m * shape.k, 3);
  std::vector<Code> product(shape.m * shape.n), rows(shape.m);
  MatrixView transposed = view(a, shape.k);
  std::swap(transposed.row_stride, transposed.column_stride);
  multiply_matrices(execution, shape, view(a, shape.k), transposed, {}, product.data());
  multiply_rows(execution, shape.m, shape.k, view(a, shape.k), view(a, shape.k), {}, rows.data());
  for (std::size_t i = 0; i < shape.m; ++i) CHECK(product[i * shape.n + i] == rows[i]);

  MatrixView first_row = view(a, shape.k);
  first_row.row_stride = 0;
  std::vector<Code> repeated(shape.m);
  multiply_rows(execution, shape.m, shape.k, first_row, view(a, shape.k), {}, repeated.data());
  for (std::size_t i = 0; i < shape.m; ++i) CHECK(repeated[i] == product[i]);
}

TEST_CASE("c enters the first instruction, and its columns follow their strides") {
  const Execution execution =
      resolve(find_instruction("m16n8k8.f32.f16.f16.f32").value(), *find_target("sm_80"));
  const std::vector<std::uint16_t> zeros(16 * 3);
  const std::vector<float> c{1, 2, 3, 4, 5, 6};
  const MatrixView c_view{reinterpret_cast<const std::byte*>(c.data()), 4, 12, 4};
  std::vector<Code> d(6);
  multiply_matrices(execution, {2, 3, 16}, view(zeros, 16), view(zeros, 3), c_view, d.data());
  for (std::size_t i = 0; i < d.size(); ++i) CHECK(d[i] == std::bit_cast<std::uint32_t>(c[i]));
}
