/// How far a long run is.
#pragma once

#include <chrono>
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

}  // namespace bitmma
