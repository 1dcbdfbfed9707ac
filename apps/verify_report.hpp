/// What `bitmma verify` prints: totals of a record, a mismatch, what a merge found.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "bitmma/kernels/campaign.hpp"
#include "bitmma/kernels/merge.hpp"

namespace bitmma {

/// Provenance and cases, then a table with a line for each kernel, its outputs summed over the
/// families.
std::string totals_text(const Record& record);

/// The mismatch, its replay and its explanation.
std::string mismatch_text(const Mismatch& mismatch, std::uint64_t seed);

/// The command that runs the mismatch's instruction again on a GPU.
std::string replay_command(const Mismatch& mismatch, std::uint64_t seed);

/// `files` are the records that were merged.
std::string merge_text(const Merge& merge, std::span<const NamedRecord> files);

/// One object: provenance, cases, "complete", totals, "kernels", and "first_mismatch" or null.
/// Cases have "count" and "shard", or else "tile".
std::string record_json(const Record& record, const std::optional<Mismatch>& mismatch);

/// The same with "missing_shards" (the first thousand of "missing_shard_count"), "gaps", "overlaps"
/// and "contradictory" instead of "first_mismatch".
std::string merge_json(const Merge& merge, std::span<const NamedRecord> files);

}  // namespace bitmma
