/// One instruction on one output element, as a target runs it.
#pragma once

#include <span>

#include "bitmma/emulator/fused_step.hpp"
#include "bitmma/emulator/ieee.hpp"
#include "bitmma/isa/instruction.hpp"
#include "bitmma/isa/lowering.hpp"
#include "bitmma/isa/target.hpp"

namespace bitmma {

/// The largest k of the table: 32 elements of FP8.
inline constexpr int max_k = 32;

/// An instruction on a target, with everything looked up.
struct Execution {
  Instruction instruction;
  std::span<const Operation> program;
  StepFormats formats;  ///< of the program's mma operations
  Datapath datapath;    ///< of the same; unused where the program has none
  int step_products;
};

/// Requires row.runs_on(target).
constexpr Execution resolve(const Instruction& row, const Target& target) {
  Execution execution{row, lowered_program(row, target), {*row.a, *row.b, *row.c, *row.d}, {}, 0};
  const Operation& first = execution.program.front();
  if (first.opcode != Opcode::mma) return execution;
  if (first.as_f16) {
    execution.formats.a = f16;
    execution.formats.b = f16;
    execution.formats.c = *row.d;
  }
  execution.datapath = *find_datapath(target.architecture, operand_class(execution.formats.a));
  execution.step_products = execution.datapath.step_bits / execution.formats.a.storage_bits;
  return execution;
}

namespace detail {

/// Every mma that a target runs has a datapath row there.
consteval bool every_instruction_resolves() {
  for (const Target& target : target_table)
    for (const Instruction& row : instruction_table)
      if (row.runs_on(target) && resolve(row, target).step_products > max_step_products)
        return false;
  return true;
}
static_assert(every_instruction_resolves());

}  // namespace detail

/// Watches nothing.
struct NoObserver {
  BITMMA_HD constexpr void step(const FusedStep&) {}
  BITMMA_HD constexpr void operation(const Operation&, Code, Code, Code) {}
};

/// The fused steps of one mma operation: the chosen k in ascending order, each step's result being
/// c of the next.
template <class Observer>
BITMMA_HD constexpr Code run_mma(const Execution& execution, const Operation& operation,
                                 const Code* a, const Code* b, Code c, Observer& observer) {
  Code a_step[max_step_products];
  Code b_step[max_step_products];
  StepFormats formats = execution.formats;
  const Instruction& row = execution.instruction;
  int filled = 0;
  const auto flush = [&] {
    const FusedStep step = fused_step(execution.datapath, formats, a_step, b_step, filled, c);
    observer.step(step);
    c = step.result;
    formats.c = formats.d;
    filled = 0;
  };
  for (int k = 0; k < row.k; ++k) {
    if ((operation.residues >> (k % 4) & 1) == 0) continue;
    a_step[filled] = operation.as_f16 ? convert(*row.a, a[k], f16, Rounding::nearest_even) : a[k];
    b_step[filled] = operation.as_f16 ? convert(*row.b, b[k], f16, Rounding::nearest_even) : b[k];
    if (++filled == execution.step_products) flush();
  }
  if (filled != 0) flush();
  return c;
}

/// One element of d = a · b + c: k codes of a row of A and of a column of B.
/// The observer sees each fused step and each operation with its inputs and its result.
template <class Observer>
BITMMA_HD constexpr Code run_element(const Execution& execution, const Code* a, const Code* b,
                                     Code c, Observer& observer) {
  const Instruction& row = execution.instruction;
  const auto operand = [](const Format& format, Code code) {
    return convert(format, code, f32, Rounding::nearest_even);
  };
  Code slot[slots] = {0, c};
  Code result = 0;
  for (const Operation& operation : execution.program) {
    const Code x = slot[operation.x];
    const Code y = slot[operation.y];
    const int k = operation.k;
    switch (operation.opcode) {
      case Opcode::mma:
        result = run_mma(execution, operation, a, b, x, observer);
        break;
      case Opcode::fmul:
        result = ieee::mul(operand(*row.a, a[k]), operand(*row.b, b[k]));
        break;
      case Opcode::ffma:
        result = ieee::fma(operand(*row.a, a[k]), operand(*row.b, b[k]), x);
        break;
      case Opcode::fadd:
        result = ieee::add(x, y);
        break;
      case Opcode::hadd:
        result = ieee::add_f16(x, y);
        break;
      case Opcode::widen:
        result = ieee::widen(x);
        break;
      case Opcode::narrow:
        result = ieee::narrow(x);
        break;
    }
    slot[operation.destination] = result;
    observer.operation(operation, x, y, result);
  }
  return result;
}

/// One element of d = a · b + c over any length: instructions in ascending k, c entering the first,
/// each result being c of the next; the last one's missing products are +0 · +0, as in kernels that
/// pad. Requires, for more than one instruction, that C and D have one format.
template <class Observer>
BITMMA_HD constexpr Code run_chain(const Execution& execution, const Code* a, const Code* b,
                                   std::size_t length, Code c, Observer& observer) {
  const auto k = static_cast<std::size_t>(execution.instruction.k);
  std::size_t done = 0;
  do {
    if (length - done >= k) {
      c = run_element(execution, a + done, b + done, c, observer);
    } else {
      Code a_tail[max_k] = {};
      Code b_tail[max_k] = {};
      for (std::size_t i = done; i < length; ++i) {
        a_tail[i - done] = a[i];
        b_tail[i - done] = b[i];
      }
      c = run_element(execution, a_tail, b_tail, c, observer);
    }
    done += k;
  } while (done < length);
  return c;
}

BITMMA_HD constexpr Code run_chain(const Execution& execution, const Code* a, const Code* b,
                                   std::size_t length, Code c) {
  NoObserver observer;
  return run_chain(execution, a, b, length, c, observer);
}

}  // namespace bitmma
