#include "bitmma/kernels/golden.hpp"

#include <algorithm>
#include <set>

namespace bitmma {
namespace {

void write_family(std::ostream& out, const Target& target, std::uint64_t seed,
                  const CampaignKernel& kernel, InputFamily family, std::size_t rows,
                  const CampaignDevice& device) {
  if (rows == 0) return;
  const Instruction& row = kernel.row;
  const auto longer_side = static_cast<std::size_t>(std::max(row.m, row.n));
  const Batch batch = make_batch(row, family, seed, 0, tiles_of(row, rows * longer_side));
  const std::vector<Code> d = device.measure(batch, kernel.a_source);
  const auto matched = static_cast<std::size_t>(std::min(row.m, row.n));
  for (std::size_t i = 0; i < rows; ++i) {
    const std::size_t index = matched_element(row, i / matched, i % matched);
    const OutputElement element = output_element(batch, index);
    out << case_line({row,
                      &target,
                      {element.a, element.a + row.k},
                      {element.b, element.b + row.k},
                      element.c,
                      d[index]})
        << "\n";
  }
}

}  // namespace

void write_golden(std::ostream& out, const Provenance& provenance, std::uint64_t seed,
                  std::span<const CampaignKernel> kernels, std::span<const NamedFamily> families,
                  std::size_t rows, const CampaignDevice& device) {
  out << "# instruction target a[0]..a[k-1] b[0]..b[k-1] c d: one output element a line\n";
  write_provenance(out, provenance);
  out << "# seed: " << seed << "\n";
  std::set<std::string> written;
  for (const CampaignKernel& kernel : kernels) {
    if (!written.insert(short_name(table_row(kernel.row))).second) continue;
    std::size_t left = rows;
    const std::vector<NamedFamily> own = families_for(kernel.row, families);
    for (const NamedFamily& family : own) {
      const bool last = family.family == own.back().family;
      const std::size_t share = last ? left : (left + 3) / 4;
      write_family(out, *find_target(provenance.target), seed, kernel, family.family, share,
                   device);
      left -= share;
    }
  }
}

}  // namespace bitmma
