#include "bitmma/kernels/campaign_report.hpp"

#include <algorithm>
#include <iomanip>

namespace bitmma {
namespace {

std::string without_blanks(std::string text) {
  std::ranges::replace(text, ' ', '_');
  return text;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ",") + word;
  return text;
}

}  // namespace

std::string a_source_name(ASource a_source) {
  return a_source == ASource::registers ? "registers" : "shared";
}

std::string code_text(const Format& format, Code code) {
  std::string text;
  for (int shift = format.storage_bits - 4; shift >= 0; shift -= 4)
    text += "0123456789abcdef"[code >> shift & 0xF];
  return text;
}

std::string operand_line(const Batch& batch, std::size_t index, const Target& target) {
  const Instruction& row = batch.row;
  const OutputElement element = output_element(batch, index);
  std::string line = short_name(row);
  line.append(" ").append(target.name);
  for (int k = 0; k < row.k; ++k) line.append(" ").append(code_text(*row.a, element.a[k]));
  for (int k = 0; k < row.k; ++k) line.append(" ").append(code_text(*row.b, element.b[k]));
  return line.append(" ").append(code_text(*row.c, element.c));
}

void write_golden_header(std::ostream& out, const Provenance& provenance) {
  const DeviceInfo& device = provenance.device;
  out << "# instruction target a[0]..a[k-1] b[0]..b[k-1] c d: one output element a line\n"
      << "# d measured on " << device.name << " (" << provenance.target.name << "), driver "
      << device.driver << ", CUDA " << device.runtime << ", nvcc " << provenance.compiler << ", "
      << provenance.date << ", seed " << provenance.seed << "\n";
}

void write_record(std::ostream& out, const Provenance& provenance,
                  const std::vector<KernelTotal>& totals,
                  const std::vector<std::string>& families) {
  const DeviceInfo& device = provenance.device;
  for (const KernelTotal& total : totals)
    out << "instruction=" << total.instruction << " a=" << a_source_name(total.a_source)
        << " target=" << provenance.target.name << " gpu=" << without_blanks(device.name)
        << " driver=" << device.driver << " cuda=" << device.cuda << " runtime=" << device.runtime
        << " nvcc=" << provenance.compiler << " families=" << joined(families)
        << " outputs=" << total.outputs << " mismatches=" << total.mismatches
        << " seed=" << provenance.seed << " date=" << provenance.date << "\n";
}

void write_summary(std::ostream& out, const Provenance& provenance,
                   const std::vector<KernelTotal>& totals) {
  const DeviceInfo& device = provenance.device;
  std::size_t outputs = 0;
  std::size_t mismatches = 0;
  out << "\n"
      << device.name << ", " << provenance.target.name << ", driver " << device.driver << ", CUDA "
      << device.runtime << ", nvcc " << provenance.compiler << ", seed " << provenance.seed << ", "
      << provenance.date << "\n";
  const auto line = [&](const std::string& name, const std::string& a_source, const auto& count,
                        const auto& different) {
    out << std::left << std::setw(34) << name << std::setw(10) << a_source << std::right
        << std::setw(14) << count << std::setw(12) << different << "\n";
  };
  line("instruction", "a", "outputs", "mismatches");
  for (const KernelTotal& total : totals) {
    line(total.instruction, a_source_name(total.a_source), total.outputs, total.mismatches);
    outputs += total.outputs;
    mismatches += total.mismatches;
  }
  line("all", "", outputs, mismatches);
}

}  // namespace bitmma
