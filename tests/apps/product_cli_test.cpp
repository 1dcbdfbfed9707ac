#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "bitmma/apps/operand.hpp"
#include "bitmma/tests/apps/program.hpp"

using namespace bitmma;
using namespace bitmma::test;

namespace {

constexpr NpyType f2{'f', 2}, f4{'f', 4};
constexpr std::size_t rows = 5;
const std::string dot_f16 = "dot --arch sm_90 --instr m16n8k16.f32.f16.f16.f32 ";
const std::string mma_f16 = "mma --arch sm_90 --instr m16n8k16.f32.f16.f16.f32 ";

/// Random operands of a dot or mma, as codes.
struct Operands {
  Codes a, b, c;
};

Operands random_operands(const Instruction& row, std::size_t a, std::size_t b, std::size_t c) {
  std::mt19937 random(20250101);
  return {random_codes(*row.a, a, random), random_codes(*row.b, b, random),
          random_codes(*row.c, c, random)};
}

/// The dot products of rows, by the emulator itself.
Codes dots(const Execution& execution, const Operands& operands, std::size_t k) {
  Codes d;
  for (std::size_t row = 0; row < operands.a.size() / k; ++row)
    d.push_back(run_chain(execution, &operands.a[row * k], &operands.b[row * k], k,
                          operands.c.empty() ? 0 : operands.c[row]));
  return d;
}

/// One row-major product, by the emulator itself; no c stands for zeros.
Codes product(const Execution& execution, const Code* a, const Code* b, const Code* c,
              std::size_t m, std::size_t n, std::size_t k) {
  Codes d;
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      Codes column;
      for (std::size_t l = 0; l < k; ++l) column.push_back(b[l * n + j]);
      d.push_back(run_chain(execution, a + i * k, column.data(), k, c ? c[i * n + j] : 0));
    }
  return d;
}

/// dot of arrays with these element types against the emulator.
void check_dot(const std::string& arch, const std::string& instr, NpyType a_type, NpyType b_type,
               std::size_t k) {
  CAPTURE(instr);
  const Program program;
  const Execution executed = execution(arch, instr);
  const Instruction& row = executed.instruction;
  const Operands operands = random_operands(row, rows * k, rows * k, rows);
  program.store("a.npy", array_of(a_type, {rows, k}, operands.a));
  program.store("b.npy", array_of(b_type, {rows, k}, operands.b));
  program.store("c.npy", array_of(native_type(*row.c), {rows}, operands.c));
  const std::string command = "dot --arch " + arch + " --instr " + instr;
  CHECK(output_of(program, command + " a.npy b.npy c.npy -o d.npy") == "");
  const NpyArray d = program.load("d.npy");
  CHECK(d.type == native_type(*row.d));
  CHECK(d.shape == std::vector{rows});
  CHECK(elements_of(d) == dots(executed, operands, k));
}

/// A .npy file of version 1.0 with these bytes as its data.
std::string npy_file(std::string dictionary, const std::string& data) {
  dictionary.append(64 - (10 + dictionary.size() + 1) % 64, ' ').push_back('\n');
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(dictionary.size()) + '\0' +
         dictionary + data;
}

/// Two bytes an element, in the order of `indices`.
std::string f16_bytes(const Codes& codes, const std::vector<std::size_t>& indices,
                      bool big_endian) {
  std::string bytes;
  for (const std::size_t index : indices) {
    const char low = static_cast<char>(codes[index] & 0xFF);
    const char high = static_cast<char>(codes[index] >> 8);
    bytes += big_endian ? std::string{high, low} : std::string{low, high};
  }
  return bytes;
}

/// a.npy and b.npy (rows, k) of f16.
Operands store_f16_rows(const Program& program, std::size_t k) {
  const Execution executed = execution("sm_90", "m16n8k16.f32.f16.f16.f32");
  Operands operands = random_operands(executed.instruction, rows * k, rows * k, rows);
  program.store("a.npy", array_of(f2, {rows, k}, operands.a));
  program.store("b.npy", array_of(f2, {rows, k}, operands.b));
  return operands;
}

}  // namespace

TEST_CASE("dot equals the emulator for every operand format and type of file") {
  const NpyType u1{'u', 1}, v1{'V', 1}, u2{'u', 2}, v2{'V', 2};
  check_dot("sm_70", "m8n8k4.f32.f16.f16.f32", f2, f2, 4);
  check_dot("sm_90", "m8n8k4.f16.f16.f16.f16", f2, f2, 4);
  check_dot("sm_80", "m16n8k16.f32.f16.f16.f32", f2, f2, 16);
  check_dot("sm_90", "wgmma.m64nNk16.f16.f16.f16", f2, f2, 16);
  check_dot("sm_90", "m16n8k16.f32.bf16.bf16.f32", u2, v2, 16);
  check_dot("sm_90", "m16n8k8.f32.tf32.tf32.f32", f4, f4, 8);
  check_dot("sm_89", "m16n8k32.f32.e4m3.e4m3.f32", u1, v1, 32);
  check_dot("sm_89", "m16n8k32.f16.e4m3.e5m2.f16", u1, {'f', 1}, 32);
  check_dot("sm_90", "m16n8k32.f32.e5m2.e5m2.f32", v1, u1, 32);
}

TEST_CASE("dot chains instructions where k is longer than one, a multiple or not") {
  for (const std::size_t k : {std::size_t{1}, std::size_t{15}, std::size_t{32}, std::size_t{37}}) {
    check_dot("sm_80", "m16n8k16.f32.f16.f16.f32", f2, f2, k);
    check_dot("sm_90", "m16n8k32.f32.e4m3.e4m3.f32", {'u', 1}, {'u', 1}, k);
  }
}

TEST_CASE("dot without C adds to zero") {
  const Program program;
  Operands operands = store_f16_rows(program, 20);
  operands.c.clear();
  output_of(program, dot_f16 + "a.npy b.npy -o d.npy");
  CHECK(elements_of(program.load("d.npy")) ==
        dots(execution("sm_90", "m16n8k16.f32.f16.f16.f32"), operands, 20));
}

TEST_CASE("--exact writes the exact results of the same operands, rounded to f64") {
  const Program program;
  const auto store = [&](std::string_view name, std::vector<std::size_t> shape,
                         const std::vector<double>& values) {
    Codes codes;
    for (const double value : values) codes.push_back(from_double(f16, value));
    program.store(name, array_of(f2, std::move(shape), codes));
  };
  const auto exact = [&] {
    std::vector<double> values;
    for (const Code code : elements_of(program.load("z.npy")))
      values.push_back(to_double(f64, code));
    return values;
  };
  // 2^24 + 2^-24 needs 49 bits: no f32 has it.
  store("a.npy", {2, 2}, {4096, 0x1p-12, 3, 1});
  store("b.npy", {2, 2}, {4096, 0x1p-12, 5, -15});
  output_of(program, dot_f16 + "a.npy b.npy -o d.npy --exact z.npy");
  CHECK(exact() == std::vector<double>{16777216 + 0x1p-24, 0});
  // The same files as matrices.
  output_of(program, mma_f16 + "a.npy b.npy -o d.npy --exact z.npy");
  CHECK(exact() ==
        std::vector<double>{16777216 + 5 * 0x1p-12, 1 - 15 * 0x1p-12, 12293, 3 * 0x1p-12 - 15});
}

TEST_CASE("dot reads Fortran order and big-endian files") {
  const Program program;
  constexpr std::size_t k = 7;
  const Operands operands = store_f16_rows(program, k);
  std::vector<std::size_t> c_order, fortran_order;
  for (std::size_t i = 0; i < rows * k; ++i) {
    c_order.push_back(i);
    fortran_order.push_back(i % rows * k + i / rows);
  }
  program.store_text("fortran.npy",
                     npy_file("{'descr': '<f2', 'fortran_order': True, 'shape': (5, 7), }",
                              f16_bytes(operands.a, fortran_order, false)));
  program.store_text("big.npy",
                     npy_file("{'descr': '>f2', 'fortran_order': False, 'shape': (5, 7), }",
                              f16_bytes(operands.b, c_order, true)));
  output_of(program, dot_f16 + "a.npy b.npy -o plain.npy");
  output_of(program, dot_f16 + "fortran.npy big.npy -o d.npy");
  CHECK(elements_of(program.load("d.npy")) == elements_of(program.load("plain.npy")));
}

TEST_CASE("dot of no rows is empty, and of k = 0 refused") {
  const Program program;
  program.store("none.npy", zeros(f2, {0, 16}));
  program.store("k0.npy", zeros(f2, {4, 0}));
  output_of(program, dot_f16 + "none.npy none.npy -o d.npy");
  CHECK(program.load("d.npy").shape == std::vector<std::size_t>{0});
  check_refused(program, dot_f16 + "k0.npy k0.npy -o d.npy", "k is 0");
}

TEST_CASE("dot takes an instruction as a kernel spells it, and an architecture's suffix") {
  const Program program;
  store_f16_rows(program, 16);
  output_of(program, dot_f16 + "a.npy b.npy -o short.npy");
  output_of(program,
            "dot a.npy b.npy -o pasted.npy --arch sm_90a --instr 'mma.sync.aligned.m16n8k16.row.col"
            ".f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};'");
  CHECK(program.load("pasted.npy").bytes == program.load("short.npy").bytes);
}

TEST_CASE("wider arrays need --round, and each rounding gives its own result") {
  const Program program;
  const auto f32_code = [](double value) { return from_double(f32, value); };
  // Two ties of f16: 1 + 2^-11 lies above an even code, 1 + 3 · 2^-11 above an odd one.
  program.store("a.npy", array_of(f4, {1, 2}, {f32_code(1 + 0x1p-11), f32_code(1 + 0x3p-11)}));
  program.store("b.npy", array_of(f2, {1, 2}, {0x3C00, 0x3C00}));
  check_refused(program, dot_f16 + "a.npy b.npy -o d.npy", "--round rne|rz|rna");
  check_refused(program, dot_f16 + "a.npy b.npy -o d.npy --round up", "choose rne, rz or rna");
  const auto rounded = [&](const std::string& rounding) {
    output_of(program, dot_f16 + "a.npy b.npy -o d.npy --round " + rounding);
    return to_double(f32, program.load("d.npy").bits(0));
  };
  CHECK(rounded("rne") == 2 + 0x1p-9);
  CHECK(rounded("rz") == 2 + 0x1p-10);
  CHECK(rounded("rna") == 2 + 0x3p-10);
}

TEST_CASE("dot keeps signs of zero and NaNs as the tensor core does") {
  const Program program;
  program.store("a.npy", array_of(f2, {3, 1}, {0x8000, 0x7E01, 0x0000}));
  program.store("b.npy", array_of(f2, {3, 1}, {0x3C00, 0x3C00, 0xFC00}));
  program.store("c.npy", array_of(f4, {3}, {0x80000000, 0, 0x3F800000}));
  output_of(program, dot_f16 + "a.npy b.npy c.npy -o d.npy");
  CHECK(elements_of(program.load("d.npy")) == Codes{0, 0x7FFFFFFF, 0x7FFFFFFF});
}

TEST_CASE("dot replaces an input that is also the output") {
  const Program program;
  store_f16_rows(program, 16);
  output_of(program, dot_f16 + "a.npy b.npy -o d.npy");
  output_of(program, dot_f16 + "a.npy b.npy -o a.npy");
  CHECK(program.load("a.npy").bytes == program.load("d.npy").bytes);
}

TEST_CASE("dot writes to names with blanks, newlines and other alphabets") {
  const Program program;
  store_f16_rows(program, 16);
  output_of(program, dot_f16 + "a.npy b.npy -o \"$(printf 'd ü\\n☃.npy')\"");
  CHECK(program.load("d ü\n☃.npy").shape == std::vector{rows});
}

TEST_CASE("mma equals the emulator element by element") {
  const Program program;
  constexpr std::size_t m = 5, n = 7, k = 19;
  for (const std::string instr : {"m16n8k16.f32.f16.f16.f32", "wgmma.m64nNk16.f32.f16.f16"}) {
    const Execution executed = execution("sm_90", instr);
    const Operands operands = random_operands(executed.instruction, m * k, k * n, m * n);
    program.store("a.npy", array_of(f2, {m, k}, operands.a));
    program.store("b.npy", array_of(f2, {k, n}, operands.b));
    program.store("c.npy", array_of(f4, {m, n}, operands.c));
    output_of(program, "mma --arch sm_90 --instr " + instr + " a.npy b.npy c.npy -o d.npy");
    const NpyArray d = program.load("d.npy");
    CHECK(d.shape == std::vector{m, n});
    CHECK(elements_of(d) ==
          product(executed, operands.a.data(), operands.b.data(), operands.c.data(), m, n, k));
  }
}

TEST_CASE("mma repeats an operand without a batch for each product of a batch") {
  const Program program;
  constexpr std::size_t batch = 3, m = 2, n = 3, k = 5;
  const Execution executed = execution("sm_90", "m16n8k16.f32.f16.f16.f32");
  const Operands operands =
      random_operands(executed.instruction, batch * m * k, k * n, batch * m * n);
  program.store("a.npy", array_of(f2, {batch, m, k}, operands.a));
  program.store("b.npy", array_of(f2, {k, n}, operands.b));
  program.store("c.npy", array_of(f4, {batch, m, n}, operands.c));
  output_of(program, mma_f16 + "a.npy b.npy c.npy -o d.npy");
  Codes expected;
  for (std::size_t i = 0; i < batch; ++i)
    std::ranges::copy(product(executed, &operands.a[i * m * k], operands.b.data(),
                              &operands.c[i * m * n], m, n, k),
                      std::back_inserter(expected));
  const NpyArray d = program.load("d.npy");
  CHECK(d.shape == std::vector{batch, m, n});
  CHECK(elements_of(d) == expected);

  program.store("one.npy", array_of(f2, {m, k}, {operands.a.begin(), operands.a.begin() + m * k}));
  program.store("b2.npy",
                array_of(f2, {2, k, n}, random_operands(executed.instruction, 0, 2 * k * n, 0).b));
  check_refused(program, mma_f16 + "a.npy b2.npy -o e.npy", "the batch must be 3");
  output_of(program, mma_f16 + "one.npy b2.npy -o e.npy");
  CHECK(program.load("e.npy").shape == std::vector<std::size_t>{2, m, n});
}

TEST_CASE("mma takes the B of each product of a batch, whatever the number of threads") {
  const Program program;
  constexpr std::size_t batch = 2, m = 2, n = 400, k = 64;
  const Execution executed = execution("sm_70", "m8n8k4.f32.f16.f16.f32");
  const Operands operands = random_operands(executed.instruction, m * k, batch * k * n, 0);
  program.store("a.npy", array_of(f2, {m, k}, operands.a));
  program.store("b.npy", array_of(f2, {batch, k, n}, operands.b));
  Codes expected;
  for (std::size_t i = 0; i < batch; ++i)
    std::ranges::copy(
        product(executed, operands.a.data(), &operands.b[i * k * n], nullptr, m, n, k),
        std::back_inserter(expected));
  for (const char* threads : {"1", "3"}) {
    const Outcome outcome =
        program.run("mma --arch sm_70 --instr m8n8k4.f32.f16.f16.f32 a.npy b.npy -o d.npy",
                    std::string("OMP_NUM_THREADS=") + threads);
    CHECK(outcome.status == 0);
    CHECK(elements_of(program.load("d.npy")) == expected);
  }
}

TEST_CASE("mma of empty matrices is empty, however many there are") {
  const Program program;
  program.store("a.npy", zeros(f2, {10'000'000'000'000'000, 0, 5}));
  program.store("b.npy", zeros(f2, {5, 3}));
  output_of(program, mma_f16 + "a.npy b.npy -o d.npy");
  CHECK(program.load("d.npy").shape == std::vector<std::size_t>{10'000'000'000'000'000, 0, 3});
}

TEST_CASE("dot and mma refuse operands that do not fit, and leave the output as it was") {
  const Program program;
  store_f16_rows(program, 16);
  program.store("a20.npy", zeros(f2, {rows, 20}));
  program.store("c2.npy", zeros(f4, {2}));
  program.store("ints.npy", zeros({'i', 4}, {rows, 16}));
  program.store("c16.npy", zeros(f2, {rows}));
  program.store_text("text.npy", "no array");
  program.store_text("d.npy", "as it was");
  for (const std::string command : {"dot", "mma"}) {
    const std::string at = command + " --arch sm_90 -o d.npy --instr m16n8k16.f32.f16.f16.f32 ";
    check_refused(program, at + "a.npy a20.npy", "a20.npy: shape (5, 20)");
    check_refused(program, at + "lost.npy b.npy", "lost.npy: no such file");
    check_refused(program, at + ". b.npy", "is a folder");
    check_refused(program, at + "text.npy b.npy", "is not a .npy file");
    check_refused(program, at + "ints.npy b.npy", "dtype '<i4' is not accepted for f16");
    check_refused(program, at + "c2.npy b.npy --round rz", "c2.npy: shape (2,)");
    check_refused(program, at + "a.npy", "B is required");
    check_refused(program, at + "a.npy b.npy c2.npy lost.npy", "not expected: lost.npy");
  }
  check_refused(program, dot_f16 + "a.npy b.npy c2.npy -o d.npy",
                "c2.npy: shape (2,); C must be (5,)");
  check_refused(program, dot_f16 + "a.npy a20.npy -o a.npy", "a20.npy");
  check_refused(program, dot_f16 + "a.npy b.npy", "--output is required");
  check_refused(program,
                "dot --arch sm_90 --instr m8n8k4.f32.f16.f16.f16 a.npy b.npy c16.npy -o d.npy",
                "give k up to 4");
  check_refused(program, "dot --arch sm_70 --instr m16n8k16.f32.f16.f16.f32 a.npy b.npy -o d.npy",
                "is not on sm_70: it needs sm_80 or later; nearest there: m8n8k4.f32.f16.f16.f32");
  check_refused(program, "dot --arch sm_80 --instr wgmma.m64nNk16.f32.f16.f16 a.npy b.npy -o d.npy",
                "is not on sm_80: it needs sm_90");
}

TEST_CASE("dot and mma refuse an output that cannot be a file before they read an operand") {
  const Program program;
  for (const std::string& command : {dot_f16, mma_f16})
    check_refused(program, command + "lost.npy lost.npy -o lost/d.npy",
                  "lost/d.npy: cannot create a file in its folder");
}

TEST_CASE("dot refuses an output that cannot be a file") {
  const Program program;
  store_f16_rows(program, 16);
  for (const char* output : {".", "lost/d.npy", "a.npy/d.npy", "/dev/full"})
    check_refused(program, dot_f16 + "a.npy b.npy -o " + output, output);
}
