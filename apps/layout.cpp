#include "bitmma/isa/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "bitmma/apps/arguments.hpp"
#include "bitmma/apps/commands.hpp"
#include "bitmma/apps/table.hpp"

namespace bitmma {
namespace {

struct Options {
  std::string instr;
  std::string operand;
  int lane = -1;
  std::vector<int> element;
  bool json = false;
};

/// One element of a fragment, with both of its addresses.
struct Place {
  FragmentPosition at;
  Coordinates cell;
};

struct Request {
  Instruction row;
  Operand operand;
  Layout layout;
  int packed;  ///< elements a register
};

Request request(const Options& options) {
  constexpr std::string_view names = "ABCD";
  constexpr Operand operands[] = {Operand::a, Operand::b, Operand::c, Operand::d};
  const Instruction row = instruction_argument(options.instr);
  const Operand operand = operands[names.find(options.operand)];
  if (row.n == 0)
    throw UsageError(
        fmt::format("{}: N must be a number here; choose 8, 16, … 256", options.instr));
  if (!has_fragment(row, operand))
    throw UsageError(fmt::format(
        "{}: B of wgmma is read from shared memory and has no fragment; choose A, C or D",
        options.instr));
  return {row, operand, fragment_layout(row, operand), 32 / row.format(operand).storage_bits};
}

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

void print_json(const Options& options, const Request& request) {
  nlohmann::ordered_json elements = nlohmann::ordered_json::array();
  for (const Place& place : places(options, request.layout))
    elements.push_back({{"lane", place.at.lane},
                        {"index", place.at.index},
                        {"row", place.cell.row},
                        {"col", place.cell.column},
                        {"block", place.cell.block}});
  const nlohmann::ordered_json document{{"instr", short_name(request.row)},
                                        {"operand", options.operand},
                                        {"rows", request.layout.extent(Axis::row)},
                                        {"cols", request.layout.extent(Axis::column)},
                                        {"elements", elements}};
  fmt::print("{}\n", document.dump(2));
}

/// One line an element: where it stands in the fragment, and where in the tile.
void print_places(const Options& options, const Request& request) {
  const int bits = 32 / request.packed;
  const bool quad_pairs = request.layout.extent(Axis::block) > 1;
  std::vector<std::string> head{"lane", "index", "register", "bits", "row", "column"};
  if (quad_pairs) head.emplace_back("quad pair");
  Table table(head);
  for (const Place& place : places(options, request.layout)) {
    const int low = place.at.index % request.packed * bits;
    std::vector<std::string> cells{fmt::format("{}", place.at.lane),
                                   fmt::format("{}", place.at.index),
                                   fmt::format("{}", place.at.index / request.packed),
                                   fmt::format("{}..{}", low + bits - 1, low),
                                   fmt::format("{}", place.cell.row),
                                   fmt::format("{}", place.cell.column)};
    if (quad_pairs) cells.push_back(fmt::format("{}", place.cell.block));
    table.add(cells);
  }
  fmt::print("{}", table.text());
}

/// Cells a line of output holds, so that tables stay readable in a terminal.
constexpr int cells_a_line = 8;

void print_by_lane(const Request& request) {
  const Layout& layout = request.layout;
  fmt::print("by lane: (row,column) of each element\n");
  for (int first = 0; first < layout.elements(); first += cells_a_line) {
    const int last = std::min(first + cells_a_line, layout.elements());
    std::vector<std::string> head{"lane"};
    if (layout.extent(Axis::block) > 1) head.emplace_back("quad pair");
    for (int index = first; index < last; ++index)
      head.push_back(fmt::format("{}[{}]", index / request.packed, index % request.packed));
    Table table(head);
    for (int lane = 0; lane < layout.lanes(); ++lane) {
      std::vector<std::string> cells{fmt::format("{}", lane)};
      if (layout.extent(Axis::block) > 1)
        cells.push_back(fmt::format("{}", coordinates(layout, lane, 0).block));
      for (int index = first; index < last; ++index) {
        const Coordinates cell = coordinates(layout, lane, index);
        cells.push_back(fmt::format("({},{})", cell.row, cell.column));
      }
      table.add(cells);
    }
    fmt::print("{}\n", table.text());
  }
  fmt::print("r[i] in the head: element i of register r, lowest bits first\n\n");
}

void print_by_cell(const Request& request) {
  const Layout& layout = request.layout;
  const int columns = layout.extent(Axis::column);
  for (int block = 0; block < layout.extent(Axis::block); ++block)
    for (int first = 0; first < columns; first += cells_a_line) {
      const std::string where =
          layout.extent(Axis::block) > 1 ? fmt::format(", quad pair {}", block) : "";
      fmt::print("by element: lane:index of each cell{}\n", where);
      const int last = std::min(first + cells_a_line, columns);
      std::vector<std::string> head{"row"};
      for (int column = first; column < last; ++column) head.push_back(fmt::format("c{}", column));
      Table table(head);
      for (int row = 0; row < layout.extent(Axis::row); ++row) {
        std::vector<std::string> cells{fmt::format("{}", row)};
        for (int column = first; column < last; ++column) {
          const FragmentPosition at = position(layout, {row, column, block});
          cells.push_back(fmt::format("{}:{}", at.lane, at.index));
        }
        table.add(cells);
      }
      fmt::print("{}\n", table.text());
    }
}

void run(const Options& options) {
  const Request asked = request(options);
  check_lane(options, asked.layout);
  check_element(options, asked.layout);
  if (options.json) return print_json(options, asked);
  fmt::print("{}, operand {}: {} × {} .{}, {} lanes, {} registers a lane\n\n",
             short_name(asked.row), options.operand, asked.layout.extent(Axis::row),
             asked.layout.extent(Axis::column), asked.row.format(asked.operand).name,
             asked.layout.lanes(), fragment_registers(asked.row, asked.operand));
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
                         "example: bitmma layout m8n8k4.f32.f16.f16.f32 --operand D --element 3,2");
  command->add_option("instr", options->instr, "instruction, in PTX's or the short spelling")
      ->required();
  command->add_option("--operand", options->operand, "A, B, C or D")
      ->required()
      ->transform(CLI::IsMember({"A", "B", "C", "D"}, CLI::ignore_case));
  command->add_option("--lane", options->lane, "only this lane")->check(whole_number_error);
  command->add_option("--element", options->element, "only this element: ROW,COLUMN of its tile")
      ->delimiter(',')
      ->check(whole_number_error)
      ->expected(2);
  command->add_flag("--json", options->json, "an object with an array of elements");
  command->callback([options] { run(*options); });
}

}  // namespace bitmma
