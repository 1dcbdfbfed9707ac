/// A record of all that an instruction went through, for explanations.
#pragma once

#include <utility>
#include <vector>

#include "bitmma/emulator/instruction.hpp"

namespace bitmma {

/// An operation with its inputs (the slots x and y), its fused steps (mma alone) and its result.
struct TracedOperation {
  Operation operation;
  Code x;
  Code y;
  std::vector<FusedStep> steps;
  Code result;
};

/// An observer for run_element() and run_chain() that keeps everything, in order.
class Trace {
 public:
  void step(const FusedStep& step) { steps_.push_back(step); }
  void operation(const Operation& operation, Code x, Code y, Code result) {
    operations_.push_back({operation, x, y, std::exchange(steps_, {}), result});
  }
  const std::vector<TracedOperation>& operations() const { return operations_; }

 private:
  std::vector<FusedStep> steps_;
  std::vector<TracedOperation> operations_;
};

}  // namespace bitmma
