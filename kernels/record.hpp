/// What a campaign was, how far it has come and what it found: a text file that people grep and
/// bitmma reads again.
///
///     # bitmma verify: outputs of a GPU compared with the emulator's, bit for bit
///     # gpu: NVIDIA H200
///     …
///     # instruction a family first_tile tiles outputs mismatches digest
///     m16n8k16.f32.f16.f16.f32 registers ties 0 656250 84000000 0 6ef0c5a91f27d3b8
#pragma once

#include <cstdint>
#include <istream>
#include <optional>
#include <ostream>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "bitmma/compare/families.hpp"
#include "bitmma/kernels/operand_layout.hpp"

namespace bitmma {

/// A text that is no record; what() says where and why.
struct RecordError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Part `index` of `count`, from 1: a campaign's parts run on any machines, in any order.
struct Shard {
  std::uint64_t index = 1;
  std::uint64_t count = 1;

  friend bool operator==(const Shard&, const Shard&) = default;
};

/// "3/8"
std::string shard_text(Shard shard);

/// The shard that the text names; RecordError with the reason if it names none.
Shard parse_shard(std::string_view text);

/// Where a campaign ran.
struct Provenance {
  std::string gpu;
  std::string target;
  std::string driver;
  std::string cuda;    ///< version of the runtime library
  std::string nvcc;    ///< version of the compiler of the kernels
  std::string bitmma;  ///< version
  std::string date;    ///< UTC, of the start: 2026-01-31

  friend bool operator==(const Provenance&, const Provenance&) = default;
};

/// The most that a campaign may ask of each kernel in each family, so that all of them together
/// still fit in 64 bits.
inline constexpr std::uint64_t most_outputs = 1'000'000'000'000'000;

/// The toolkit that compiled the kernels (lowering.hpp); of several that lower alike, the first.
/// Empty if nvcc names none.
std::optional<int> toolkit_of(const Provenance& provenance);

/// Which cases a campaign has; they depend on nothing else.
struct CampaignCases {
  std::uint64_t seed = 1;
  /// Outputs of each kernel in each family, over all shards, at least; up to most_outputs.
  std::uint64_t count = 0;
  Shard shard = {};
  std::uint64_t version = cases_version;

  friend bool operator==(const CampaignCases&, const CampaignCases&) = default;
};

/// One kernel in one family.
struct RecordLine {
  std::string instruction;  ///< short_name(), with a concrete N
  ASource a_source;
  std::string family;
  std::uint64_t first_tile;
  std::uint64_t tiles;  ///< that the shard has to do, from first_tile on
  std::uint64_t outputs = 0;
  std::uint64_t mismatches = 0;
  std::uint64_t digest = 0;  ///< of the GPU's outputs (digest.hpp)

  /// Tiles done, from first_tile on.
  std::uint64_t done() const;
  bool is_complete() const { return done() == tiles; }

  friend bool operator==(const RecordLine&, const RecordLine&) = default;
};

struct Record {
  Provenance provenance;
  CampaignCases cases;
  std::vector<RecordLine> lines;
};

/// Lines added up.
struct RecordTotal {
  std::set<std::string> families;
  std::uint64_t outputs = 0;
  std::uint64_t mismatches = 0;
  std::uint64_t digest = 0;

  void add(const RecordLine& line);
};

/// All lines of a record.
RecordTotal total_of(const Record& record);

/// Every tile that the record has to do is done.
bool is_complete(const Record& record);

/// 16 hexadecimal digits.
std::string digest_text(std::uint64_t digest);

/// "registers" or "shared": where an instruction reads A.
std::string_view a_source_name(ASource a_source);

/// A kernel that a campaign runs.
struct CampaignKernel {
  Instruction row;
  ASource a_source;
};

/// Tiles first_tile … first_tile + tiles − 1, whole instructions.
struct Tiles {
  std::uint64_t first_tile;
  std::uint64_t tiles;

  friend bool operator==(const Tiles&, const Tiles&) = default;
};

/// What the shard has to do of each family. Shards differ by one instruction at most, and together
/// they have every tile once.
Tiles tiles_of_shard(const Instruction& row, const CampaignCases& cases);

/// The shard's lines: kernel by kernel, each in the order of the families.
std::vector<RecordLine> plan_campaign(std::span<const CampaignKernel> kernels,
                                      std::span<const NamedFamily> families,
                                      const CampaignCases& cases);

/// The families in the order in which a campaign takes them: those aimed at edge cases, which the
/// table has last, come first.
std::vector<NamedFamily> campaign_families();

/// A comment line for each field.
void write_provenance(std::ostream& out, const Provenance& provenance);

void write_record(std::ostream& out, const Record& record);

/// The inverse of write_record(). Throws RecordError "line 7: …" for any other text, for an
/// instruction or family that does not exist, for numbers that contradict each other or the shard,
/// and for tiles that stand there twice.
Record read_record(std::istream& in);

}  // namespace bitmma
