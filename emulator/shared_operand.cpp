#include "bitmma/emulator/shared_operand.hpp"

#include <cstring>
#include <string>

#include "bitmma/emulator/descriptor_rules.hpp"
#include "bitmma/emulator/matrix.hpp"

namespace bitmma {
namespace {

OperandBytes range_of(std::span<const std::byte> memory, std::uint32_t base) {
  return {static_cast<int>(base), static_cast<int>(base + memory.size())};
}

/// Calls visit(index of the code, offset in the memory) for every element.
template <class Visit>
void for_each_element(const Instruction& row, Operand operand, Major major,
                      std::uint64_t descriptor_bits, const OperandBytes& memory, Visit visit) {
  const SharedTile tile = shared_tile(row, operand, major);
  const MatrixDescriptor descriptor = decode_descriptor(descriptor_bits);
  const OperandBytes range = operand_bytes(descriptor, tile);
  if (range.first < memory.first || range.end > memory.end)
    throw WgmmaError("the operand takes bytes " + std::to_string(range.first) + " to " +
                     std::to_string(range.end) + ", the memory has " +
                     std::to_string(memory.first) + " to " + std::to_string(memory.end));
  for (int outer = 0; outer < tile.outer; ++outer)
    for (int k = 0; k < tile.k; ++k) {
      const int index = operand == Operand::a ? outer * tile.k + k : k * tile.outer + outer;
      visit(static_cast<std::size_t>(index),
            static_cast<std::size_t>(element_address(descriptor, tile, outer, k) - memory.first));
    }
}

std::size_t element_bytes(const Instruction& row, Operand operand) {
  return static_cast<std::size_t>(row.format(operand).storage_bits / 8);
}

void check_scale(const char* name, int scale) {
  if (scale != 1 && scale != -1)
    throw WgmmaError(std::string(name) + " is " + std::to_string(scale) + "; right: 1 or -1");
}

void check_registers(const Instruction& row, Operand operand, const char* name, std::size_t count) {
  const auto needed = static_cast<std::size_t>(fragment_layout(row, operand).lanes() *
                                               fragment_registers(row, operand));
  if (count != needed)
    throw WgmmaError(std::string(name) + " has " + std::to_string(count) +
                     " registers over the warpgroup; right: " + std::to_string(needed));
}

/// An operand in shared memory. Throws the first contradiction of its descriptor.
TileCodes shared_codes(const Instruction& row, Operand operand, bool transposed,
                       std::uint64_t descriptor, std::span<const std::byte> memory,
                       std::uint32_t base) {
  const Major major = transposed ? Major::mn : Major::k;
  for (const DescriptorFinding& finding :
       check_descriptor(descriptor, shared_tile(row, operand, major), range_of(memory, base)))
    if (finding.level == FindingLevel::contradiction)
      throw WgmmaError((operand == Operand::a ? "descriptor of A: " : "descriptor of B: ") +
                       finding_text(finding));
  return gather_operand(row, operand, major, descriptor, memory, base);
}

TileCodes a_codes(const Instruction& row, const WgmmaA& a, bool transposed,
                  std::span<const std::byte> memory, std::uint32_t base) {
  if (const auto* descriptor = std::get_if<std::uint64_t>(&a))
    return shared_codes(row, Operand::a, transposed, *descriptor, memory, base);
  if (transposed)
    throw WgmmaError("imm-trans-a is 1 with A in registers; right: A in shared memory");
  const auto& registers = std::get<FragmentRegisters>(a);
  check_registers(row, Operand::a, "A", registers.size());
  return from_fragment(row, Operand::a, registers);
}

void negate(const Format& format, TileCodes& codes) {
  for (Code& code : codes) code ^= format.sign_mask();
}

MatrixView view(const TileCodes& codes, int columns) {
  constexpr int bytes = sizeof(Code);
  return {reinterpret_cast<const std::byte*>(codes.data()), bytes, columns * bytes, bytes};
}

}  // namespace

TileCodes gather_operand(const Instruction& row, Operand operand, Major major,
                         std::uint64_t descriptor, std::span<const std::byte> memory,
                         std::uint32_t base) {
  const SharedTile tile = shared_tile(row, operand, major);
  TileCodes codes(static_cast<std::size_t>(tile.outer * tile.k));
  for_each_element(row, operand, major, descriptor, range_of(memory, base),
                   [&](std::size_t index, std::size_t offset) {
                     std::memcpy(&codes[index], &memory[offset], element_bytes(row, operand));
                   });
  return codes;
}

void scatter_operand(const Instruction& row, Operand operand, Major major, std::uint64_t descriptor,
                     std::span<const Code> codes, std::span<std::byte> memory, std::uint32_t base) {
  for_each_element(row, operand, major, descriptor, range_of(memory, base),
                   [&](std::size_t index, std::size_t offset) {
                     std::memcpy(&memory[offset], &codes[index], element_bytes(row, operand));
                   });
}

FragmentRegisters wgmma(const Execution& execution, const WgmmaA& a, std::uint64_t b_descriptor,
                        std::span<const std::uint32_t> c, const WgmmaModifiers& modifiers,
                        std::span<const std::byte> memory, std::uint32_t base) {
  const Instruction& row = execution.instruction;
  check_scale("imm-scale-a", modifiers.imm_scale_a);
  check_scale("imm-scale-b", modifiers.imm_scale_b);
  check_registers(row, Operand::c, "the accumulator", c.size());
  TileCodes a_tile = a_codes(row, a, modifiers.imm_trans_a, memory, base);
  TileCodes b_tile =
      shared_codes(row, Operand::b, modifiers.imm_trans_b, b_descriptor, memory, base);
  if (modifiers.imm_scale_a == -1) negate(*row.a, a_tile);
  if (modifiers.imm_scale_b == -1) negate(*row.b, b_tile);

  const TileCodes c_tile = from_fragment(row, Operand::c, c);
  TileCodes d_tile(c_tile.size());
  const ProductShape shape{static_cast<std::size_t>(row.m), static_cast<std::size_t>(row.n),
                           static_cast<std::size_t>(row.k)};
  multiply_matrices(execution, shape, view(a_tile, row.k), view(b_tile, row.n),
                    modifiers.scale_d ? view(c_tile, row.n) : MatrixView{}, d_tile.data());
  return to_fragment(row, Operand::d, d_tile);
}

}  // namespace bitmma
