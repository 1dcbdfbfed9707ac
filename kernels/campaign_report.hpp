/// What a campaign writes: replayable lines, golden rows, the record and the summary.
#pragma once

#include <cstdint>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "bitmma/isa/target.hpp"
#include "bitmma/kernels/batch.hpp"
#include "bitmma/kernels/device.hpp"

namespace bitmma {

/// Where and how a campaign runs; stands in everything that it writes.
struct Provenance {
  Target target;
  DeviceInfo device;
  std::string compiler;  ///< version of nvcc
  std::string date;      ///< UTC, 2026-01-31
  std::uint64_t seed;
};

/// The totals of one kernel over the families that ran.
struct KernelTotal {
  std::string instruction;
  ASource a_source;
  std::size_t outputs = 0;
  std::size_t mismatches = 0;
};

/// "registers" or "shared": where A comes from.
std::string a_source_name(ASource a_source);

/// `instruction target a… b… c`, in hexadecimal: one output element's operands.
std::string operand_line(const Batch& batch, std::size_t index, const Target& target);

/// A code in as many hexadecimal digits as its format is wide.
std::string code_text(const Format& format, Code code);

/// The comment lines at the head of a golden file.
void write_golden_header(std::ostream& out, const Provenance& provenance);

/// The file to keep: comment lines that say what was run, and one line a kernel with the columns
/// `instruction a outputs mismatches`. `outputs_each` is how many every family gave at least.
void write_record(std::ostream& out, const Provenance& provenance,
                  std::span<const NamedFamily> families, std::size_t outputs_each,
                  const std::vector<KernelTotal>& totals);

/// A table of the totals and their sum.
void write_summary(std::ostream& out, const Provenance& provenance,
                   const std::vector<KernelTotal>& totals);

}  // namespace bitmma
