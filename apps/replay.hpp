/// Rows measured on GPUs, run again through the emulator.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "bitmma/isa/format.hpp"

namespace bitmma {

/// A folder of rows: a.npy, b.npy (rows, k), c.npy, d.npy (rows), listed in manifest.json.
struct ReplayedFolder {
  std::string name;
  std::string gpu;
  std::string arch;
  std::string instr;
  std::size_t rows;
  std::size_t mismatches;
  std::string first_mismatch;  ///< one line; empty if there is none
};

/// Whether the folder has a manifest.json.
bool has_manifest(const std::filesystem::path& vectors);

/// Where the vectors are: the folder that the environment's BITMMA_VECTORS names, else
/// ../shared/vectors, which need not be there. Throws UsageError if a named one has no manifest.
std::filesystem::path default_vectors();

/// Runs every folder of the manifest. Throws UsageError if a file is missing or malformed.
std::vector<ReplayedFolder> replay_vectors(const std::filesystem::path& vectors);

}  // namespace bitmma
