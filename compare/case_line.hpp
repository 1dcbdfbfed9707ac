/// One output element and its operands as a line of text: what golden files hold, mismatches are
/// reported as, and `bitmma explain --case` takes.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "bitmma/isa/instruction.hpp"
#include "bitmma/isa/target.hpp"

namespace bitmma {

/// A text that is no such line; what() says why.
struct CaseLineError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct DotCase {
  Instruction row;
  const Target* target;
  std::vector<Code> a;  ///< row.k codes
  std::vector<Code> b;
  Code c;
  std::optional<Code> d;  ///< as measured
};

/// `instruction target a[0] … a[k-1] b[0] … b[k-1] c` and, if there is one, ` d`: codes in
/// hexadecimal, as wide as their formats; those of s4, u4 and b1 are the digits of one word for A
/// and one for B.
std::string case_line(const DotCase& dot);

/// The inverse. Throws CaseLineError.
DotCase parse_case_line(std::string_view line);

}  // namespace bitmma
