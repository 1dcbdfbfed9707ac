/// How far a long run is.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace bitmma {

/// Says on stderr how much is done, at which rate, and how long the rest will take: on a terminal
/// in one line that is written again and again, elsewhere in a line a minute. Nothing in the first
/// second.
class Progress {
 public:
  /// `unit` is what is counted: "rows". A run that has a time limit is over at the total or then.
  Progress(std::uint64_t total, std::string unit,
           std::optional<std::chrono::seconds> limit = std::nullopt);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// So many more are done.
  void advance(std::uint64_t count);

 private:
  using Clock = std::chrono::steady_clock;

  void show(double elapsed);

  std::uint64_t total_;
  std::string unit_;
  std::optional<std::chrono::duration<double>> limit_;
  std::uint64_t done_ = 0;
  Clock::time_point start_ = Clock::now();
  Clock::time_point shown_ = start_;
  bool terminal_;
  bool line_open_ = false;
};

/// Rows of one part of a long run: a multiple of `whole`, as many as do that work, at least one.
std::size_t part_size(std::size_t work, std::size_t row_work, std::size_t whole);

/// Calls part(first row, rows) for all rows in turn.
template <class Part>
void in_parts(std::size_t rows, std::size_t part_rows, Progress& progress, Part part) {
  for (std::size_t first = 0; first < rows; first += part_rows) {
    const std::size_t count = std::min(part_rows, rows - first);
    part(first, count);
    progress.advance(count);
  }
}

}  // namespace bitmma
