/// Evidence as pages of Markdown: docs/evidence is made of them.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "bitmma/apps/table.hpp"
#include "bitmma/isa/target.hpp"
#include "bitmma/kernels/merge.hpp"

namespace bitmma {

/// How each instruction of the target runs, its evidence and the source of that; `quote` stands
/// around the names.
Table evidence_table_of(const Target& target, std::string_view quote = "");

/// A target's page: a line for each instruction, and one for each kernel of each record, which says
/// how many outputs an incomplete one lacks.
std::string evidence_page(const Target& target, std::span<const NamedRecord> records);

/// The page that leads to the targets' pages: how many instructions have which label on each.
std::string evidence_index();

}  // namespace bitmma
