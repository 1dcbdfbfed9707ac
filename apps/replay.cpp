#include "bitmma/apps/replay.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bitmma/apps/arguments.hpp"
#include "bitmma/apps/npy.hpp"
#include "bitmma/apps/operand.hpp"
#include "bitmma/apps/operand_files.hpp"
#include "bitmma/compare/value_text.hpp"

namespace bitmma {
namespace {

constexpr const char* manifest_name = "manifest.json";

nlohmann::json read_manifest(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) throw UsageError(fmt::format("{}: cannot be read", path.string()));
  try {
    return nlohmann::json::parse(file);
  } catch (const nlohmann::json::exception& error) {
    throw UsageError(fmt::format("{}: {}", path.string(), error.what()));
  }
}

std::string mismatch_line(const Instruction& row, std::size_t index, Code emulated, Code measured,
                          Code c) {
  return fmt::format("row {}: emulator {}, GPU {}, c {}", index, hex_text(*row.d, emulated),
                     hex_text(*row.d, measured), hex_text(*row.c, c));
}

void replay(const std::filesystem::path& folder, ReplayedFolder& replayed) {
  const Execution execution = execution_argument(replayed.arch, replayed.instr);
  const Instruction& row = execution.instruction;
  const auto file = [&](const char* name) { return (folder / name).string(); };
  const OperandOptions options{replayed.arch, "", replayed.instr, file("a.npy"), file("b.npy"),
                               file("c.npy"), ""};
  const Operands operands = read_operands(options, row);
  const auto [rows, k] = rows_shape(options, operands);
  check_chain(row, k);
  const NpyArray measured =
      operand_codes(read_npy(file("d.npy")), *row.d, std::nullopt, file("d.npy"));
  if (measured.shape != std::vector{rows})
    throw UsageError(fmt::format("{}: shape {}; expected {}", file("d.npy"),
                                 shape_text(measured.shape), shape_text({rows})));

  std::vector<Code> emulated(rows);
  multiply_rows(execution, rows, k, matrix_view(operands.a, 0, k), matrix_view(operands.b, 0, k),
                matrix_view(*operands.c, 0, 1), emulated.data());
  replayed.rows = rows;
  for (std::size_t i = 0; i < rows; ++i) {
    if (emulated[i] == measured.bits(i)) continue;
    if (replayed.mismatches++ == 0)
      replayed.first_mismatch =
          mismatch_line(row, i, emulated[i], measured.bits(i), operands.c->bits(i));
  }
}

}  // namespace

bool has_manifest(const std::filesystem::path& vectors) {
  return std::filesystem::is_regular_file(vectors / manifest_name);
}

std::filesystem::path default_vectors() {
  const char* named = std::getenv("BITMMA_VECTORS");
  if (named == nullptr) return "../shared/vectors";
  if (!has_manifest(named))
    throw UsageError(fmt::format("BITMMA_VECTORS={}: no {} there", named, manifest_name));
  return named;
}

std::vector<ReplayedFolder> replay_vectors(const std::filesystem::path& vectors) {
  const std::filesystem::path manifest = vectors / manifest_name;
  std::vector<ReplayedFolder> folders;
  const nlohmann::json entries = read_manifest(manifest);
  if (!entries.is_array() || entries.empty())
    throw UsageError(fmt::format("{}: not a list of folders", manifest.string()));
  for (const nlohmann::json& entry : entries) {
    ReplayedFolder folder{};
    try {
      folder.name = entry.at("dir");
      folder.gpu = entry.at("gpu");
      folder.arch = entry.at("arch");
      folder.instr = entry.at("instr");
    } catch (const nlohmann::json::exception& error) {
      throw UsageError(fmt::format("{}: {}", manifest.string(), error.what()));
    }
    replay(vectors / folder.name, folder);
    folders.push_back(std::move(folder));
  }
  return folders;
}

}  // namespace bitmma
