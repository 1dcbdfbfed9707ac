#include "bitmma/emulator/wmma.hpp"

#include <array>
#include <cstring>

namespace bitmma {
namespace {

constexpr std::uint64_t pointer_alignment = 32;            // bytes
constexpr std::uint64_t leading_dimension_alignment = 16;  // bytes
constexpr int lanes = 32;

constexpr std::string_view operand_name(Operand operand) {
  constexpr std::string_view names[] = {"A", "B", "C", "D"};
  return names[static_cast<std::size_t>(operand)];
}

constexpr std::string_view layout_name(MatrixLayout layout) {
  return layout == MatrixLayout::row ? ".row" : ".col";
}

[[noreturn]] void refuse(const WmmaInstruction& row, std::string_view reason) {
  throw WmmaError(short_name(row).append(": ").append(reason));
}

void require_target(const WmmaInstruction& row, const Target& target) {
  if (!row.runs_on(target))
    refuse(row, std::string("not on ")
                    .append(target.name)
                    .append("; it needs sm_")
                    .append(std::to_string(row.first_sm))
                    .append(" or later"));
}

/// A tile in memory: lines of neighbouring elements, which are rows or columns.
struct Lines {
  std::uint64_t count;
  std::uint64_t length;
};

Lines lines_of(const WmmaInstruction& row, Operand operand, MatrixLayout layout) {
  const int rows = operand == Operand::b ? row.k : row.m;
  const int columns = operand == Operand::a ? row.k : row.n;
  const bool by_row = layout == MatrixLayout::row;
  return {static_cast<std::uint64_t>(by_row ? rows : columns),
          static_cast<std::uint64_t>(by_row ? columns : rows)};
}

std::optional<std::string> layout_fault(const WmmaInstruction& row, Operand operand,
                                        MatrixLayout layout) {
  if (operand != Operand::a && operand != Operand::b) return std::nullopt;
  const MatrixLayout declared = operand == Operand::a ? row.a_layout : row.b_layout;
  if (layout == declared) return std::nullopt;
  return std::string("layout of ")
      .append(operand_name(operand))
      .append(" is ")
      .append(layout_name(layout))
      .append("; right: ")
      .append(layout_name(declared))
      .append(", as declared");
}

std::optional<std::string> address_fault(std::uint64_t address) {
  if (address % pointer_alignment == 0) return std::nullopt;
  return std::string("address ")
      .append(std::to_string(address))
      .append(" is not aligned to 256 bits; right: a multiple of ")
      .append(std::to_string(pointer_alignment));
}

std::optional<std::string> leading_dimension_fault(std::uint64_t given, std::uint64_t least,
                                                   std::uint64_t multiple) {
  if (given % multiple == 0 && given >= least) return std::nullopt;
  return std::string("leading dimension is ")
      .append(std::to_string(given))
      .append("; right: a multiple of ")
      .append(std::to_string(multiple))
      .append(" elements (16 bytes), at least ")
      .append(std::to_string(least));
}

std::optional<std::string> extent_fault(const Lines& lines, std::uint64_t leading_dimension,
                                        std::uint64_t available) {
  // Compared by division, since count · leading_dimension may be beyond 64 bits.
  if (available >= lines.length &&
      leading_dimension <= (available - lines.length) / std::max<std::uint64_t>(lines.count - 1, 1))
    return std::nullopt;
  return std::string("the memory has ")
      .append(std::to_string(available))
      .append(" elements; right: ")
      .append(std::to_string(lines.length))
      .append(" after ")
      .append(std::to_string(lines.count - 1))
      .append(" times the leading dimension");
}

/// Where an element stands in memory, in bits from the pointer.
std::uint64_t bit_offset(const WmmaPointer& pointer, const Coordinates& cell, int bits) {
  const bool by_row = pointer.layout == MatrixLayout::row;
  const auto line = static_cast<std::uint64_t>(by_row ? cell.row : cell.column);
  const auto place = static_cast<std::uint64_t>(by_row ? cell.column : cell.row);
  return (line * pointer.leading_dimension + place) * static_cast<std::uint64_t>(bits);
}

Code load_code(std::span<const std::byte> memory, std::uint64_t offset, int bits) {
  Code code = 0;
  const std::size_t bytes = bits < 8 ? 1 : static_cast<std::size_t>(bits) / 8;
  std::memcpy(&code, memory.data() + offset / 8, bytes);
  return bits == 64 ? code : code >> offset % 8 & ((Code{1} << bits) - 1);
}

void store_code(std::span<std::byte> memory, std::uint64_t offset, int bits, Code code) {
  std::memcpy(memory.data() + offset / 8, &code, static_cast<std::size_t>(bits) / 8);
}

/// Calls visit(element, cell) for every lane's every element.
template <class Fragment, class Visit>
void for_each_element(Fragment& fragment, Visit visit) {
  for (int lane = 0; lane < lanes; ++lane)
    for (int index = 0; index < fragment.num_elements(); ++index)
      visit(fragment.elements[static_cast<std::size_t>(lane * fragment.num_elements() + index)],
            coordinates(fragment.layout, lane, index));
}

void require_memory(const WmmaInstruction& row, Operand operand, std::size_t memory_bytes,
                    const WmmaPointer& pointer) {
  if (const auto fault = wmma_memory_fault(row, operand, memory_bytes, pointer))
    refuse(row, *fault);
}

void require_lanes(const WmmaFragment& fragment) {
  const auto wanted = static_cast<std::size_t>(lanes * fragment.num_elements());
  if (fragment.elements.size() != wanted)
    refuse(fragment.instruction, std::string("fragment of ")
                                     .append(operand_name(fragment.operand))
                                     .append(" has ")
                                     .append(std::to_string(fragment.elements.size()))
                                     .append(" elements; right: ")
                                     .append(std::to_string(wanted))
                                     .append(", those of all 32 lanes"));
}

/// A result serves as C of the next product, where C and D have one type.
bool fits(const WmmaFragment& fragment, Operand wanted) {
  if (fragment.operand == wanted) return true;
  const WmmaInstruction& row = fragment.instruction;
  return wanted == Operand::c && fragment.operand == Operand::d && *row.c == *row.d;
}

void require_operand(const WmmaFragment& fragment, const WmmaFragment& a, Operand wanted) {
  const WmmaInstruction& row = a.instruction;
  if (!fits(fragment, wanted))
    refuse(row, std::string("fragment of ")
                    .append(operand_name(fragment.operand))
                    .append(" given as ")
                    .append(operand_name(wanted)));
  if (fragment.instruction != row)
    refuse(row, std::string("fragment of ")
                    .append(operand_name(wanted))
                    .append(" is one of ")
                    .append(short_name(fragment.instruction))
                    .append("; right: all of one form"));
  if (fragment.target != a.target)
    refuse(row, std::string("fragment of ")
                    .append(operand_name(wanted))
                    .append(" is one of ")
                    .append(fragment.target->name)
                    .append("; right: all of ")
                    .append(a.target->name));
  require_lanes(fragment);
}

/// The codes of A's row i, or of B's column j, that the product's element (i, j) is made of.
std::array<Code, max_k> factors(const WmmaFragment& fragment, int i, int j) {
  const WmmaInstruction& row = fragment.instruction;
  const bool is_a = fragment.operand == Operand::a;
  const int copy = wmma_copy_read(row, fragment.operand, *fragment.target, i, j);
  std::array<Code, max_k> codes{};
  for (int k = 0; k < row.k; ++k)
    codes[static_cast<std::size_t>(k)] =
        fragment.at(is_a ? Coordinates{i, k, 0, copy} : Coordinates{k, j, 0, copy});
  return codes;
}

}  // namespace

std::optional<std::string> wmma_memory_fault(const WmmaInstruction& row, Operand operand,
                                             std::size_t memory_bytes, const WmmaPointer& pointer) {
  const auto bits = static_cast<std::uint64_t>(row.format(operand).storage_bits);
  const Lines lines = lines_of(row, operand, pointer.layout);
  std::optional<std::string> fault = layout_fault(row, operand, pointer.layout);
  if (!fault) fault = address_fault(pointer.address);
  if (!fault)
    fault = leading_dimension_fault(pointer.leading_dimension, lines.length,
                                    leading_dimension_alignment * 8 / bits);
  if (!fault) fault = extent_fault(lines, pointer.leading_dimension, memory_bytes * 8 / bits);
  return fault;
}

WmmaFragment fill_fragment(const WmmaInstruction& row, Operand operand, const Target& target,
                           Code code) {
  require_target(row, target);
  const Layout layout = wmma_fragment_layout(row, operand, target);
  const auto count = static_cast<std::size_t>(lanes * layout.elements());
  return {row, operand, &target, layout, std::vector<Code>(count, code)};
}

WmmaFragment load_matrix_sync(const WmmaInstruction& row, Operand operand, const Target& target,
                              std::span<const std::byte> memory, const WmmaPointer& pointer) {
  WmmaFragment fragment = fill_fragment(row, operand, target, 0);
  require_memory(row, operand, memory.size(), pointer);
  const int bits = row.format(operand).storage_bits;
  for_each_element(fragment, [&](Code& element, const Coordinates& cell) {
    element = load_code(memory, bit_offset(pointer, cell, bits), bits);
  });
  return fragment;
}

void store_matrix_sync(std::span<std::byte> memory, const WmmaPointer& pointer,
                       const WmmaFragment& fragment) {
  const WmmaInstruction& row = fragment.instruction;
  if (fragment.operand == Operand::a || fragment.operand == Operand::b)
    refuse(row, std::string("fragment of ")
                    .append(operand_name(fragment.operand))
                    .append(" cannot be stored; right: an accumulator"));
  require_lanes(fragment);
  require_memory(row, fragment.operand, memory.size(), pointer);
  const int bits = row.format(fragment.operand).storage_bits;
  for_each_element(fragment, [&](const Code& element, const Coordinates& cell) {
    store_code(memory, bit_offset(pointer, cell, bits), bits, element);
  });
}

WmmaFragment mma_sync(const WmmaFragment& a, const WmmaFragment& b, const WmmaFragment& c) {
  const WmmaInstruction& row = a.instruction;
  require_operand(a, a, Operand::a);
  require_operand(b, a, Operand::b);
  require_operand(c, a, Operand::c);
  const ElementProgram program = wmma_program(row, *a.target);
  WmmaFragment d = fill_fragment(row, Operand::d, *a.target, 0);
  NoObserver observer;
  for_each_element(d, [&](Code& element, const Coordinates& cell) {
    element = run_element(program, factors(a, cell.row, cell.column).data(),
                          factors(b, cell.row, cell.column).data(), c.at(cell), observer);
  });
  return d;
}

}  // namespace bitmma
