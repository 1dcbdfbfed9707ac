#include "bitmma/kernels/campaign_report.hpp"

#include <iomanip>

namespace bitmma {
namespace {

/// The sentence that names GPU, software, seed and day.
std::string provenance_text(const Provenance& provenance) {
  const DeviceInfo& device = provenance.device;
  std::string text = "gpu " + device.name;
  text.append(", target ").append(provenance.target.name);
  text.append(", driver ").append(device.driver);
  text.append(", CUDA ").append(device.runtime);
  text.append(", nvcc ").append(provenance.compiler);
  text.append(", seed ").append(std::to_string(provenance.seed));
  return text.append(", date ").append(provenance.date);
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
  out << "# instruction target a[0]..a[k-1] b[0]..b[k-1] c d: one output element a line\n"
      << "# " << provenance_text(provenance) << "\n";
}

void write_record(std::ostream& out, const Provenance& provenance,
                  std::span<const NamedFamily> families, std::size_t outputs_each,
                  const std::vector<KernelTotal>& totals) {
  out << "# Outputs of the GPU compared with the emulator, bit for bit: each family gave at least "
      << outputs_each << " outputs\n"
      << "# of each row. a: where the kernel takes A from. Written by bitmma_campaign.\n"
      << "# " << provenance_text(provenance) << "\n"
      << "# families:";
  for (const NamedFamily& family : families) out << " " << family.name;
  out << "\n# instruction a outputs mismatches\n";
  for (const KernelTotal& total : totals)
    out << total.instruction << " " << a_source_name(total.a_source) << " " << total.outputs << " "
        << total.mismatches << "\n";
}

void write_summary(std::ostream& out, const Provenance& provenance,
                   const std::vector<KernelTotal>& totals) {
  std::size_t outputs = 0;
  std::size_t mismatches = 0;
  out << "\n" << provenance_text(provenance) << "\n";
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
