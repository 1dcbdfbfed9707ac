/// One element's computation as data that can be printed: every term, cut bit and rounding.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bitmma/emulator/trace.hpp"
#include "bitmma/isa/evidence.hpp"
#include "bitmma/isa/lowering.hpp"
#include "bitmma/reference/exact.hpp"

namespace bitmma {

/// A term of a fused step.
struct ExplainedTerm {
  std::optional<std::size_t> k;  ///< the product's k; empty for c
  Code a_code;                   ///< products only
  Code b_code;
  bool special;        ///< NaN or Inf, or 0 · Inf; the fields below mean nothing then
  ExactValue value;    ///< exact
  int exponent;        ///< before alignment
  int shift;           ///< places to the right, to the step's exponent
  std::string binary;  ///< the significand, with | where the kept bits end
  ExactValue cut;      ///< what alignment cut off, with the term's sign
};

struct ExplainedStep {
  bool special;  ///< NaN or Inf among the terms decided the result
  int exponent;
  std::vector<ExplainedTerm> terms;  ///< the products in order, then c
  ExactValue sum;                    ///< of the kept parts
  Code result;
  ExactValue rounding;  ///< result − sum; zero if special
};

/// A product of f64, integers or bits, which are taken one after another.
struct ExplainedProduct {
  std::size_t k;
  Code a_code;
  Code b_code;
  ExactValue value;  ///< a · b, or whether the bits count
  ExactValue sum;    ///< with it: of f64 rounded, of integers and bits exact
};

struct ExplainedOperation {
  std::size_t instruction;  ///< which of the chain, from 0
  TracedOperation traced;
  std::vector<ExplainedStep> steps;        ///< of an mma with fused steps
  std::vector<ExplainedProduct> products;  ///< of every other mma
};

/// The errors of a computed value against the exact one; reference/error.hpp defines them.
struct ExplainedError {
  double absolute;
  double relative;
  double ulp;
  double relative_to_terms;
};

struct Explanation {
  Execution execution;
  Target target;
  std::vector<Code> a;
  std::vector<Code> b;
  Code c;
  std::vector<ExplainedOperation> operations;
  Code result;
  ExactValue exact;
  ExplainedError error;
  Code f32_loop;                 ///< what a plain f32 loop on a CPU returns
  std::optional<Code> measured;  ///< what a GPU returned, if that is known

  std::size_t step_count() const;  ///< fused steps of all operations
  /// The instruction's short name where it is native, else the machine instruction's.
  std::string operation_name(const Operation& operation) const;
  const Format& result_format(const Operation& operation) const;
};

/// Runs the chain of instructions over a row of A and a column of B and explains it.
Explanation explain(const Execution& execution, const Target& target, std::vector<Code> a,
                    std::vector<Code> b, Code c);

/// For a terminal. Chains of more than four fused steps show one line a step, and all of `detail`
/// (counted from 1) if that is given.
std::string explanation_text(const Explanation& explanation, std::optional<std::size_t> detail);

std::string explanation_json(const Explanation& explanation);

}  // namespace bitmma
