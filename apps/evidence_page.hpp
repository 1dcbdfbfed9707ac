/// Evidence as pages of Markdown: docs/evidence is made of them.
#pragma once

#include <span>
#include <string>

#include "bitmma/isa/target.hpp"
#include "bitmma/kernels/merge.hpp"

namespace bitmma {

/// A target's page: a line for each instruction, and one for each kernel of each record.
std::string evidence_page(const Target& target, std::span<const NamedRecord> records);

/// The page that leads to the targets' pages: how many instructions have which label on each.
std::string evidence_index();

}  // namespace bitmma
