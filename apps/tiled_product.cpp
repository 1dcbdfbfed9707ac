#include "bitmma/apps/tiled_product.hpp"

#include <algorithm>

namespace bitmma {
namespace {

/// How many of that size the count needs.
std::size_t ceil_divide(std::size_t count, std::size_t size) { return (count + size - 1) / size; }

/// Tiles that are in memory at once: whole instructions, at least one, whose operands take no more
/// than max_batch_codes if there are several.
std::size_t tiles_at_once(const Instruction& row) {
  const auto blocks = static_cast<std::size_t>(row.blocks());
  const auto tile_codes = static_cast<std::size_t>(row.m * row.k + row.n * row.k + row.m * row.n);
  return std::max<std::size_t>(1, max_batch_codes / (tile_codes * blocks)) * blocks;
}

/// Fills `lines` lines of k codes a tile from k = first_k on with code(tile, line, k), the batch's
/// first tile being first_tile; zeros stand beyond the length.
template <class GetCode>
void fill_lines(std::vector<Code>& codes, const Batch& batch, int lines, std::size_t first_tile,
                std::size_t first_k, std::size_t length, GetCode code) {
  const auto k = static_cast<std::size_t>(batch.row.k);
  const auto tile_lines = static_cast<std::size_t>(lines);
  codes.assign(batch.tiles * tile_lines * k, 0);
  const std::size_t used = std::min(k, length - first_k);
#pragma omp parallel for schedule(static)
  for (std::size_t line = 0; line < batch.tiles * tile_lines; ++line)
    for (std::size_t i = 0; i < used; ++i)
      codes[line * k + i] = code(first_tile + line / tile_lines, line % tile_lines, first_k + i);
}

/// place(tile, row, column) of each element of the batch, the first tile being first_tile.
template <class GetPlace>
std::vector<std::size_t> element_places(const Batch& batch, std::size_t first_tile,
                                        GetPlace place) {
  const auto n = static_cast<std::size_t>(batch.row.n);
  const std::size_t elements = static_cast<std::size_t>(batch.row.m) * n;
  std::vector<std::size_t> places(batch.tiles * elements);
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < places.size(); ++i)
    places[i] = place(first_tile + i / elements, i % elements / n, i % n);
  return places;
}

/// Runs the tiles through all their k. a and b give codes by tile, row or column in it, and k;
/// place gives an element's index in `codes`, or their number if it has none there. The codes are
/// C's before and D's after. Tiles beyond the last fill the last instruction; a and b take them.
template <class GetA, class GetB, class GetPlace>
void run_tiles(const Instruction& row, std::size_t tiles, std::size_t k, GetA a, GetB b,
               GetPlace place, const RunBatch& run, std::vector<Code>& codes) {
  const auto blocks = static_cast<std::size_t>(row.blocks());
  const std::size_t part = tiles_at_once(row);
  for (std::size_t first = 0; first < tiles; first += part) {
    const std::size_t count = std::min(part, tiles - first);
    Batch batch{row, ceil_divide(count, blocks) * blocks, {}, {}, {}};
    const std::vector<std::size_t> places = element_places(batch, first, place);
    for (const std::size_t index : places)
      batch.c.push_back(index < codes.size() ? codes[index] : 0);
    for (std::size_t first_k = 0; first_k < k; first_k += static_cast<std::size_t>(row.k)) {
      fill_lines(batch.a, batch, row.m, first, first_k, k, a);
      fill_lines(batch.b, batch, row.n, first, first_k, k, b);
      batch.c = run(batch);
    }
    for (std::size_t i = 0; i < places.size(); ++i)
      if (places[i] < codes.size()) codes[places[i]] = batch.c[i];
  }
}

std::vector<Code> addends(const MatrixView& c, std::size_t rows, std::size_t columns) {
  std::vector<Code> codes(rows * columns);
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = c.at_or_zero(i / columns, i % columns);
  return codes;
}

}  // namespace

std::vector<Code> tiled_product(const Instruction& row, const ProductShape& shape,
                                const MatrixView& a, const MatrixView& b, const MatrixView& c,
                                const RunBatch& run) {
  const auto m = static_cast<std::size_t>(row.m);
  const auto n = static_cast<std::size_t>(row.n);
  const std::size_t across = ceil_divide(shape.n, n);
  const auto row_of = [=](std::size_t tile, std::size_t r) { return tile / across * m + r; };
  const auto column_of = [=](std::size_t tile, std::size_t j) { return tile % across * n + j; };
  std::vector<Code> d = addends(c, shape.m, shape.n);
  run_tiles(
      row, ceil_divide(shape.m, m) * across, shape.k,
      [&](std::size_t tile, std::size_t r, std::size_t k) {
        return row_of(tile, r) < shape.m ? a.at(row_of(tile, r), k) : 0;
      },
      [&](std::size_t tile, std::size_t j, std::size_t k) {
        return column_of(tile, j) < shape.n ? b.at(k, column_of(tile, j)) : 0;
      },
      [&](std::size_t tile, std::size_t r, std::size_t j) {
        const bool inside = row_of(tile, r) < shape.m && column_of(tile, j) < shape.n;
        return inside ? row_of(tile, r) * shape.n + column_of(tile, j) : shape.m * shape.n;
      },
      run, d);
  return d;
}

std::vector<Code> tiled_rows(const Instruction& row, std::size_t rows, std::size_t k,
                             const MatrixView& a, const MatrixView& b, const MatrixView& c,
                             const RunBatch& run) {
  const auto diagonal = static_cast<std::size_t>(std::min(row.m, row.n));
  // The row of dot products that stands in that line of the tile, or `rows` for none.
  const auto row_of = [=](std::size_t tile, std::size_t line) {
    return line < diagonal ? std::min(rows, tile * diagonal + line) : rows;
  };
  const auto line_of = [&](const MatrixView& operand) {
    return [&operand, row_of, rows](std::size_t tile, std::size_t line, std::size_t index) {
      const std::size_t r = row_of(tile, line);
      return r < rows ? operand.at(r, index) : 0;
    };
  };
  std::vector<Code> d = addends(c, rows, 1);
  run_tiles(
      row, ceil_divide(rows, diagonal), k, line_of(a), line_of(b),
      [&](std::size_t tile, std::size_t r, std::size_t j) {
        return r == j ? row_of(tile, r) : rows;
      },
      run, d);
  return d;
}

}  // namespace bitmma
