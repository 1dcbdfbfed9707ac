#include "bitmma/apps/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace bitmma {
namespace {

constexpr std::chrono::milliseconds between_redraws{100};
constexpr std::chrono::seconds between_lines{60};
constexpr std::chrono::seconds quiet{1};

/// "#####---------------"
std::string bar(double fraction) {
  constexpr std::size_t width = 20;
  const auto full = std::min(width, static_cast<std::size_t>(fraction * width));
  return std::string(full, '#').append(width - full, '-');
}

}  // namespace

Progress::Progress(std::uint64_t total, std::string unit, std::optional<std::chrono::seconds> limit)
    : total_(total), unit_(std::move(unit)), limit_(limit), terminal_(isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (line_open_) fmt::print(stderr, "\r\033[K");
}

void Progress::advance(std::uint64_t count) {
  done_ += count;
  const Clock::time_point now = Clock::now();
  const bool due = terminal_ ? now - shown_ >= between_redraws : now - shown_ >= between_lines;
  if (!due || now - start_ < quiet || done_ == 0) return;
  shown_ = now;
  show(std::chrono::duration<double>(now - start_).count());
}

void Progress::show(double elapsed) {
  const double done = static_cast<double>(done_);
  double fraction = done / static_cast<double>(total_);
  if (limit_) fraction = std::clamp(elapsed / limit_->count(), fraction, 1.0);
  const std::string text =
      fmt::format("{} {:3.0f} %, {:.4g} {}, {:.3g} a second, {:.0f} s left", bar(fraction),
                  100 * fraction, done, unit_, done / elapsed, elapsed / fraction - elapsed);
  fmt::print(stderr, "{}{}{}", terminal_ ? "\r" : "", text, terminal_ ? "\033[K" : "\n");
  line_open_ = terminal_;
}

std::size_t part_size(std::size_t work, std::size_t row_work, std::size_t whole) {
  const std::size_t whole_work = std::max<std::size_t>(1, row_work * whole);
  return std::max<std::size_t>(1, work / whole_work) * whole;
}

}  // namespace bitmma
