/// One instruction on one output element, as a target runs it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "bitmma/emulator/fma.hpp"
#include "bitmma/emulator/fused_step.hpp"
#include "bitmma/emulator/ieee.hpp"
#include "bitmma/emulator/integer.hpp"
#include "bitmma/isa/instruction.hpp"
#include "bitmma/isa/lowering.hpp"
#include "bitmma/isa/target.hpp"

namespace bitmma {

/// The largest k of the table.
inline constexpr int max_k = std::ranges::max(instruction_table, {}, &Instruction::k).k;

/// The longest program of lowering_table.
inline constexpr std::size_t max_operations =
    std::ranges::max(lowering_table, {}, [](const Lowering& row) {
      return row.program.size();
    }).program.size();

/// What an mma operation does with the products.
enum class Arithmetic : std::uint8_t {
  fused_steps,  ///< fused_step.hpp
  fma_chain,    ///< IEEE fused multiply-adds in ascending k, in f64
  integer_sum,  ///< exact, one overflow at the end
  bit_count,
};

constexpr Arithmetic arithmetic_of(const Instruction& row) {
  switch (operand_class(*row.a).value()) {
    case OperandClass::fp64:
      return Arithmetic::fma_chain;
    case OperandClass::int8:
    case OperandClass::int4:
      return Arithmetic::integer_sum;
    case OperandClass::bit:
      return Arithmetic::bit_count;
    case OperandClass::half:
    case OperandClass::fp8:
      break;
  }
  return Arithmetic::fused_steps;
}

/// The largest number of products that fused steps take of one instruction.
inline constexpr int max_fused_products = [] {
  int most = 0;
  for (const Instruction& row : instruction_table)
    if (arithmetic_of(row) == Arithmetic::fused_steps) most = std::max(most, row.k);
  return most;
}();

/// What one output element goes through, as values alone, so that it can be handed to a GPU.
struct ElementProgram {
  Operation operations[max_operations];
  int operation_count;
  int k;
  Format a;  ///< as the instruction's operands are given
  Format b;
  Arithmetic arithmetic;  ///< of the mma operations
  Modifier modifier;
  StepRule step;      ///< of fused steps, and
  int step_products;  ///< how many products it takes; 0 where the program has none
};

/// An instruction on a target, with everything looked up.
struct Execution {
  Instruction instruction;
  ElementProgram program;
  int cuda = newest_cuda;  ///< version of the toolkit that compiles it
};

/// The instruction as the toolkit compiles it for the target. Requires row.runs_on(target).
constexpr Execution resolve(const Instruction& row, const Target& target, int cuda = newest_cuda) {
  Execution execution{row, {}, cuda};
  ElementProgram& program = execution.program;
  program.k = row.k;
  program.a = *row.a;
  program.b = *row.b;
  program.arithmetic = arithmetic_of(row);
  program.modifier = row.modifier;
  for (const Operation& operation : lowered_program(row, target, cuda)) {
    program.operations[program.operation_count++] = operation;
    const bool has_steps =
        operation.opcode == Opcode::mma && program.arithmetic == Arithmetic::fused_steps;
    if (!has_steps || program.step_products != 0) continue;
    const Format& a = operation.as_f16 ? f16 : *row.a;
    const Format& b = operation.as_f16 ? f16 : *row.b;
    const Format& c = operation.x == c_slot ? *row.c : *row.d;
    const Datapath& datapath = *find_datapath(target.architecture, operand_class(a).value());
    program.step = step_rule(datapath, a, b, c, *row.d);
    program.step_products = datapath.step_bits / a.storage_bits;
  }
  return execution;
}

/// The instruction and the target by name; empty if either is unknown or the target lacks it.
constexpr std::optional<Execution> find_execution(std::string_view target,
                                                  std::string_view instruction) {
  const std::optional<Instruction> row = find_instruction(instruction);
  if (!row) return std::nullopt;
  for (const Target& each : target_table)
    if (find_target(target) == &each && row->runs_on(each)) return resolve(*row, each);
  return std::nullopt;
}

/// A test asserts it at compile time: every operation of a program has what it needs on every
/// target: the mma operations, one step rule in common.
consteval bool every_instruction_resolves() {
  for (const Target& target : target_table)
    for (const Instruction& row : instruction_table) {
      if (!row.runs_on(target)) continue;
      const Execution execution = resolve(row, target);
      if (execution.program.step_products > max_step_products) return false;
      const std::span<const Operation> program = lowered_program(row, target);
      for (const Operation& operation : program)
        if (operation.opcode == Opcode::mma && operation.as_f16 != program.front().as_f16)
          return false;
    }
  return true;
}

/// Watches nothing.
struct NoObserver {
  BITMMA_HD constexpr void step(const FusedStep&) {}
  BITMMA_HD constexpr void operation(const Operation&, Code, Code, Code) {}
};

/// Of f64's fused multiply-adds.
BITMMA_HD constexpr Rounding rounding_of(Modifier modifier) {
  return modifier == Modifier::rz   ? Rounding::toward_zero
         : modifier == Modifier::rm ? Rounding::toward_negative
         : modifier == Modifier::rp ? Rounding::toward_positive
                                    : Rounding::nearest_even;
}

/// The fused steps of one mma operation: the products that it takes, in ascending k, each step's
/// result being c of the next.
template <class Observer>
BITMMA_HD constexpr Code run_fused_steps(const ElementProgram& program, const Operation& operation,
                                         const Code* a, const Code* b, Code c, Observer& observer) {
  Code a_taken[max_fused_products];
  Code b_taken[max_fused_products];
  int taken = 0;
  for (int k = 0; k < program.k; ++k) {
    if (!operation.takes(k)) continue;
    a_taken[taken] =
        operation.as_f16 ? convert(program.a, a[k], program.step.a, Rounding::nearest_even) : a[k];
    b_taken[taken++] =
        operation.as_f16 ? convert(program.b, b[k], program.step.b, Rounding::nearest_even) : b[k];
  }
  StepRule rule = program.step;
  for (int first = 0; first < taken; first += program.step_products) {
    const int products = std::min(program.step_products, taken - first);
    const FusedStep step = fused_step(rule, a_taken + first, b_taken + first, products, c);
    observer.step(step);
    c = step.result;
    rule.c = rule.d;
  }
  return c;
}

BITMMA_HD constexpr Code run_fma_chain(const ElementProgram& program, const Code* a, const Code* b,
                                       Code c) {
  for (int k = 0; k < program.k; ++k) c = fma_f64(a[k], b[k], c, rounding_of(program.modifier));
  return c;
}

/// One mma operation from c.
template <class Observer>
BITMMA_HD constexpr Code run_mma(const ElementProgram& program, const Operation& operation,
                                 const Code* a, const Code* b, Code c, Observer& observer) {
  switch (program.arithmetic) {
    case Arithmetic::fma_chain:
      return run_fma_chain(program, a, b, c);
    case Arithmetic::integer_sum:
      return integer_dot(program.a, program.b, a, b, program.k, c,
                         program.modifier == Modifier::satfinite ? IntegerOverflow::saturate
                                                                 : IntegerOverflow::wrap);
    case Arithmetic::bit_count:
      return bit_dot(
          program.modifier == Modifier::xor_popc ? BitOperation::xor_popc : BitOperation::and_popc,
          a, b, program.k, c);
    case Arithmetic::fused_steps:
      break;
  }
  return run_fused_steps(program, operation, a, b, c, observer);
}

/// One element of d = a · b + c: k codes of a row of A and of a column of B.
/// The observer sees each fused step and each operation with its inputs and its result.
template <class Observer>
BITMMA_HD constexpr Code run_element(const ElementProgram& program, const Code* a, const Code* b,
                                     Code c, Observer& observer) {
  Code slot[slots] = {0, c};
  Code result = 0;
  for (int i = 0; i < program.operation_count; ++i) {
    const Operation& operation = program.operations[i];
    const Code x = slot[operation.x];
    const Code y = slot[operation.y];
    const int k = operation.k;
    switch (operation.opcode) {
      case Opcode::mma:
        result = run_mma(program, operation, a, b, x, observer);
        break;
      case Opcode::fmul:
        result = ieee::mul(ieee::widen(program.a, a[k]), ieee::widen(program.b, b[k]));
        break;
      case Opcode::ffma:
        result = ieee::fma(ieee::widen(program.a, a[k]), ieee::widen(program.b, b[k]), x);
        break;
      case Opcode::fadd:
        result = ieee::add(x, y);
        break;
      case Opcode::hadd:
        result = ieee::add_f16(x, y);
        break;
      case Opcode::widen:
        result = ieee::widen_f16(x);
        break;
      case Opcode::narrow:
        result = ieee::narrow_f16(x);
        break;
    }
    slot[operation.into] = result;
    observer.operation(operation, x, y, result);
  }
  return result;
}

/// One element of d = a · b + c over any length: instructions in ascending k, c entering the first,
/// each result being c of the next; the last one's missing products are +0 · +0, as in kernels that
/// pad. Requires, for more than one instruction, that C and D have one format.
template <class Observer>
BITMMA_HD constexpr Code run_chain(const ElementProgram& program, const Code* a, const Code* b,
                                   std::size_t length, Code c, Observer& observer) {
  const auto k = static_cast<std::size_t>(program.k);
  std::size_t done = 0;
  do {
    if (length - done >= k) {
      c = run_element(program, a + done, b + done, c, observer);
    } else {
      Code a_tail[max_k] = {};
      Code b_tail[max_k] = {};
      for (std::size_t i = done; i < length; ++i) {
        a_tail[i - done] = a[i];
        b_tail[i - done] = b[i];
      }
      c = run_element(program, a_tail, b_tail, c, observer);
    }
    done += k;
  } while (done < length);
  return c;
}

/// The same for those who do not watch.
constexpr Code run_chain(const Execution& execution, const Code* a, const Code* b,
                         std::size_t length, Code c) {
  NoObserver observer;
  return run_chain(execution.program, a, b, length, c, observer);
}

}  // namespace bitmma
