#include "bitmma/emulator/descriptor_rules.hpp"

#include <iomanip>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

namespace bitmma {
namespace {

using Findings = std::vector<DescriptorFinding>;

template <class... Part>
std::string line(const Part&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  return text.str();
}

std::string hex(std::uint64_t value, int digits = 5) {
  std::ostringstream text;
  text << "0x" << std::hex << std::setfill('0') << std::setw(digits) << value;
  return text.str();
}

std::string address_text(int address) { return hex(static_cast<std::uint64_t>(address)); }

void contradict(Findings& findings, std::string rule, std::string seen, std::string right) {
  findings.push_back(
      {FindingLevel::contradiction, std::move(rule), std::move(seen), std::move(right)});
}

void remark(Findings& findings, std::string rule, std::string seen, std::string right) {
  findings.push_back({FindingLevel::remark, std::move(rule), std::move(seen), std::move(right)});
}

std::string pattern_text(const SwizzleMode& mode) {
  return line(mode.name, " swizzle repeats every ", mode.atom_bytes(), " bytes");
}

/// Bits 46–48 of a tcgen05 descriptor, another format, are 0b001.
constexpr std::uint64_t tcgen05_bit = std::uint64_t{1} << 46;

void check_reserved_bits(std::uint64_t bits, Findings& findings) {
  const std::uint64_t set = bits & reserved_descriptor_bits();
  if (set == 0) return;
  contradict(
      findings, "bits 14-15, 30-31, 46-48 and 52-61 are reserved",
      line(hex(set, 16), " is set there"),
      (set & tcgen05_bit) != 0 ? "0; bit 46 marks a descriptor of tcgen05, not of wgmma" : "0");
}

void check_base_offset(const MatrixDescriptor& descriptor, Findings& findings) {
  if (descriptor.base_offset == 0 || !descriptor.swizzle().is_none()) return;
  contradict(findings, "the base offset is valid in the swizzled modes alone",
             line("base offset ", descriptor.base_offset, " without swizzle"), "base offset 0");
}

/// Bytes from the start of the swizzle pattern to an address.
int place_in_pattern(const MatrixDescriptor& descriptor, int address) {
  return (address - descriptor.base_offset * base_offset_bytes) &
         (descriptor.swizzle().atom_bytes() - 1);
}

/// A start address in another row means that the pattern starts elsewhere than the writer of the
/// operand thought, or that the base offset was forgotten.
void check_first_row(const MatrixDescriptor& descriptor, Findings& findings) {
  const SwizzleMode& mode = descriptor.swizzle();
  const int start = descriptor.start_address;
  const int place = place_in_pattern(descriptor, start);
  if (mode.is_none() || place < mode.row_bytes) return;
  const int pattern = start - place;
  const int last = pattern + mode.row_bytes - chunk_bytes;
  const bool has_base_offset = start % base_offset_bytes < mode.row_bytes;
  std::string right =
      pattern >= 0
          ? line("a start address from ", address_text(pattern), " to ", address_text(last))
          : line("a start address in the first ", mode.row_bytes, " bytes of a pattern");
  if (has_base_offset)
    right +=
        line(", or base offset ", start / base_offset_bytes % 8, " if the pattern starts there");
  contradict(findings, line("an operand starts in row 0 of its pattern; ", pattern_text(mode)),
             line("start address ", address_text(start), " is in row ", place / mode.row_bytes,
                  " (base offset ", descriptor.base_offset, ")"),
             right);
}

void check_transposition(const SharedTile& tile, Findings& findings) {
  if (has_major(tile)) return;
  contradict(findings, "imm-trans-a and imm-trans-b exist for 16-bit elements alone",
             line("MN-major with elements of ", 8 * tile.element_bytes, " bits"), "K-major");
}

/// Chunks of a line that begins late in its row would leave the row that the swizzle permutes.
void check_line(const MatrixDescriptor& descriptor, const SharedTile& tile, Findings& findings) {
  const SwizzleMode& mode = descriptor.swizzle();
  if (mode.is_none()) return;
  const int place = place_in_pattern(descriptor, descriptor.start_address) % mode.row_bytes;
  const int used = std::min(tile.line_bytes(), mode.row_bytes);
  if (place + used <= mode.row_bytes) return;
  contradict(findings,
             line("the ", used, " bytes of a line lie in one row of ", mode.row_bytes, " bytes"),
             line("the start address is ", place, " bytes into its row"),
             line("at most ", mode.row_bytes - used, " bytes into it"));
}

void check_extent(const MatrixDescriptor& descriptor, const SharedTile& tile, Findings& findings) {
  const SwizzleMode& mode = descriptor.swizzle();
  if (tile.major == Major::k || tile.line_bytes() % mode.row_bytes == 0) return;
  const int elements = mode.row_bytes / tile.element_bytes;
  remark(findings,
         line("MN-major canonical layouts are whole atoms of ", elements, " elements along mn"),
         line("mn is ", tile.outer), line("a multiple of ", elements, ", or a narrower swizzle"));
}

void check_unused_offset(const MatrixDescriptor& descriptor, const SharedTile& tile,
                         Findings& findings) {
  if (tile.major == Major::mn || descriptor.swizzle().is_none()) return;
  const int leading = descriptor.leading_offset;
  if (leading == 0 || leading == chunk_bytes) return;
  remark(findings, "swizzled K-major layouts do not use the leading dimension offset",
         line("leading dimension offset ", leading, " bytes"),
         line(chunk_bytes, " bytes, encoded 1"));
}

std::string_view offset_name(int MatrixDescriptor::*offset) {
  return offset == &MatrixDescriptor::leading_offset ? "leading" : "stride";
}

/// One of the two distances between atoms. True if it is 0, where atoms coincide.
bool check_step(const MatrixDescriptor& descriptor, int MatrixDescriptor::*step, int dense_step,
                Findings& findings) {
  const SwizzleMode& mode = descriptor.swizzle();
  const int bytes = descriptor.*step;
  const std::string name = line(offset_name(step), " dimension offset");
  if (bytes == 0) {
    contradict(findings, line("the ", name, " leads from one atom to the next"),
               line(name, " 0 bytes"), line(dense_step, " bytes where atoms are dense"));
    return true;
  }
  if (!mode.is_none() && bytes % mode.atom_bytes() != 0)
    contradict(findings, line("every atom starts at a pattern; ", pattern_text(mode)),
               line(name, " ", bytes, " bytes"), line("a multiple of ", mode.atom_bytes()));
  return false;
}

struct Overlap {
  int outer[2];
  int k[2];
  int address;
};

std::optional<Overlap> find_overlap(const MatrixDescriptor& descriptor, const SharedTile& tile) {
  std::map<int, std::pair<int, int>> owner;
  std::optional<Overlap> found;
  for_each_chunk(tile, [&](int outer, int k) {
    const int address = element_address(descriptor, tile, outer, k);
    const auto [at, is_new] = owner.emplace(address, std::pair{outer, k});
    if (!is_new && !found)
      found = Overlap{{at->second.first, outer}, {at->second.second, k}, address};
  });
  return found;
}

void check_overlap(const MatrixDescriptor& descriptor, const SharedTile& tile,
                   const MatrixDescriptor& dense, Findings& findings) {
  const std::optional<Overlap> overlap = find_overlap(descriptor, tile);
  if (!overlap) return;
  contradict(findings, "every element has bytes of its own",
             line("(mn ", overlap->outer[0], ", k ", overlap->k[0], ") and (mn ", overlap->outer[1],
                  ", k ", overlap->k[1], ") both stand at ", address_text(overlap->address)),
             line("leading ", dense.leading_offset, " and stride ", dense.stride_offset,
                  " bytes where atoms are dense"));
}

void check_offsets(const MatrixDescriptor& descriptor, const SharedTile& tile, Findings& findings) {
  const SwizzleMode& mode = descriptor.swizzle();
  const AtomCount atoms = atom_count(mode, tile);
  const AtomSteps steps = atom_steps(mode, tile.major);
  const MatrixDescriptor dense = dense_descriptor(tile, mode, descriptor.start_address);
  bool coincide = false;
  if (atoms.along > 1)
    coincide |= check_step(descriptor, steps.along, dense.*steps.along, findings);
  if (atoms.across > 1)
    coincide |= check_step(descriptor, steps.across, dense.*steps.across, findings);
  if (!coincide) check_overlap(descriptor, tile, dense, findings);
}

void check_memory(const MatrixDescriptor& descriptor, const SharedTile& tile,
                  const OperandBytes& memory, Findings& findings) {
  const OperandBytes range = operand_bytes(descriptor, tile);
  if (memory.first <= range.first && range.end <= memory.end) return;
  contradict(findings,
             line("an operand lies in the shared memory, ", address_text(memory.first), " to ",
                  address_text(memory.end)),
             line("it takes ", address_text(range.first), " to ", address_text(range.end)),
             line("a start address that leaves it ", range.end - range.first, " bytes"));
}

}  // namespace

std::string finding_text(const DescriptorFinding& finding) {
  return line(finding.rule, ": ", finding.seen, "; right: ", finding.right);
}

std::vector<DescriptorFinding> check_descriptor(std::uint64_t bits) {
  const MatrixDescriptor descriptor = decode_descriptor(bits);
  Findings findings;
  check_reserved_bits(bits, findings);
  check_base_offset(descriptor, findings);
  check_first_row(descriptor, findings);
  return findings;
}

std::vector<DescriptorFinding> check_descriptor(std::uint64_t bits, const SharedTile& tile,
                                                const OperandBytes& memory) {
  const MatrixDescriptor descriptor = decode_descriptor(bits);
  Findings findings = check_descriptor(bits);
  check_transposition(tile, findings);
  check_line(descriptor, tile, findings);
  check_extent(descriptor, tile, findings);
  check_unused_offset(descriptor, tile, findings);
  check_offsets(descriptor, tile, findings);
  check_memory(descriptor, tile, memory, findings);
  return findings;
}

}  // namespace bitmma
