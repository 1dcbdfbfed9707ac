/// Records of a campaign's shards, added up.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "bitmma/kernels/record.hpp"

namespace bitmma {

struct NamedRecord {
  std::string name;  ///< its file
  Record record;
};

/// Tiles that two records have. The second one's line is not added.
struct Overlap {
  TileRange range;
  std::string first;
  std::string second;
  /// Both lines have the same tiles, but different outputs or mismatches: one of the two GPUs
  /// erred.
  bool contradicts;
};

struct Merge {
  /// Neighbouring lines joined, kernel by kernel as KernelAndFamily orders them, whatever the order
  /// of the records. Shards without gaps give what one run of the whole would have; of what no
  /// record did anything, there is one line without outputs.
  Record record;
  std::vector<TileRange> gaps;  ///< gaps_of(record)
  std::vector<Overlap> overlaps;
};

/// True if records contradict each other; the merged one is then not to be kept.
bool is_contradictory(const Merge& merge);

/// Requires a record. Throws RecordError, naming the file, where seed, count, target or version of
/// the cases differ from the first one's, or where its toolkit lowers otherwise; other differences
/// of provenance are listed: "580.95, 580.159".
Merge merge_records(std::span<const NamedRecord> records);

}  // namespace bitmma
