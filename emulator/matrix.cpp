#include "bitmma/emulator/matrix.hpp"

#include <vector>

namespace bitmma {
namespace {

Code addend(const MatrixView& c, std::size_t row, std::size_t column) {
  return c.data == nullptr ? 0 : c.at(row, column);
}

void load_row(const MatrixView& matrix, std::size_t row, std::vector<Code>& codes) {
  for (std::size_t k = 0; k < codes.size(); ++k) codes[k] = matrix.at(row, k);
}

}  // namespace

void multiply_matrices(const Execution& execution, const ProductShape& shape, const MatrixView& a,
                       const MatrixView& b, const MatrixView& c, Code* d) {
  std::vector<Code> columns(shape.n * shape.k);
  for (std::size_t j = 0; j < shape.n; ++j)
    for (std::size_t k = 0; k < shape.k; ++k) columns[j * shape.k + k] = b.at(k, j);

#pragma omp parallel
  {
    std::vector<Code> row(shape.k);
#pragma omp for schedule(static)
    for (std::size_t i = 0; i < shape.m; ++i) {
      load_row(a, i, row);
      for (std::size_t j = 0; j < shape.n; ++j)
        d[i * shape.n + j] = run_chain(execution, row.data(), columns.data() + j * shape.k, shape.k,
                                       addend(c, i, j));
    }
  }
}

void multiply_rows(const Execution& execution, std::size_t rows, std::size_t k, const MatrixView& a,
                   const MatrixView& b, const MatrixView& c, Code* d) {
#pragma omp parallel
  {
    std::vector<Code> a_row(k);
    std::vector<Code> b_row(k);
#pragma omp for schedule(static)
    for (std::size_t r = 0; r < rows; ++r) {
      load_row(a, r, a_row);
      load_row(b, r, b_row);
      d[r] = run_chain(execution, a_row.data(), b_row.data(), k, addend(c, r, 0));
    }
  }
}

}  // namespace bitmma
