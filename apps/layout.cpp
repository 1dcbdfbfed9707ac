#include "bitmma/isa/layout.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "bitmma/apps/arguments.hpp"
#include "bitmma/apps/commands.hpp"
#include "bitmma/apps/lane_address.hpp"
#include "bitmma/apps/table.hpp"

namespace bitmma {
namespace {

struct Options {
  std::string instr;
  std::string operand;
  std::string arch;
  int lane = -1;
  std::vector<int> element;
  AddressOptions addresses;
  bool json = false;
};

/// One element of a fragment, with both of its addresses.
struct Place {
  FragmentPosition at;
  Coordinates cell;
};

/// A fragment to show.
struct Request {
  std::string name;
  std::string title;  ///< lines that stand above the tables
  Layout layout;
  int bits;                     ///< of an element in registers
  std::string_view block_name;  ///< what the layout's blocks are
  std::optional<DataMovement> movement;
  const Target* target;  ///< of a movement
};

Operand operand_of(const Options& options) {
  constexpr std::string_view names = "ABCD";
  constexpr Operand operands[] = {Operand::a, Operand::b, Operand::c, Operand::d};
  if (options.operand.empty()) throw UsageError("--operand is required: choose A, B, C or D");
  return operands[names.find(options.operand)];
}

/// The fragment of A, B, C or D; the remark is lines of the title.
Request operand_request(const Options& options, const std::string& name, const Format& format,
                        const Layout& layout, const std::string& remark) {
  const int bits = format.storage_bits;
  const std::string title =
      fmt::format("{}, operand {}: {} × {} .{}, {} lanes, {} registers a lane{}", name,
                  options.operand, layout.extent(Axis::row), layout.extent(Axis::column),
                  format.name, layout.lanes(), layout.elements() * bits / 32, remark);
  return {name, title, layout, bits, "quad pair", {}, nullptr};
}

Request mma_request(const Options& options) {
  const Instruction row = options.arch.empty()
                              ? instruction_argument(options.instr)
                              : execution_argument(options.arch, options.instr).instruction;
  const Operand operand = operand_of(options);
  if (row.n == 0)
    throw UsageError(
        fmt::format("{}: N must be a number here; choose 8, 16, … 256", options.instr));
  if (!has_fragment(row, operand))
    throw UsageError(fmt::format(
        "{}: B of wgmma is read from shared memory and has no fragment; choose A, C or D",
        options.instr));
  return operand_request(options, short_name(row), row.format(operand),
                         fragment_layout(row, operand), "");
}

/// How often the fragment holds each element, and what wmma.mma runs as.
std::string wmma_remark(const WmmaInstruction& row, const Target& target, const Layout& layout) {
  const int copies = layout.extent(Axis::copy);
  return fmt::format(
      "\non {}, index i is x[i]; each element is held {}\nruns as {}, over ascending k",
      target.name, copies == 1 ? "once" : fmt::format("{} times", copies),
      short_name(wmma_step(row, target)));
}

Request wmma_request(const Options& options) {
  const WmmaInstruction row = wmma_argument(options.instr);
  const Operand operand = operand_of(options);
  if (options.arch.empty())
    throw UsageError(fmt::format("{}: its fragments differ by target; give --arch, one of {}",
                                 options.instr, target_names()));
  const Target& target = target_argument(options.arch);
  if (!row.runs_on(target))
    throw UsageError(fmt::format("{} is not on {}: it needs sm_{} or later", short_name(row),
                                 target.name, row.first_sm));
  const Layout layout = wmma_fragment_layout(row, operand, target);
  return operand_request(options, short_name(row), row.format(operand), layout,
                         wmma_remark(row, target, layout));
}

Request movement_request(const Options& options, const DataMovement& row) {
  if (!options.operand.empty())
    throw UsageError(
        fmt::format("{}: has no operands A, B, C, D; leave out --operand", options.instr));
  const std::string title = fmt::format(
      "{}: {} {} × {} .{}, {} lanes, {} registers a lane; evidence: {}", short_name(row),
      row.count == 1 ? "a matrix" : fmt::format("{} matrices", row.count), row.rows, row.columns,
      row.element.name, warp_lanes, fragment_registers(row), label_name(evidence_label(row)));
  return {short_name(row),
          title,
          fragment_layout(row),
          row.element.register_bits,
          "matrix",
          row,
          &movement_target(row, options.arch)};
}

Request request(const Options& options) {
  if (const std::optional<DataMovement> row = data_movement_argument(options.instr))
    return movement_request(options, *row);
  return options.instr.starts_with("wmma.") ? wmma_request(options) : mma_request(options);
}

/// True for ldmatrix and stmatrix.
bool has_addresses(const Request& request) {
  return request.movement && request.movement->kind != MovementKind::move;
}

/// True where a lane's registers hold elements of several matrices.
bool has_matrices(const Request& request) {
  return request.movement && request.movement->count > 1;
}

/// True where WMMA holds an element several times.
bool has_copies(const Request& request) { return request.layout.extent(Axis::copy) > 1; }

void check_lane(const Options& options, const Layout& layout) {
  if (options.lane >= layout.lanes())
    throw UsageError(fmt::format("--lane {}: choose 0 to {}", options.lane, layout.lanes() - 1));
}

void check_element(const Options& options, const Layout& layout) {
  const int rows = layout.extent(Axis::row);
  const int columns = layout.extent(Axis::column);
  const std::vector<int>& element = options.element;
  if (element.empty()) return;
  if (element[0] >= rows || element[1] >= columns)
    throw UsageError(
        fmt::format("--element {},{}: choose a row from 0 to {} and a column from 0 to {}",
                    element[0], element[1], rows - 1, columns - 1));
}

/// The places that the options ask for, by lane and index.
std::vector<Place> places(const Options& options, const Layout& layout) {
  std::vector<Place> found;
  for (int lane = 0; lane < layout.lanes(); ++lane)
    for (int index = 0; index < layout.elements(); ++index) {
      const Coordinates cell = coordinates(layout, lane, index);
      const bool wanted = (options.lane < 0 || options.lane == lane) &&
                          (options.element.empty() ||
                           (options.element[0] == cell.row && options.element[1] == cell.column));
      if (wanted) found.push_back({{lane, index}, cell});
    }
  return found;
}

std::string bit_range(int low, int bits) { return fmt::format("{}..{}", low + bits - 1, low); }

/// The register that holds an element, or both of a wide one's.
std::string register_text(const Request& request, int index) {
  const int first = index * request.bits / 32;
  return request.bits <= 32 ? fmt::format("{}", first) : fmt::format("{}..{}", first, first + 1);
}

/// The addresses of the lanes that the options ask about; none where the instruction takes none.
std::vector<LaneAddress> shown_addresses(const Options& options, const Request& request) {
  if (!has_addresses(request)) {
    if (!any_given(options.addresses)) return {};
    throw UsageError(
        fmt::format("{}: --addresses, --stride, --base and --size are for ldmatrix and "
                    "stmatrix alone",
                    options.instr));
  }
  std::vector<LaneAddress> lanes =
      lane_addresses(*request.movement, *request.target, options.addresses);
  std::set<int> wanted;
  for (const Place& place : places(options, request.layout))
    wanted.insert(options.element.empty() ? place.at.lane
                                          : memory_place(*request.movement, place.cell).lane);
  std::erase_if(lanes, [&](const LaneAddress& lane) { return !wanted.contains(lane.lane); });
  return lanes;
}

void print_json(const Options& options, const Request& request,
                const std::vector<LaneAddress>& addresses) {
  nlohmann::ordered_json elements = nlohmann::ordered_json::array();
  for (const Place& place : places(options, request.layout)) {
    nlohmann::ordered_json element{{"lane", place.at.lane},
                                   {"index", place.at.index},
                                   {"row", place.cell.row},
                                   {"col", place.cell.column},
                                   {"block", place.cell.block}};
    if (has_copies(request)) element["copy"] = place.cell.copy;
    if (has_addresses(request)) {
      const MemoryPlace from = memory_place(*request.movement, place.cell);
      element["address_lane"] = from.lane;
      element["address_bit"] = from.bit;
    }
    elements.push_back(std::move(element));
  }
  nlohmann::ordered_json document{{"instr", request.name}};
  if (!request.movement) document["operand"] = options.operand;
  document["rows"] = request.layout.extent(Axis::row);
  document["cols"] = request.layout.extent(Axis::column);
  document["elements"] = std::move(elements);
  if (has_addresses(request)) document["addresses"] = address_json(addresses);
  fmt::print("{}\n", document.dump(2));
}

/// One line an element: where it stands in the fragment, in the tile, and in shared memory.
void print_places(const Options& options, const Request& request) {
  const bool blocks = request.layout.extent(Axis::block) > 1;
  std::vector<std::string> head{"lane", "index", "register", "bits", "row", "column"};
  if (blocks) head.emplace_back(request.block_name);
  if (has_copies(request)) head.emplace_back("copy");
  if (has_addresses(request)) head.insert(head.end(), {"address of lane", "bits from there"});
  Table table(head);
  for (const Place& place : places(options, request.layout)) {
    std::vector<std::string> cells{fmt::format("{}", place.at.lane),
                                   fmt::format("{}", place.at.index),
                                   register_text(request, place.at.index),
                                   bit_range(place.at.index * request.bits % 32, request.bits),
                                   fmt::format("{}", place.cell.row),
                                   fmt::format("{}", place.cell.column)};
    if (blocks) cells.push_back(fmt::format("{}", place.cell.block));
    if (has_copies(request)) cells.push_back(fmt::format("{}", place.cell.copy));
    if (has_addresses(request)) {
      const MemoryPlace from = memory_place(*request.movement, place.cell);
      cells.push_back(fmt::format("{}", from.lane));
      cells.push_back(bit_range(from.bit, request.movement->element.memory_bits));
    }
    table.add(cells);
  }
  fmt::print("{}", table.text());
}

/// Which row of shared memory each lane's address begins.
void print_addresses(const Request& request, const std::vector<LaneAddress>& addresses) {
  fmt::print("addresses: the row of {} bytes that each lane's begins{}\n{}\n", matrix_row_bytes,
             request.movement->transposed ? ", a column in the registers" : "",
             address_table(addresses).text());
}

/// Cells a line of output holds, so that tables stay readable in a terminal.
constexpr int cells_a_line = 8;

std::string cell_text(const Request& request, const Coordinates& cell) {
  const std::string text = fmt::format("({},{})", cell.row, cell.column);
  return has_matrices(request) ? fmt::format("{}:{}", cell.block, text) : text;
}

void print_by_lane(const Request& request) {
  const Layout& layout = request.layout;
  const bool quad_pairs = layout.extent(Axis::block) > 1 && !request.movement;
  fmt::print("by lane: {}(row,column) of each element\n", has_matrices(request) ? "matrix:" : "");
  for (int first = 0; first < layout.elements(); first += cells_a_line) {
    const int last = std::min(first + cells_a_line, layout.elements());
    std::vector<std::string> head{"lane"};
    if (quad_pairs) head.emplace_back(request.block_name);
    for (int index = first; index < last; ++index)
      head.push_back(fmt::format("{}[{}]", register_text(request, index),
                                 index * request.bits % 32 / request.bits));
    Table table(head);
    for (int lane = 0; lane < layout.lanes(); ++lane) {
      std::vector<std::string> cells{fmt::format("{}", lane)};
      if (quad_pairs) cells.push_back(fmt::format("{}", coordinates(layout, lane, 0).block));
      for (int index = first; index < last; ++index)
        cells.push_back(cell_text(request, coordinates(layout, lane, index)));
      table.add(cells);
    }
    fmt::print("{}\n", table.text());
  }
  fmt::print("r[i] in the head: element i of register r, lowest bits first\n\n");
}

/// "lane:index" of a cell's every copy.
std::string holders(const Layout& layout, Coordinates cell) {
  std::vector<std::string> all;
  for (cell.copy = 0; cell.copy < layout.extent(Axis::copy); ++cell.copy) {
    const FragmentPosition at = position(layout, cell);
    all.push_back(fmt::format("{}:{}", at.lane, at.index));
  }
  return fmt::format("{}", fmt::join(all, " "));
}

void print_by_cell(const Request& request) {
  const Layout& layout = request.layout;
  const int columns = layout.extent(Axis::column);
  for (int block = 0; block < layout.extent(Axis::block); ++block)
    for (int first = 0; first < columns; first += cells_a_line) {
      const std::string where =
          layout.extent(Axis::block) > 1 ? fmt::format(", {} {}", request.block_name, block) : "";
      fmt::print("by element: lane:index of each cell{}\n", where);
      const int last = std::min(first + cells_a_line, columns);
      std::vector<std::string> head{"row"};
      for (int column = first; column < last; ++column) head.push_back(fmt::format("c{}", column));
      Table table(head);
      for (int row = 0; row < layout.extent(Axis::row); ++row) {
        std::vector<std::string> cells{fmt::format("{}", row)};
        for (int column = first; column < last; ++column)
          cells.push_back(holders(layout, {row, column, block}));
        table.add(cells);
      }
      fmt::print("{}\n", table.text());
    }
}

void run(const Options& options) {
  const Request asked = request(options);
  check_lane(options, asked.layout);
  check_element(options, asked.layout);
  const std::vector<LaneAddress> addresses = shown_addresses(options, asked);
  if (options.json) return print_json(options, asked, addresses);
  fmt::print("{}\n\n", asked.title);
  if (has_addresses(asked)) print_addresses(asked, addresses);
  if (options.lane >= 0 || !options.element.empty()) return print_places(options, asked);
  print_by_lane(asked);
  print_by_cell(asked);
}

}  // namespace

void add_layout(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("layout",
                         "Which lane and register hold each element of a fragment, and back\n"
                         "example: bitmma layout m16n8k16.f32.f16.f16.f32 --operand A --lane 5\n"
                         "example: bitmma layout m8n8k4.f32.f16.f16.f32 --operand D --element 3,2\n"
                         "example: bitmma layout ldmatrix.m8n8.x4.b16 --stride 32 --size 1024\n"
                         "example: bitmma layout wmma.m16n16k16.f32.f16.f16.f32 --operand D "
                         "--arch sm_70 --lane 5");
  command->add_option("instr", options->instr, "instruction, in PTX's or the short spelling")
      ->required();
  command->add_option("--operand", options->operand, "A, B, C or D, for mma, wgmma and wmma")
      ->transform(CLI::IsMember({"A", "B", "C", "D"}, CLI::ignore_case));
  command->add_option("--arch", options->arch,
                      "target, which decides WMMA's fragments; on sm_75 addresses of all lanes of "
                      "ldmatrix must be valid");
  command->add_option("--lane", options->lane, "only this lane")->check(whole_number_error);
  command->add_option("--element", options->element, "only this element: ROW,COLUMN of its tile")
      ->delimiter(',')
      ->check(whole_number_error)
      ->expected(2);
  add_address_options(*command, options->addresses);
  command->add_flag("--json", options->json, "an object with an array of elements");
  command->callback([options] { run(*options); });
}

}  // namespace bitmma
