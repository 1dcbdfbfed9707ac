/// An instruction on matrices of any size, and on rows of dot products.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "bitmma/emulator/instruction.hpp"

namespace bitmma {

/// Codes in memory: element (row, column) stands row · row_stride + column · column_stride bytes
/// after `data`, little-endian, in element_bytes bytes (1, 2, 4 or 8). A stride of 0 repeats.
struct MatrixView {
  const std::byte* data = nullptr;
  int element_bytes = 0;
  std::ptrdiff_t row_stride = 0;
  std::ptrdiff_t column_stride = 0;

  Code at(std::size_t row, std::size_t column) const {
    const std::byte* element = data + static_cast<std::ptrdiff_t>(row) * row_stride +
                               static_cast<std::ptrdiff_t>(column) * column_stride;
    switch (element_bytes) {
      case 1:
        return load<std::uint8_t>(element);
      case 2:
        return load<std::uint16_t>(element);
      case 4:
        return load<std::uint32_t>(element);
      default:
        return load<std::uint64_t>(element);
    }
  }
  /// For C, which may be left out: a view without data stands for zeros.
  Code at_or_zero(std::size_t row, std::size_t column) const {
    return data == nullptr ? 0 : at(row, column);
  }
  /// Fills the codes with as many of a row's.
  void load_row(std::size_t row, std::span<Code> codes) const {
    for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = at(row, i);
  }

 private:
  template <class Integer>
  static Code load(const std::byte* element) {
    Integer value;
    std::memcpy(&value, element, sizeof value);
    return value;
  }
};

/// The columns of a matrix B (k × n), one after another: what a product reads, and what several
/// products by one B can share.
struct GatheredColumns {
  std::size_t k = 0;
  std::size_t n = 0;
  std::vector<Code> codes;

  std::span<const Code> column(std::size_t j) const { return std::span(codes).subspan(j * k, k); }
};

GatheredColumns gather_columns(const MatrixView& b, std::size_t k, std::size_t n);

/// The threads among which multiply_matrices() divides the elements of D, and multiply_rows() the
/// rows.
std::size_t thread_count();

/// The shape of a product: A is m × k, B is k × n, C and D are m × n.
struct ProductShape {
  std::size_t m = 0;
  std::size_t n = 0;
  std::size_t k = 0;
};

/// D = A · B + C, each element as run_chain() computes it; tiles, rows and columns do not change an
/// element, so that any m, n and k are allowed. A null `c.data` stands for zeros. `d` receives
/// m · n codes, row after row. Requires, for k beyond one instruction, that C and D have one
/// format.
void multiply_matrices(const Execution& execution, const ProductShape& shape, const MatrixView& a,
                       const MatrixView& b, const MatrixView& c, Code* d);

/// The same for B's columns as they were gathered: A is m × b.k, C and D are m × b.n.
void multiply_matrices(const Execution& execution, std::size_t m, const MatrixView& a,
                       const GatheredColumns& b, const MatrixView& c, Code* d);

/// d[r] = Σₖ a[r][k] · b[r][k] + c[r] for r in 0..rows: A and B are rows × k, C is rows × 1.
void multiply_rows(const Execution& execution, std::size_t rows, std::size_t k, const MatrixView& a,
                   const MatrixView& b, const MatrixView& c, Code* d);

}  // namespace bitmma
