/// Files that commands read and write; their errors begin with the file's name.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>
#include <string_view>

#include "bitmma/apps/usage_error.hpp"

namespace bitmma {

/// What the system says about an errno.
std::string system_message(int error);

/// Runs an action on a file and puts the file's name before the message of its errors.
template <typename Action>
auto with_file_name(const std::filesystem::path& path, Action action) {
  try {
    return action();
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}: {}", path.string(), error.what()));
  }
}

/// A regular file, to read: the size of a pipe or a device is not known before its end, which may
/// never come. Throws UsageError "<reason>", for with_file_name().
std::ifstream open_file(const std::filesystem::path& path);

/// Writes the parts one after another. The file appears whole or not at all: it is written under
/// another name in the same folder and then renamed, so an error leaves what stood there before. An
/// existing file is replaced, with the permissions of a new file; a symbolic link stays, and the
/// file that it leads to is replaced. Anything else that exists under that name (folder, pipe,
/// device, a symbolic link that leads nowhere) is refused. Throws UsageError "<file>: <reason>".
void write_file(const std::filesystem::path& path, std::initializer_list<std::string_view> parts);

/// True if both names lead to one file, which need not exist yet. Requires check_writable() names.
bool is_same_file(const std::filesystem::path& one, const std::filesystem::path& other);

/// Checks that write_file() may write the file, before work is done for it: nothing that
/// it refuses stands under that name, and its folder exists and takes new files. Creates nothing.
/// Throws UsageError as write_file() does.
void check_writable(const std::filesystem::path& path);

}  // namespace bitmma
