#include "bitmma/emulator/wmma.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <random>

#include "bitmma/emulator/matrix.hpp"

using namespace bitmma;

static_assert(every_wmma_step_is_one_operation());

namespace {

WmmaInstruction form(std::string_view spelling) { return find_wmma(spelling).value(); }

const Target& target(std::string_view name) { return *find_target(name); }

/// A matrix in memory whose lines are at least 64 bytes farther apart than they are long.
struct Matrix {
  std::vector<std::byte> bytes;
  WmmaPointer pointer;
  int element_bits;

  Code at(int row, int column) const {
    const bool by_row = pointer.layout == MatrixLayout::row;
    const auto bits = static_cast<std::size_t>(element_bits);
    const auto line = static_cast<std::size_t>(by_row ? row : column);
    const auto place = static_cast<std::size_t>(by_row ? column : row);
    const std::size_t first = (line * pointer.leading_dimension + place) * bits;
    Code code = 0;
    for (std::size_t bit = first; bit < first + bits; ++bit)
      code |= (std::to_integer<Code>(bytes[bit / 8]) >> bit % 8 & 1) << (bit - first);
    return code;
  }
};

Matrix random_matrix(std::mt19937_64& random, int rows, int columns, int element_bits,
                     MatrixLayout layout) {
  const bool by_row = layout == MatrixLayout::row;
  const auto bits = static_cast<std::size_t>(element_bits);
  const auto lines = static_cast<std::size_t>(by_row ? rows : columns);
  const auto length = static_cast<std::size_t>(by_row ? columns : rows);
  const std::size_t line_bytes = (length * bits / 8 + 15) / 16 * 16 + 64;
  Matrix matrix{
      std::vector<std::byte>(lines * line_bytes), {0, line_bytes * 8 / bits, layout}, element_bits};
  for (std::byte& byte : matrix.bytes) byte = static_cast<std::byte>(random());
  return matrix;
}

/// A, B and C of a form, with D's bytes for the result.
struct Product {
  Matrix a, b, c, d;
};

Product random_product(std::mt19937_64& random, const WmmaInstruction& row, MatrixLayout c_layout) {
  return {random_matrix(random, row.m, row.k, row.a->storage_bits, row.a_layout),
          random_matrix(random, row.k, row.n, row.a->storage_bits, row.b_layout),
          random_matrix(random, row.m, row.n, row.c->storage_bits, c_layout),
          random_matrix(random, row.m, row.n, row.d->storage_bits, c_layout)};
}

/// Loads, multiplies and stores.
void run(const WmmaInstruction& row, const Target& on, Product& product) {
  const auto load = [&](Operand operand, const Matrix& matrix) {
    return load_matrix_sync(row, operand, on, matrix.bytes, matrix.pointer);
  };
  const WmmaFragment d = mma_sync(load(Operand::a, product.a), load(Operand::b, product.b),
                                  load(Operand::c, product.c));
  store_matrix_sync(product.d.bytes, product.d.pointer, d);
}

std::vector<Code> codes(const Matrix& matrix, int rows, int columns) {
  std::vector<Code> all;
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) all.push_back(matrix.at(i, j));
  return all;
}

/// element(row of A, column of B, c) for each element of a product.
template <class Element>
std::vector<Code> each_element(const WmmaInstruction& row, const Product& product,
                               Element element) {
  std::vector<Code> d;
  const std::vector<Code> all_of_a = codes(product.a, row.m, row.k);
  const std::vector<Code> all_of_b = codes(product.b, row.k, row.n);
  for (int i = 0; i < row.m; ++i)
    for (int j = 0; j < row.n; ++j) {
      Code b[max_k];
      for (int k = 0; k < row.k; ++k) b[k] = all_of_b[static_cast<std::size_t>(k * row.n + j)];
      d.push_back(element(&all_of_a[static_cast<std::size_t>(i * row.k)], b, product.c.at(i, j)));
    }
  return d;
}

/// The product by chained mma.sync.
std::vector<Code> by_mma_sync(const WmmaInstruction& row, const Execution& execution,
                              const Product& product) {
  return each_element(row, product, [&](const Code* a, const Code* b, Code c) {
    return run_chain(execution, a, b, static_cast<std::size_t>(row.k), c);
  });
}

/// Every layout of A, B and C, and every modifier.
template <class Visit>
void for_each_use(const WmmaInstruction& form, Visit visit) {
  constexpr MatrixLayout both[] = {MatrixLayout::row, MatrixLayout::col};
  for (const ModifierSpelling& modifier : modifier_table)
    for (const MatrixLayout a : both)
      for (const MatrixLayout b : both) {
        WmmaInstruction row = form;
        row.a_layout = a;
        row.b_layout = b;
        row.modifier = modifier.modifier;
        if (!detail::has_modifier(form, row.modifier) || find_wmma(short_name(row)) != row)
          continue;
        for (const MatrixLayout c : both) visit(row, c);
      }
}

/// The one value of the product of fragments whose elements are equal.
Code filled_product(std::string_view spelling, std::string_view on, Code a, Code b, Code c) {
  const WmmaInstruction row = form(spelling);
  const WmmaFragment d = mma_sync(fill_fragment(row, Operand::a, target(on), a),
                                  fill_fragment(row, Operand::b, target(on), b),
                                  fill_fragment(row, Operand::c, target(on), c));
  for (const Code code : d.elements) CHECK(code == d.elements.front());
  return d.elements.front();
}

void check_refused(std::string_view reason, const std::function<void()>& call) {
  std::string message = "nothing was thrown";
  try {
    call();
  } catch (const WmmaError& error) {
    message = error.what();
  }
  CHECK(message == reason);
}

Matrix zeros(std::size_t bytes, const WmmaPointer& pointer, int element_bytes) {
  return {std::vector<std::byte>(bytes), pointer, element_bytes};
}

}  // namespace

TEST_CASE("wmma: load, multiply and store is the chain of mma.sync that the machine code has") {
  std::mt19937_64 random(1);
  int products = 0;
  for (const Target& on : target_table)
    for (const WmmaInstruction& each : wmma_table) {
      if (!each.runs_on(on) || *each.c != *each.d) continue;
      for_each_use(each, [&](const WmmaInstruction& row, MatrixLayout c_layout) {
        CAPTURE(short_name(row));
        CAPTURE(on.name);
        Product product = random_product(random, row, c_layout);
        const Execution step = resolve(wmma_step(row, on), on);
        run(row, on, product);
        CHECK(codes(product.d, row.m, row.n) == by_mma_sync(row, step, product));
        ++products;
      });
    }
  // forms of 8 layouts: 6 of f16, 3 of bf16, 1 of tf32, 4 roundings of f64, 2 times 6 of integers;
  // of 2 layouts: 2 times 2 of int4, and b1
  constexpr int f16_alone = 6 * 8, later = 4 * 8 + 4 * 8, int8 = 12 * 8, int4 = 4 * 2, bit = 2;
  constexpr int targets = static_cast<int>(std::size(target_table));
  CHECK(products == targets * f16_alone + (targets - 1) * int8 + (targets - 2) * (int4 + bit) +
                        (targets - 3) * (later + bit));
}

TEST_CASE("wmma: a store leaves the bytes between the lines as they were") {
  std::mt19937_64 random(2);
  const WmmaInstruction row = form("wmma.m16n16k16.f32.f32");
  Product product = random_product(random, row, MatrixLayout::row);
  const std::vector<std::byte> before = product.d.bytes;
  run(row, target("sm_80"), product);
  for (std::size_t line = 0; line < 16; ++line)
    for (std::size_t byte = 16 * 4; byte < 32 * 4; ++byte)
      REQUIRE(product.d.bytes[line * 128 + byte] == before[line * 128 + byte]);
}

TEST_CASE("wmma: D in f16 from C in f32 is the f32 result rounded once more") {
  std::mt19937_64 random(3);
  for (const Target& on : target_table) {
    CAPTURE(on.name);
    const WmmaInstruction row = form("wmma.m16n16k16.f16.f32");
    Product product = random_product(random, row, MatrixLayout::row);
    run(row, on, product);
    std::vector<Code> expected =
        by_mma_sync(row, resolve(wmma_step(form("wmma.m16n16k16.f32.f32"), on), on), product);
    for (Code& code : expected) code = convert(f32, code, f16, Rounding::nearest_even);
    CHECK(codes(product.d, row.m, row.n) == expected);
  }
}

TEST_CASE("wmma: D in f32 takes C in f16 widened, on Volta by an instruction of its own") {
  std::mt19937_64 random(4);
  const WmmaInstruction row = form("wmma.m16n16k16.f32.f16");
  const WmmaInstruction all_f32 = form("wmma.m16n16k16.f32.f32");
  for (const Target& on : target_table) {
    CAPTURE(on.name);
    Product product = random_product(random, row, MatrixLayout::row);
    run(row, on, product);
    const Execution chain = resolve(wmma_step(all_f32, on), on);
    const Execution first = resolve(wmma_step(row, on), on);
    const bool volta = on.architecture == Architecture::volta;
    CHECK((*first.instruction.c == f16) == volta);
    const auto element = [&](const Code* a, const Code* b, Code c) {
      return volta ? run_chain(chain, a + 4, b + 4, 12, run_chain(first, a, b, 4, c))
                   : run_chain(chain, a, b, 16, convert(f16, c, f32, Rounding::nearest_even));
    };
    CHECK(codes(product.d, row.m, row.n) == each_element(row, product, element));
  }
}

TEST_CASE("wmma: tf32 takes k in two steps of 4, on Hopper too") {
  // 2^26 − 2^26 in the first step leaves nothing; 0.25 in the second stands alone, but would be
  // truncated beside 2^26 in one step of 8.
  const WmmaInstruction row = form("wmma.m16n16k8.f32.tf32.tf32.f32");
  constexpr double a[8] = {67108864, -67108864, 0, 0, 0.25, 0, 0, 0};
  for (const Target& on : target_table) {
    if (!row.runs_on(on)) continue;
    CAPTURE(on.name);
    WmmaFragment left = fill_fragment(row, Operand::a, on, 0);
    for (int lane = 0; lane < 32; ++lane)
      for (int i = 0; i < left.num_elements(); ++i)
        left.x(lane, i) = from_double(tf32, a[coordinates(left.layout, lane, i).column]);
    const WmmaFragment ones = fill_fragment(row, Operand::b, on, from_double(tf32, 1));
    const WmmaFragment d = mma_sync(left, ones, fill_fragment(row, Operand::c, on, 0));
    for (const Code code : d.elements) CHECK(to_double(f32, code) == 0.25);
  }
  Code left[8], ones[8];
  for (int k = 0; k < 8; ++k) left[k] = from_double(tf32, a[k]);
  for (Code& one : ones) one = from_double(tf32, 1);
  constexpr Instruction m16n8k8 = find_instruction("m16n8k8.f32.tf32.tf32.f32").value();
  const Execution one_step = resolve(m16n8k8, target("sm_90"));
  CHECK(run_chain(one_step, left, ones, 8, 0) == 0);
}

TEST_CASE("wmma: which copy of an element counts") {
  const WmmaInstruction row = form("wmma.m16n16k16.f32.f32");
  const Code one = from_double(f16, 1);
  // Turing and later: the second half of a lane's 16 elements is never read.
  WmmaFragment a = fill_fragment(row, Operand::a, target("sm_80"), one);
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 8; i < 16; ++i) a.x(lane, i) = f16.nan();
  const auto product = [&](const Target& on, const WmmaFragment& left) {
    return mma_sync(left, fill_fragment(row, Operand::b, on, one),
                    fill_fragment(row, Operand::c, on, 0));
  };
  for (const Code code : product(target("sm_80"), a).elements) CHECK(to_double(f32, code) == 16);

  // Volta: lanes 8 to 15 and 24 to 31 are the quad pairs of columns 8 to 15.
  WmmaFragment volta = fill_fragment(row, Operand::a, target("sm_70"), one);
  for (int lane = 0; lane < 32; ++lane)
    if ((lane & 8) != 0)
      for (int i = 0; i < 16; ++i) volta.x(lane, i) = from_double(f16, 2);
  const WmmaFragment d = product(target("sm_70"), volta);
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 16; ++j) CHECK(to_double(f32, d.at({i, j, 0})) == (j < 8 ? 16 : 32));
}

TEST_CASE("wmma: fill_fragment sets every x, and a result serves as C") {
  const WmmaInstruction row = form("wmma.m16n16k16.f32.f32");
  const Target& on = target("sm_75");
  const WmmaFragment a = fill_fragment(row, Operand::a, on, from_double(f16, 0.5));
  const WmmaFragment b = fill_fragment(row, Operand::b, on, from_double(f16, 4));
  CHECK(a.num_elements() == 16);
  CHECK(a.elements.size() == 512);
  const WmmaFragment c = fill_fragment(row, Operand::c, on, from_double(f32, 1));
  const WmmaFragment d = mma_sync(a, b, mma_sync(a, b, c));
  CHECK(d.num_elements() == 8);
  for (const Code code : d.elements) CHECK(to_double(f32, code) == 65);
}

TEST_CASE("wmma: elements below a byte load low bits first") {
  const Target& on = target("sm_80");
  std::vector<std::byte> memory(8 * 16);
  memory[16 + 5] = std::byte{0xA7};  // row 1: elements 10 and 11 of s4, 40 to 47 of b1
  const WmmaPointer s4{0, 32, MatrixLayout::row};
  const WmmaFragment nibbles =
      load_matrix_sync(form("wmma.m8n8k32.s32.s4.s4.s32"), Operand::a, on, memory, s4);
  CHECK(nibbles.at({1, 10, 0}) == 0x7);
  CHECK(nibbles.at({1, 11, 0}) == 0xA);
  CHECK(nibbles.x(5, 2) == 0x7);
  const WmmaPointer b1{0, 128, MatrixLayout::row};
  const WmmaFragment bits =
      load_matrix_sync(form("wmma.xor.popc.m8n8k128.s32.b1.b1.s32"), Operand::a, on, memory, b1);
  Code byte = 0;
  for (int i = 0; i < 8; ++i) byte |= bits.at({1, 40 + i, 0}) << i;
  CHECK(byte == 0xA7);
}

TEST_CASE("wmma: broken rules are refused before anything is written") {
  const WmmaInstruction row = form("wmma.m16n16k16.f32.f32");
  const std::string name = "wmma.m16n16k16.f32.f16.f16.f32: ";
  const Target& on = target("sm_80");
  const auto load_a = [&](const WmmaPointer& pointer, std::size_t bytes) {
    return [&row, &on, pointer, bytes] {
      load_matrix_sync(row, Operand::a, on, std::vector<std::byte>(bytes), pointer);
    };
  };
  CHECK_NOTHROW(load_a({64, 16, MatrixLayout::row}, 512)());
  check_refused(name + "layout of A is .col; right: .row, as declared",
                load_a({64, 16, MatrixLayout::col}, 512));
  check_refused(name + "address 48 is not aligned to 256 bits; right: a multiple of 32",
                load_a({48, 16, MatrixLayout::row}, 512));
  check_refused(name +
                    "leading dimension is 20; right: a multiple of 8 elements (16 bytes), at "
                    "least 16",
                load_a({64, 20, MatrixLayout::row}, 4096));
  check_refused(name +
                    "leading dimension is 8; right: a multiple of 8 elements (16 bytes), at "
                    "least 16",
                load_a({64, 8, MatrixLayout::row}, 4096));
  check_refused(
      name + "the memory has 255 elements; right: 16 after 15 times the leading dimension",
      load_a({64, 16, MatrixLayout::row}, 511));
  check_refused(name + "the memory has 8 elements; right: 16 after 15 times the leading dimension",
                load_a({64, std::uint64_t{1} << 63, MatrixLayout::row}, 16));

  const Matrix out = zeros(1024, {0, 18, MatrixLayout::row}, 4);
  std::vector<std::byte> memory = out.bytes;
  check_refused(
      name +
          "leading dimension is 18; right: a multiple of 4 elements (16 bytes), at "
          "least 16",
      [&] { store_matrix_sync(memory, out.pointer, fill_fragment(row, Operand::d, on, 1)); });
  CHECK(memory == out.bytes);
  check_refused(name + "fragment of A cannot be stored; right: an accumulator", [&] {
    store_matrix_sync(memory, {0, 16, MatrixLayout::row}, fill_fragment(row, Operand::a, on, 1));
  });
}

TEST_CASE("wmma: products of fragments that do not belong together are refused") {
  const WmmaInstruction row = form("wmma.m16n16k16.f32.f32");
  const std::string name = "wmma.m16n16k16.f32.f16.f16.f32: ";
  const Target& on = target("sm_80");
  const auto filled = [](const WmmaInstruction& of, Operand operand, const Target& where) {
    return fill_fragment(of, operand, where, 0);
  };
  const WmmaFragment a = filled(row, Operand::a, on);
  const WmmaFragment b = filled(row, Operand::b, on);
  const WmmaFragment c = filled(row, Operand::c, on);
  CHECK_NOTHROW(mma_sync(a, b, c));
  check_refused(name + "fragment of A given as B", [&] { mma_sync(a, a, c); });
  check_refused(
      name +
          "fragment of B is one of wmma.row.row.m16n16k16.f32.f16.f16.f32; right: all "
          "of one form",
      [&] { mma_sync(a, filled(form("wmma.row.row.m16n16k16.f32.f32"), Operand::b, on), c); });
  check_refused(name + "fragment of C is one of sm_90; right: all of sm_80",
                [&] { mma_sync(a, b, filled(row, Operand::c, target("sm_90"))); });
  WmmaFragment short_of_a_lane = c;
  short_of_a_lane.elements.resize(31 * 8);
  check_refused(name + "fragment of C has 248 elements; right: 256, those of all 32 lanes",
                [&] { mma_sync(a, b, short_of_a_lane); });
  const WmmaInstruction mixed = form("wmma.m16n16k16.f16.f32");
  check_refused("wmma.m16n16k16.f16.f16.f16.f32: fragment of D given as C", [&] {
    mma_sync(filled(mixed, Operand::a, on), filled(mixed, Operand::b, on),
             filled(mixed, Operand::d, on));
  });
  check_refused("wmma.m16n16k16.f32.bf16.bf16.f32: not on sm_75; it needs sm_80 or later", [&] {
    filled(form("wmma.m16n16k16.f32.bf16.bf16.f32"), Operand::a, target("sm_75"));
  });
}

TEST_CASE("wmma: integers wrap, or are clamped once with .satfinite") {
  constexpr Code largest = 0x7FFFFFFF, smallest = 0x80000000, minus_one_s8 = 0xFF;
  const std::string s8 = "wmma.m16n16k16.s32.s8.s8.s32";
  for (const std::string_view on : {"sm_72", "sm_75", "sm_80", "sm_90", "sm_100"}) {
    CAPTURE(std::string(on));
    CHECK(filled_product(s8, on, minus_one_s8, 2, 100) == 100 - 32);
    CHECK(filled_product(s8, on, 1, 1, largest) == smallest + 15);
    CHECK(filled_product(s8 + ".satfinite", on, 1, 1, largest) == largest);
    CHECK(filled_product(s8 + ".satfinite", on, minus_one_s8, 1, smallest) == smallest);
    CHECK(filled_product("wmma.m8n32k16.s32.u8.u8.s32", on, 255, 255, 1) == 16 * 255 * 255 + 1);
  }
  for (const std::string_view on : {"sm_75", "sm_90", "sm_100"}) {
    CHECK(filled_product("wmma.m8n8k32.s32.s4.s4.s32", on, 0xF, 7, 0) == Code{0xFFFFFFFF} - 223);
    CHECK(filled_product("wmma.m8n8k32.s32.u4.u4.s32.satfinite", on, 15, 15, largest) == largest);
  }
}

TEST_CASE("wmma: b1 counts the bits that differ, or that are set in both") {
  const std::string types = "m8n8k128.s32.b1.b1.s32";
  for (const std::string_view on : {"sm_80", "sm_90", "sm_100"}) {
    CHECK(filled_product("wmma.xor.popc." + types, on, 1, 0, 5) == 133);
    CHECK(filled_product("wmma.xor.popc." + types, on, 1, 1, 5) == 5);
    CHECK(filled_product("wmma.and.popc." + types, on, 1, 0, 5) == 5);
    CHECK(filled_product("wmma.and.popc." + types, on, 1, 1, 5) == 133);
  }
}

TEST_CASE("wmma: f64 rounds each of its four multiply-adds as the modifier says") {
  const Code one = from_double(f64, 1), tiny = from_double(f64, 0x1p-60);
  const std::string types = "f64.f64.f64.f64";
  const auto product = [&](const std::string& modifier) {
    return to_double(f64,
                     filled_product("wmma.m8n8k4." + modifier + types, "sm_80", tiny, one, one));
  };
  CHECK(product("") == 1);
  CHECK(product("rz.") == 1);
  CHECK(product("rm.") == 1);
  CHECK(product("rp.") == 1 + 4 * 0x1p-52);
}

TEST_CASE("float_to_tf32 rounds to nearest, ties away from zero") {
  CHECK(float_to_tf32(0x3F800FFF) == 0x3F800000);
  CHECK(float_to_tf32(0x3F801000) == 0x3F802000);
  CHECK(float_to_tf32(0xBF801000) == 0xBF802000);
  CHECK(float_to_tf32(0x3F803000) == 0x3F804000);
  CHECK(float_to_tf32(0x00001000) == 0x00002000);
  CHECK(float_to_tf32(0x80000FFF) == 0x80000000);
  CHECK(float_to_tf32(0x7F7FFFFF) == 0x7F800000);
  CHECK(float_to_tf32(0xFF800000) == 0xFF800000);
  // pytorch issue 78275: 3.14 · 3.14 with both in tf32 is 9.86353
  const double rounded = to_double(tf32, float_to_tf32(from_double(f32, 3.14)));
  CHECK(rounded == 3.140625);
  CHECK(rounded * rounded == doctest::Approx(9.86353).epsilon(1e-6));
}
