#include "bitmma/apps/file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <random>
#include <system_error>

namespace bitmma {
namespace {

namespace fs = std::filesystem;

/// The file to replace or create: what a symbolic link leads to, if it leads to a file.
fs::path resolve_target(const fs::path& path) {
  std::error_code error;
  const fs::file_type type = fs::status(path, error).type();
  if (type == fs::file_type::directory) throw UsageError("is a folder; name a file to write");
  if (path.filename().empty()) throw UsageError("names no file to write");
  if (type == fs::file_type::not_found) {
    if (fs::is_symlink(path, error))
      throw UsageError("is a symbolic link that leads nowhere; name a file to write");
    return path;
  }
  if (type == fs::file_type::none) throw UsageError(error.message());
  if (type != fs::file_type::regular)
    throw UsageError("exists and is not a regular file; name a file to write");
  fs::path target = fs::canonical(path, error);
  if (error) throw UsageError(error.message());
  return target;
}

[[noreturn]] void refuse_folder(int error) {
  throw UsageError(fmt::format("cannot create a file in its folder: {}", system_message(error)));
}

/// Creates a file with this content. If that fails, no file is left.
void write_new_file(const fs::path& path, std::initializer_list<std::string_view> parts) {
  std::FILE* const file = std::fopen(path.c_str(), "wbx");
  if (file == nullptr) refuse_folder(errno);
  const bool is_written = std::ranges::all_of(parts, [file](std::string_view part) {
    return part.empty() || std::fwrite(part.data(), 1, part.size(), file) == part.size();
  });
  int error = is_written ? 0 : errno;
  if (std::fclose(file) != 0 && error == 0) error = errno;
  if (error == 0) return;
  std::error_code ignored;  // the write's error is the one to report
  fs::remove(path, ignored);
  throw UsageError(fmt::format("cannot write: {}", system_message(error)));
}

void replace_file(const fs::path& path, std::initializer_list<std::string_view> parts) {
  const fs::path target = resolve_target(path);
  std::random_device random;
  const fs::path temporary =
      target.parent_path() / fmt::format(".bitmma-{:08x}{:08x}.tmp", random(), random());
  write_new_file(temporary, parts);
  std::error_code error;
  fs::rename(temporary, target, error);
  if (!error) return;
  std::error_code ignored;  // the rename's error is the one to report
  fs::remove(temporary, ignored);
  throw UsageError(fmt::format("cannot write: {}", error.message()));
}

}  // namespace

std::string system_message(int error) { return std::generic_category().message(error); }

std::ifstream open_file(const fs::path& path) {
  std::error_code error;
  const fs::file_type type = fs::status(path, error).type();
  if (type == fs::file_type::not_found) throw UsageError("no such file");
  if (type == fs::file_type::none) throw UsageError(error.message());
  if (type == fs::file_type::directory) throw UsageError("is a folder; name a file to read");
  if (type != fs::file_type::regular)
    throw UsageError("is not a regular file; save it to one and name that");
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) throw UsageError(fmt::format("cannot open: {}", system_message(errno)));
  return file;
}

bool is_same_file(const fs::path& one, const fs::path& other) {
  std::error_code error;
  if (fs::equivalent(one, other, error)) return true;
  const fs::path one_path = fs::weakly_canonical(fs::absolute(one), error);
  return !error && one_path == fs::weakly_canonical(fs::absolute(other), error) && !error;
}

void write_file(const fs::path& path, std::initializer_list<std::string_view> parts) {
  with_file_name(path, [&] { replace_file(path, parts); });
}

void check_writable(const fs::path& path) {
  with_file_name(path, [&] {
    const fs::path folder = resolve_target(path).parent_path() / ".";
    if (faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) != 0) refuse_folder(errno);
  });
}

}  // namespace bitmma
