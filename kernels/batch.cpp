#include "bitmma/kernels/batch.hpp"

#include "bitmma/emulator/matrix.hpp"

namespace bitmma {
namespace {

ProductShape tile_shape(const Instruction& row) {
  return {static_cast<std::size_t>(row.m), static_cast<std::size_t>(row.n),
          static_cast<std::size_t>(row.k)};
}

void fill_tile(Batch& batch, const TileCases& cases, std::size_t tile, std::uint64_t number) {
  const ProductShape shape = tile_shape(batch.row);
  Code* c = &batch.c[tile * shape.m * shape.n];
  for (int element = 0; element < cases.elements(); ++element)
    c[element] = fill_addend(cases, number, element);
  Code unused[max_k];
  for (int i = 0; i < cases.fillings(); ++i) {
    const auto line = static_cast<std::size_t>(i);
    Code* a = line < shape.m ? &batch.a[(tile * shape.m + line) * shape.k] : unused;
    Code* b = line < shape.n ? &batch.b[(tile * shape.n + line) * shape.k] : unused;
    fill_line(cases, number, i, a, b, c[cases.matched_element(i)]);
  }
}

}  // namespace

std::size_t tiles_of(const Instruction& row, std::size_t outputs) {
  const ProductShape shape = tile_shape(row);
  const auto blocks = static_cast<std::size_t>(row.blocks());
  const std::size_t per_instruction = shape.m * shape.n * blocks;
  return (outputs + per_instruction - 1) / per_instruction * blocks;
}

Batch make_batch(const Instruction& row, InputFamily family, std::uint64_t seed,
                 std::uint64_t first_tile, std::size_t tiles) {
  const ProductShape shape = tile_shape(row);
  const TileCases cases = tile_cases(row, family, seed);
  Batch batch{row, tiles, {}, {}, {}};
  batch.a.resize(tiles * shape.m * shape.k);
  batch.b.resize(tiles * shape.n * shape.k);
  batch.c.resize(tiles * shape.m * shape.n);
#pragma omp parallel for schedule(static)
  for (std::size_t tile = 0; tile < tiles; ++tile) fill_tile(batch, cases, tile, first_tile + tile);
  return batch;
}

OutputElement output_element(const Batch& batch, std::size_t index) {
  const ProductShape shape = tile_shape(batch.row);
  const std::size_t line = index / shape.n;
  const std::size_t column = line / shape.m * shape.n + index % shape.n;
  return {&batch.a[line * shape.k], &batch.b[column * shape.k], batch.c[index]};
}

std::size_t matched_element(const Instruction& row, std::size_t tile, std::size_t i) {
  const ProductShape shape = tile_shape(row);
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
