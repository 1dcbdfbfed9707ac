/// Command-line arguments that several commands share. Each function throws UsageError with one
/// line that says what is wrong and which choices there are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "bitmma/apps/usage_error.hpp"
#include "bitmma/emulator/instruction.hpp"
#include "bitmma/isa/data_movement.hpp"
#include "bitmma/isa/instruction.hpp"
#include "bitmma/isa/target.hpp"
#include "bitmma/isa/wmma.hpp"

namespace bitmma {

const Target& target_argument(std::string_view text);

Instruction instruction_argument(std::string_view text);

/// A form of wmma.mma.
WmmaInstruction wmma_argument(std::string_view text);

/// The ldmatrix, stmatrix or movmatrix that the text spells; empty if it begins with none of them.
std::optional<DataMovement> data_movement_argument(std::string_view text);

/// A toolkit's version: 1206 for "12.6". An empty text is the newest.
int cuda_argument(std::string_view text);

/// The instruction on the target. Also throws if the target does not have the instruction, naming
/// the nearest one that it has, or if the toolkit does not know it.
Execution execution_argument(std::string_view arch, std::string_view instr, int cuda = newest_cuda);

/// A number in decimal, or in hexadecimal behind 0x; empty if the text is none of 64 bits.
std::optional<std::uint64_t> parse_number(std::string_view text);

/// A check for CLI11 of an option that counts from 0 to 10^18 − 1: what is wrong with the text, or
/// nothing.
/// Accepts decimal digits alone, where CLI11's own conversion also takes -1 (as 2^64 - 1) and 010
/// (as 8).
std::string whole_number_error(const std::string& text);

/// All targets' names: "sm_70, sm_72, …".
std::string target_names();

}  // namespace bitmma
