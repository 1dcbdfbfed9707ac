/// Records of bitmma verify in files.
#pragma once

#include <string>
#include <string_view>

#include "bitmma/apps/usage_error.hpp"
#include "bitmma/kernels/record.hpp"

namespace bitmma {

/// Runs an action; a RecordError becomes a UsageError, with `before` before its message.
template <class Action>
auto record_argument(Action action, std::string_view before = "") {
  try {
    return action();
  } catch (const RecordError& error) {
    throw UsageError(std::string(before).append(error.what()));
  }
}

/// Throws UsageError "<file>: <reason>".
Record read_record_file(const std::string& name);

/// Errors and what stands under that name before, as write_file().
void write_record_file(const std::string& name, const Record& record);

}  // namespace bitmma
