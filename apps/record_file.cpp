#include "bitmma/apps/record_file.hpp"

#include <fstream>
#include <sstream>

#include "bitmma/apps/file.hpp"

namespace bitmma {

Record read_record_file(const std::string& name) {
  return with_file_name(name, [&] {
    std::ifstream file = open_file(name);
    return record_argument([&] { return read_record(file); });
  });
}

void write_record_file(const std::string& name, const Record& record) {
  std::ostringstream text;
  write_record(text, record);
  write_file(name, {text.str()});
}

}  // namespace bitmma
