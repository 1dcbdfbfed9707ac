/// The emulator against rows measured on GPUs.

#include <doctest/doctest.h>

#include <filesystem>

#include "bitmma/apps/replay.hpp"

using namespace bitmma;

TEST_CASE("every recorded row of every GPU comes out bit for bit") {
  const std::filesystem::path vectors = default_vectors();
  if (!std::filesystem::exists(vectors / "manifest.json")) {
    MESSAGE("skipped: no vectors in ", vectors.string());
    return;
  }
  std::size_t rows = 0;
  for (const ReplayedFolder& folder : replay_vectors(vectors)) {
    INFO(folder.name, ": ", folder.first_mismatch);
    CHECK(folder.mismatches == 0);
    rows += folder.rows;
  }
  MESSAGE(rows, " rows");
  CHECK(rows > 0);
}
