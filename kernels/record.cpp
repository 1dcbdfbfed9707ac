#include "bitmma/kernels/record.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <system_error>
#include <utility>

#include "bitmma/isa/lowering.hpp"
#include "bitmma/isa/target.hpp"
#include "bitmma/kernels/batch.hpp"

namespace bitmma {
namespace {

constexpr std::string_view first_line =
    "# bitmma verify: outputs of a GPU compared with the emulator's, bit for bit";
constexpr std::string_view columns_line =
    "# instruction a family first_tile tiles outputs mismatches digest";

std::optional<std::uint64_t> parse_digits(std::string_view text, int base) {
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, base);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return number;
}

/// The number that is written so: without leading zeros.
std::optional<std::uint64_t> parse_number(std::string_view text) {
  const std::optional<std::uint64_t> number = parse_digits(text, 10);
  return number && std::to_string(*number) == text ? number : std::nullopt;
}

bool is_printable(char c) { return ' ' <= c && c <= '~'; }

/// A piece of a file for a message: printable, and not too long.
std::string shown(std::string_view text) {
  constexpr std::size_t most = 60;
  std::string piece(text.substr(0, most));
  std::ranges::replace_if(
      piece, [](char c) { return !is_printable(c); }, '?');
  return text.size() > most ? piece.append("...") : piece;
}

/// "a, b, c" of the names of a table's rows.
template <class Table>
std::string names_of(const Table& table) {
  std::string names;
  for (const auto& row : table) names.append(names.empty() ? "" : ", ").append(row.name);
  return names;
}

/// Reads lines and counts them for its errors.
class LineReader {
 public:
  explicit LineReader(std::istream& in) : in_(in) {}

  /// False at the end of the file.
  bool next(std::string& line) {
    ++number_;
    char buffer[1024];
    in_.getline(buffer, sizeof buffer);
    const auto length = static_cast<std::size_t>(in_.gcount());
    if (in_.bad()) fail("cannot be read");
    if (in_.eof() && length == 0) return false;
    if (in_.fail()) fail("the line is longer than a record's");
    if (in_.eof()) fail("the file ends in the middle of the line");
    line.assign(buffer, length - 1);
    if (line.ends_with('\r')) fail("the line ends in CR LF; convert the file to LF");
    const auto odd = std::ranges::find_if_not(line, is_printable);
    if (odd != line.end())
      fail("byte " + std::to_string(odd - line.begin() + 1) + " is no printable ASCII character");
    return true;
  }
  /// The next line, which must begin so; what follows.
  std::string expect(const std::string& beginning) {
    std::string line;
    if (!next(line) || !line.starts_with(beginning)) fail("expected '" + beginning + "'");
    return line.substr(beginning.size());
  }
  /// The next line, which must be this one.
  void expect_line(const std::string& expected) {
    if (!expect(expected).empty()) fail("expected '" + expected + "' alone");
  }
  std::uint64_t expect_number(const std::string& beginning) {
    const std::string text = expect(beginning);
    return number(text);
  }
  std::uint64_t number(std::string_view text) const {
    const std::optional<std::uint64_t> number = parse_number(text);
    if (!number) fail(shown(text).append(" is no whole number"));
    return *number;
  }
  std::uint64_t digest(std::string_view text) const {
    const std::optional<std::uint64_t> digest = parse_digits(text, 16);
    if (!digest || digest_text(*digest) != text)
      fail(shown(text).append(" is no digest: 16 hexadecimal digits"));
    return *digest;
  }
  [[noreturn]] void fail(const std::string& reason) const {
    throw RecordError("line " + std::to_string(number_) + ": " + reason);
  }

 private:
  std::istream& in_;
  std::size_t number_ = 0;
};

ASource parse_a_source(std::string_view text, const LineReader& reader) {
  for (const ASource a_source : {ASource::registers, ASource::shared_memory})
    if (a_source_name(a_source) == text) return a_source;
  reader.fail(shown(text).append(": choose registers or shared"));
}

std::vector<int> toolkits_of(const Provenance& provenance) {
  std::vector<int> toolkits;
  for (const std::string& version : listed_values(provenance.nvcc))
    toolkits.push_back(parse_cuda(version).value());
  return toolkits;
}

/// Throws if a toolkit is older than the first one that compiles for `what`.
void check_toolkit(int toolkit, int first_cuda, std::string_view what, const LineReader& reader) {
  if (toolkit < first_cuda)
    reader.fail(std::string(what).append(" needs nvcc ") + cuda_text(first_cuda) +
                " or later, not " + cuda_text(toolkit));
}

void check_target(const std::string& name, const LineReader& reader) {
  const Target* target = find_target(name);
  if (target == nullptr || target->name != name)
    reader.fail(shown(name).append(" is no target; choose from ").append(names_of(target_table)));
}

/// Of kernels for the target, which all have the same arithmetic.
void check_toolkits(const std::string& versions, const Target& target, const LineReader& reader) {
  std::optional<int> first;
  for (const std::string& version : listed_values(versions)) {
    const std::optional<int> toolkit = parse_cuda(version);
    if (!toolkit) reader.fail("nvcc " + shown(version) + " is no version such as 13.0.88");
    check_toolkit(*toolkit, target.first_cuda, target.name, reader);
    if (!first) first = toolkit;
    if (!lower_alike(target, *first, *toolkit))
      reader.fail("nvcc " + shown(versions) + " compile to different machine instructions");
  }
}

Provenance read_provenance(LineReader& reader) {
  Provenance provenance;
  for (const ProvenanceField& field : provenance_fields) {
    std::string& value = provenance.*field.value;
    value = reader.expect(std::string("# ").append(field.name).append(": "));
    if (field.value == &Provenance::target) check_target(value, reader);
    if (field.value == &Provenance::nvcc)
      check_toolkits(value, *find_target(provenance.target), reader);
  }
  return provenance;
}

/// The row that a record may name: with a concrete N.
Instruction parse_row(const std::string& text, const LineReader& reader) {
  const std::optional<Instruction> row = find_instruction(text);
  if (!row || row->n == 0 || short_name(*row) != text)
    reader.fail(shown(text).append(" is no instruction with a kernel; 'bitmma list' shows all"));
  return *row;
}

void check_line(const RecordLine& line, const Record& record, const LineReader& reader) {
  const Instruction row = parse_row(line.instruction, reader);
  if (!row.runs_on(*find_target(record.provenance.target)))
    reader.fail(line.instruction + " is not on " + record.provenance.target);
  // Merged records have the kernels of all their toolkits.
  check_toolkit(std::ranges::max(toolkits_of(record.provenance)), row.first_cuda, line.instruction,
                reader);
  if (line.a_source == ASource::shared_memory && row.family == Family::mma_sync)
    reader.fail(line.instruction + " takes A from registers");
  const auto blocks = static_cast<std::uint64_t>(row.blocks());
  if (!find_family(line.family))
    reader.fail(
        shown(line.family).append(" is no family; choose from ").append(names_of(input_families)));
  if (line.first_tile % blocks != 0 || line.tiles % blocks != 0)
    reader.fail("tiles are not whole instructions");
  const std::uint64_t all_tiles = tiles_of(row, record.cases.count);
  if (line.first_tile > all_tiles || line.tiles > all_tiles - line.first_tile)
    reader.fail("more tiles than the count has");
  if (record.cases.shard.count > 1 &&
      tiles_of_shard(row, record.cases) != Tiles{line.first_tile, line.tiles})
    reader.fail("not the tiles of shard " + shard_text(record.cases.shard));
  if (line.outputs % (outputs_of_a_tile(row) * blocks) != 0)
    reader.fail("outputs are not whole instructions");
  if (line.done() > line.tiles) reader.fail("more outputs than the tiles have");
  if (line.mismatches > line.outputs) reader.fail("more mismatches than outputs");
}

/// What stands between the single blanks.
std::vector<std::string> columns_of(const std::string& text) {
  std::vector<std::string> columns(1);
  for (const char c : text)
    if (c == ' ')
      columns.emplace_back();
    else
      columns.back().push_back(c);
  return columns;
}

RecordLine parse_line(const std::string& text, const Record& record, const LineReader& reader) {
  const std::vector<std::string> columns = columns_of(text);
  constexpr std::size_t column_count = 8;
  if (columns.size() != column_count) reader.fail("expected 8 columns with one blank between them");
  RecordLine line{columns[0],
                  parse_a_source(columns[1], reader),
                  columns[2],
                  reader.number(columns[3]),
                  reader.number(columns[4]),
                  reader.number(columns[5]),
                  reader.number(columns[6]),
                  reader.digest(columns[7])};
  check_line(line, record, reader);
  return line;
}

/// The lines of each kernel and family, by their first tile.
std::map<KernelAndFamily, std::vector<const RecordLine*>> lines_by_kernel_and_family(
    const std::vector<RecordLine>& lines) {
  std::map<KernelAndFamily, std::vector<const RecordLine*>> groups;
  for (const RecordLine& line : lines) groups[kernel_and_family(line)].push_back(&line);
  for (auto& group : groups) std::ranges::sort(group.second, {}, &RecordLine::first_tile);
  return groups;
}

/// No tile stands in two lines.
void check_disjoint(const std::vector<RecordLine>& lines, const LineReader& reader) {
  const auto overlap = [](const RecordLine* x, const RecordLine* y) {
    return y->first_tile < x->first_tile + x->tiles;
  };
  for (const auto& [key, group] : lines_by_kernel_and_family(lines)) {
    const auto found = std::ranges::adjacent_find(group, overlap);
    if (found != group.end())
      reader.fail("the file has tiles of " + (*found)->instruction + " " + (*found)->family +
                  " twice");
  }
}

Shard read_shard(const std::string& text, const LineReader& reader) {
  try {
    return parse_shard(text);
  } catch (const RecordError& error) {
    reader.fail(error.what());
  }
}

}  // namespace

std::string provenance_text(const Provenance& provenance) {
  std::string text;
  for (const ProvenanceField& field : provenance_fields)
    text.append(text.empty() ? "" : ", ")
        .append(field.title)
        .append(field.title.empty() ? "" : " ")
        .append(provenance.*field.value);
  return text;
}

std::vector<std::string> listed_values(std::string_view text) {
  std::vector<std::string> values;
  for (std::size_t end = text.find(value_separator); end != text.npos;
       end = text.find(value_separator)) {
    values.emplace_back(text.substr(0, end));
    text.remove_prefix(end + value_separator.size());
  }
  values.emplace_back(text);
  return values;
}

std::optional<int> toolkit_of(const Provenance& provenance) {
  return parse_cuda(listed_values(provenance.nvcc).front());
}

std::string shard_text(Shard shard) {
  return std::to_string(shard.index).append("/").append(std::to_string(shard.count));
}

Shard parse_shard(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::optional<std::uint64_t> index = parse_number(text.substr(0, slash));
  const std::optional<std::uint64_t> count =
      slash == std::string_view::npos ? std::nullopt : parse_number(text.substr(slash + 1));
  if (!index || !count || *count == 0 || *count > most_shards)
    throw RecordError(shown(text) + " is no shard; choose I/N, such as 1/8, with N up to " +
                      std::to_string(most_shards));
  if (*index == 0 || *index > *count)
    throw RecordError(shown(text) + " is no shard; choose 1/" + std::to_string(*count) + " to " +
                      shard_text({*count, *count}));
  return {*index, *count};
}

std::uint64_t RecordLine::done() const {
  return outputs / outputs_of_a_tile(find_instruction(instruction).value());
}

void RecordTotal::add(const RecordLine& line) {
  families.insert(line.family);
  outputs += line.outputs;
  mismatches += line.mismatches;
  digest += line.digest;
}

RecordTotal total_of(const Record& record) {
  RecordTotal total;
  for (const RecordLine& line : record.lines) total.add(line);
  return total;
}

KernelAndFamily kernel_and_family(const RecordLine& line) {
  static const std::map<std::string, std::size_t> rows = [] {
    std::map<std::string, std::size_t> indices;
    for (std::size_t i = 0; i < std::size(instruction_table); ++i)
      indices[short_name(instruction_table[i])] = i;
    return indices;
  }();
  static const std::vector<NamedFamily> families = campaign_families();
  const Instruction row = find_instruction(line.instruction).value();
  const auto family = std::ranges::find(families, line.family, &NamedFamily::name);
  return {rows.at(short_name(table_row(row))), row.n, line.a_source,
          static_cast<std::size_t>(family - families.begin())};
}

TileRange range_of(const RecordLine& line, std::uint64_t first_tile, std::uint64_t end) {
  return {line.instruction, line.a_source, line.family, first_tile, end - first_tile};
}

std::vector<TileRange> gaps_of(const Record& record) {
  std::vector<TileRange> gaps;
  for (const auto& [key, lines] : lines_by_kernel_and_family(record.lines)) {
    const RecordLine& any = *lines.front();
    const auto [first_tile, tiles] =
        tiles_of_shard(find_instruction(any.instruction).value(), record.cases);
    std::uint64_t reached = first_tile;
    const auto add_gap_before = [&](std::uint64_t tile) {
      if (tile > reached) gaps.push_back(range_of(any, reached, tile));
    };
    for (const RecordLine* line : lines) {
      if (line->outputs == 0) continue;
      add_gap_before(line->first_tile);
      reached = line->first_tile + line->done();
    }
    add_gap_before(first_tile + tiles);
  }
  return gaps;
}

bool is_complete(const Record& record) { return gaps_of(record).empty(); }

std::uint64_t outputs_of_a_tile(const Instruction& row) {
  return static_cast<std::uint64_t>(row.m) * static_cast<std::uint64_t>(row.n);
}

std::uint64_t outputs_of(std::span<const TileRange> ranges) {
  std::uint64_t outputs = 0;
  for (const TileRange& range : ranges)
    outputs += range.tiles * outputs_of_a_tile(find_instruction(range.instruction).value());
  return outputs;
}

std::string digest_text(std::uint64_t digest) {
  char text[16];
  const auto result = std::to_chars(text, text + sizeof text, digest, 16);
  const auto digits = static_cast<std::size_t>(result.ptr - text);
  return std::string(sizeof text - digits, '0').append(text, digits);
}

std::string_view a_source_name(ASource a_source) {
  return a_source == ASource::registers ? "registers" : "shared";
}

Tiles tiles_of_shard(const Instruction& row, const CampaignCases& cases) {
  const auto blocks = static_cast<std::uint64_t>(row.blocks());
  if (cases.tile) return {*cases.tile / blocks * blocks, blocks};
  const std::uint64_t instructions = tiles_of(row, cases.count) / blocks;
  // Divided first, so that the product stays small.
  const auto start = [&](std::uint64_t index) {
    const std::uint64_t each = instructions / cases.shard.count;
    const std::uint64_t rest = instructions % cases.shard.count;
    return (each * index + rest * index / cases.shard.count) * blocks;
  };
  const std::uint64_t first = start(cases.shard.index - 1);
  return {first, start(cases.shard.index) - first};
}

std::vector<RecordLine> plan_campaign(std::span<const CampaignKernel> kernels,
                                      std::span<const NamedFamily> families,
                                      const CampaignCases& cases) {
  std::vector<RecordLine> lines;
  for (const CampaignKernel& kernel : kernels) {
    const auto [first_tile, tiles] = tiles_of_shard(kernel.row, cases);
    for (const NamedFamily& family : families_for(kernel.row, families))
      lines.push_back(
          {short_name(kernel.row), kernel.a_source, std::string(family.name), first_tile, tiles});
  }
  return lines;
}

std::vector<NamedFamily> campaign_families() {
  return {std::rbegin(input_families), std::rend(input_families)};
}

std::vector<NamedFamily> families_for(const Instruction& row,
                                      std::span<const NamedFamily> families) {
  std::vector<NamedFamily> kept(families.begin(), families.end());
  std::erase_if(kept, [&](const NamedFamily& each) { return !applies_to(each.family, *row.a); });
  return kept;
}

void write_provenance(std::ostream& out, const Provenance& provenance) {
  for (const ProvenanceField& field : provenance_fields)
    out << "# " << field.name << ": " << provenance.*field.value << "\n";
}

void write_record(std::ostream& out, const Record& record) {
  out << first_line << "\n";
  write_provenance(out, record.provenance);
  out << "# cases: " << record.cases.version << "\n# seed: " << record.cases.seed
      << "\n# count: " << record.cases.count << "\n# shard: " << shard_text(record.cases.shard)
      << "\n# lines: " << record.lines.size() << "\n"
      << columns_line << "\n";
  for (const RecordLine& line : record.lines)
    out << line.instruction << " " << a_source_name(line.a_source) << " " << line.family << " "
        << line.first_tile << " " << line.tiles << " " << line.outputs << " " << line.mismatches
        << " " << digest_text(line.digest) << "\n";
}

Record read_record(std::istream& in) {
  LineReader reader(in);
  Record record;
  reader.expect_line(std::string(first_line));
  record.provenance = read_provenance(reader);
  record.cases.version = reader.expect_number("# cases: ");
  record.cases.seed = reader.expect_number("# seed: ");
  record.cases.count = reader.expect_number("# count: ");
  if (record.cases.count == 0 || record.cases.count > most_outputs)
    reader.fail("count is not from 1 to " + std::to_string(most_outputs));
  record.cases.shard = read_shard(reader.expect("# shard: "), reader);
  const std::uint64_t lines = reader.expect_number("# lines: ");
  reader.expect_line(std::string(columns_line));
  for (std::string line; reader.next(line);)
    record.lines.push_back(parse_line(line, record, reader));
  if (record.lines.size() != lines)
    reader.fail("the file ends after " + std::to_string(record.lines.size()) + " of " +
                std::to_string(lines) + " lines");
  check_disjoint(record.lines, reader);
  return record;
}

}  // namespace bitmma
