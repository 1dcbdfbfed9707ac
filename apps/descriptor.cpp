#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "bitmma/apps/arguments.hpp"
#include "bitmma/apps/commands.hpp"
#include "bitmma/apps/table.hpp"
#include "bitmma/emulator/descriptor_rules.hpp"
#include "bitmma/isa/matrix_descriptor.hpp"

namespace bitmma {
namespace {

struct Options {
  std::string descriptor;
  std::string instr;
  std::string operand = "B";
  std::string major = "k";
  bool make = false;
  std::string start = "0";
  std::string leading;
  std::string stride;
  std::string base_offset = "0";
  std::string swizzle = "none";
  bool json = false;
};

/// The operand that a descriptor is read for.
struct Use {
  Instruction row;
  Operand operand;
  SharedTile tile;

  std::string_view outer_name() const { return operand == Operand::a ? "m" : "n"; }
  std::string_view along_name() const { return tile.major == Major::k ? "k" : outer_name(); }
  std::string_view across_name() const { return tile.major == Major::k ? outer_name() : "k"; }
};

struct Asked {
  std::uint64_t bits;
  std::optional<Use> use;

  MatrixDescriptor descriptor() const { return decode_descriptor(bits); }
  std::vector<DescriptorFinding> findings() const {
    return use ? check_descriptor(bits, use->tile) : check_descriptor(bits);
  }
};

/// An option's number as a field can hold it.
int field_argument(std::string_view option, const std::string& text,
                   int MatrixDescriptor::*member) {
  const DescriptorField& field =
      *std::ranges::find(descriptor_field_table, member, &DescriptorField::value);
  const auto unit = static_cast<std::uint64_t>(field.unit);
  const std::uint64_t last = ((std::uint64_t{1} << field.bits) - 1) * unit;
  const std::optional<std::uint64_t> value = parse_number(text);
  if (!value || *value > last || *value % unit != 0)
    throw UsageError(unit == 1 ? fmt::format("{} {}: choose 0 to {}", option, text, last)
                               : fmt::format("{} {}: choose a multiple of {} from 0 to {:#x}",
                                             option, text, unit, last));
  return static_cast<int>(*value);
}

const SwizzleMode& swizzle_argument(const std::string& name) {
  std::vector<std::string_view> names;
  for (const SwizzleMode& mode : swizzle_table) {
    if (mode.name == name) return mode;
    names.push_back(mode.name);
  }
  throw UsageError(fmt::format("--swizzle {}: choose from {}", name, fmt::join(names, ", ")));
}

std::optional<Use> use_argument(const Options& options) {
  if (options.instr.empty()) return std::nullopt;
  const Instruction row = instruction_argument(options.instr);
  if (row.family != Family::wgmma)
    throw UsageError(fmt::format(
        "--instr {}: only wgmma reads operands through a matrix descriptor; choose one such as "
        "wgmma.m64n64k16.f32.f16.f16",
        options.instr));
  if (row.n == 0)
    throw UsageError(
        fmt::format("--instr {}: N must be a number here; choose 8, 16, … 256", options.instr));
  const Operand operand = options.operand == "A" ? Operand::a : Operand::b;
  const Major major = options.major == "k" ? Major::k : Major::mn;
  return Use{row, operand, shared_tile(row, operand, major)};
}

/// The descriptor of the given fields; offsets that are not given are those of a dense layout.
std::uint64_t made_descriptor(const Options& options, const std::optional<Use>& use) {
  const SwizzleMode& mode = swizzle_argument(options.swizzle);
  const int start = field_argument("--start", options.start, &MatrixDescriptor::start_address);
  if (!use && (options.leading.empty() || options.stride.empty()))
    throw UsageError("--make needs --leading and --stride, or --instr for those of a dense layout");
  MatrixDescriptor descriptor{start, 0, 0, 0, mode.code};
  if (use) descriptor = dense_descriptor(use->tile, mode, start);
  descriptor.base_offset =
      field_argument("--base-offset", options.base_offset, &MatrixDescriptor::base_offset);
  if (!options.leading.empty())
    descriptor.leading_offset =
        field_argument("--leading", options.leading, &MatrixDescriptor::leading_offset);
  if (!options.stride.empty())
    descriptor.stride_offset =
        field_argument("--stride", options.stride, &MatrixDescriptor::stride_offset);
  return encode_descriptor(descriptor);
}

Asked asked(const Options& options) {
  const std::optional<Use> use = use_argument(options);
  if (options.make) return {made_descriptor(options, use), use};
  if (options.descriptor.empty())
    throw UsageError("give a descriptor such as 0x4000004000010000, or --make");
  const std::optional<std::uint64_t> bits = parse_number(options.descriptor);
  if (!bits)
    throw UsageError(
        fmt::format("{}: no number of 64 bits such as 0x4000004000010000", options.descriptor));
  return {*bits, use};
}

/// Where the leading or the stride dimension offset leads.
std::string offset_meaning(const Asked& asked, int MatrixDescriptor::*offset) {
  const MatrixDescriptor descriptor = asked.descriptor();
  std::string bytes = fmt::format("{} bytes", descriptor.*offset);
  if (!asked.use) return bytes;
  const Use& use = *asked.use;
  const SwizzleMode& mode = descriptor.swizzle();
  const AtomCount atoms = atom_count(mode, use.tile);
  const bool is_along = atom_steps(mode, use.tile.major).along == offset;
  const std::string_view axis = is_along ? use.along_name() : use.across_name();
  if ((is_along ? atoms.along : atoms.across) == 1)
    return fmt::format("{}, not used: one atom along {}", bytes, axis);
  return fmt::format("{} to the next {} along {}", bytes,
                     is_along ? mode.row_bytes / use.tile.element_bytes : atom_lines, axis);
}

std::string swizzle_meaning(const SwizzleMode& mode) {
  if (mode.is_none()) return "none";
  const int top = bit_width(static_cast<std::uint64_t>(mode.chunk_mask())) - 1;
  const std::string bits =
      top == 4 ? "bit 4 ^= bit 7" : fmt::format("bits {}..4 ^= bits {}..7", top, top + 3);
  return fmt::format("{}: address {}", mode.name, bits);
}

std::string meaning(const Asked& asked, const DescriptorField& field) {
  const MatrixDescriptor descriptor = asked.descriptor();
  const SwizzleMode& mode = descriptor.swizzle();
  if (field.value == &MatrixDescriptor::start_address)
    return fmt::format("{:#07x}", descriptor.start_address);
  if (field.value == &MatrixDescriptor::swizzle_code) return swizzle_meaning(mode);
  if (field.value != &MatrixDescriptor::base_offset) return offset_meaning(asked, field.value);
  if (mode.is_none()) return "no pattern without swizzle";
  const int plus = descriptor.base_offset * base_offset_bytes % mode.atom_bytes();
  return fmt::format("patterns start at multiples of {} bytes{}", mode.atom_bytes(),
                     plus == 0 ? "" : fmt::format(", plus {}", plus));
}

void print_fields(const Asked& asked) {
  Table table({"field", "bits", "raw", "meaning"});
  for (const DescriptorField& field : descriptor_field_table)
    table.add({std::string(field.name),
               fmt::format("{}..{}", field.first_bit + field.bits - 1, field.first_bit),
               fmt::format("{:#x}", field.raw(asked.bits)), meaning(asked, field)});
  fmt::print("{}", table.text());
}

/// The chunks of the first atom_lines lines, as many as a terminal holds.
void print_addresses(const Use& use, const MatrixDescriptor& descriptor) {
  constexpr int most_chunks = 8;
  const SharedTile& tile = use.tile;
  const int elements = chunk_bytes / tile.element_bytes;
  const int chunks = std::min(tile.line_bytes() / chunk_bytes, most_chunks);
  std::vector<std::string> head{std::string(use.across_name())};
  for (int chunk = 0; chunk < chunks; ++chunk)
    head.push_back(fmt::format("{}={}", use.along_name(), chunk * elements));
  Table table(head);
  for (int line = 0; line < atom_lines; ++line) {
    std::vector<std::string> cells{fmt::format("{}", line)};
    for (int along = 0; along < chunks * elements; along += elements)
      cells.push_back(fmt::format("{:#07x}", tile.major == Major::k
                                                 ? element_address(descriptor, tile, line, along)
                                                 : element_address(descriptor, tile, along, line)));
    table.add(cells);
  }
  fmt::print("\naddresses of the first {} elements from each\n{}", elements, table.text());
}

void print_layout(const Use& use, const MatrixDescriptor& descriptor) {
  const SwizzleMode& mode = descriptor.swizzle();
  const AtomCount atoms = atom_count(mode, use.tile);
  const OperandBytes range = operand_bytes(descriptor, use.tile);
  fmt::print(
      "\natom: {} lines along {} of {} bytes, {} elements along {}\n"
      "operand: {} × {} atoms along {} and {}, in bytes {:#07x} to {:#07x}\n",
      atom_lines, use.across_name(), mode.row_bytes, mode.row_bytes / use.tile.element_bytes,
      use.along_name(), atoms.across, atoms.along, use.across_name(), use.along_name(), range.first,
      range.end);
  print_addresses(use, descriptor);
}

std::string operand_name(const Use& use) { return use.operand == Operand::a ? "A" : "B"; }

std::string major_name(const Use& use) {
  return use.tile.major == Major::k ? "K-major" : use.operand == Operand::a ? "M-major" : "N-major";
}

void print_text(const Asked& asked, const std::vector<DescriptorFinding>& findings) {
  fmt::print("{:#018x}", asked.bits);
  if (asked.use)
    fmt::print(": {} of {}, {}", operand_name(*asked.use), short_name(asked.use->row),
               major_name(*asked.use));
  fmt::print("\n\n");
  print_fields(asked);
  if (asked.use) print_layout(*asked.use, asked.descriptor());
  fmt::print("\n");
  for (const DescriptorFinding& finding : findings)
    fmt::print("{}: {}\n", level_name(finding.level), finding_text(finding));
  if (findings.empty())
    fmt::print("no contradiction{}\n",
               asked.use ? "" : " in the fields; --instr checks the layout too");
}

nlohmann::ordered_json use_json(const Use& use, const MatrixDescriptor& descriptor) {
  nlohmann::ordered_json chunks = nlohmann::ordered_json::array();
  for_each_chunk(use.tile, [&](int outer, int k) {
    chunks.push_back({{use.outer_name(), outer},
                      {"k", k},
                      {"address", element_address(descriptor, use.tile, outer, k)}});
  });
  const OperandBytes range = operand_bytes(descriptor, use.tile);
  return {{"instr", short_name(use.row)},
          {"operand", operand_name(use)},
          {"major", use.tile.major == Major::k ? "k" : "mn"},
          {"first_byte", range.first},
          {"end_byte", range.end},
          {"chunk_bytes", chunk_bytes},
          {"chunks", chunks}};
}

void print_json(const Asked& asked, const std::vector<DescriptorFinding>& findings) {
  nlohmann::ordered_json fields = nlohmann::ordered_json::array();
  const MatrixDescriptor descriptor = asked.descriptor();
  for (const DescriptorField& field : descriptor_field_table)
    fields.push_back({{"name", field.name},
                      {"first_bit", field.first_bit},
                      {"bits", field.bits},
                      {"raw", field.raw(asked.bits)},
                      {"value", descriptor.*field.value},
                      {"meaning", meaning(asked, field)}});
  nlohmann::ordered_json lines = nlohmann::ordered_json::array();
  for (const DescriptorFinding& finding : findings)
    lines.push_back({{"level", level_name(finding.level)},
                     {"rule", finding.rule},
                     {"seen", finding.seen},
                     {"right", finding.right}});
  nlohmann::ordered_json document{{"descriptor", fmt::format("{:#018x}", asked.bits)},
                                  {"fields", fields},
                                  {"swizzle", descriptor.swizzle().name},
                                  {"findings", lines}};
  if (asked.use) document["use"] = use_json(*asked.use, descriptor);
  fmt::print("{}\n", document.dump(2));
}

int run(const Options& options) {
  const Asked question = asked(options);
  const std::vector<DescriptorFinding> findings = question.findings();
  options.json ? print_json(question, findings) : print_text(question, findings);
  return std::ranges::count(findings, FindingLevel::contradiction, &DescriptorFinding::level) > 0
             ? 1
             : 0;
}

}  // namespace

void add_descriptor(CLI::App& app, int& status) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "descriptor",
      "A matrix descriptor of wgmma: its fields, its layout and its contradictions\n"
      "example: bitmma descriptor 0x4000004000010040 --instr wgmma.m64n64k16.f32.f16.f16\n"
      "example: bitmma descriptor --make --start 0x400 --swizzle 128B --major mn "
      "--instr wgmma.m64n128k16.f32.bf16.bf16\n"
      "exit status: 1 if it contradicts a rule");
  CLI::Option* descriptor =
      command->add_option("DESCRIPTOR", options->descriptor, "the 64 bits, such as 0x4000…");
  command->add_option("--instr", options->instr, "the wgmma that reads it, with its N");
  command->add_option("--operand", options->operand, "A or B (default B)")
      ->transform(CLI::IsMember({"A", "B"}, CLI::ignore_case));
  command->add_option("--major", options->major, "k (default), or mn: transposed")
      ->transform(CLI::IsMember({"k", "mn"}, CLI::ignore_case));
  CLI::Option* make =
      command->add_flag("--make", options->make, "build one from fields")->excludes(descriptor);
  command->add_option("--start", options->start, "start address in bytes (default 0)")->needs(make);
  command->add_option("--leading", options->leading, "leading dimension offset in bytes")
      ->needs(make);
  command->add_option("--stride", options->stride, "stride dimension offset in bytes")->needs(make);
  command->add_option("--base-offset", options->base_offset, "base offset (default 0)")
      ->needs(make);
  command->add_option("--swizzle", options->swizzle, "none (default), 128B, 64B or 32B")
      ->needs(make);
  command->add_flag("--json", options->json, "an object");
  command->callback([options, &status] { status = run(*options); });
}

}  // namespace bitmma
