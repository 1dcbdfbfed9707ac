/// Seeded operands of one instruction, tile by tile; host and GPU make the same ones.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "bitmma/compare/families.hpp"
#include "bitmma/emulator/instruction.hpp"
#include "bitmma/isa/host_device.hpp"
#include "bitmma/isa/instruction.hpp"

namespace bitmma {

static_assert(std::ranges::min(instruction_table, {}, &Instruction::k).k == int{least_row});

/// The tiles of one instruction, family and seed: a tile's operands depend on its number alone,
/// whatever the number of threads, processes or machines. Values alone, so that it can be handed
/// to a GPU.
///
/// A family fills a row of A, a column of B and a c that belong together: filling i makes row
/// i % m, column i % n and the element where they meet. Elsewhere in the tile the row and the
/// column come from different fillings, and c from one of its own.
struct TileCases {
  Format a;
  Format b;
  Format c;
  int m;
  int n;
  int k;
  InputFamily family;
  std::uint64_t seed;

  BITMMA_HD int fillings() const { return m > n ? m : n; }
  BITMMA_HD int elements() const { return m * n; }
  /// Element of the tile, row after row, that filling i belongs to; no two share one.
  BITMMA_HD int matched_element(int filling) const { return filling % m * n + filling % n; }
};

inline TileCases tile_cases(const Instruction& row, InputFamily family, std::uint64_t seed) {
  return {*row.a, *row.b, *row.c, row.m, row.n, row.k, family, seed};
}

namespace detail {

/// A generator of its own for each filling and each element of a tile.
BITMMA_HD inline Random case_random(const TileCases& cases, std::uint64_t tile, int item) {
  const auto items = static_cast<std::uint64_t>(cases.fillings() + cases.elements());
  const std::uint64_t stream = Random(cases.seed).bits();
  return Random(Random(stream + tile * items + static_cast<std::uint64_t>(item)).bits());
}

/// The exhaustive family goes through k, then through A's codes by as many as a tile has rows, then
/// through B's by as many as it has columns: an element of a tile is a product of one pair.
BITMMA_HD inline Place tile_place(const TileCases& cases, std::uint64_t tile, int filling) {
  const auto m = static_cast<std::uint64_t>(cases.m);
  const auto n = static_cast<std::uint64_t>(cases.n);
  const auto k = static_cast<std::uint64_t>(cases.k);
  const auto line = static_cast<std::uint64_t>(filling);
  const std::uint64_t a_groups = (code_count(cases.a) + m - 1) / m;
  const std::uint64_t b_groups = (code_count(cases.b) + n - 1) / n;
  const std::uint64_t group = tile / k;
  return {group % a_groups * m + line % m, group / a_groups % b_groups * n + line % n, tile % k,
          group / a_groups / b_groups};
}

}  // namespace detail

/// Filling i of a tile: k codes of A's row and of B's column, and c. A row i ≥ m or a column i ≥ n
/// has been filled before and is to be thrown away.
BITMMA_HD inline void fill_line(const TileCases& cases, std::uint64_t tile, int filling, Code* a,
                                Code* b, Code& c) {
  Random random = detail::case_random(cases, tile, filling);
  const auto k = static_cast<std::size_t>(cases.k);
  fill_inputs(cases.family, {cases.a, cases.b, cases.c, {a, k}, {b, k}, c}, random,
              detail::tile_place(cases, tile, filling));
}

/// C of an element that no filling is matched with: the family's distribution of c.
BITMMA_HD inline Code fill_addend(const TileCases& cases, std::uint64_t tile, int element) {
  Random random = detail::case_random(cases, tile, cases.fillings() + element);
  Code a[least_row];
  Code b[least_row];
  Code c = 0;
  fill_inputs(cases.family, {cases.a, cases.b, cases.c, a, b, c}, random,
              detail::tile_place(cases, tile, 0));
  return c;
}

}  // namespace bitmma
