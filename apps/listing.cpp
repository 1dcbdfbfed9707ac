#include "bitmma/apps/listing.hpp"

#include <algorithm>
#include <string_view>

namespace bitmma {
namespace {

constexpr std::string_view ptx_prefixes[] = {"mma.", "wgmma.mma_async.", "wmma.mma."};
constexpr std::string_view sass_prefixes[] = {"HMMA.",  "QMMA.",  "IMMA.",  "BMMA.", "DMMA.",
                                              "HGMMA.", "QGMMA.", "IGMMA.", "BGMMA."};

bool is_spelling(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == ':';
}

template <std::size_t size>
bool starts_with_any(std::string_view word, const std::string_view (&prefixes)[size]) {
  return std::ranges::any_of(prefixes, [&](auto prefix) { return word.starts_with(prefix); });
}

void add(std::vector<MatrixInstruction>& found, std::string name, ListingKind kind,
         std::size_t line) {
  const auto same = std::ranges::find(found, name, &MatrixInstruction::name);
  if (same != found.end())
    ++same->count;
  else
    found.push_back({std::move(name), kind, line, 1});
}

void add_word(std::vector<MatrixInstruction>& found, std::string_view word, std::size_t line) {
  if (starts_with_any(word, ptx_prefixes)) {
    add(found, std::string(word), ListingKind::ptx, line);
  } else if (starts_with_any(word, sass_prefixes)) {
    const std::size_t step = word.find(".STEP");
    if (step == std::string_view::npos || word.substr(step) == ".STEP0")
      add(found, std::string(word.substr(0, step)), ListingKind::sass, line);
  }
}

/// Calls visit for each run of characters that a spelling may have.
template <class Visit>
void for_each_word(std::string_view line, Visit visit) {
  for (std::size_t first = 0; first < line.size();) {
    std::size_t last = first;
    while (last < line.size() && is_spelling(line[last])) ++last;
    if (last > first) visit(line.substr(first, last - first));
    first = last + 1;
  }
}

}  // namespace

std::vector<MatrixInstruction> find_matrix_instructions(std::istream& listing) {
  std::vector<MatrixInstruction> found;
  std::size_t number = 0;
  for (std::string line; std::getline(listing, line);) {
    ++number;
    const std::string_view code = std::string_view(line).substr(0, line.find("//"));
    for_each_word(code, [&](std::string_view word) { add_word(found, word, number); });
  }
  return found;
}

}  // namespace bitmma
