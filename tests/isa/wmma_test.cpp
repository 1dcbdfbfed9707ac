#include "bitmma/isa/wmma.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <tuple>

using namespace bitmma;

static_assert(every_wmma_fragment_covers());

namespace {

WmmaInstruction form(std::string_view spelling) { return find_wmma(spelling).value(); }

/// What each bit of the lane and then of the index adds: R8 to the row, C4 to the column, x
/// nothing.
std::string bits_text(const Layout& layout) {
  const auto bit_text = [&](int lane, int index) -> std::string {
    const Coordinates cell = coordinates(layout, lane, index);
    if (cell.row == 0 && cell.column == 0) return "x";
    return std::string(cell.row != 0 ? "R" : "C").append(std::to_string(cell.row + cell.column));
  };
  std::string text;
  for (int bit = 1; bit < layout.lanes(); bit *= 2) text.append(bit_text(bit, 0)).append(" ");
  text.append("|");
  for (int bit = 1; bit < layout.elements(); bit *= 2) text.append(" ").append(bit_text(0, bit));
  return text;
}

struct Fact {
  std::string_view form;
  Operand operand;
  std::string_view bits;
};

void check_facts(std::initializer_list<std::string_view> targets,
                 std::initializer_list<Fact> facts) {
  for (const std::string_view target : targets)
    for (const Fact& fact : facts) {
      CAPTURE(target);
      CAPTURE(fact.form);
      CHECK(bits_text(wmma_fragment_layout(form(fact.form), fact.operand, *find_target(target))) ==
            fact.bits);
    }
}

/// Calls visit(form, target) for every form, in both layouts of A and B, and every target.
template <class Visit>
void for_each_form(Visit visit) {
  for (const Target& target : target_table)
    for (WmmaInstruction row : wmma_table)
      for (const MatrixLayout memory : {MatrixLayout::row, MatrixLayout::col}) {
        row.a_layout = row.b_layout = memory;
        if (row.runs_on(target)) visit(row, target);
      }
}

}  // namespace

// The addresses and register moves of ptxas 12.4 (sm_70, sm_72) and 13.0 (sm_75 to sm_120), worked
// out for 32 lanes: what each bit of the lane | of i in x[i] adds.

TEST_CASE("wmma: Volta's f16 fragments are those of its loads and stores") {
  constexpr Operand a = Operand::a, b = Operand::b, c = Operand::c, d = Operand::d;
  check_facts({"sm_70", "sm_72"},
              {
                  {"wmma.m16n16k16.f16.f16", a, "R1 R2 R8 x R4 | C1 C2 C4 C8"},
                  {"wmma.col.col.m16n16k16.f16.f16", a, "C1 C2 R8 x R4 | R1 R2 C4 C8"},
                  {"wmma.row.row.m16n16k16.f16.f16", b, "R1 R2 x C8 C4 | C1 C2 R4 R8"},
                  {"wmma.m16n16k16.f16.f16", b, "C1 C2 x C8 C4 | R1 R2 R4 R8"},
                  {"wmma.m16n16k16.f32.f16", c, "R1 R2 R8 C8 R4 | C1 C2 C4"},
                  {"wmma.m16n16k16.f32.f16", d, "R1 C2 R8 C8 R4 | C1 R2 C4"},
                  {"wmma.m8n32k16.f16.f16", a, "R1 R2 x x R4 | C1 C2 C4 C8"},
                  {"wmma.col.col.m8n32k16.f16.f16", a, "C1 C2 x x R4 | R1 R2 C4 C8"},
                  {"wmma.row.row.m8n32k16.f16.f16", b, "R1 R2 C8 C16 C4 | C1 C2 R4 R8"},
                  {"wmma.m8n32k16.f16.f16", b, "C1 C2 C8 C16 C4 | R1 R2 R4 R8"},
                  {"wmma.m8n32k16.f16.f32", d, "R1 R2 C8 C16 R4 | C1 C2 C4"},
                  {"wmma.m8n32k16.f16.f32", c, "R1 C2 C8 C16 R4 | C1 R2 C4"},
                  {"wmma.m32n8k16.f16.f16", a, "R1 R2 R8 R16 R4 | C1 C2 C4 C8"},
                  {"wmma.col.col.m32n8k16.f16.f16", a, "C1 C2 R8 R16 R4 | R1 R2 C4 C8"},
                  {"wmma.row.row.m32n8k16.f16.f16", b, "R1 R2 x x C4 | C1 C2 R4 R8"},
                  {"wmma.m32n8k16.f16.f16", b, "C1 C2 x x C4 | R1 R2 R4 R8"},
                  {"wmma.m32n8k16.f32.f16", c, "R1 R2 R8 R16 R4 | C1 C2 C4"},
                  {"wmma.m32n8k16.f32.f16", d, "R1 C2 R8 R16 R4 | C1 R2 C4"},
              });
}

TEST_CASE("wmma: f16 fragments from Turing on are those of its loads and stores") {
  constexpr Operand a = Operand::a, b = Operand::b, c = Operand::c, d = Operand::d;
  check_facts({"sm_75", "sm_80", "sm_86", "sm_87", "sm_89", "sm_90", "sm_100", "sm_103", "sm_110",
               "sm_120"},
              {
                  {"wmma.m16n16k16.f32.f16", a, "C2 C4 R1 R2 R4 | C1 R8 C8 x"},
                  {"wmma.col.row.m16n16k16.f32.f16", a, "C2 C4 R1 R2 R4 | C1 R8 C8 x"},
                  {"wmma.m16n16k16.f32.f16", b, "R2 R4 C1 C2 C4 | R1 R8 C8 x"},
                  {"wmma.col.row.m16n16k16.f32.f16", b, "R2 R4 C1 C2 C4 | R1 R8 C8 x"},
                  {"wmma.m16n16k16.f32.f16", c, "C2 C4 R1 R2 R4 | C1 R8 C8"},
                  {"wmma.m16n16k16.f32.f16", d, "C2 C4 R1 R2 R4 | C1 R8 C8"},
                  {"wmma.m8n32k16.f32.f16", a, "C2 C4 R1 R2 R4 | C1 C8 x x"},
                  {"wmma.m8n32k16.f32.f16", b, "R2 R4 C1 C2 C4 | R1 C8 R8 C16"},
                  {"wmma.m8n32k16.f32.f16", c, "R2 R4 C1 C2 C4 | R1 C8 C16"},
                  {"wmma.m8n32k16.f32.f16", d, "R2 R4 C1 C2 C4 | R1 C8 C16"},
                  {"wmma.m32n8k16.f32.f16", a, "C2 C4 R1 R2 R4 | C1 R8 C8 R16"},
                  {"wmma.m32n8k16.f32.f16", b, "R2 R4 C1 C2 C4 | R1 R8 x x"},
                  {"wmma.m32n8k16.f32.f16", c, "C2 C4 R1 R2 R4 | C1 R8 R16"},
                  {"wmma.m32n8k16.f32.f16", d, "C2 C4 R1 R2 R4 | C1 R8 R16"},
              });
}

TEST_CASE("wmma: bf16, tf32 and f64 fragments are those of their loads and stores") {
  constexpr Operand a = Operand::a, b = Operand::b, d = Operand::d;
  check_facts({"sm_80", "sm_86", "sm_87", "sm_89", "sm_90", "sm_100", "sm_103", "sm_110", "sm_120"},
              {
                  {"wmma.m16n16k16.f32.bf16.bf16.f32", a, "C2 C4 R1 R2 R4 | C1 R8 C8"},
                  {"wmma.m16n16k16.f32.bf16.bf16.f32", b, "R2 R4 C1 C2 C4 | R1 R8 C8"},
                  {"wmma.m8n32k16.f32.bf16.bf16.f32", a, "C2 C4 R1 R2 R4 | C1 C8"},
                  {"wmma.m8n32k16.f32.bf16.bf16.f32", b, "R2 R4 C1 C2 C4 | R1 C8 R8 C16"},
                  {"wmma.m8n32k16.f32.bf16.bf16.f32", d, "R2 R4 C1 C2 C4 | R1 C8 C16"},
                  {"wmma.m32n8k16.f32.bf16.bf16.f32", a, "C2 C4 R1 R2 R4 | C1 R8 C8 R16"},
                  {"wmma.m32n8k16.f32.bf16.bf16.f32", b, "R2 R4 C1 C2 C4 | R1 R8"},
                  {"wmma.m16n16k8.f32.tf32.tf32.f32", a, "C1 C2 R1 R2 R4 | R8 C4"},
                  {"wmma.m16n16k8.f32.tf32.tf32.f32", b, "R1 R2 C1 C2 C4 | R4 C8"},
                  {"wmma.m16n16k8.f32.tf32.tf32.f32", d, "C2 C4 R1 R2 R4 | C1 R8 C8"},
                  {"wmma.m8n8k4.f64.f64.f64.f64", a, "C1 C2 R1 R2 R4 |"},
                  {"wmma.m8n8k4.f64.f64.f64.f64", b, "R1 R2 C1 C2 C4 |"},
                  {"wmma.m8n8k4.f64.f64.f64.f64", d, "C2 C4 R1 R2 R4 | C1"},
              });
}

TEST_CASE("wmma: integer fragments are those of their loads and stores") {
  constexpr Operand a = Operand::a, b = Operand::b, d = Operand::d;
  check_facts({"sm_75", "sm_80", "sm_90", "sm_100", "sm_120"},
              {
                  {"wmma.m16n16k16.s32.s8.s8.s32", a, "C4 C8 R1 R2 R4 | C1 C2 R8"},
                  {"wmma.m16n16k16.s32.s8.s8.s32", b, "R4 R8 C1 C2 C4 | R1 R2 C8"},
                  {"wmma.m16n16k16.s32.u8.u8.s32", d, "C2 C4 R1 R2 R4 | C1 R8 C8"},
                  {"wmma.m8n32k16.s32.s8.s8.s32", a, "C4 C8 R1 R2 R4 | C1 C2"},
                  {"wmma.m8n32k16.s32.s8.s8.s32", b, "R4 R8 C1 C2 C4 | R1 R2 C8 C16"},
                  {"wmma.m32n8k16.s32.u8.u8.s32", a, "C4 C8 R1 R2 R4 | C1 C2 R8 R16"},
                  {"wmma.m32n8k16.s32.u8.u8.s32", b, "R4 R8 C1 C2 C4 | R1 R2"},
                  {"wmma.m32n8k16.s32.u8.u8.s32", d, "C2 C4 R1 R2 R4 | C1 R8 R16"},
                  {"wmma.m8n8k32.s32.s4.s4.s32", a, "C8 C16 R1 R2 R4 | C1 C2 C4"},
                  {"wmma.m8n8k32.s32.u4.u4.s32", b, "R8 R16 C1 C2 C4 | R1 R2 R4"},
                  {"wmma.m8n8k32.s32.u4.u4.s32", d, "C2 C4 R1 R2 R4 | C1"},
                  {"wmma.xor.popc.m8n8k128.s32.b1.b1.s32", a, "C32 C64 R1 R2 R4 | C1 C2 C4 C8 C16"},
                  {"wmma.xor.popc.m8n8k128.s32.b1.b1.s32", b, "R32 R64 C1 C2 C4 | R1 R2 R4 R8 R16"},
                  {"wmma.xor.popc.m8n8k128.s32.b1.b1.s32", d, "C2 C4 R1 R2 R4 | C1"},
              });
  // IMMA.8816 goes along the columns, IMMA.16816 multiplies the transposed matrices
  check_facts({"sm_72", "sm_75"},
              {{"wmma.m8n32k16.s32.s8.s8.s32", d, "C2 C4 R1 R2 R4 | C1 C8 C16"}});
  check_facts({"sm_80", "sm_90", "sm_120"},
              {{"wmma.m8n32k16.s32.s8.s8.s32", d, "R2 R4 C1 C2 C4 | R1 C8 C16"}});
}

TEST_CASE("wmma: lane 5, x[3] of the accumulator differs by target and type") {
  // NVIDIA developer forum 287291
  const auto cell = [](std::string_view spelling, std::string_view target) {
    return coordinates(wmma_fragment_layout(form(spelling), Operand::d, *find_target(target)), 5,
                       3);
  };
  for (const std::string_view target : {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90"})
    for (const std::string_view type : {"wmma.m16n16k16.f32.f32", "wmma.m16n16k16.f16.f16"})
      CHECK(cell(type, target) == Coordinates{9, 3, 0});
  CHECK(cell("wmma.m16n16k16.f32.f32", "sm_70") == Coordinates{11, 1, 0});
  CHECK(cell("wmma.m16n16k16.f16.f16", "sm_70") == Coordinates{9, 3, 0});

  const WmmaInstruction row = form("wmma.m16n16k16.f32.f32");
  const Layout volta = wmma_fragment_layout(row, Operand::d, *find_target("sm_70"));
  const Layout later = wmma_fragment_layout(row, Operand::d, *find_target("sm_80"));
  int equal = 0;
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 8; ++i) equal += coordinates(volta, lane, i) == coordinates(later, lane, i);
  CHECK(equal == 8);
}

TEST_CASE("wmma: every fragment holds each element as often as any other, and positions invert") {
  int fragments = 0;
  for_each_form([&](const WmmaInstruction& row, const Target& target) {
    for (const Operand operand : {Operand::a, Operand::b, Operand::c, Operand::d}) {
      CAPTURE(short_name(row));
      CAPTURE(target.name);
      const Layout layout = wmma_fragment_layout(row, operand, target);
      std::set<std::tuple<int, int, int>> copies;
      bool inverse = true;
      for (int lane = 0; lane < 32; ++lane)
        for (int index = 0; index < layout.elements(); ++index) {
          const Coordinates cell = coordinates(layout, lane, index);
          copies.emplace(cell.row, cell.column, cell.copy);
          inverse = inverse && position(layout, cell) == FragmentPosition{lane, index};
        }
      CHECK(inverse);
      CHECK(static_cast<int>(copies.size()) == 32 * layout.elements());
      const int cells = layout.extent(Axis::row) * layout.extent(Axis::column);
      CHECK(cells * layout.extent(Axis::copy) == 32 * layout.elements());
      ++fragments;
    }
  });
  CHECK(fragments > 1000);
}

TEST_CASE("wmma: f16's A and B have 16 elements a lane everywhere, copies included") {
  const auto copies = [](std::string_view spelling, Operand operand, std::string_view target) {
    const Layout layout = wmma_fragment_layout(form(spelling), operand, *find_target(target));
    CHECK(layout.elements() == 16);
    return layout.extent(Axis::copy);
  };
  for (const std::string_view target : {"sm_70", "sm_75", "sm_90"}) {
    CHECK(copies("wmma.m16n16k16.f32.f32", Operand::a, target) == 2);
    CHECK(copies("wmma.m16n16k16.f32.f32", Operand::b, target) == 2);
    CHECK(copies("wmma.m8n32k16.f32.f32", Operand::a, target) == 4);
    CHECK(copies("wmma.m8n32k16.f32.f32", Operand::b, target) == 1);
    CHECK(copies("wmma.m32n8k16.f32.f32", Operand::a, target) == 1);
    CHECK(copies("wmma.m32n8k16.f32.f32", Operand::b, target) == 4);
  }
}

TEST_CASE("wmma: forms are found by PTX's spelling and by the short one") {
  for (const WmmaInstruction& row : wmma_table) {
    CAPTURE(ptx_name(row));
    CHECK(find_wmma(ptx_name(row)) == row);
    CHECK(find_wmma(short_name(row)) == row);
  }
  const WmmaInstruction row = form("wmma.mma.sync.aligned.col.row.m8n32k16.f16.f32");
  CHECK(short_name(row) == "wmma.col.row.m8n32k16.f16.f16.f16.f32");
  CHECK(ptx_name(row) == "wmma.mma.sync.aligned.col.row.m8n32k16.f16.f32");
  CHECK(ptx_name(form("wmma.m16n16k8.f32.tf32.tf32.f32")) ==
        "wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32");
  CHECK(ptx_name(form("wmma.and.popc.m8n8k128.s32.b1.b1.s32")) ==
        "wmma.mma.and.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32");
  for (const std::string_view ptx :
       {"wmma.mma.sync.aligned.row.col.m8n8k4.rz.f64.f64.f64.f64",
        "wmma.mma.sync.aligned.row.col.m8n8k32.s32.s4.s4.s32.satfinite",
        "wmma.mma.sync.aligned.col.row.m16n16k16.s32.u8.u8.s32.satfinite"})
    CHECK(ptx_name(form(ptx)) == ptx);
  CHECK(short_name(form("wmma.m8n8k4.rn.f64.f64.f64.f64")) == "wmma.m8n8k4.f64.f64.f64.f64");
  CHECK(short_name(form("wmma.m8n8k4.rp.f64.f64.f64.f64")) == "wmma.m8n8k4.rp.f64.f64.f64.f64");
  for (const std::string_view wrong : {"m16n16k16.f32.f32",
                                       "wmma.m16n16k17.f32.f32",
                                       "wmma.m16n16k16.f32",
                                       "wmma.m16n16k16.f32.f16.f16",
                                       "wmma.m16n16k16.f32.f16.bf16.f32",
                                       "wmma.m16n16k16.f32.f64",
                                       "wmma.row.m16n16k16.f32.f32",
                                       "wmma.col.row.m8n8k32.s32.s4.s4.s32",
                                       "wmma.m8n8k128.s32.b1.b1.s32",
                                       "wmma.xor.popc.m16n16k16.f32.f32",
                                       "wmma.m16n16k16.f32.f16.f16.f32.f32",
                                       "wmma.m16n16k16.rz.f32.f32",
                                       "wmma.m8n8k4.f64.f64.f64.f64.rz",
                                       "wmma.m16n16k16.f32.f32.satfinite",
                                       "wmma.m16n16k16.satfinite.s32.s8.s8.s32",
                                       "wmma.m16n16k16.rz.s32.s8.s8.s32.satfinite",
                                       "wmma.xor.popc.m8n8k4.rz.f64.f64.f64.f64",
                                       "wmma.xor.popc.m8n8k128.s32.b1.b1.s32.satfinite",
                                       "wmma.m8n8k128.s32.b1.b1.s32.xor.popc",
                                       ""})
    CHECK_FALSE(find_wmma(wrong).has_value());
}

TEST_CASE("wmma: the mma.sync that the machine code repeats") {
  const auto step = [](std::string_view spelling, std::string_view target) {
    return short_name(wmma_step(form(spelling), *find_target(target)));
  };
  CHECK(step("wmma.m16n16k16.f32.f32", "sm_70") == "m8n8k4.f32.f16.f16.f32");
  CHECK(step("wmma.col.row.m32n8k16.f32.f16", "sm_72") == "m8n8k4.col.row.f32.f16.f16.f16");
  CHECK(step("wmma.m16n16k16.f16.f32", "sm_70") == "m8n8k4.f32.f16.f16.f32");
  CHECK(step("wmma.col.row.m16n16k16.f32.f16", "sm_75") == "m16n8k8.f32.f16.f16.f32");
  CHECK(step("wmma.m8n32k16.f16.f16", "sm_75") == "m16n8k8.f16.f16.f16.f16");
  CHECK(step("wmma.m16n16k16.f16.f32", "sm_80") == "m16n8k16.f32.f16.f16.f32");
  CHECK(step("wmma.m32n8k16.f32.bf16.bf16.f32", "sm_120") == "m16n8k16.f32.bf16.bf16.f32");
  for (const std::string_view target : {"sm_80", "sm_89", "sm_90", "sm_100", "sm_120"})
    CHECK(step("wmma.m16n16k8.f32.tf32.tf32.f32", target) == "m16n8k4.f32.tf32.tf32.f32");
  CHECK(step("wmma.m8n8k4.rz.f64.f64.f64.f64", "sm_90") == "m8n8k4.rz.f64.f64.f64.f64");
  CHECK(step("wmma.m8n32k16.s32.u8.u8.s32", "sm_72") == "m8n8k16.s32.u8.u8.s32");
  CHECK(step("wmma.m32n8k16.s32.s8.s8.s32.satfinite", "sm_75") ==
        "m8n8k16.satfinite.s32.s8.s8.s32");
  CHECK(step("wmma.m16n16k16.s32.s8.s8.s32", "sm_80") == "m16n8k16.s32.s8.s8.s32");
  CHECK(step("wmma.m8n8k32.s32.s4.s4.s32", "sm_100") == "m8n8k32.s32.s4.s4.s32");
  CHECK(step("wmma.and.popc.m8n8k128.s32.b1.b1.s32", "sm_80") == "m8n8k128.s32.b1.b1.s32.and.popc");
}
