/// Results spelt as codes or as values.
#pragma once

#include <cstddef>
#include <cstring>
#include <vector>

#include "bitmma/compare/difference.hpp"

namespace bitmma {

/// Codes with the memory that a ResultView shows.
class Result {
 public:
  Result(const Format& format, const std::vector<Code>& codes) : format_(format) {
    const std::size_t width = static_cast<std::size_t>(format.storage_bits) / 8;
    bytes_.resize(codes.size() * width);
    for (std::size_t i = 0; i < codes.size(); ++i)
      std::memcpy(bytes_.data() + i * width, &codes[i], width);
  }
  ResultView view() const { return {&format_, bytes_}; }

 private:
  const Format& format_;
  std::vector<std::byte> bytes_;
};

/// The values, each rounded to nearest even.
inline Result values(const Format& format, const std::vector<double>& list) {
  std::vector<Code> codes;
  for (const double value : list) codes.push_back(from_double(format, value));
  return {format, codes};
}

inline Comparison compare_two(const Result& x, const Result& y, const Policy& policy = {},
                              std::span<const double> magnitudes = {}) {
  return compare({x.view(), y.view(), std::nullopt, magnitudes, {}}, policy);
}

inline Comparison compare_three(const Result& x, const Result& y, const Result& z) {
  return compare({x.view(), y.view(), z.view(), {}, {}});
}

}  // namespace bitmma
