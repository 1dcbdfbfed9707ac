/// Command-line arguments that several commands share. Each function throws UsageError with one
/// line that says what is wrong and which choices there are.
#pragma once

#include <string_view>

#include "bitmma/apps/usage_error.hpp"
#include "bitmma/emulator/instruction.hpp"
#include "bitmma/isa/instruction.hpp"
#include "bitmma/isa/target.hpp"

namespace bitmma {

const Target& target_argument(std::string_view text);

Instruction instruction_argument(std::string_view text);

/// The instruction on the target. Also throws if the target does not have the instruction, naming
/// the nearest one that it has.
Execution execution_argument(std::string_view arch, std::string_view instr);

/// All targets' names: "sm_70, sm_72, …".
std::string target_names();

}  // namespace bitmma
