#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "bitmma/isa/instruction.hpp"
#include "bitmma/isa/lowering.hpp"

namespace bitmma {
namespace {

/// One kernel's machine code on one target.
struct Listing {
  const Target* target;
  std::string kernel;
  std::vector<std::string> opcodes;  ///< with their modifiers: HMMA.16816.F32
};

/// The opcode of a line `/*0110*/ @P0 HMMA.16816.F32 R4, …`, or nothing.
std::string opcode_of(const std::string& line) {
  std::istringstream words(line);
  std::string address;
  std::string word;
  words >> address >> word;
  if (!address.starts_with("/*") || !address.ends_with("*/")) return "";
  if (word.starts_with('@')) words >> word;
  return word;
}

std::vector<Listing> parse_listings(std::istream& text) {
  std::vector<Listing> listings;
  const Target* target = nullptr;
  for (std::string line; std::getline(text, line);) {
    const std::size_t code = line.find("code for ");
    const std::size_t function = line.find("Function : ");
    if (code != std::string::npos) {
      target = find_target(line.substr(code + 9));
    } else if (function != std::string::npos) {
      listings.push_back({target, line.substr(function + 11), {}});
    } else if (const std::string opcode = opcode_of(line); !opcode.empty() && !listings.empty()) {
      listings.back().opcodes.push_back(opcode);
    }
  }
  return listings;
}

/// The machine code of the device library, empty if the disassembler does not run.
std::vector<Listing> device_listings() {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(BITMMA_DISASSEMBLE, "r"),
                                                             pclose);
  if (pipe == nullptr) return {};
  std::stringstream text;
  char line[512];
  while (std::fgets(line, sizeof line, pipe.get()) != nullptr) text << line;
  return parse_listings(text);
}

/// The row of a kernel's name: dots are underscores there, and _shared_a may follow.
/// std::bad_optional_access if the table has no such row.
Instruction row_of(std::string kernel) {
  const std::string shared = "_shared_a";
  if (kernel.ends_with(shared)) kernel.resize(kernel.size() - shared.size());
  std::ranges::replace(kernel, '_', '.');
  return find_instruction(kernel).value();
}

/// Opcodes that start with the word. Later steps of a multi-step HMMA.884 belong to its first.
int count(const Listing& listing, std::string_view word) {
  return static_cast<int>(std::ranges::count_if(listing.opcodes, [&](const std::string& opcode) {
    const std::size_t step = opcode.find(".STEP");
    return opcode.substr(0, opcode.find('.')) == word &&
           (step == std::string::npos || opcode.substr(step) == ".STEP0");
  }));
}

int count(std::span<const Operation> program, Opcode opcode) {
  return static_cast<int>(std::ranges::count(program, opcode, &Operation::opcode));
}

/// How often the listing has exactly that machine instruction; the steps of m8n8k4 count as one.
int count_exactly(const Listing& listing, const std::string& name) {
  return static_cast<int>(std::ranges::count(listing.opcodes, name) +
                          std::ranges::count(listing.opcodes, name + ".STEP0"));
}

/// Of the toolkit that compiled the kernels.
const int cuda = parse_cuda(BITMMA_CUDA).value_or(newest_cuda);

/// The listing holds what the lowering table says, for every element that a lane holds of D.
void check_machine_code(const Listing& listing, const Instruction& row) {
  const Target& target = *listing.target;
  const bool runs = row.runs_on(target);
  const std::span<const Operation> program =
      runs ? lowered_program(row, target, cuda) : std::span<const Operation>{};
  // The tensor-core instructions are the table's, shape and types included, and no others.
  std::map<std::string, int> expected;
  for (const Operation& operation : program)
    if (operation.opcode == Opcode::mma) {
      const MachineInstruction machine = machine_instruction(row, operation, target);
      expected[machine.name] += machine.count;
    }
  int tensor = 0;
  for (const std::string_view opcode : {"HMMA", "QMMA", "IMMA", "BMMA", "DMMA", "HGMMA", "QGMMA"})
    tensor += count(listing, opcode);
  for (const auto& [name, times] : expected) {
    CAPTURE(name);
    CHECK(count_exactly(listing, name) == times);
    tensor -= times;
  }
  CHECK(tensor == 0);
  const int elements = fragment_layout(row, Operand::d).elements();
  CHECK(count(listing, "FMUL") == elements * count(program, Opcode::fmul));
  CHECK(count(listing, "FFMA") == elements * count(program, Opcode::ffma));
  CHECK(count(listing, "FADD") == elements * count(program, Opcode::fadd));
  // HADD2 adds two elements at once. In m8n8k4 it also widens halves.
  if (!row.is_quad_pair())
    CHECK(count(listing, "HADD2") == elements / 2 * count(program, Opcode::hadd));
}

TEST_CASE("a listing is read as targets, kernels and opcodes") {
  std::istringstream text(
      "\tcode for sm_90a\n\t\tFunction : m16n8k16_f32_f16_f16_f32\n"
      "        /*0110*/                   HMMA.16816.F32 R4, R8, R2, R4 ;    /* 0x00 */\n"
      "                                                                      /* 0x00 */\n"
      "        /*0120*/              @!P0 EXIT ;                             /* 0x00 */\n");
  const std::vector<Listing> listings = parse_listings(text);
  REQUIRE(listings.size() == 1);
  CHECK(listings[0].target == find_target("sm_90"));
  CHECK(listings[0].opcodes == std::vector<std::string>{"HMMA.16816.F32", "EXIT"});
  CHECK(short_name(row_of(listings[0].kernel)) == "m16n8k16.f32.f16.f16.f32");
  CHECK(count(listings[0], "HMMA") == 1);
}

TEST_CASE("every kernel holds the machine code that the lowering table says") {
  if (std::string_view(BITMMA_DISASSEMBLE).empty()) {
    MESSAGE("skipped: no CUDA compiler or no cuobjdump");
    return;
  }
  const std::vector<Listing> listings = device_listings();
  REQUIRE(!listings.empty());
  std::map<const Target*, std::set<std::string>> found;
  for (const Listing& listing : listings) {
    CAPTURE(listing.kernel);
    REQUIRE(listing.target != nullptr);
    CAPTURE(listing.target->name);
    const Instruction row = row_of(listing.kernel);
    check_machine_code(listing, row);
    found[listing.target].insert(short_name(table_row(row)));
  }
  const auto has_kernel = [](const Instruction& row) { return row.first_cuda <= cuda; };
  for (const auto& [target, names] : found)
    CHECK(names.size() == std::ranges::count_if(instruction_table, has_kernel));
}

}  // namespace
}  // namespace bitmma
