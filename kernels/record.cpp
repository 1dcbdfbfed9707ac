#include "bitmma/kernels/record.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <sstream>
#include <tuple>

#include "bitmma/isa/lowering.hpp"
#include "bitmma/kernels/batch.hpp"

namespace bitmma {
namespace {

constexpr std::string_view first_line =
    "# bitmma verify: outputs of a GPU compared with the emulator's, bit for bit";
constexpr std::string_view columns_line =
    "# instruction a family first_tile tiles outputs mismatches digest";

struct ProvenanceField {
  std::string_view name;
  std::string Provenance::*value;
};

constexpr ProvenanceField provenance_fields[] = {
    {"gpu", &Provenance::gpu},   {"target", &Provenance::target}, {"driver", &Provenance::driver},
    {"cuda", &Provenance::cuda}, {"nvcc", &Provenance::nvcc},     {"bitmma", &Provenance::bitmma},
    {"date", &Provenance::date},
};

std::optional<std::uint64_t> parse_number(std::string_view text, int base = 10) {
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, base);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return number;
}

std::uint64_t outputs_of_a_tile(const Instruction& row) {
  return static_cast<std::uint64_t>(row.m * row.n);
}

/// A piece of a file for a message: printable, and not too long.
std::string shown(std::string_view text) {
  constexpr std::size_t most = 60;
  std::string piece(text.substr(0, most));
  for (char& c : piece)
    if (c < ' ' || c > '~') c = '?';
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

  bool next(std::string& line) {
    ++number_;
    char buffer[1024];
    in_.getline(buffer, sizeof buffer);
    if (in_.bad()) fail("cannot be read");
    if (in_.fail() && in_.gcount() > 0) fail("the line is longer than a record's");
    line.assign(buffer);
    if (line.ends_with('\r')) fail("the line ends in CR LF; convert the file to LF");
    return !in_.fail();
  }
  /// The next line, which must begin so; what follows.
  std::string expect(const std::string& beginning) {
    std::string line;
    if (!next(line) || !line.starts_with(beginning)) fail("expected '" + beginning + "'");
    return line.substr(beginning.size());
  }
  std::uint64_t expect_number(const std::string& beginning) {
    const std::string text = expect(beginning);
    return number(text);
  }
  std::uint64_t number(std::string_view text, int base = 10) const {
    const std::optional<std::uint64_t> number = parse_number(text, base);
    if (!number) fail(shown(text).append(" is no whole number"));
    return *number;
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

RecordLine parse_line(const std::string& text, const Record& record, const LineReader& reader) {
  std::istringstream words(text);
  const std::vector<std::string> columns{std::istream_iterator<std::string>(words), {}};
  constexpr std::size_t column_count = 8;
  if (columns.size() != column_count) reader.fail("expected 8 columns");
  if (columns.back().size() != 16) reader.fail("the digest has not 16 hexadecimal digits");
  RecordLine line{columns[0],
                  parse_a_source(columns[1], reader),
                  columns[2],
                  reader.number(columns[3]),
                  reader.number(columns[4]),
                  reader.number(columns[5]),
                  reader.number(columns[6]),
                  reader.number(columns[7], 16)};
  check_line(line, record, reader);
  return line;
}

/// No tile stands in two lines.
void check_disjoint(const std::vector<RecordLine>& lines, const LineReader& reader) {
  std::vector<const RecordLine*> sorted;
  for (const RecordLine& line : lines) sorted.push_back(&line);
  const auto place = [](const RecordLine* line) {
    return std::tie(line->instruction, line->a_source, line->family, line->first_tile);
  };
  std::ranges::sort(sorted, {}, place);
  const auto overlap = [](const RecordLine* x, const RecordLine* y) {
    return x->instruction == y->instruction && x->a_source == y->a_source &&
           x->family == y->family && y->first_tile < x->first_tile + x->tiles;
  };
  const auto found = std::ranges::adjacent_find(sorted, overlap);
  if (found != sorted.end())
    reader.fail("the file has tiles of " + (*found)->instruction + " " + (*found)->family +
                " twice");
}

Shard read_shard(const std::string& text, const LineReader& reader) {
  try {
    return parse_shard(text);
  } catch (const RecordError& error) {
    reader.fail(error.what());
  }
}

}  // namespace

std::optional<int> toolkit_of(const Provenance& provenance) {
  return parse_cuda(std::string_view(provenance.nvcc).substr(0, provenance.nvcc.find(',')));
}

std::string shard_text(Shard shard) {
  return std::to_string(shard.index).append("/").append(std::to_string(shard.count));
}

Shard parse_shard(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::optional<std::uint64_t> index = parse_number(text.substr(0, slash));
  const std::optional<std::uint64_t> count =
      slash == std::string_view::npos ? std::nullopt : parse_number(text.substr(slash + 1));
  constexpr std::uint64_t most = 1'000'000;
  if (!index || !count || *count == 0 || *count > most)
    throw RecordError(shown(text).append(" is no shard; choose I/N, such as 1/8"));
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

bool is_complete(const Record& record) {
  return std::ranges::all_of(record.lines, &RecordLine::is_complete);
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
    for (const NamedFamily& family : families)
      lines.push_back(
          {short_name(kernel.row), kernel.a_source, std::string(family.name), first_tile, tiles});
  }
  return lines;
}

std::vector<NamedFamily> campaign_families() {
  return {std::rbegin(input_families), std::rend(input_families)};
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
  reader.expect(std::string(first_line));
  for (const ProvenanceField& field : provenance_fields)
    record.provenance.*field.value = reader.expect("# " + std::string(field.name) + ": ");
  if (!find_target(record.provenance.target))
    reader.fail(shown(record.provenance.target)
                    .append(" is no target; choose from ")
                    .append(names_of(target_table)));
  if (!toolkit_of(record.provenance))
    reader.fail("nvcc " + shown(record.provenance.nvcc) + " is no version such as 13.0.88");
  record.cases.version = reader.expect_number("# cases: ");
  record.cases.seed = reader.expect_number("# seed: ");
  record.cases.count = reader.expect_number("# count: ");
  if (record.cases.count == 0 || record.cases.count > most_outputs)
    reader.fail("count is not from 1 to " + std::to_string(most_outputs));
  record.cases.shard = read_shard(reader.expect("# shard: "), reader);
  const std::uint64_t lines = reader.expect_number("# lines: ");
  reader.expect(std::string(columns_line));
  for (std::string line; reader.next(line);)
    record.lines.push_back(parse_line(line, record, reader));
  if (record.lines.size() != lines)
    reader.fail("the file ends after " + std::to_string(record.lines.size()) + " of " +
                std::to_string(lines) + " lines");
  check_disjoint(record.lines, reader);
  return record;
}

}  // namespace bitmma
