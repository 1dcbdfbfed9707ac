#include "bitmma/apps/tiled_product.hpp"

#include <algorithm>

namespace bitmma {
namespace {

/// Fills lines of row.k codes, `lines` a tile, with code(tile, line, k) from k = `first` on.
template <class GetCode>
void fill_lines(std::vector<Code>& codes, const Batch& batch, int lines, std::size_t first,
                std::size_t length, GetCode code) {
  const auto k = static_cast<std::size_t>(batch.row.k);
  const auto tile_lines = static_cast<std::size_t>(lines);
  codes.assign(batch.tiles * tile_lines * k, 0);
  const std::size_t used = std::min(k, length - first);
#pragma omp parallel for schedule(static)
  for (std::size_t line = 0; line < batch.tiles * tile_lines; ++line)
    for (std::size_t i = 0; i < used; ++i)
      codes[line * k + i] = code(line / tile_lines, line % tile_lines, first + i);
}

/// D's codes of so many tiles after all their k; the functions give the operands by tile, row or
/// column in it, and k.
template <class GetA, class GetB, class GetC>
std::vector<Code> chain(const Instruction& row, std::size_t tiles, std::size_t k, GetA a, GetB b,
                        GetC c, const RunBatch& run) {
  const auto blocks = static_cast<std::size_t>(row.blocks());
  Batch batch{row, (tiles + blocks - 1) / blocks * blocks, {}, {}, {}};
  const auto n = static_cast<std::size_t>(row.n);
  const std::size_t elements = static_cast<std::size_t>(row.m) * n;
  batch.c.resize(batch.tiles * elements);
  for (std::size_t i = 0; i < batch.c.size(); ++i)
    batch.c[i] = c(i / elements, i % elements / n, i % n);
  for (std::size_t first = 0; first < k; first += static_cast<std::size_t>(row.k)) {
    fill_lines(batch.a, batch, row.m, first, k, a);
    fill_lines(batch.b, batch, row.n, first, k, b);
    batch.c = run(batch);
  }
  return batch.c;
}

std::size_t tiles_along(std::size_t extent, int tile) {
  const auto size = static_cast<std::size_t>(tile);
  return (extent + size - 1) / size;
}

}  // namespace

std::vector<Code> tiled_product(const Instruction& row, const ProductShape& shape,
                                const MatrixView& a, const MatrixView& b, const MatrixView& c,
                                const RunBatch& run) {
  const auto m = static_cast<std::size_t>(row.m);
  const auto n = static_cast<std::size_t>(row.n);
  const std::size_t across = tiles_along(shape.n, row.n);
  const auto row_of = [=](std::size_t tile, std::size_t r) { return tile / across * m + r; };
  const auto column_of = [=](std::size_t tile, std::size_t j) { return tile % across * n + j; };
  const std::vector<Code> tiles = chain(
      row, tiles_along(shape.m, row.m) * across, shape.k,
      [&](std::size_t tile, std::size_t r, std::size_t k) {
        return row_of(tile, r) < shape.m ? a.at(row_of(tile, r), k) : 0;
      },
      [&](std::size_t tile, std::size_t j, std::size_t k) {
        return row_of(tile, 0) < shape.m && column_of(tile, j) < shape.n
                   ? b.at(k, column_of(tile, j))
                   : 0;
      },
      [&](std::size_t tile, std::size_t r, std::size_t j) {
        return row_of(tile, r) < shape.m && column_of(tile, j) < shape.n
                   ? c.at_or_zero(row_of(tile, r), column_of(tile, j))
                   : 0;
      },
      run);
  std::vector<Code> d(shape.m * shape.n);
  for (std::size_t i = 0; i < d.size(); ++i) {
    const std::size_t r = i / shape.n;
    const std::size_t j = i % shape.n;
    d[i] = tiles[(r / m * across + j / n) * m * n + r % m * n + j % n];
  }
  return d;
}

std::vector<Code> tiled_rows(const Instruction& row, std::size_t rows, std::size_t k,
                             const MatrixView& a, const MatrixView& b, const MatrixView& c,
                             const RunBatch& run) {
  const auto diagonal = static_cast<std::size_t>(std::min(row.m, row.n));
  const auto n = static_cast<std::size_t>(row.n);
  const auto elements = static_cast<std::size_t>(row.m) * n;
  /// The row of dot products that stands in that line of the tile, or `rows` for none.
  const auto row_of = [=](std::size_t tile, std::size_t line) {
    return line < diagonal ? std::min(rows, tile * diagonal + line) : rows;
  };
  const auto line_of = [&](const MatrixView& operand) {
    return [&operand, row_of, rows](std::size_t tile, std::size_t line, std::size_t index) {
      const std::size_t r = row_of(tile, line);
      return r < rows ? operand.at(r, index) : 0;
    };
  };
  const std::vector<Code> tiles = chain(
      row, (rows + diagonal - 1) / diagonal, k, line_of(a), line_of(b),
      [&](std::size_t tile, std::size_t r, std::size_t j) {
        return r == j && row_of(tile, r) < rows ? c.at_or_zero(row_of(tile, r), 0) : 0;
      },
      run);
  std::vector<Code> d(rows);
  for (std::size_t r = 0; r < rows; ++r)
    d[r] = tiles[r / diagonal * elements + r % diagonal * n + r % diagonal];
  return d;
}

}  // namespace bitmma
