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

/// Tiles of one kernel in one family, and what is to be said of them.
struct TileRange {
  std::string instruction;
  ASource a_source;
  std::string family;
  std::uint64_t first_tile;
  std::uint64_t tiles;

  friend bool operator==(const TileRange&, const TileRange&) = default;
};

/// Tiles that two records have. The second one's line is not added.
struct Overlap {
  TileRange range;
  std::string first;
  std::string second;
  /// Both lines have the same tiles, but different outputs: one of the two GPUs erred.
  bool contradicts;
};

struct Merge {
  /// Neighbouring lines joined. Shards without gaps give what one run of the whole would have.
  Record record;
  std::vector<TileRange> gaps;  ///< up to the campaign's count
  std::vector<Overlap> overlaps;
};

/// Requires a record. Throws RecordError, naming the file, where seed, count, target or version of
/// the cases differ from the first one's, or where its toolkit lowers otherwise; other differences
/// of provenance are listed: "580.95, 580.159".
Merge merge_records(std::span<const NamedRecord> records);

}  // namespace bitmma
