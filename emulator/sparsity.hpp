/// Compressed matrices and their metadata: what mma.sp takes instead of A.
///
/// The product over kept elements is the product over all elements as long as B is finite: a zero
/// that is dropped meets no Inf or NaN of B, where a dense instruction would make it a NaN.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "bitmma/emulator/fragment.hpp"
#include "bitmma/isa/format.hpp"
#include "bitmma/isa/host_device.hpp"
#include "bitmma/isa/sparsity.hpp"

namespace bitmma {

/// A sparse matrix A as it is before compression. k is a multiple of the group.
struct SparseShape {
  Sparsity sparsity;
  std::size_t rows;
  std::size_t k;

  /// Groups of one row.
  constexpr std::size_t groups() const { return k / static_cast<std::size_t>(sparsity.group); }
};

/// One field for each group, row after row.
using Metadata = std::vector<MetadataField>;

struct CompressedMatrix {
  std::vector<Code> kept;  ///< k / 2 codes of each row, row after row
  Metadata metadata;
};

/// A group of A with more non-zero units than are kept.
struct DenseGroup {
  Sparsity sparsity;
  std::size_t row;
  std::size_t group;
  int nonzero_units;
};

/// Compresses A, rows · k codes row after row, or says which group is too dense: the first one.
/// Fields are ascending. Where a group has fewer non-zero units than are kept, its first zero ones
/// are kept too. `magnitude_bits` are the bits of a code of which any makes it other than zero:
/// Format::nan() for floating point, all bits for integers. A −0 is thus a zero, which changes no
/// result as no fused step returns −0, but decompress() gives +0 where it was dropped.
std::variant<CompressedMatrix, DenseGroup> compress(const SparseShape& shape,
                                                    std::span<const Code> a, Code magnitude_bits);

/// A, rows · k codes with +0 where nothing was kept. Requires valid metadata; those of
/// MetadataOrder::any will do.
std::vector<Code> decompress(const SparseShape& shape, const CompressedMatrix& compressed);

/// The elements of a column of B (or any k codes) that meet the kept elements of a row of A, in
/// their order. `metadata` are the row's fields, `kept` is k / 2.
BITMMA_HD constexpr void gather_kept(const Sparsity& sparsity, const MetadataField* metadata,
                                     int kept, const Code* column, Code* gathered) {
  const int per_group = sparsity.kept();
  for (int i = 0; i < kept; ++i) {
    const int group = i / per_group;
    gathered[i] =
        column[group * sparsity.group + kept_place(sparsity, metadata[group], i % per_group)];
  }
}

// The metadata operand of one instruction: a register of each lane. A's rows are 16 for a warp, 64
// for a warpgroup, its k that of the instruction.

/// The registers of all lanes; those that the selector leaves out are 0. Requires a selector that
/// selector_fault() has nothing against.
FragmentRegisters metadata_fragment(const SparseShape& shape,
                                    std::span<const MetadataField> metadata, int selector);

/// A field of a lane's register without meaning.
struct InvalidMetadata {
  Sparsity sparsity;
  MetadataOrder order;
  FragmentPosition at;  ///< its lane, and which four bits
  std::size_t row;      ///< of A, that it speaks of
  std::size_t group;
  MetadataField value;
};

/// The fields that the lanes' registers hold: the inverse of metadata_fragment(); or the first
/// invalid one in the order of rows. Registers that the selector leaves out are not looked at.
std::variant<Metadata, InvalidMetadata> read_metadata(const SparseShape& shape,
                                                      std::span<const std::uint32_t> registers,
                                                      int selector, MetadataOrder order);

/// What is wrong with a sparsity selector, in one line; empty if nothing is.
std::optional<std::string> selector_fault(const SparseShape& shape, int selector);

// A fault in one line: where it is, what stands there and what would be right.
std::string to_string(const DenseGroup& fault);
std::string to_string(const InvalidMetadata& fault);

}  // namespace bitmma
