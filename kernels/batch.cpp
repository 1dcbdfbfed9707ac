#include "bitmma/kernels/batch.hpp"

#include <algorithm>

namespace bitmma {
namespace {

struct TileShape {
  std::size_t m;
  std::size_t n;
  std::size_t k;
};

TileShape tile_shape(const Instruction& row) {
  return {static_cast<std::size_t>(row.m), static_cast<std::size_t>(row.n),
          static_cast<std::size_t>(row.k)};
}

/// C by itself: the family's distribution of c, with a product that is thrown away.
void fill_c(Batch& batch, InputFamily family, std::size_t tile, Random& random) {
  const Instruction& row = batch.row;
  const TileShape shape = tile_shape(row);
  const std::size_t size = shape.m * shape.n;
  Code a = 0;
  Code b = 0;
  for (Code& c : std::span(batch.c).subspan(tile * size, size))
    fill_inputs(family, {*row.a, *row.b, *row.c, {&a, 1}, {&b, 1}, c}, random);
}

/// A row of A, a column of B and their c at a time; where one of the two has run out, the other's
/// partner is thrown away.
void fill_lines(Batch& batch, InputFamily family, std::size_t tile, Random& random) {
  const Instruction& row = batch.row;
  const TileShape shape = tile_shape(row);
  Code unused[max_k];
  for (std::size_t i = 0; i < std::max(shape.m, shape.n); ++i) {
    Code* a = i < shape.m ? &batch.a[(tile * shape.m + i) * shape.k] : unused;
    Code* b = i < shape.n ? &batch.b[(tile * shape.n + i) * shape.k] : unused;
    Code& c = batch.c[matched_element(row, tile, i)];
    fill_inputs(family, {*row.a, *row.b, *row.c, {a, shape.k}, {b, shape.k}, c}, random);
  }
}

}  // namespace

Batch make_batch(const Instruction& row, InputFamily family, std::size_t outputs,
                 std::uint64_t seed) {
  const TileShape shape = tile_shape(row);
  const auto blocks = static_cast<std::size_t>(row.blocks());
  const std::size_t per_instruction = shape.m * shape.n * blocks;
  const std::size_t tiles = (outputs + per_instruction - 1) / per_instruction * blocks;
  Batch batch{row, tiles, {}, {}, {}};
  batch.a.resize(tiles * shape.m * shape.k);
  batch.b.resize(tiles * shape.n * shape.k);
  batch.c.resize(tiles * shape.m * shape.n);
  const std::uint64_t stream = Random(seed).bits();
#pragma omp parallel for schedule(static)
  for (std::size_t tile = 0; tile < tiles; ++tile) {
    Random random(Random(stream + tile).bits());
    fill_c(batch, family, tile, random);
    fill_lines(batch, family, tile, random);
  }
  return batch;
}

OutputElement output_element(const Batch& batch, std::size_t index) {
  const TileShape shape = tile_shape(batch.row);
  const std::size_t line = index / shape.n;
  const std::size_t column = line / shape.m * shape.n + index % shape.n;
  return {&batch.a[line * shape.k], &batch.b[column * shape.k], batch.c[index]};
}

std::size_t matched_element(const Instruction& row, std::size_t tile, std::size_t i) {
  const TileShape shape = tile_shape(row);
  return (tile * shape.m + i % shape.m) * shape.n + i % shape.n;
}

std::vector<Code> emulate(const Execution& execution, const Batch& batch) {
  std::vector<Code> d(batch.c.size());
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < d.size(); ++i) {
    NoObserver observer;
    const OutputElement element = output_element(batch, i);
    d[i] = run_element(execution.program, element.a, element.b, element.c, observer);
  }
  return d;
}

}  // namespace bitmma
