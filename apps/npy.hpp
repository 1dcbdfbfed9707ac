/// Arrays in NumPy's .npy format.
/// Source: NumPy 2.4 reference, "numpy.lib.format", and what its implementation reads and writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace bitmma {

/// An element's type: NumPy's kind character and the element's width.
struct NpyType {
  char kind;  ///< b bool, i signed, u unsigned, f float, V bit patterns without a type
  int item_bytes;

  friend constexpr bool operator==(const NpyType&, const NpyType&) = default;
};

/// The type as a .npy header spells it, little-endian: "<f4", "|u1".
std::string spelling(NpyType type);

/// The shape as NumPy writes it: "(3, 4)", "(5,)", "()".
std::string shape_text(const std::vector<std::size_t>& shape);

/// An array in C order. Its elements are little-endian, whatever the file's and the host's order.
struct NpyArray {
  NpyType type;
  std::vector<std::size_t> shape;  ///< empty for an array of zero dimensions, which has one element
  std::vector<std::byte> bytes;

  std::size_t size() const { return bytes.size() / static_cast<std::size_t>(type.item_bytes); }

  /// The bits of an element, right-aligned. `index` counts in C order and is less than size().
  std::uint64_t bits(std::size_t index) const {
    const auto item_bytes = static_cast<std::size_t>(type.item_bytes);
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < item_bytes; ++i)
      bits |= std::to_integer<std::uint64_t>(bytes[index * item_bytes + i]) << (8 * i);
    return bits;
  }

  /// Replaces an element by the low bits of `bits`.
  void set_bits(std::size_t index, std::uint64_t bits) {
    const auto item_bytes = static_cast<std::size_t>(type.item_bytes);
    for (std::size_t i = 0; i < item_bytes; ++i)
      bytes[index * item_bytes + i] = static_cast<std::byte>(bits >> (8 * i) & 0xFF);
  }
};

/// An array of zero bits. Throws UsageError if it does not fit in memory.
NpyArray zeros(NpyType type, std::vector<std::size_t> shape);

/// Reads a file of version 1.0, 2.0 or 3.0, in either byte order and in C or Fortran order, into
/// one buffer (a second one is needed while Fortran order is turned into C order). The file's size
/// is compared with the header before memory is taken, so pipes and devices are refused.
/// Types: b1, i1 to i8, u1 to u8, f1 to f8, V1, V2. f1 is what ml_dtypes writes for float8_e5m2,
/// V1 and V2 what it writes for its other FP8 types and for bfloat16.
/// Throws UsageError "<file>: <reason>" for everything that is not such a file.
NpyArray read_npy(const std::filesystem::path& path);

/// Writes version 1.0 in C order, for NumPy's own types the very bytes that numpy.save() writes.
/// Throws UsageError as write_file().
void write_npy(const std::filesystem::path& path, const NpyArray& array);

}  // namespace bitmma
