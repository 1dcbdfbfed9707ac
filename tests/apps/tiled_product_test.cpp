#include "bitmma/apps/tiled_product.hpp"

#include <doctest/doctest.h>

#include <numeric>

#include "bitmma/compare/families.hpp"
#include "bitmma/tests/apps/program.hpp"

namespace bitmma::test {
namespace {

/// A dense matrix of 8-byte codes.
struct Matrix {
  std::vector<Code> codes;
  std::size_t columns;

  MatrixView view() const {
    constexpr std::ptrdiff_t bytes = sizeof(Code);
    return {reinterpret_cast<const std::byte*>(codes.data()), bytes,
            static_cast<std::ptrdiff_t>(columns) * bytes, bytes};
  }
};

Matrix random_matrix(const Format& format, std::size_t rows, std::size_t columns, Random& random) {
  Matrix matrix{std::vector<Code>(rows * columns), columns};
  for (Code& code : matrix.codes) code = detail::normal_code(format, random);
  return matrix;
}

/// On the target that the emulator gives the batch's tiles.
RunBatch emulated(const Execution& execution) {
  return [&execution](const Batch& batch) { return emulate(execution, batch); };
}

struct NamedInstruction {
  std::string arch;
  std::string instr;
};

const std::vector<NamedInstruction> instructions{
    {"sm_70", "m8n8k4.f32.f16.f16.f32"},      {"sm_90", "m8n8k4.col.row.f16.f16.f16.f16"},
    {"sm_80", "m16n8k8.f32.tf32.tf32.f32"},   {"sm_90", "m16n8k16.f32.bf16.bf16.f32"},
    {"sm_90", "m16n8k32.f16.e4m3.e5m2.f16"},  {"sm_90", "wgmma.m64n8k32.f32.e4m3.e4m3"},
    {"sm_90", "wgmma.m64n24k16.f16.f16.f16"},
};

TEST_CASE("a product of tiles is the emulator's product, whatever tails m, n and k have") {
  for (const NamedInstruction& named : instructions) {
    const Execution each = execution(named.arch, named.instr);
    const Instruction& row = each.instruction;
    Random random(3);
    for (const ProductShape shape : {ProductShape{1, 1, 1}, ProductShape{17, 9, 5},
                                     ProductShape{70, 30, 33}, ProductShape{16, 8, 64}}) {
      INFO(named.instr, " ", shape.m, " ", shape.n, " ", shape.k);
      const Matrix a = random_matrix(*row.a, shape.m, shape.k, random);
      const Matrix b = random_matrix(*row.b, shape.k, shape.n, random);
      const Matrix c = random_matrix(*row.c, shape.m, shape.n, random);
      for (const MatrixView& addend : {c.view(), MatrixView{}}) {
        std::vector<Code> expected(shape.m * shape.n);
        multiply_matrices(each, shape, a.view(), b.view(), addend, expected.data());
        CHECK(tiled_product(row, shape, a.view(), b.view(), addend, emulated(each)) == expected);
      }
    }
  }
}

TEST_CASE("rows on the diagonals of tiles are the emulator's rows") {
  for (const NamedInstruction& named : instructions) {
    const Execution each = execution(named.arch, named.instr);
    const Instruction& row = each.instruction;
    Random random(4);
    for (const std::size_t rows : {1U, 8U, 45U, 64U})
      for (const std::size_t k : {1U, 16U, 37U}) {
        INFO(named.instr, " ", rows, " ", k);
        const Matrix a = random_matrix(*row.a, rows, k, random);
        const Matrix b = random_matrix(*row.b, rows, k, random);
        const Matrix c = random_matrix(*row.c, rows, 1, random);
        for (const MatrixView& addend : {c.view(), MatrixView{}}) {
          std::vector<Code> expected(rows);
          multiply_rows(each, rows, k, a.view(), b.view(), addend, expected.data());
          CHECK(tiled_rows(row, rows, k, a.view(), b.view(), addend, emulated(each)) == expected);
        }
      }
  }
}

TEST_CASE("C and D of two formats go through one instruction") {
  const Execution each = execution("sm_90", "m8n8k4.f32.f16.f16.f16");
  Random random(5);
  const Matrix a = random_matrix(f16, 9, 4, random);
  const Matrix b = random_matrix(f16, 4, 9, random);
  const Matrix c = random_matrix(f16, 9, 9, random);
  std::vector<Code> expected(81);
  multiply_matrices(each, {9, 9, 4}, a.view(), b.view(), c.view(), expected.data());
  CHECK(tiled_product(each.instruction, {9, 9, 4}, a.view(), b.view(), c.view(), emulated(each)) ==
        expected);
}

/// Sums of products modulo 2^64, ordered as D: a device on which every wrong place shows.
std::vector<Code> integer_products(const Batch& batch) {
  const auto k = static_cast<std::size_t>(batch.row.k);
  std::vector<Code> d(batch.c.size());
  for (std::size_t i = 0; i < d.size(); ++i) {
    const OutputElement element = output_element(batch, i);
    d[i] = std::inner_product(element.a, element.a + k, element.b, element.c);
  }
  return d;
}

Matrix integer_matrix(std::size_t rows, std::size_t columns, Random& random) {
  Matrix matrix{std::vector<Code>(rows * columns), columns};
  for (Code& code : matrix.codes) code = random.bits();
  return matrix;
}

TEST_CASE("a tall product runs in parts of bounded size, each tile once") {
  const Instruction row = find_instruction("m8n8k4.f32.f16.f16.f32").value();
  constexpr std::size_t m = 1'100'003, n = 2, k = 3;
  Random random(7);
  const Matrix a = integer_matrix(m, k, random);
  const Matrix b = integer_matrix(k, n, random);
  const Matrix c = integer_matrix(m, n, random);
  std::size_t tiles = 0, batches = 0;
  const std::vector<Code> d =
      tiled_product(row, {m, n, k}, a.view(), b.view(), c.view(), [&](const Batch& batch) {
        CHECK(batch.a.size() + batch.b.size() + batch.c.size() <= max_batch_codes);
        tiles += batch.tiles;
        ++batches;
        return integer_products(batch);
      });
  CHECK(batches == 2);
  CHECK(tiles == (m + 31) / 32 * 4);
  std::vector<Code> expected = c.codes;
  for (std::size_t i = 0; i < expected.size(); ++i)
    for (std::size_t l = 0; l < k; ++l)
      expected[i] += a.codes[i / n * k + l] * b.codes[l * n + i % n];
  CHECK(d == expected);
}

TEST_CASE("many rows run in parts of bounded size, each tile once") {
  const Instruction row = find_instruction("m8n8k4.f32.f16.f16.f32").value();
  constexpr std::size_t rows = 1'100'003, k = 1;
  Random random(8);
  const Matrix a = integer_matrix(rows, k, random);
  const Matrix b = integer_matrix(rows, k, random);
  std::size_t tiles = 0, batches = 0;
  const std::vector<Code> d =
      tiled_rows(row, rows, k, a.view(), b.view(), {}, [&](const Batch& batch) {
        CHECK(batch.a.size() + batch.b.size() + batch.c.size() <= max_batch_codes);
        CHECK(batch.tiles % 4 == 0);
        tiles += batch.tiles;
        ++batches;
        return integer_products(batch);
      });
  CHECK(batches == 2);
  CHECK(tiles == (rows + 31) / 32 * 4);
  std::vector<Code> expected(rows);
  for (std::size_t r = 0; r < rows; ++r) expected[r] = a.codes[r] * b.codes[r];
  CHECK(d == expected);
}

TEST_CASE("tiles that are multiplied are no more than the product needs, in whole instructions") {
  const Execution each = execution("sm_90", "m8n8k4.f32.f16.f16.f32");
  Random random(6);
  const Matrix a = random_matrix(f16, 17, 9, random);
  const Matrix b = random_matrix(f16, 9, 9, random);
  std::vector<std::size_t> tiles;
  tiled_product(each.instruction, {17, 9, 9}, a.view(), b.view(), {}, [&](const Batch& batch) {
    tiles.push_back(batch.tiles);
    return emulate(each, batch);
  });
  CHECK(tiles == std::vector<std::size_t>{8, 8, 8});
}

}  // namespace
}  // namespace bitmma::test
