#include "bitmma/apps/devices.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "bitmma/tests/apps/program.hpp"

namespace bitmma::test {
namespace {

std::vector<ListedDevice> machine() {
  const auto kernel = [](const char* name, ASource a_source = ASource::registers) {
    return CampaignKernel{find_instruction(name).value(), a_source};
  };
  const ListedDevice h200{{"NVIDIA H200", 90, "580.159.04", "13.0"},
                          {kernel("m16n8k8.f32.f16.f16.f32"), kernel("wgmma.m64n64k16.f32.f16.f16"),
                           kernel("wgmma.m64n8k16.f32.f16.f16"),
                           kernel("wgmma.m64n8k16.f32.f16.f16", ASource::shared_memory)}};
  return {h200,
          h200,
          {{"Tesla T4", 75, "580.159.04", "13.0"}, {kernel("m16n8k8.f32.f16.f16.f32")}},
          {{"Tesla K80", 37, "580.159.04", "13.0"}, {}}};
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("devices: a line for each GPU, then what each of their targets runs") {
  const std::string text = devices_text(machine());
  CHECK(has(text, "1    NVIDIA H200  9.0         sm_90    580.159.04  13.0"));
  CHECK(has(text, "2    Tesla T4     7.5         sm_75"));
  CHECK(has(text, "3    Tesla K80    3.7         unknown"));
  CHECK(has(text, "sm_75 (Turing): 31 instructions native, 0 lowered to others, 87 absent\n"));
  CHECK(has(text, "sm_90 (Hopper): 63 instructions native, 55 lowered to others, 0 absent\n"));
  CHECK(text.find("sm_90 (Hopper)") == text.rfind("sm_90 (Hopper)"));
  CHECK(
      has(text, "wgmma.m64nNk16.f32.f16.f16        native   N = 8, 64; A from registers, shared"));
  CHECK(has(text, "m16n8k8.f32.f16.f16.f32           native   yes"));
  CHECK(has(text, "m16n8k16.f32.f16.f16.f32          native   none in this build"));
}

TEST_CASE("devices: the same as JSON") {
  const auto json = nlohmann::json::parse(devices_json(machine()));
  REQUIRE(json.size() == 4);
  CHECK(json[0]["target"] == "sm_90");
  CHECK(json[0]["capability"] == "9.0");
  CHECK(json[0]["native"].size() == 63);
  CHECK(json[0]["lowered"].size() == 55);
  CHECK(json[0]["kernels"].size() == 4);
  CHECK(json[0]["kernels"][3] ==
        nlohmann::json{{"instr", "wgmma.m64n8k16.f32.f16.f16"}, {"a", "shared"}});
  CHECK(json[2]["kernels"].size() == 1);
  CHECK(json[3]["target"].is_null());
  CHECK(json[3]["native"].empty());
}

TEST_CASE("devices: says where there is no CUDA device") {
  if (!devices().empty()) {
    MESSAGE("skipped: there is a CUDA device");
    return;
  }
  const Program program;
  check_refused(program, "devices", "no CUDA device");
  check_refused(program, "devices --json", "no CUDA device");
}

TEST_CASE("devices: the program prints this machine's devices") {
  if (devices().empty()) {
    MESSAGE("skipped: no CUDA device");
    return;
  }
  const Program program;
  CHECK(output_of(program, "devices") == devices_text(listed_devices()));
  CHECK(output_of(program, "devices --json") == devices_json(listed_devices()) + "\n");
}

}  // namespace
}  // namespace bitmma::test
