/// Records of bitmma verify in files.
#pragma once

#include <string>

#include "bitmma/kernels/record.hpp"

namespace bitmma {

/// Throws UsageError "<file>: <reason>".
Record read_record_file(const std::string& name);

/// Errors and what stands under that name before, as write_file().
void write_record_file(const std::string& name, const Record& record);

}  // namespace bitmma
