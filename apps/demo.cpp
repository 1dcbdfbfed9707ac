#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "bitmma/apps/arguments.hpp"
#include "bitmma/apps/commands.hpp"
#include "bitmma/apps/replay.hpp"
#include "bitmma/apps/table.hpp"
#include "bitmma/isa/evidence.hpp"
#include "bitmma/reference/exact.hpp"
#include "bitmma/reference/exact_text.hpp"

namespace bitmma {
namespace {

/// The dot product of Xie et al. 2025, table 8, which tells the architectures apart.
constexpr double a_values[] = {-8192, -0.5, -0.25, -0.125};
constexpr double b_values[] = {1024, 1, 1, 1};
constexpr double c_value = 8388608;

struct Shown {
  std::string_view arch;
  std::string_view instr;
};

constexpr Shown shown[] = {
    {"sm_70", "m8n8k4.f32.f16.f16.f32"},       {"sm_75", "m16n8k8.f32.f16.f16.f32"},
    {"sm_80", "m16n8k16.f32.f16.f16.f32"},     {"sm_89", "m16n8k16.f32.f16.f16.f32"},
    {"sm_89", "m16n8k32.f32.e5m2.e5m2.f32"},   {"sm_90", "m16n8k16.f32.f16.f16.f32"},
    {"sm_90", "wgmma.m64n8k32.f32.e5m2.e5m2"}, {"sm_90", "m8n8k4.f32.f16.f16.f32"},
    {"sm_100", "m16n8k16.f32.f16.f16.f32"},    {"sm_120", "m16n8k32.f32.e5m2.e5m2.f32"},
};

std::vector<Code> codes(const Format& format, std::span<const double> values) {
  std::vector<Code> codes;
  for (const double value : values) codes.push_back(from_double(format, value));
  return codes;
}

ExactValue exact_answer() {
  const std::vector<Code> a = codes(f64, a_values), b = codes(f64, b_values);
  return exact_dot({{f64, a}, {f64, b}, f64, from_double(f64, c_value)});
}

void add_target(Table& table, const Shown& line, double exact) {
  const Execution execution = execution_argument(line.arch, line.instr);
  const Instruction& row = execution.instruction;
  const Target& target = target_argument(line.arch);
  const std::vector<Code> a = codes(*row.a, a_values), b = codes(*row.b, b_values);
  const Code d = run_chain(execution, a.data(), b.data(), a.size(), from_double(*row.c, c_value));
  const double value = to_double(*row.d, d);
  table.add({std::string(architecture_name(target.architecture)), std::string(target.name),
             short_name(row), is_native(row, target) ? "native" : "lowered",
             fmt::format("{}", value), fmt::format("{}", value - exact),
             std::string(label_name(find_evidence(row, target).label))});
}

void print_dot_product() {
  const ExactValue exact = exact_answer();
  fmt::print(
      "One dot product on the tensor cores of seven architectures\n\n"
      "  a = ({})   b = ({})   c = {}\n  exactly: {}\n\n",
      fmt::join(a_values, ", "), fmt::join(b_values, ", "), c_value, to_decimal(exact));
  Table table({"architecture", "target", "instruction", "runs", "d", "error", "evidence"});
  for (const Shown& line : shown) add_target(table, line, to_double(exact));
  fmt::print("{}\n", table.text(2));
}

struct GpuTotal {
  std::string gpu;
  std::size_t instructions = 0;
  std::size_t rows = 0;
  std::size_t mismatches = 0;
};

std::vector<GpuTotal> totals_by_gpu(const std::vector<ReplayedFolder>& folders) {
  std::vector<GpuTotal> totals;
  for (const ReplayedFolder& folder : folders) {
    auto total = std::ranges::find(totals, folder.gpu, &GpuTotal::gpu);
    if (total == totals.end()) total = totals.insert(total, {folder.gpu});
    ++total->instructions;
    total->rows += folder.rows;
    total->mismatches += folder.mismatches;
  }
  return totals;
}

/// Prints the recorded rows against the emulator; returns the number of mismatches.
std::size_t print_replay(const std::vector<ReplayedFolder>& folders) {
  Table table({"GPU", "instructions", "recorded rows", "mismatches"});
  GpuTotal all{"all"};
  for (const GpuTotal& total : totals_by_gpu(folders)) {
    table.add({total.gpu, fmt::format("{}", total.instructions), fmt::format("{}", total.rows),
               fmt::format("{}", total.mismatches)});
    all.instructions += total.instructions;
    all.rows += total.rows;
    all.mismatches += total.mismatches;
  }
  table.add({all.gpu, fmt::format("{}", all.instructions), fmt::format("{}", all.rows),
             fmt::format("{}", all.mismatches)});
  fmt::print("Results recorded on real GPUs, computed again here and compared bit for bit\n\n{}",
             table.text(2));
  for (const ReplayedFolder& folder : folders)
    if (folder.mismatches > 0) fmt::print("{}: {}\n", folder.name, folder.first_mismatch);
  return all.mismatches;
}

/// Returns the number of mismatches. Prints nothing if the vectors are malformed, or missing from a
/// folder that was named.
std::size_t run(const std::string& named) {
  const std::filesystem::path vectors =
      named.empty() ? default_vectors() : std::filesystem::path(named);
  if (named.empty() && !has_manifest(vectors)) {
    print_dot_product();
    fmt::print(
        "Recorded GPU rows: skipped, no manifest.json in {} (--vectors or BITMMA_VECTORS "
        "name the folder)\n",
        vectors.string());
    return 0;
  }
  const std::vector<ReplayedFolder> folders = replay_vectors(vectors);
  print_dot_product();
  return print_replay(folders);
}

}  // namespace

void add_demo(CLI::App& app, int& status) {
  const auto vectors = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand(
      "demo",
      "One dot product on every architecture, and the recorded GPU rows replayed\n"
      "example: bitmma demo --vectors ../shared/vectors");
  command->add_option("--vectors", *vectors,
                      "folder with manifest.json (default: $BITMMA_VECTORS or ../shared/vectors)");
  command->callback([vectors, &status] { status = run(*vectors) == 0 ? 0 : 1; });
}

}  // namespace bitmma
