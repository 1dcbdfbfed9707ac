#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "bitmma/apps/operand.hpp"
#include "bitmma/kernels/campaign.hpp"
#include "bitmma/kernels/device.hpp"
#include "bitmma/kernels/instruction_kernel.hpp"
#include "bitmma/tests/apps/program.hpp"

namespace bitmma::test {
namespace {

/// The target of the GPU that `run` takes; without one it says so, which counts as skipped.
const Target* device_target() {
  const std::vector<DeviceInfo> found = devices();
  if (found.empty()) {
    MESSAGE("skipped: no CUDA device");
    return nullptr;
  }
  const Target* target = find_target(found.front().sm);
  REQUIRE(target != nullptr);
  return target;
}

/// A kernel of each row of the table that the target runs and, for wgmma, of each place of A: the
/// first N that was built.
std::vector<CampaignKernel> kernels_of_rows(const Target& target) {
  std::vector<CampaignKernel> kernels;
  std::set<std::pair<std::string, ASource>> seen;
  for (const CampaignKernel& kernel : runnable_kernels(target))
    if (seen.emplace(short_name(table_row(kernel.row)), kernel.a_source).second)
      kernels.push_back(kernel);
  REQUIRE(!kernels.empty());
  return kernels;
}

/// One kernel of each way to cut a product into tiles: quad pairs, a warp, a warpgroup and each
/// place of its A.
std::vector<CampaignKernel> kernels_of_tilings(const Target& target) {
  std::vector<CampaignKernel> kernels;
  std::set<std::tuple<int, Family, ASource>> seen;
  for (const CampaignKernel& kernel : kernels_of_rows(target))
    if (seen.emplace(kernel.row.blocks(), kernel.row.family, kernel.a_source).second)
      kernels.push_back(kernel);
  return kernels;
}

void store_random(const Program& program, const char* name, const Format& format,
                  std::vector<std::size_t> shape) {
  std::mt19937 random(static_cast<unsigned>(name[0]));
  NpyArray array = zeros(native_type(format), std::move(shape));
  const Codes codes = random_codes(format, array.size(), random);
  for (std::size_t i = 0; i < codes.size(); ++i) array.set_bits(i, codes[i]);
  program.store(name, array);
}

/// `run` beside the emulator's command of the toolkit that compiled the kernels: equal files.
void check_run(const Program& program, const Target& target, const CampaignKernel& kernel,
               const std::string& files, bool dot = false) {
  const std::string instr = short_name(kernel.row);
  const std::string a_from = kernel.row.family == Family::wgmma
                                 ? fmt::format(" --a-from {}", a_source_name(kernel.a_source))
                                 : "";
  INFO(instr, a_from, " ", files);
  output_of(program, fmt::format("run --instr {}{} {}{} -o gpu.npy", instr, a_from, files,
                                 dot ? " --dot" : ""));
  output_of(program,
            fmt::format("{} --arch {} --cuda {} --instr {} {} -o emulated.npy", dot ? "dot" : "mma",
                        target.name, kernel_compiler_version(), instr, files));
  const NpyArray gpu = program.load("gpu.npy");
  const NpyArray emulated = program.load("emulated.npy");
  CHECK(gpu.type == emulated.type);
  CHECK(gpu.shape == emulated.shape);
  CHECK(gpu.bytes == emulated.bytes);
}

/// The longest k of a test: beyond one instruction and no multiple of it where a chain is allowed.
std::size_t test_k(const Instruction& row) {
  const auto k = static_cast<std::size_t>(row.k);
  return *row.c == *row.d ? 3 * k + 1 : k;
}

}  // namespace

TEST_CASE("run: says where there is no CUDA device, before it reads or writes anything") {
  if (!devices().empty()) {
    MESSAGE("skipped: there is a CUDA device");
    return;
  }
  const Program program;
  program.store_text("d.npy", "before");
  for (const std::string options : {"", " --dot"})
    check_refused(program, "run --instr m16n8k16.f32.f16.f16.f32 a.npy b.npy -o d.npy" + options,
                  "no CUDA device");
}

TEST_CASE("run: wrong arguments are refused before the GPU is looked for") {
  const Program program;
  const std::string run = "run --instr m16n8k16.f32.f16.f16.f32 a.npy b.npy ";
  check_refused(program, "run --instr m16n8k17 a.npy b.npy -o d.npy", "unknown instruction");
  check_refused(program, "run a.npy b.npy -o d.npy", "--instr is required");
  check_refused(program, run + "-o no/d.npy", "no/d.npy");
  check_refused(program, run, "--output");
  check_refused(program, run + "--a-from memory -o d.npy", "registers");
  check_refused(program, run + "--arch sm_90 -o d.npy", "--arch");
}

TEST_CASE("run: the GPU's product is the emulator's, for every instruction that has a kernel") {
  const Target* target = device_target();
  if (target == nullptr) return;
  for (const CampaignKernel& kernel : kernels_of_rows(*target)) {
    const Program program;
    const Instruction& row = kernel.row;
    const std::size_t k = test_k(row);
    store_random(program, "a.npy", *row.a, {70, k});
    store_random(program, "b.npy", *row.b, {k, 19});
    store_random(program, "c.npy", *row.c, {70, 19});
    check_run(program, *target, kernel, "a.npy b.npy c.npy");
  }
}

TEST_CASE("run --dot: the GPU's rows are the emulator's, with C and without") {
  const Target* target = device_target();
  if (target == nullptr) return;
  for (const CampaignKernel& kernel : kernels_of_tilings(*target)) {
    const Program program;
    const Instruction& row = kernel.row;
    const std::size_t k = test_k(row);
    store_random(program, "a.npy", *row.a, {45, k});
    store_random(program, "b.npy", *row.b, {45, k});
    store_random(program, "c.npy", *row.c, {45});
    check_run(program, *target, kernel, "a.npy b.npy c.npy", true);
    check_run(program, *target, kernel, "a.npy b.npy", true);
  }
}

TEST_CASE("run: batches have the emulator's results, with C and without") {
  const Target* target = device_target();
  if (target == nullptr) return;
  for (const CampaignKernel& kernel : kernels_of_tilings(*target)) {
    const Program program;
    const Instruction& row = kernel.row;
    const std::size_t k = test_k(row);
    store_random(program, "a.npy", *row.a, {3, 5, k});
    store_random(program, "b.npy", *row.b, {k, 9});
    store_random(program, "c.npy", *row.c, {3, 5, 9});
    check_run(program, *target, kernel, "a.npy b.npy c.npy");
    check_run(program, *target, kernel, "a.npy b.npy");
  }
}

TEST_CASE("run: empty products have the emulator's empty results") {
  const Target* target = device_target();
  if (target == nullptr) return;
  const CampaignKernel kernel = kernels_of_rows(*target).front();
  const auto k = static_cast<std::size_t>(kernel.row.k);
  const Program program;
  store_random(program, "a.npy", *kernel.row.a, {5, k});
  store_random(program, "b.npy", *kernel.row.b, {k, 9});
  store_random(program, "no_rows.npy", *kernel.row.a, {0, k});
  store_random(program, "no_columns.npy", *kernel.row.b, {k, 0});
  check_run(program, *target, kernel, "no_rows.npy b.npy");
  check_run(program, *target, kernel, "a.npy no_columns.npy");
  check_run(program, *target, kernel, "no_rows.npy no_rows.npy", true);
}

TEST_CASE("run: refuses operands in mma's words and instructions that the GPU does not have") {
  const Target* target = device_target();
  if (target == nullptr) return;
  const Program program;
  const Instruction row = kernels_of_rows(*target).front().row;
  const auto k = static_cast<std::size_t>(row.k);
  store_random(program, "a.npy", *row.a, {5, k});
  store_random(program, "b.npy", *row.b, {k + 1, 9});
  const std::string run = "run --instr " + short_name(row) + " ";
  check_refused(program, run + "a.npy lost.npy -o d.npy", "lost.npy: no such file");
  check_refused(program, run + "a.npy b.npy -o d.npy", fmt::format("B must have k = {} rows", k));
  check_refused(program, run + "--dot a.npy b.npy -o d.npy", "B must have A's shape");
  check_refused(program, run + "a.npy a.npy -o d.npy --round up", "choose rne, rz or rna");
  const auto* absent = std::ranges::find_if(
      instruction_table, [&](const Instruction& other) { return !other.runs_on(*target); });
  if (absent != std::end(instruction_table))
    check_refused(program, "run --instr " + short_name(*absent) + " a.npy b.npy -o d.npy",
                  fmt::format("is not on {}: it needs", target->name));
}

TEST_CASE("run: refuses a chain of instructions whose C and D have two formats") {
  const Target* target = device_target();
  if (target == nullptr) return;
  const Program program;
  store_random(program, "a.npy", f16, {5, 5});
  for (const CampaignKernel& kernel : kernels_of_rows(*target))
    if (*kernel.row.c != *kernel.row.d) {
      const std::string run = "run --instr " + short_name(kernel.row) + " a.npy a.npy -o d.npy";
      check_refused(program, run, "k = 5 needs several of");
      check_refused(program, run + " --dot", "k = 5 needs several of");
    }
}

TEST_CASE("run: wgmma runs without an N; for one without a kernel those are named that have one") {
  const Target* target = device_target();
  if (target == nullptr) return;
  const Instruction row = find_instruction("wgmma.m64nNk16.f32.f16.f16").value();
  if (!row.runs_on(*target)) {
    MESSAGE("skipped: the GPU has no wgmma");
    return;
  }
  std::set<int> built;
  for (const CampaignKernel& kernel : runnable_kernels(*target))
    if (kernel.row.family == Family::wgmma) built.insert(kernel.row.n);
  REQUIRE(!built.empty());
  const Program program;
  store_random(program, "a.npy", f16, {70, 33});
  store_random(program, "b.npy", f16, {33, 19});
  check_run(program, *target, {row, ASource::registers}, "a.npy b.npy");
  check_run(program, *target, {row, ASource::shared_memory}, "a.npy b.npy");
  int absent = 8;
  while (built.contains(absent)) absent += 8;
  if (absent <= 256)
    check_refused(
        program,
        fmt::format("run --instr wgmma.m64n{}k16.f32.f16.f16 a.npy b.npy -o d.npy", absent),
        fmt::format("there are N = {} (CMake option BITMMA_WGMMA_N)", fmt::join(built, ", ")));
  check_refused(program,
                "run --instr m16n8k16.f32.f16.f16.f32 --a-from shared a.npy b.npy -o d.npy",
                "--a-from shared");
}

}  // namespace bitmma::test
