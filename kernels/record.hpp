/// What a campaign was, how far it has come and what it found: a text file that people grep and
/// bitmma reads again.
///
///     # bitmma verify: outputs of a GPU compared with the emulator's, bit for bit
///     # gpu: NVIDIA H200
///     …
///     # instruction a family first_tile tiles outputs mismatches digest
///     m16n8k16.f32.f16.f16.f32 registers ties 0 656250 84000000 0 6ef0c5a91f27d3b8
#pragma once

#include <compare>
#include <cstddef>
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
#include "bitmma/isa/instruction.hpp"
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

/// The largest N of a shard I/N.
inline constexpr std::uint64_t most_shards = 1'000'000;

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

struct ProvenanceField {
  std::string_view name;   ///< in records and in JSON
  std::string_view title;  ///< before the value in a sentence; empty if the value tells
  std::string Provenance::*value;
};

/// In the order of a record.
inline constexpr ProvenanceField provenance_fields[] = {
    {"gpu", "", &Provenance::gpu},
    {"target", "", &Provenance::target},
    {"driver", "driver", &Provenance::driver},
    {"cuda", "CUDA", &Provenance::cuda},
    {"nvcc", "nvcc", &Provenance::nvcc},
    {"bitmma", "bitmma", &Provenance::bitmma},
    {"date", "", &Provenance::date},
};

/// "NVIDIA H200, sm_90, driver 580.159.04, CUDA 13.0, nvcc 13.0.88, bitmma 0.1.0, 2026-01-31"
std::string provenance_text(const Provenance& provenance);

/// Between the values of a field that a merge found different: "580.159.04, 580.95".
inline constexpr std::string_view value_separator = ", ";

/// The values of such a field.
std::vector<std::string> listed_values(std::string_view text);

/// The most that a campaign may ask of each kernel in each family, so that all of them together
/// still fit in 64 bits.
inline constexpr std::uint64_t most_outputs = 1'000'000'000'000'000;

/// The toolkit that compiled the kernels (lowering.hpp); of several, which all lower alike, the
/// first. Empty if nvcc names none.
std::optional<int> toolkit_of(const Provenance& provenance);

/// Which cases a campaign has; they depend on nothing else.
struct CampaignCases {
  std::uint64_t seed = 1;
  /// Outputs of each kernel in each family, over all shards, at least; up to most_outputs.
  std::uint64_t count = 0;
  Shard shard = {};
  std::uint64_t version = cases_version;
  /// The instruction with this tile alone, instead of the shard: a mismatch run again. No record's
  /// file has one.
  std::optional<std::uint64_t> tile = std::nullopt;

  friend bool operator==(const CampaignCases&, const CampaignCases&) = default;
};

/// One kernel in one family.
struct RecordLine {
  std::string instruction;  ///< short_name(), with a concrete N
  ASource a_source;
  std::string family;
  std::uint64_t first_tile;
  std::uint64_t tiles;  ///< that there are to do, from first_tile on
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

/// A kernel in a family. They are ordered as in a campaign: the kernels as in instruction_table, by
/// N and by the place of A, and the families of each as campaign_families().
struct KernelAndFamily {
  std::size_t row;  ///< of instruction_table
  int n;
  ASource a_source;
  std::size_t family;  ///< of campaign_families()

  friend auto operator<=>(const KernelAndFamily&, const KernelAndFamily&) = default;
};

/// Requires a line whose instruction and family exist.
KernelAndFamily kernel_and_family(const RecordLine& line);

/// Tiles of one kernel in one family, and what is to be said of them.
struct TileRange {
  std::string instruction;
  ASource a_source;
  std::string family;
  std::uint64_t first_tile;
  std::uint64_t tiles;

  friend bool operator==(const TileRange&, const TileRange&) = default;
};

/// Tiles first_tile … end − 1 of the line's kernel and family.
TileRange range_of(const RecordLine& line, std::uint64_t first_tile, std::uint64_t end);

/// What no line did of the record's cases (tiles_of_shard()), for every kernel and family that has
/// a line.
std::vector<TileRange> gaps_of(const Record& record);

/// True if there are no gaps.
bool is_complete(const Record& record);

/// Output elements of one tile: m · n.
std::uint64_t outputs_of_a_tile(const Instruction& row);

/// Output elements of all the ranges together.
std::uint64_t outputs_of(std::span<const TileRange> ranges);

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

/// What the cases have of each family: those of the shard, or those of the instruction with the
/// tile. Shards differ by one instruction at most, and together they have every tile once.
Tiles tiles_of_shard(const Instruction& row, const CampaignCases& cases);

/// The shard's lines: kernel by kernel, each in the order of the families.
std::vector<RecordLine> plan_campaign(std::span<const CampaignKernel> kernels,
                                      std::span<const NamedFamily> families,
                                      const CampaignCases& cases);

/// The families in the order in which a campaign takes them: those aimed at edge cases, which the
/// table has last, come first.
std::vector<NamedFamily> campaign_families();

/// Those of the families that apply to the row's operands.
std::vector<NamedFamily> families_for(const Instruction& row,
                                      std::span<const NamedFamily> families);

/// A comment line for each field.
void write_provenance(std::ostream& out, const Provenance& provenance);

/// Requires cases without a tile.
void write_record(std::ostream& out, const Record& record);

/// The inverse of write_record(). Throws RecordError "line 7: …" for any other text, such as one
/// with a byte that is no printable ASCII character, for an instruction or family that does not
/// exist, for a toolkit that does not compile the target or the instruction, for numbers that
/// contradict each other or the shard, and for tiles that stand there twice. Records of any version
/// of the cases are read: their totals need none of this build's cases.
Record read_record(std::istream& in);

}  // namespace bitmma
