#include "bitmma/isa/instruction.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>

#include "bitmma/isa/lowering.hpp"

using namespace bitmma;

static_assert(every_fragment_is_bijective());

TEST_CASE("PTX's spelling, the short one and a pasted instruction name the same row") {
  const Instruction row = find_instruction("m16n8k16.f32.f16.f16.f32").value();
  for (const std::string_view text :
       {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "m16n8k16.row.col.f32.f16.f16.f32",
        "  mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2}, {%r1};\n"})
    CHECK(short_name(find_instruction(text).value()) == short_name(row));
  const Instruction wgmma = find_instruction("wgmma.m64n8k32.f32.e4m3.e4m3").value();
  CHECK(wgmma.family == Family::wgmma);
  CHECK(wgmma.n == 8);
  CHECK(short_name(
            find_instruction("wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16").value()) ==
        "wgmma.m64n256k16.f32.bf16.bf16");
  CHECK(find_instruction("wgmma.m64nNk16.f32.f16.f16").value().m == 64);
}

TEST_CASE("spellings that name no row") {
  for (const std::string_view text : {"",
                                      ".",
                                      "m",
                                      "m16",
                                      "m16n8k16",
                                      "m16n8k16.f32",
                                      "m16n8k16.f32.f16.f16",
                                      "m16n8k16.f32.f16.f16.f32.f32",
                                      "m16n8k16.f32.f16.bf16.f32",
                                      "m16n8k16.f64.f16.f16.f64",
                                      "m16n8k16.col.col.f32.f16.f16.f32",
                                      "m16n8k16.row.f32.f16.f16.f32",
                                      "m16n8k17.f32.f16.f16.f32",
                                      "m016n8k16.f32.f16.f16.f32",
                                      "m8n8k4.f16.f16.f16.f32",
                                      "wgmma.m64n9k16.f32.f16.f16",
                                      "wgmma.m64n264k16.f32.f16.f16",
                                      "m64n8k16.f32.f16.f16.f32",
                                      "wgmma.m16n8k16.f32.f16.f16",
                                      "m16nNk16.f32.f16.f16.f32",
                                      "m99999999999n8k4.f32.f16.f16.f32",
                                      "wgmma.mma.sync.aligned.m64n8k16.f32.f16.f16",
                                      "mma_async.m16n8k16.f32.f16.f16.f32",
                                      "aligned.m16n8k16.f32.f16.f16.f32",
                                      "m16n-8k16.f32.f16.f16.f32"}) {
    CAPTURE(text);
    CHECK_FALSE(find_instruction(text).has_value());
  }
}

TEST_CASE("modifiers stand before the types, counts of bits behind them") {
  CHECK(ptx_name(find_instruction("m8n8k4.rz.f64.f64.f64.f64").value()) ==
        "mma.sync.aligned.m8n8k4.row.col.rz.f64.f64.f64.f64");
  CHECK(short_name(find_instruction("m8n8k4.row.col.rn.f64.f64.f64.f64").value()) ==
        "m8n8k4.f64.f64.f64.f64");
  CHECK(find_instruction("m16n8k32.satfinite.s32.s8.u8.s32").value().modifier ==
        Modifier::satfinite);
  CHECK(ptx_name(find_instruction("m16n8k256.s32.b1.b1.s32.xor.popc").value()) ==
        "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc");
  for (const std::string_view text :
       {"m8n8k4.satfinite.f64.f64.f64.f64", "m16n8k32.rz.s32.s8.s8.s32", "m16n8k256.s32.b1.b1.s32",
        "m16n8k256.xor.popc.s32.b1.b1.s32", "m16n8k256.s32.b1.b1.s32.xor",
        "m16n8k256.s32.b1.b1.s32.or.popc", "m16n8k32.s32.s8.s4.s32", "m16n8k16.rz.f32.f16.f16.f32",
        "m8n8k4.f64.f64.f64.f64.rz", "m16n8k32.satfinite.satfinite.s32.s8.s8.s32"}) {
    CAPTURE(text);
    CHECK_FALSE(find_instruction(text));
  }
}

TEST_CASE("a pattern stands for every choice of its alternatives, the last ones first") {
  using detail::expand;
  using detail::spellings;
  constexpr std::string_view pattern = "m{8,16}.row{,.rz}.f64";
  CHECK(spellings(pattern) == 4);
  CHECK(expand(pattern, 0).view() == "m8.row.f64");
  CHECK(expand(pattern, 1).view() == "m8.row.rz.f64");
  CHECK(expand(pattern, 3).view() == "m16.row.rz.f64");
  CHECK(spellings("m8") == 1);
  CHECK(expand("m8", 0).view() == "m8");
  CHECK(std::size(instruction_table) == 118);
}

TEST_CASE("exact instructions may run as several smaller ones") {
  const auto code = [](const char* name, const char* target) {
    return machine_code(find_instruction(name).value(), *find_target(target));
  };
  using Names = std::vector<std::string>;
  CHECK(code("m16n8k64.s32.s4.u4.s32", "sm_80") == Names{"IMMA.16864.S4.U4"});
  CHECK(code("m16n8k64.s32.s4.u4.s32", "sm_90") == Names(2, "IMMA.16832.S8.U8"));
  CHECK(code("m8n8k32.satfinite.s32.u4.u4.s32", "sm_89") == Names{"IMMA.8832.U4.U4.SAT"});
  CHECK(code("m8n8k32.satfinite.s32.u4.u4.s32", "sm_100") == Names(2, "IMMA.16816.U8.U8"));
  CHECK(code("m8n8k16.satfinite.s32.s8.s8.s32", "sm_120") == Names{"IMMA.16816.S8.S8.SAT"});
  CHECK(code("m16n8k256.s32.b1.b1.s32.xor.popc", "sm_89") == Names{"BMMA.168256.XOR.POPC"});
  CHECK(code("m16n8k256.s32.b1.b1.s32.xor.popc", "sm_90") == Names(2, "BMMA.168256.AND.POPC"));
  CHECK(code("m8n8k128.s32.b1.b1.s32.and.popc", "sm_100") == Names(4, "IMMA.16832.U8.U8"));
  CHECK(code("m8n8k4.rz.f64.f64.f64.f64", "sm_80") == Names{"DMMA.884.RZ"});
  CHECK(code("m16n8k8.rm.f64.f64.f64.f64", "sm_90") == Names{"DMMA.16x8x8.RM"});
  CHECK(code("m16n8k16.rp.f64.f64.f64.f64", "sm_103") == Names(8, "DMMA.8x8x4.RP"));
}

TEST_CASE("names are unique, and each names its own row") {
  std::set<std::string> names;
  for (const Instruction& row : instruction_table) {
    const std::string name = short_name(row);
    CHECK(names.insert(name).second);
    const Instruction found = find_instruction(name).value();
    CHECK(found.m == row.m);
    CHECK(short_name(found) == name);
    CHECK(found.first_sm == row.first_sm);
    CHECK(found.last_sm == row.last_sm);
  }
}

TEST_CASE("targets") {
  CHECK(find_target("sm_90a") == find_target("sm_90"));
  CHECK(find_target("sm_100f")->architecture == Architecture::blackwell);
  CHECK(find_target("sm_91") == nullptr);
  for (const std::string_view absent : {"sm_70a", "sm_75f", "sm_90f", "sm_90aa", "sm_900", "sm_9"})
    CHECK(find_target(absent) == nullptr);
  CHECK(find_target("") == nullptr);
  CHECK(find_target("a") == nullptr);
  const Instruction wgmma = find_instruction("wgmma.m64n8k16.f32.f16.f16").value();
  for (const Target& target : target_table)
    CHECK(wgmma.runs_on(target) == (target.name == "sm_90"));
}

TEST_CASE("native and lowered, as the compiler has it") {
  const auto native = [](std::string_view name, std::string_view target) {
    return is_native(find_instruction(name).value(), *find_target(target));
  };
  for (const std::string_view target : {"sm_70", "sm_72", "sm_75"})
    CHECK(native("m8n8k4.f32.f16.f16.f32", target));
  for (const std::string_view target :
       {"sm_80", "sm_86", "sm_87", "sm_89", "sm_90", "sm_100", "sm_103", "sm_110", "sm_120"})
    for (const std::string_view name :
         {"m8n8k4.f32.f16.f16.f32", "m8n8k4.f16.f16.f16.f16", "m8n8k4.f32.f16.f16.f16"})
      CHECK_FALSE(native(name, target));
  for (const std::string_view name : {"m16n8k32.f32.e4m3.e4m3.f32", "m16n8k16.f16.e5m2.e4m3.f16"}) {
    for (const std::string_view target : {"sm_89", "sm_120"}) CHECK(native(name, target));
    for (const std::string_view target : {"sm_90", "sm_100", "sm_103", "sm_110"})
      CHECK_FALSE(native(name, target));
  }
  CHECK(native("wgmma.m64n8k32.f32.e4m3.e4m3", "sm_90"));
  CHECK(native("m16n8k16.f32.bf16.bf16.f32", "sm_120"));
}
