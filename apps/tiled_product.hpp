/// Products of any size from single instructions, as a kernel would run them: tiles padded with
/// zeros, instructions in ascending k, each result c of the next.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "bitmma/emulator/matrix.hpp"
#include "bitmma/kernels/batch.hpp"

namespace bitmma {

/// A batch has no more codes than this in A, B and C together, 128 MB, unless one instruction alone
/// has more: a product of any size is run in parts.
inline constexpr std::size_t max_batch_codes = std::size_t{1} << 24;

/// Runs the instruction on a batch of tiles and returns D, ordered as C.
using RunBatch = std::function<std::vector<Code>(const Batch&)>;

/// D = A · B + C: m · n codes, row after row, equal to multiply_matrices() where the batch is run
/// as the emulator runs it. A null `c.data` stands for zeros. Requires a concrete N, k > 0 and, for
/// k beyond one instruction, that C and D have one format.
std::vector<Code> tiled_product(const Instruction& row, const ProductShape& shape,
                                const MatrixView& a, const MatrixView& b, const MatrixView& c,
                                const RunBatch& run);

/// d[r] = Σₖ a[r][k] · b[r][k] + c[r], equal to multiply_rows(): each row stands on the diagonal of
/// a tile. Requires the same.
std::vector<Code> tiled_rows(const Instruction& row, std::size_t rows, std::size_t k,
                             const MatrixView& a, const MatrixView& b, const MatrixView& c,
                             const RunBatch& run);

}  // namespace bitmma
