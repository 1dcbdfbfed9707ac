/// The matrix instructions in a PTX or SASS listing.
#pragma once

#include <cstddef>
#include <istream>
#include <string>
#include <vector>

namespace bitmma {

enum class ListingKind : unsigned char { ptx, sass };

/// One spelling, wherever it occurs.
struct MatrixInstruction {
  std::string name;  ///< m8n8k4's machine instructions without their .STEP
  ListingKind kind;
  std::size_t first_line;  ///< from 1
  std::size_t count;
};

/// mma, wgmma and wmma instructions of PTX, inline assembly included, and the tensor-core
/// instructions of SASS, in the order of their first occurrence. The steps of m8n8k4 count as one.
std::vector<MatrixInstruction> find_matrix_instructions(std::istream& listing);

}  // namespace bitmma
