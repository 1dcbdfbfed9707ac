#include "bitmma/emulator/sparsity.hpp"

#include <algorithm>
#include <string_view>

namespace bitmma {
namespace {

constexpr MetadataField metadata_fields = 1 << metadata_field_bits;

bool keeps(const Sparsity& sparsity, MetadataField field, int place) {
  for (int i = 0; i < sparsity.kept(); ++i)
    if (kept_place(sparsity, field, i) == place) return true;
  return false;
}

/// The smallest ascending field that keeps every non-zero element of a group, if one does.
std::optional<MetadataField> field_of(const Sparsity& sparsity, std::span<const Code> group,
                                      Code magnitude_bits) {
  const auto keeps_all = [&](MetadataField field) {
    for (int place = 0; place < sparsity.group; ++place)
      if ((group[static_cast<std::size_t>(place)] & magnitude_bits) != 0 &&
          !keeps(sparsity, field, place))
        return false;
    return true;
  };
  for (MetadataField field = 0; field < metadata_fields; ++field)
    if (is_valid_metadata(sparsity, MetadataOrder::ascending, field) && keeps_all(field))
      return field;
  return std::nullopt;
}

int count_nonzero_units(const Sparsity& sparsity, std::span<const Code> group,
                        Code magnitude_bits) {
  const auto unit = static_cast<std::size_t>(sparsity.unit);
  int count = 0;
  for (std::size_t first = 0; first < group.size(); first += unit)
    count += std::ranges::any_of(group.subspan(first, unit),
                                 [&](Code code) { return (code & magnitude_bits) != 0; });
  return count;
}

Layout layout_of(const SparseShape& shape) {
  return metadata_layout(shape.sparsity, static_cast<int>(shape.k),
                         static_cast<int>(shape.rows) / 16);
}

/// Calls visit(row, group, lane and place of its field) for every group of A.
template <class Visit>
void for_each_field(const SparseShape& shape, int selector, Visit visit) {
  const Layout layout = layout_of(shape);
  for (std::size_t row = 0; row < shape.rows; ++row)
    for (std::size_t group = 0; group < shape.groups(); ++group)
      visit(row, group,
            position(layout, {static_cast<int>(row), static_cast<int>(group), selector}));
}

/// "columns 8 to 11"
std::string columns_text(const Sparsity& sparsity, std::size_t group) {
  const auto width = static_cast<std::size_t>(sparsity.group);
  return "columns " + std::to_string(group * width) + " to " +
         std::to_string(group * width + width - 1);
}

/// "0b0100"
std::string binary_text(MetadataField field) {
  std::string text = "0b";
  for (int bit = metadata_field_bits - 1; bit >= 0; --bit)
    text += (field >> bit & 1) != 0 ? '1' : '0';
  return text;
}

std::string valid_fields_text(const Sparsity& sparsity, MetadataOrder order) {
  std::string text;
  for (MetadataField field = 0; field < metadata_fields; ++field) {
    if (!is_valid_metadata(sparsity, order, field)) continue;
    if (!text.empty()) text += ", ";
    text += binary_text(field);
  }
  return text;
}

}  // namespace

std::variant<CompressedMatrix, DenseGroup> compress(const SparseShape& shape,
                                                    std::span<const Code> a, Code magnitude_bits) {
  const Sparsity& sparsity = shape.sparsity;
  const auto width = static_cast<std::size_t>(sparsity.group);
  CompressedMatrix compressed;
  for (std::size_t row = 0; row < shape.rows; ++row)
    for (std::size_t group = 0; group < shape.groups(); ++group) {
      const std::span<const Code> codes = a.subspan(row * shape.k + group * width, width);
      const std::optional<MetadataField> field = field_of(sparsity, codes, magnitude_bits);
      if (!field)
        return DenseGroup{sparsity, row, group,
                          count_nonzero_units(sparsity, codes, magnitude_bits)};
      compressed.metadata.push_back(*field);
      for (int i = 0; i < sparsity.kept(); ++i)
        compressed.kept.push_back(codes[static_cast<std::size_t>(kept_place(sparsity, *field, i))]);
    }
  return compressed;
}

std::vector<Code> decompress(const SparseShape& shape, const CompressedMatrix& compressed) {
  const auto width = static_cast<std::size_t>(shape.sparsity.group);
  const auto kept = static_cast<std::size_t>(shape.sparsity.kept());
  std::vector<Code> a(shape.rows * shape.k);
  for (std::size_t group = 0; group < compressed.metadata.size(); ++group)
    for (std::size_t i = 0; i < kept; ++i) {
      const int place = kept_place(shape.sparsity, compressed.metadata[group], static_cast<int>(i));
      a[group * width + static_cast<std::size_t>(place)] = compressed.kept[group * kept + i];
    }
  return a;
}

FragmentRegisters metadata_fragment(const SparseShape& shape,
                                    std::span<const MetadataField> metadata, int selector) {
  FragmentRegisters registers(static_cast<std::size_t>(layout_of(shape).lanes()));
  for_each_field(shape, selector, [&](std::size_t row, std::size_t group, FragmentPosition at) {
    registers[static_cast<std::size_t>(at.lane)] |=
        std::uint32_t{metadata[row * shape.groups() + group]} << at.index * metadata_field_bits;
  });
  return registers;
}

std::variant<Metadata, InvalidMetadata> read_metadata(const SparseShape& shape,
                                                      std::span<const std::uint32_t> registers,
                                                      int selector, MetadataOrder order) {
  Metadata metadata;
  std::optional<InvalidMetadata> invalid;
  for_each_field(shape, selector, [&](std::size_t row, std::size_t group, FragmentPosition at) {
    const auto field = static_cast<MetadataField>(registers[static_cast<std::size_t>(at.lane)] >>
                                                      at.index * metadata_field_bits &
                                                  (metadata_fields - 1));
    metadata.push_back(field);
    if (!invalid && !is_valid_metadata(shape.sparsity, order, field))
      invalid = InvalidMetadata{shape.sparsity, order, at, row, group, field};
  });
  if (invalid) return *invalid;
  return metadata;
}

std::optional<std::string> selector_fault(const SparseShape& shape, int selector) {
  const int count = selector_count(layout_of(shape));
  if (0 <= selector && selector < count) return std::nullopt;
  std::string text = "sparsity selector " + std::to_string(selector) +
                     ": k = " + std::to_string(shape.k) + " of " +
                     std::to_string(shape.sparsity.element_bits) + "-bit elements takes 0";
  for (int valid = 1; valid < count; ++valid) text += ", " + std::to_string(valid);
  return text;
}

std::string to_string(const DenseGroup& fault) {
  const Sparsity& sparsity = fault.sparsity;
  const std::string_view noun = sparsity.unit == 2 ? "pairs" : "elements";
  std::string text = "row " + std::to_string(fault.row) + ", " +
                     columns_text(sparsity, fault.group) + ": " +
                     std::to_string(fault.nonzero_units) + " of " +
                     std::to_string(sparsity.group / sparsity.unit) + " ";
  text.append(noun).append(" are not zero, at most ");
  return text.append(std::to_string(sparsity.kept() / sparsity.unit)).append(" may be");
}

std::string to_string(const InvalidMetadata& fault) {
  const int bit = fault.at.index * metadata_field_bits;
  std::string text = "lane " + std::to_string(fault.at.lane) + ", metadata bits " +
                     std::to_string(bit) + " to " + std::to_string(bit + metadata_field_bits - 1) +
                     " (row " + std::to_string(fault.row) + ", " +
                     columns_text(fault.sparsity, fault.group) + "): ";
  text.append(binary_text(fault.value)).append(" is invalid; valid are ");
  return text.append(valid_fields_text(fault.sparsity, fault.order));
}

}  // namespace bitmma
