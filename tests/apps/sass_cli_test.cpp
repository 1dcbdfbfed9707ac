/// bitmma sass, on listings as the CUDA tools print them.

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "bitmma/tests/apps/program.hpp"

using namespace bitmma;
using namespace bitmma::test;

namespace {

constexpr const char* ptx =
    R"(// m16n8k16 in a comment: mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32
  mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%f1}, {%r1}, {%r2}, {%f1};
  asm("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%0}, {%1}, {%2}, {%3};");
  mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%f1}, {%r1}, {%r2}, {%f1};
  mma.sync.aligned.m16n8k64.row.col.s32.s8.s8.s32 {%r1}, {%r1}, {%r2}, {%r1};
)";

constexpr const char* sass = R"(        /*0110*/                   HMMA.16816.F32 R4, R8, R2, R4 ;
        /*0120*/                   HFMA2.MMA R1, -RZ, RZ, 0, 0 ;
        /*0130*/                   HGMMA.64x128x16.F32 R24, gdesc[UR4], R24 ;
        /*0140*/                   HMMA.884.F32.F32.STEP0 R4, R8.reuse.COL, R2, R4 ;
        /*0150*/                   HMMA.884.F32.F32.STEP1 R4, R8.reuse.COL, R2, R4 ;
)";

}  // namespace

TEST_CASE("sass says what each PTX instruction becomes on a target") {
  const Program program;
  program.store_text("kernel.ptx", ptx);
  CHECK(output_of(program, "sass kernel.ptx --arch sm_90") ==
        R"(2 × mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 (first in line 2)
  sm_90              lowered: HMMA.16816.F32, HMMA.16816.F32, FADD
1 × mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 (first in line 3)
  sm_90              lowered: FFMA, FFMA, FFMA, FFMA, FADD
1 × mma.sync.aligned.m16n8k64.row.col.s32.s8.s8.s32 (first in line 5)
  sm_90              not in the table
)");
}

TEST_CASE("sass joins targets with the same meaning") {
  const Program program;
  program.store_text("kernel.ptx", "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 d;\n");
  CHECK(output_of(program, "sass kernel.ptx") ==
        R"(1 × mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 (first in line 1)
  sm_70 to sm_87     not on this target
  sm_89              native: QMMA.16832.F32.E4M3.E4M3
  sm_90 to sm_110    lowered: HMMA.16816.F32, HMMA.16816.F32, FADD
  sm_120             native: QMMA.16832.F32.E4M3.E4M3
)");
}

TEST_CASE("sass names the rows behind each machine instruction, and reads standard input") {
  const Program program;
  program.store_text("kernel.sass", sass);
  const auto document =
      nlohmann::json::parse(output_of(program, "sass --arch sm_90 --json < kernel.sass"));
  REQUIRE(document.size() == 3);
  CHECK(document[0]["name"] == "HMMA.16816.F32");
  const std::string rows = document[0]["targets"][0]["meaning"];
  CHECK(rows.starts_with("m16n8k16.f32.f16.f16.f32, m16n8k32.f32.e4m3.e4m3.f32 (lowered)"));
  CHECK(document[1]["name"] == "HGMMA.64x128x16.F32");
  CHECK(document[1]["targets"][0]["meaning"] == "wgmma.m64nNk16.f32.f16.f16");
  CHECK(document[2]["name"] == "HMMA.884.F32.F32");
  CHECK(document[2]["count"] == 1);
  CHECK(document[2]["targets"][0]["meaning"] == "no row of the table becomes it");
}

TEST_CASE("sass says when there is no matrix instruction, and refuses a file that is not there") {
  const Program program;
  program.store_text("empty.sass", "        /*0120*/   HFMA2.MMA R1, -RZ, RZ, 0, 0 ;\n");
  CHECK(output_of(program, "sass empty.sass") ==
        "No matrix instruction: this code does not use tensor cores.\n");
  check_refused(program, "sass lost.sass", "lost.sass: cannot be read");
  check_refused(program, "sass empty.sass --arch sm_71", "--arch sm_71: unknown target");
}
