#include "bitmma/emulator/matrix.hpp"

#include <omp.h>

#include <vector>

namespace bitmma {

GatheredColumns gather_columns(const MatrixView& b, std::size_t k, std::size_t n) {
  GatheredColumns columns{k, n, std::vector<Code>(n * k)};
#pragma omp parallel for schedule(static)
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t i = 0; i < k; ++i) columns.codes[j * k + i] = b.at(i, j);
  return columns;
}

std::size_t thread_count() { return static_cast<std::size_t>(omp_get_max_threads()); }

void multiply_matrices(const Execution& execution, const ProductShape& shape, const MatrixView& a,
                       const MatrixView& b, const MatrixView& c, Code* d) {
  multiply_matrices(execution, shape.m, a, gather_columns(b, shape.k, shape.n), c, d);
}

void multiply_matrices(const Execution& execution, std::size_t m, const MatrixView& a,
                       const GatheredColumns& b, const MatrixView& c, Code* d) {
#pragma omp parallel
  {
    std::vector<Code> row(b.k);
    std::size_t loaded = m;  // no row yet
#pragma omp for collapse(2) schedule(static)
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t j = 0; j < b.n; ++j) {
        if (i != loaded) a.load_row(i, row);
        loaded = i;
        d[i * b.n + j] =
            run_chain(execution, row.data(), b.column(j).data(), b.k, c.at_or_zero(i, j));
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
      a.load_row(r, a_row);
      b.load_row(r, b_row);
      d[r] = run_chain(execution, a_row.data(), b_row.data(), k, c.at_or_zero(r, 0));
    }
  }
}

}  // namespace bitmma
