/// The operands of an instruction as the commands take them: three .npy files.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "bitmma/apps/npy.hpp"
#include "bitmma/emulator/matrix.hpp"

namespace bitmma {

/// The arguments that dot, mma, explain and run share.
struct OperandOptions {
  std::string arch;  ///< not of run, which takes the GPU's
  std::string cuda;  ///< not of run either
  std::string instr;
  std::string a;
  std::string b;
  std::string c;
  std::string round;
};

/// --arch and --cuda
void add_target_options(CLI::App& command, OperandOptions& options);
void add_operand_options(CLI::App& command, OperandOptions& options);

/// A's, B's and C's codes, in the formats of the instruction.
struct Operands {
  NpyArray a;
  NpyArray b;
  std::optional<NpyArray> c;
};

/// The instruction that the options name. Throws UsageError.
Execution execution_of(const OperandOptions& options);

/// What --round names, or nothing without it. Throws UsageError.
std::optional<Rounding> rounding_argument(const OperandOptions& options);

/// Reads the files. Throws UsageError.
Operands read_operands(const OperandOptions& options, const Instruction& row);

/// A matrix that starts at element `first` of the array, its rows `columns` elements long.
MatrixView matrix_view(const NpyArray& array, std::size_t first, std::size_t columns);

/// Shapes of dot and explain: A and B (rows, k), C (rows). Throws UsageError, naming the file.
struct RowsShape {
  std::size_t rows;
  std::size_t k;
};
RowsShape rows_shape(const OperandOptions& options, const Operands& operands);

/// Throws UsageError if k is 0, or if it needs several instructions and their C and D have two
/// formats, so that no result can be c of the next.
void check_chain(const Instruction& row, std::size_t k);

}  // namespace bitmma
