/// Prints a CUDA source file with one kernel for each row of the instruction table, for wgmma one
/// for each given N and each place of A, and the table that finds them.
///
///     bitmma_generate_kernels CUDA_VERSION N… > instruction_kernels.cu

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bitmma/isa/instruction.hpp"
#include "bitmma/isa/lowering.hpp"
#include "bitmma/kernels/operand_layout.hpp"

namespace bitmma {
namespace {

constexpr std::string_view file_head =
    R"(// Printed by kernels/generate.cpp from isa/instruction.hpp.
#include "bitmma/kernels/fragment_kernel.cuh"
#include "bitmma/kernels/instruction_kernel.hpp"

using namespace bitmma::device;
)";

constexpr std::string_view kernel_frame = R"(
extern "C" __global__ void __launch_bounds__(@threads)
@kernel([[maybe_unused]] const std::uint32_t* a_words,
        [[maybe_unused]] const std::uint32_t* b_words,
        [[maybe_unused]] const std::uint32_t* c_words, [[maybe_unused]] std::uint32_t* d_words) {
@guard
@body  store(d_words, d);
#endif
}
)";

constexpr std::string_view mma_body = R"(  const auto a = load<@a_type>(a_words);
  const auto b = load<@b_type>(b_words);
  const auto c = load<@c_type>(c_words);
  Registers<@d_type> d;
  asm volatile("@ptx @placeholders;"
               : @d_constraints
               : @a_constraints, @b_constraints, @c_constraints);
)";

// Fence, instruction and wait stand in one asm statement, so that nothing can come between them and
// touch the registers that the instruction works on. Behind scale-d: the factors of A and B, and,
// for 16-bit operands alone, that neither tile in shared memory is transposed.
constexpr std::string_view wgmma_body =
    R"(@load_a  __shared__ alignas(128) std::uint32_t b[@b_words];
  copy_to_shared(b, b_words, @b_words);
  auto d = load<@d_type>(c_words);
  publish_shared();
  asm volatile("{\n"
               ".reg .pred scale_d;\n"
               "setp.eq.u32 scale_d, 0, 0;\n"
               "wgmma.fence.sync.aligned;\n"
               "@ptx @placeholders, scale_d, 1, 1@not_transposed;\n"
               "wgmma.commit_group.sync.aligned;\n"
               "wgmma.wait_group.sync.aligned 0;\n"
               "}"
               : @d_constraints
               : @a_constraints, "l"(matrix_descriptor(b))
               : "memory");
)";

constexpr std::string_view load_a_registers = R"(  const auto a = load<@a_type>(a_words);
)";

constexpr std::string_view load_a_shared = R"(  __shared__ alignas(128) std::uint32_t a[@a_words];
  copy_to_shared(a, a_words, @a_words);
)";

constexpr std::string_view table_frame = R"(
namespace {

const bitmma::InstructionKernel table[] = {
@rows};

}  // namespace

#define BITMMA_TEXT(number) BITMMA_TEXT_OF(number)
#define BITMMA_TEXT_OF(number) #number

std::span<const bitmma::InstructionKernel> bitmma::instruction_kernels() { return table; }

std::string_view bitmma::kernel_compiler_version() {
  return BITMMA_TEXT(__CUDACC_VER_MAJOR__) "." BITMMA_TEXT(__CUDACC_VER_MINOR__) "."
      BITMMA_TEXT(__CUDACC_VER_BUILD__);
}
)";

constexpr std::string_view row_frame =
    R"(    {"@name", bitmma::ASource::@a_source, reinterpret_cast<const void*>(@kernel)},
)";

using Replacements = std::vector<std::pair<std::string_view, std::string>>;

/// The text with every @key replaced, in the order of the list.
std::string substitute(std::string_view text, const Replacements& replacements) {
  std::string result(text);
  for (const auto& [key, value] : replacements)
    for (std::size_t at = result.find(key); at != std::string::npos;
         at = result.find(key, at + value.size()))
      result.replace(at, key.size(), value);
  return result;
}

/// `count` times before, first + i, after, with commas between.
std::string numbered(std::string_view before, int first, int count, std::string_view after) {
  std::string text;
  for (int i = first; i < first + count; ++i) {
    if (i != first) text += ", ";
    text += before;
    text += std::to_string(i);
    text += after;
  }
  return text;
}

struct Variant {
  Instruction row;
  ASource a_source = ASource::registers;
};

bool shares_a(const Variant& variant) { return variant.a_source == ASource::shared_memory; }

std::string kernel_name(const Variant& variant) {
  std::string name = short_name(variant.row);
  std::ranges::replace(name, '.', '_');
  if (shares_a(variant)) name += "_shared_a";
  return name;
}

/// A register of PTX as CUDA C++ knows it.
struct RegisterType {
  std::string_view type;
  char constraint;
  int bits;
};

/// PTX takes f32 accumulators in .f32, f64 operands in .f64 and all else in .b32.
RegisterType register_type(const Format& format) {
  if (format == f32) return {"float", 'f', 32};
  if (format == f64) return {"double", 'd', 64};
  return {"std::uint32_t", 'r', 32};
}

int register_count(const Instruction& row, Operand operand) {
  return fragment_registers(row, operand) * 32 / register_type(row.format(operand)).bits;
}

/// The arguments of load<> and Registers<>.
std::string registers_type(const Instruction& row, Operand operand) {
  return std::string(register_type(row.format(operand)).type)
      .append(", ")
      .append(std::to_string(register_count(row, operand)));
}

/// asm constraints of an operand's registers: "=f"(d.at[0]), …
std::string constraints(const Instruction& row, Operand operand, std::string_view direction,
                        std::string_view variable) {
  std::string before = "\"";
  before += direction;
  before += register_type(row.format(operand)).constraint;
  before += "\"(";
  before += variable;
  before += ".at[";
  return numbered(before, 0, register_count(row, operand), "])");
}

/// The asm statement's placeholders: {%0, %1}, {%2}, …; one for an operand in shared memory.
std::string placeholders(const Variant& variant, std::initializer_list<Operand> operands) {
  std::string text;
  int next = 0;
  for (const Operand operand : operands) {
    const bool in_registers =
        has_fragment(variant.row, operand) && !(operand == Operand::a && shares_a(variant));
    const int count = in_registers ? register_count(variant.row, operand) : 1;
    if (next != 0) text += ", ";
    if (in_registers) text += "{";
    text += numbered("%", next, count, "");
    if (in_registers) text += "}";
    next += count;
  }
  return text;
}

std::string words(const Variant& variant, Operand operand) {
  return std::to_string(operand_words(variant.row, variant.a_source, operand));
}

std::string mma_kernel_body(const Variant& variant) {
  const Instruction& row = variant.row;
  return substitute(
      mma_body,
      {{"@a_type", registers_type(row, Operand::a)},
       {"@b_type", registers_type(row, Operand::b)},
       {"@c_type", registers_type(row, Operand::c)},
       {"@d_type", registers_type(row, Operand::d)},
       {"@ptx", ptx_name(row)},
       {"@placeholders", placeholders(variant, {Operand::d, Operand::a, Operand::b, Operand::c})},
       {"@a_constraints", constraints(row, Operand::a, "", "a")},
       {"@b_constraints", constraints(row, Operand::b, "", "b")},
       {"@c_constraints", constraints(row, Operand::c, "", "c")},
       {"@d_constraints", constraints(row, Operand::d, "=", "d")}});
}

std::string not_transposed(const Variant& variant) {
  if (variant.row.a->storage_bits != 16) return "";
  return shares_a(variant) ? ", 0, 0" : ", 0";
}

std::string wgmma_kernel_body(const Variant& variant) {
  const Instruction& row = variant.row;
  const bool shared = shares_a(variant);
  return substitute(
      wgmma_body, {{"@load_a", std::string(shared ? load_a_shared : load_a_registers)},
                   {"@a_words", words(variant, Operand::a)},
                   {"@a_type", registers_type(row, Operand::a)},
                   {"@b_words", words(variant, Operand::b)},
                   {"@d_type", registers_type(row, Operand::d)},
                   {"@ptx", ptx_name(row)},
                   {"@placeholders", placeholders(variant, {Operand::d, Operand::a, Operand::b})},
                   {"@not_transposed", not_transposed(variant)},
                   {"@a_constraints",
                    shared ? "\"l\"(matrix_descriptor(a))" : constraints(row, Operand::a, "", "a")},
                   {"@d_constraints", constraints(row, Operand::d, "+", "d")}});
}

/// On other architectures than the row's the kernel writes nothing.
std::string guard(const Instruction& row) {
  if (row.family == Family::wgmma) return "#ifdef __CUDA_ARCH_FEAT_SM90_ALL";
  return substitute("#if __CUDA_ARCH__ >= @arch", {{"@arch", std::to_string(10 * row.first_sm)}});
}

std::string kernel(const Variant& variant) {
  const bool wgmma = variant.row.family == Family::wgmma;
  const int threads = fragment_layout(variant.row, Operand::d).lanes();
  return substitute(kernel_frame,
                    {{"@threads", std::to_string(threads)},
                     {"@kernel", kernel_name(variant)},
                     {"@guard", guard(variant.row)},
                     {"@body", wgmma ? wgmma_kernel_body(variant) : mma_kernel_body(variant)}});
}

/// The kernels that a toolkit compiles, wgmma's at every given N.
std::vector<Variant> all_variants(int cuda, const std::vector<int>& wgmma_n) {
  std::vector<Variant> variants;
  for (Instruction row : instruction_table) {
    if (row.first_cuda > cuda) continue;
    if (row.family == Family::mma_sync) {
      variants.push_back({row});
      continue;
    }
    for (const int n : wgmma_n) {
      row.n = n;
      for (const ASource a_source : {ASource::registers, ASource::shared_memory})
        variants.push_back({row, a_source});
    }
  }
  return variants;
}

void print_source_file(std::ostream& out, const std::vector<Variant>& variants) {
  std::string rows;
  out << file_head;
  for (const Variant& variant : variants) {
    out << kernel(variant);
    rows += substitute(row_frame, {{"@name", short_name(variant.row)},
                                   {"@a_source", shares_a(variant) ? "shared_memory" : "registers"},
                                   {"@kernel", kernel_name(variant)}});
  }
  out << substitute(table_frame, {{"@rows", rows}}) << std::flush;
}

/// An N that wgmma has: a multiple of 8 up to 256.
int parse_n(std::string_view text) {
  int n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc{} || end != text.data() + text.size() || n < 8 || n > 256 || n % 8 != 0)
    throw std::invalid_argument("N of wgmma is a multiple of 8 from 8 to 256, not " +
                                std::string(text));
  return n;
}

}  // namespace
}  // namespace bitmma

int main(int argc, char** argv) {
  try {
    const std::optional<int> cuda = bitmma::parse_cuda(argc > 1 ? argv[1] : "");
    if (!cuda) throw std::invalid_argument("the first argument is no version such as 13.0.88");
    std::vector<int> wgmma_n;
    for (int i = 2; i < argc; ++i) wgmma_n.push_back(bitmma::parse_n(argv[i]));
    bitmma::print_source_file(std::cout, bitmma::all_variants(*cuda, wgmma_n));
    return std::cout ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << "bitmma_generate_kernels: " << error.what() << "\n";
    return 2;
  }
}
