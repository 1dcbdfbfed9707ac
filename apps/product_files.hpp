/// Products of .npy files: the shapes that mma and run take, and their results.
#pragma once

#include <string>
#include <vector>

#include "bitmma/apps/npy.hpp"
#include "bitmma/apps/operand_files.hpp"
#include "bitmma/emulator/matrix.hpp"

namespace bitmma {

/// Products of a batch. An operand without a batch dimension takes part in each of them.
struct BatchShape {
  std::size_t batch;
  bool batched;
  ProductShape product;

  /// Of the result.
  std::vector<std::size_t> d_shape() const;
};

/// A is (m, k), B (k, n), C (m, n), or a batch of them. Throws UsageError, naming the file.
BatchShape batch_shape(const OperandOptions& options, const Operands& operands);

/// The first element of a matrix of the batch.
std::size_t batch_offset(const NpyArray& array, std::size_t index);

/// C from element `first` on, its rows `columns` elements long; zeros if it was not given.
MatrixView c_view(const Operands& operands, std::size_t first, std::size_t columns);

/// Collects codes as an array of the result's type and writes it.
class Result {
 public:
  Result(const Format& format, std::vector<std::size_t> shape);
  void store(std::size_t first, const std::vector<Code>& codes);
  void write(const std::string& path) const { write_npy(path, array_); }

 private:
  NpyArray array_;
};

}  // namespace bitmma
