/// A simulated shared memory: bytes at 32-bit addresses, as PTX's .shared window has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace bitmma {

/// `size` bytes from the address `base` on.
struct AddressRange {
  std::uint32_t base = 0;
  std::uint64_t size = 0;

  constexpr std::uint64_t end() const { return base + size; }
  constexpr bool contains(std::uint32_t address, std::uint64_t count) const {
    return address >= base && count <= size && address - base <= size - count;
  }
};

struct SharedMemory {
  std::uint32_t base = 0;  ///< address of the first byte
  std::vector<std::byte> bytes;

  AddressRange range() const { return {base, bytes.size()}; }
  /// The bytes at an address. Requires range().contains(address, count).
  std::span<const std::byte> at(std::uint32_t address, std::size_t count) const {
    return std::span(bytes).subspan(address - base, count);
  }
  std::span<std::byte> at(std::uint32_t address, std::size_t count) {
    return std::span(bytes).subspan(address - base, count);
  }
};

}  // namespace bitmma
