#include "bitmma/kernels/campaign_report.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>

namespace bitmma {
namespace {

const Provenance provenance{
    *find_target("sm_90"), {"NVIDIA H200", 90, "580.159.04", "13.0"}, "13.0.88", "2026-11-30", 2};
const std::string provenance_line =
    "gpu NVIDIA H200, target sm_90, driver 580.159.04, CUDA 13.0, nvcc 13.0.88, seed 2, "
    "date 2026-11-30\n";

std::string checked_in_record() {
  std::ifstream file(BITMMA_SOURCE_DIR "/tests/vectors/sm_90/campaign.txt");
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_CASE("the checked-in record begins as a campaign over every family writes it") {
  std::vector<NamedFamily> families(std::begin(input_families), std::end(input_families));
  std::ranges::reverse(families);
  std::ostringstream record;
  write_record(record, provenance, families, 84'000'000,
               {{"m8n8k4.row.row.f16.f16.f16.f16", ASource::registers, 1'008'000'000, 0}});
  CHECK(checked_in_record().substr(0, record.str().size()) == record.str());
}

TEST_CASE("a record says what was run, then has a line for each kernel") {
  std::ostringstream record;
  write_record(record, provenance, std::span(input_families).first(2), 300,
               {{"wgmma.m64n8k16.f16.f16.f16", ASource::shared_memory, 1024, 3},
                {"m16n8k8.f16.f16.f16.f16", ASource::registers, 640, 0}});
  CHECK(record.str() ==
        "# Outputs of the GPU compared with the emulator, bit for bit: each family gave at least "
        "300 outputs\n"
        "# of each row. a: where the kernel takes A from. Written by bitmma_campaign.\n"
        "# " +
            provenance_line +
            "# families: normal uniform\n"
            "# instruction a outputs mismatches\n"
            "wgmma.m64n8k16.f16.f16.f16 shared 1024 3\n"
            "m16n8k8.f16.f16.f16.f16 registers 640 0\n");
}

TEST_CASE("golden file and summary name the run in the record's words") {
  std::ostringstream golden;
  write_golden_header(golden, provenance);
  CHECK(golden.str() ==
        "# instruction target a[0]..a[k-1] b[0]..b[k-1] c d: one output element a line\n# " +
            provenance_line);
  std::ostringstream summary;
  write_summary(summary, provenance,
                {{"m16n8k8.f16.f16.f16.f16", ASource::registers, 640, 1},
                 {"m16n8k8.f32.f16.f16.f32", ASource::registers, 60, 2}});
  CHECK(summary.str() ==
        "\n" + provenance_line +
            "instruction                       a                outputs  mismatches\n"
            "m16n8k8.f16.f16.f16.f16           registers            640           1\n"
            "m16n8k8.f32.f16.f16.f32           registers             60           2\n"
            "all                                                    700           3\n");
}

}  // namespace
}  // namespace bitmma
