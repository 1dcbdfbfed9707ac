/// What is wrong with a matrix descriptor, alone and as an operand of an instruction.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bitmma/isa/matrix_descriptor.hpp"

namespace bitmma {

enum class FindingLevel : std::uint8_t {
  contradiction,  ///< breaks a documented rule
  remark,         ///< allowed, or not documented either way, and seldom meant
};

constexpr std::string_view level_name(FindingLevel level) {
  return level == FindingLevel::remark ? "remark" : "contradiction";
}

/// One line: the rule, the value that was seen, and what would be right.
struct DescriptorFinding {
  FindingLevel level;
  std::string rule;
  std::string seen;
  std::string right;
};

/// "rule: seen; right: …"
std::string finding_text(const DescriptorFinding& finding);

/// What can be said of the 64 bits without an instruction: reserved bits, base offset, start
/// address.
std::vector<DescriptorFinding> check_descriptor(std::uint64_t bits);

/// That, and what the tile adds: transposition, extents, offsets, overlap, and the end of the
/// memory, which is the whole shared memory of an sm_90 block unless it is given.
std::vector<DescriptorFinding> check_descriptor(std::uint64_t bits, const SharedTile& tile,
                                                const OperandBytes& memory = {0,
                                                                              shared_memory_bytes});

}  // namespace bitmma
