#include "bitmma/apps/record_file.hpp"

#include <fmt/format.h>

#include <fstream>
#include <sstream>

#include "bitmma/apps/file.hpp"

namespace bitmma {

Record read_record_file(const std::string& name) {
  std::ifstream file(name);
  if (!file) throw UsageError(fmt::format("{}: cannot be read", name));
  try {
    return read_record(file);
  } catch (const RecordError& error) {
    throw UsageError(fmt::format("{}: {}", name, error.what()));
  }
}

void write_record_file(const std::string& name, const Record& record) {
  std::ostringstream text;
  write_record(text, record);
  write_file(name, {text.str()});
}

}  // namespace bitmma
