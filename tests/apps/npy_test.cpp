#include "bitmma/apps/npy.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bitmma/apps/file.hpp"
#include "bitmma/apps/usage_error.hpp"

using namespace bitmma;
using namespace std::string_literals;

namespace {

namespace fs = std::filesystem;
using Shape = std::vector<std::size_t>;
using Values = std::vector<std::uint64_t>;

/// A folder of this test's own, removed with its content.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "bitmma-test-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~TemporaryFolder() { fs::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  fs::path operator/(std::string_view name) const { return path_ / name; }
  const fs::path& path() const { return path_; }
  std::ptrdiff_t entries() const {
    return std::distance(fs::directory_iterator(path_), fs::directory_iterator());
  }

 private:
  fs::path path_;
};

void store(const fs::path& path, std::string_view content) {
  std::ofstream file(path, std::ios::binary);
  file << content;
  file.close();
  REQUIRE(file);
}

std::string load(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A .npy file with this dictionary, padded as NumPy does.
std::string npy_file(std::string dictionary, std::string_view data, char major = 1) {
  const std::size_t prefix = major == 1 ? 10 : 12;
  dictionary.append(64 - (prefix + dictionary.size() + 1) % 64, ' ');
  dictionary += '\n';
  std::string file = "\x93NUMPY"s + major + '\0';
  file += static_cast<char>(dictionary.size() & 0xFF);
  file += static_cast<char>(dictionary.size() >> 8);
  if (major > 1) file += "\0\0"s;
  return file.append(dictionary).append(data);
}

std::string dictionary(std::string_view descr, std::string_view shape, bool fortran_order = false) {
  return "{'descr': '" + std::string(descr) +
         "', 'fortran_order': " + (fortran_order ? "True" : "False") +
         ", 'shape': " + std::string(shape) + ", }";
}

NpyArray parse(std::string_view content) {
  const TemporaryFolder folder;
  store(folder / "a.npy", content);
  return read_npy(folder / "a.npy");
}

/// The message of the UsageError that an action throws, or "no error".
template <typename Action>
std::string error_of(Action action) {
  try {
    action();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

/// The message for a file of that content, after "<file>: ".
std::string parse_error(std::string_view content) {
  const TemporaryFolder folder;
  const fs::path path = folder / "a.npy";
  store(path, content);
  const std::string message = error_of([&] { read_npy(path); });
  const std::string prefix = path.string() + ": ";
  return message.starts_with(prefix) ? message.substr(prefix.size()) : message;
}

std::string header_error(std::string dictionary_text, std::string_view data = "") {
  return parse_error(npy_file(std::move(dictionary_text), data));
}

Values values(const NpyArray& array) {
  Values result;
  for (std::size_t i = 0; i < array.size(); ++i) result.push_back(array.bits(i));
  return result;
}

/// Elements that count up from 1.
NpyArray counting_array(NpyType type, Shape shape) {
  NpyArray array = zeros(type, std::move(shape));
  for (std::size_t i = 0; i < array.size(); ++i) array.set_bits(i, i + 1);
  return array;
}

/// For a scope: no file of this process grows beyond `bytes`, and writing beyond is an error.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    REQUIRE(getrlimit(RLIMIT_FSIZE, &before_) == 0);
    const rlimit limit{bytes, before_.rlim_max};
    REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  void (*handler_)(int);
  rlimit before_{};
};

/// For a scope: the superuser becomes a user whom permissions bind.
class OrdinaryUser {
 public:
  OrdinaryUser() {
    if (geteuid() == 0) REQUIRE(seteuid(65534) == 0);
  }
  ~OrdinaryUser() {
    if (getuid() == 0 && seteuid(0) != 0) std::abort();
  }
  OrdinaryUser(const OrdinaryUser&) = delete;
  OrdinaryUser& operator=(const OrdinaryUser&) = delete;
};

}  // namespace

TEST_CASE("a file as numpy.save writes it is read") {
  const NpyArray array =
      parse("\x93NUMPY\x01\x00v\x00{'descr': '<f2', 'fortran_order': False, 'shape': (2, 3), }"s +
            std::string(58, ' ') + "\n" + "\x00\x3C\x00\x40\x00\x42\x00\x44\x00\x45\x00\x46"s);
  CHECK(array.type == NpyType{'f', 2});
  CHECK(array.shape == Shape{2, 3});
  CHECK(values(array) == Values{0x3C00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600});
}

TEST_CASE("versions 1.0, 2.0 and 3.0 are read, others are refused") {
  for (const char major : {'\1', '\2', '\3'})
    CHECK(values(parse(npy_file(dictionary("|u1", "(2,)"), "\x05\x06", major))) == Values{5, 6});
  std::string file = npy_file(dictionary("|u1", "(2,)"), "\x05\x06", 4);
  CHECK(parse_error(file) == ".npy version 4.0 is not supported; supported are 1.0, 2.0, 3.0");
  file[6] = 1;
  file[7] = 2;
  CHECK(parse_error(file) == ".npy version 1.2 is not supported; supported are 1.0, 2.0, 3.0");
}

TEST_CASE("every supported type is read in both byte orders") {
  const std::string data = "\x81\x02\x03\x04\x05\x06\x07\x98";
  for (const std::string kind_and_size :
       {"b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f1", "f2", "f4", "f8", "V1", "V2"}) {
    CAPTURE(kind_and_size);
    const auto width = static_cast<std::size_t>(kind_and_size[1] - '0');
    std::uint64_t little = 0;
    std::uint64_t big = 0;
    for (std::size_t i = 0; i < width; ++i) {
      const std::uint64_t byte = static_cast<unsigned char>(data[i]);
      little |= byte << (8 * i);
      big = big << 8 | byte;
    }
    const std::string_view item = std::string_view(data).substr(0, width);
    const NpyArray from_little = parse(npy_file(dictionary("<" + kind_and_size, "()"), item));
    const NpyArray from_big = parse(npy_file(dictionary(">" + kind_and_size, "()"), item));
    CHECK(from_little.type == NpyType{kind_and_size[0], static_cast<int>(width)});
    CHECK(from_big.type == from_little.type);
    CHECK(values(from_little) == Values{little});
    CHECK(values(from_big) == Values{big});
  }
}

TEST_CASE("big-endian arrays have every element swapped") {
  const std::string data = "\x3F\x80\x00\x00\xC0\x00\x00\x01"s;
  CHECK(values(parse(npy_file(dictionary(">f4", "(2,)"), data))) == Values{0x3F800000, 0xC0000001});
}

TEST_CASE("types without byte order: single bytes and V2 are read, others are refused") {
  CHECK(values(parse(npy_file(dictionary("|V2", "(1,)"), "\x80\x3F"))) == Values{0x3F80});
  CHECK(values(parse(npy_file(dictionary("u1", "(1,)"), "\x07"))) == Values{7});
  CHECK(header_error(dictionary("f4", "(1,)"), "0123") ==
        "dtype \"f4\" has no byte order; it must be '<f4' or '>f4'");
  CHECK(header_error(dictionary("=u2", "(1,)"), "01") ==
        "dtype \"=u2\" has no byte order; it must be '<u2' or '>u2'");
}

TEST_CASE("Fortran order is turned into C order") {
  // Element (i, j, k) of a 2x3x4 array is 100i + 10j + k.
  std::string data;
  for (int k = 0; k < 4; ++k)
    for (int j = 0; j < 3; ++j)
      for (int i = 0; i < 2; ++i) {
        data += '\0';
        data += static_cast<char>(100 * i + 10 * j + k);
      }
  const NpyArray array = parse(npy_file(dictionary(">u2", "(2, 3, 4)", true), data));
  CHECK(array.shape == Shape{2, 3, 4});
  Values expected;
  for (std::uint64_t i = 0; i < 2; ++i)
    for (std::uint64_t j = 0; j < 3; ++j)
      for (std::uint64_t k = 0; k < 4; ++k) expected.push_back(100 * i + 10 * j + k);
  CHECK(values(array) == expected);
}

TEST_CASE("Fortran order changes nothing with fewer than two dimensions or elements") {
  CHECK(values(parse(npy_file(dictionary("|u1", "()", true), "\x07"))) == Values{7});
  CHECK(values(parse(npy_file(dictionary("|u1", "(3,)", true), "\1\2\3"))) == Values{1, 2, 3});
  CHECK(values(parse(npy_file(dictionary("|u1", "(1, 1, 3, 1)", true), "\1\2\3"))) ==
        Values{1, 2, 3});
  CHECK(parse(npy_file(dictionary("<f4", "(3, 0, 2)", true), "")).shape == Shape{3, 0, 2});
}

TEST_CASE("an array of zero dimensions has one element, a zero dimension means none") {
  const NpyArray scalar = parse(npy_file(dictionary("<f4", "()"), "\x00\x00\x80\x3F"s));
  CHECK(scalar.shape.empty());
  CHECK(values(scalar) == Values{0x3F800000});
  const NpyArray empty = parse(npy_file(dictionary("<f4", "(0, 3)"), ""));
  CHECK(empty.shape == Shape{0, 3});
  CHECK(empty.size() == 0);
}

TEST_CASE("a header may have any spacing, quotes and order of keys") {
  for (const std::string text :
       {"{'shape':(2,),'fortran_order':False,'descr':'|u1'}",
        "  { \"shape\"\t:\n( 2 , ) , \"descr\" : \"|u1\" ,\r\n'fortran_order' : False , } ",
        "{'descr': \"|u1\", 'fortran_order': False, 'shape': (2L,), }",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (1, 2), }",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (1, 2,), }"}) {
    CAPTURE(text);
    CHECK(values(parse(npy_file(text, "\x05\x06"))) == Values{5, 6});
  }
}

TEST_CASE("a broken header dictionary is refused with what is wrong") {
  CHECK(header_error("") == "broken header: it ends where '{' is expected");
  CHECK(header_error("[1]") ==
        "broken header: '{' expected before \"[1]" + std::string(40 - 3, ' ') + "\"...");
  CHECK(header_error("{").starts_with("broken header: a quoted string expected at"));
  CHECK(header_error("{descr: '<f4'}").starts_with("broken header: a quoted string expected at"));
  CHECK(header_error("{'descr").starts_with("broken header: a quoted string expected at"));
  CHECK(header_error("{'descr' '<f4'}").starts_with("broken header: ':' expected before"));
  CHECK(header_error("{'descr': 4}").starts_with("broken header: a quoted string expected at"));
  CHECK(header_error("{'descr': '<f4' 'shape': ()}").starts_with("broken header: '}' expected"));
  CHECK(header_error(dictionary("<f4", "(1,)") + "x", "0123")
            .starts_with("broken header: it ends with"));
  CHECK(header_error("{'descr': '<f4', 'fortran_order': False}") ==
        "the header lacks the key 'shape'");
  CHECK(header_error("{'descr': '<f4', 'shape': ()}") ==
        "the header lacks the key 'fortran_order'");
  CHECK(header_error("{'fortran_order': False, 'shape': ()}") ==
        "the header lacks the key 'descr'");
  CHECK(header_error("{'descr': '<f4', 'descr': '<f4'}") == "the header has the key 'descr' twice");
  CHECK(header_error("{'shape': (), 'shape': ()}") == "the header has the key 'shape' twice");
  CHECK(header_error("{'order': 'C'}") ==
        "the header has the key \"order\"; the keys are 'descr', 'fortran_order', 'shape'");
  CHECK(header_error("{'fortran_order': 1}") == "fortran_order is \"1\"; it must be True or False");
}

TEST_CASE("a shape that is not a tuple of sizes is refused") {
  const auto shape_error = [](std::string_view shape) {
    return header_error(dictionary("<f4", shape));
  };
  CHECK(shape_error("(-1,)") == "dimension \"-1\" of the shape is not a non-negative integer");
  CHECK(shape_error("(2, 1.5)") == "dimension \"1.5\" of the shape is not a non-negative integer");
  CHECK(shape_error("(1e3,)") == "dimension \"1e3\" of the shape is not a non-negative integer");
  CHECK(shape_error("(010,)") == "dimension \"010\" of the shape is not a non-negative integer");
  CHECK(shape_error("(True,)") == "dimension \"True\" of the shape is not a non-negative integer");
  CHECK(shape_error("(,)") == "dimension \"\" of the shape is not a non-negative integer");
  CHECK(shape_error("(99999999999999999999,)") ==
        "dimension \"99999999999999999999\" of the shape is too large");
  CHECK(shape_error("(3)") == "the shape (3) is not a tuple; it must be (3,)");
  CHECK(shape_error("[3]").starts_with("broken header: '(' expected before \"[3]"));
  CHECK(shape_error("(3 4)").starts_with("broken header: ')' expected before \"4)"));
  std::string many = "(";
  for (int i = 0; i < 65; ++i) many += "1,";
  CHECK(shape_error(many + ")") == "65 dimensions; at most 64 are supported");
}

TEST_CASE("a shape that needs more than the file has takes no memory") {
  CHECK(header_error(dictionary("<f4", "(1000000000000000000,)"), "01234567") ==
        "truncated: shape (1000000000000000000,) of '<f4' needs 4000000000000000000 bytes of data, "
        "8 found");
  CHECK(header_error(dictionary("<f4", "(4611686018427387904, 4)")) ==
        "the shape (4611686018427387904, 4) is too large");
  CHECK(header_error(dictionary("<f8", "(0, 4611686018427387904, 4)")) ==
        "the shape (0, 4611686018427387904, 4) is too large");
  CHECK(error_of([] {
          zeros({'f', 4}, {std::size_t{1} << 62, 4});
        }) == "the shape (4611686018427387904, 4) is too large");
}

TEST_CASE("unsupported types are refused with the supported ones") {
  const std::string choices =
      "supported are b1, i1, i2, i4, i8, u1, u2, u4, u8, f1, f2, f4, f8, V1, V2";
  for (const std::string descr :
       {"<c8", "|S3", "<U3", "<M8[D]", "|V3", "<f16", "<f3", "float32", ""})
    CHECK(header_error(dictionary(descr, "(1,)")) ==
          "dtype \"" + descr + "\" is not supported; " + choices);
  CHECK(header_error(dictionary("|O", "(1,)")) ==
        "object arrays hold pickled Python objects, which are never loaded");
  const std::string structured =
      "structured dtypes are not supported; save one field as an array of its own";
  CHECK(header_error("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (1,)}") ==
        structured);
  CHECK(header_error("{'descr': ('<f4', (2,)), 'fortran_order': False, 'shape': (1,)}") ==
        structured);
}

TEST_CASE("messages quote a file's bytes escaped, on one line and shortened") {
  const std::string escaped = header_error("{'descr': '<f4\n\x1B[31m'}");
  CHECK(escaped.starts_with("dtype \"<f4\\n\\"));
  CHECK(escaped.find('\x1B') == escaped.npos);
  const std::string message = header_error("{'" + std::string(5000, 'k') + "': 1}");
  CHECK(message.size() < 200);
  const TemporaryFolder folder;
  CHECK(error_of([&] { read_npy(folder / "two\nlines.npy"); }) ==
        (folder / "two?lines.npy: no such file").string());
}

TEST_CASE("truncated and trailing data are refused with the numbers of bytes") {
  const std::string header = dictionary("<f4", "(2,)");
  CHECK(header_error(header, "0123456") ==
        "truncated: shape (2,) of '<f4' needs 8 bytes of data, 7 found");
  CHECK(header_error(header, "012345678") ==
        "trailing bytes: shape (2,) of '<f4' needs 8 bytes of data, 9 found");
}

TEST_CASE("a file cut at any byte is refused") {
  for (const char major : {'\1', '\2'}) {
    const std::string file = npy_file(dictionary("<f4", "(1,)"), "0123", major);
    for (std::size_t size = 0; size < file.size(); ++size) {
      CAPTURE(size);
      const std::string message = parse_error(file.substr(0, size));
      if (size < 6)
        CHECK(message == "is not a .npy file: it does not start with \\x93NUMPY");
      else if (size < 128)
        CHECK(message.starts_with("truncated header: "));
      else
        CHECK(message.starts_with("truncated: shape (1,) of '<f4' needs 4 bytes of data"));
    }
  }
}

TEST_CASE("an absurd header length is refused") {
  CHECK(parse_error("\x93NUMPY\x01\x00\xFF\xFF{}"s) ==
        "truncated header: 65535 more bytes expected, 2 found");
  CHECK(parse_error("\x93NUMPY\x02\x00\xFF\xFF\xFF\xFF{}"s) ==
        "a header of 4294967295 bytes; at most 65535 are supported");
}

TEST_CASE("files of another kind are refused") {
  CHECK(parse_error("") == "is not a .npy file: it does not start with \\x93NUMPY");
  CHECK(parse_error("1.0,2.0,3.0\n") == "is not a .npy file: it does not start with \\x93NUMPY");
  CHECK(parse_error("PK\x03\x04") == "is a .npz or zip archive; save one array with numpy.save()");
}

TEST_CASE("paths that are no readable file are refused") {
  const TemporaryFolder folder;
  const auto error = [&](const fs::path& path) {
    return error_of([&] { read_npy(path); }).substr(path.string().size());
  };
  CHECK(error(folder / "none.npy") == ": no such file");
  CHECK(error(folder.path()) == ": is a folder; name a file to read");
  CHECK(error(folder / std::string(300, 'n')) == ": File name too long");
  store(folder / "file", "");
  CHECK(error(folder / "file" / "a.npy") == ": no such file");
  REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK(error(folder / "pipe") == ": is not a regular file; save it to one and name that");
}

TEST_CASE("a file without read permission is refused") {
  const TemporaryFolder folder;
  store(folder / "secret.npy", npy_file(dictionary("|u1", "(1,)"), "0"));
  fs::permissions(folder.path(), fs::perms::all);
  fs::permissions(folder / "secret.npy", fs::perms::none);
  const OrdinaryUser user;
  CHECK(error_of([&] { read_npy(folder / "secret.npy"); }) ==
        (folder / "secret.npy: cannot open: Permission denied").string());
}

TEST_CASE("the written bytes are those of numpy.save") {
  const TemporaryFolder folder;
  const fs::path path = folder / "d.npy";
  write_npy(path, counting_array({'f', 2}, {2, 3}));
  CHECK(load(path) ==
        "\x93NUMPY\x01\x00v\x00{'descr': '<f2', 'fortran_order': False, 'shape': (2, 3), }"s +
            std::string(58, ' ') + "\n" + "\1\0\2\0\3\0\4\0\5\0\6\0"s);
  write_npy(path, counting_array({'u', 1}, {}));
  CHECK(load(path) ==
        "\x93NUMPY\x01\x00v\x00{'descr': '|u1', 'fortran_order': False, 'shape': (), }"s +
            std::string(62, ' ') + "\n\1");
  write_npy(path, zeros({'f', 8}, {0}));
  CHECK(load(path) ==
        "\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (0,), }"s +
            std::string(60, ' ') + "\n");
  // 39 dimensions: the dictionary alone ends before byte 192, but room for the first one to grow
  // moves the end to 256.
  write_npy(path, zeros({'f', 4}, Shape(39, 1)));
  CHECK(load(path).size() == 256 + 4);
}

TEST_CASE("what is written is read back, for every type and many shapes") {
  const TemporaryFolder folder;
  const fs::path path = folder / "d.npy";
  for (const NpyType type : {NpyType{'f', 2}, NpyType{'f', 4}, NpyType{'f', 8}, NpyType{'u', 2},
                             NpyType{'u', 1}, NpyType{'V', 2}, NpyType{'i', 8}})
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{1}, Shape{7}, Shape{16, 8}, Shape{3, 0, 2},
                               Shape{2, 3, 4, 5}, Shape(64, 1)}) {
      const NpyArray array = counting_array(type, shape);
      write_npy(path, array);
      const NpyArray copy = read_npy(path);
      CHECK(copy.type == type);
      CHECK(copy.shape == shape);
      CHECK(copy.bytes == array.bytes);
      CHECK(load(path).size() % 64 == array.bytes.size() % 64);
    }
  CHECK(folder.entries() == 1);
}

TEST_CASE("a write that fails midway leaves the old file and nothing else") {
  const TemporaryFolder folder;
  const fs::path path = folder / "d.npy";
  store(path, "old");
  std::string message;
  {
    const FileSizeLimit limit(100000);
    message = error_of([&] { write_npy(path, zeros({'f', 8}, {100000})); });
  }
  CHECK(message == path.string() + ": cannot write: File too large");
  CHECK(load(path) == "old");
  CHECK(folder.entries() == 1);
}

TEST_CASE("an error when the last buffered bytes are written is reported too") {
  const TemporaryFolder folder;
  std::string message;
  {
    const FileSizeLimit limit(100);
    message = error_of([&] { write_npy(folder / "d.npy", zeros({'u', 1}, {1})); });
  }
  CHECK(message == (folder / "d.npy: cannot write: File too large").string());
  CHECK(folder.entries() == 0);
}

TEST_CASE("a folder without write permission is refused and keeps the old file") {
  const TemporaryFolder folder;
  store(folder / "d.npy", "old");
  fs::permissions(folder.path(), fs::perms{0555});
  std::string message;
  {
    const OrdinaryUser user;
    message = error_of([&] { write_npy(folder / "d.npy", zeros({'u', 1}, {1})); });
  }
  fs::permissions(folder.path(), fs::perms::owner_all);
  CHECK(message ==
        (folder / "d.npy: cannot create a file in its folder: Permission denied").string());
  CHECK(load(folder / "d.npy") == "old");
  CHECK(folder.entries() == 1);
}

TEST_CASE("only a file is replaced") {
  const TemporaryFolder folder;
  const NpyArray array = zeros({'u', 1}, {1});
  const auto error = [&](const fs::path& path) {
    return error_of([&] { write_npy(path, array); }).substr(path.string().size());
  };
  CHECK(error(folder.path()) == ": is a folder; name a file to write");
  CHECK(error(folder / "new/") == ": names no file to write");
  CHECK(error("") == ": names no file to write");
  CHECK(error(folder / "none" / "d.npy") ==
        ": cannot create a file in its folder: No such file or directory");
  CHECK(error("/dev/null") == ": exists and is not a regular file; name a file to write");
  CHECK(folder.entries() == 0);
}

TEST_CASE("whether a file can be written is known before, and nothing is created") {
  const TemporaryFolder folder;
  store(folder / "old.npy", "old");
  fs::permissions(folder.path(), fs::perms{0755});
  for (const char* name : {"new.npy", "old.npy"}) check_writable(folder / name);
  const auto reason = [&](const fs::path& path) {
    return error_of([&] { check_writable(path); }).substr(path.string().size());
  };
  CHECK(reason(folder.path()) == ": is a folder; name a file to write");
  CHECK(reason("/dev/null") == ": exists and is not a regular file; name a file to write");
  CHECK(reason(folder / "none" / "d.npy") ==
        ": cannot create a file in its folder: No such file or directory");
  CHECK(reason(folder / "old.npy" / "d.npy") ==
        ": cannot create a file in its folder: Not a directory");
  {
    fs::permissions(folder.path(), fs::perms{0555});
    const OrdinaryUser user;
    CHECK(reason(folder / "old.npy") == ": cannot create a file in its folder: Permission denied");
  }
  fs::permissions(folder.path(), fs::perms::owner_all);
  CHECK(folder.entries() == 1);
  CHECK(load(folder / "old.npy") == "old");
}

TEST_CASE("shapes are written as NumPy writes them") {
  CHECK(shape_text({}) == "()");
  CHECK(shape_text({5}) == "(5,)");
  CHECK(shape_text({2, 0, 4}) == "(2, 0, 4)");
}

TEST_CASE("writing through a symbolic link replaces what it leads to") {
  const TemporaryFolder folder;
  fs::create_directory(folder / "inner");
  store(folder / "inner/d.npy", "old");
  fs::create_symlink("inner/d.npy", folder / "link.npy");
  const NpyArray array = counting_array({'f', 4}, {3});
  write_npy(folder / "link.npy", array);
  CHECK(fs::is_symlink(folder / "link.npy"));
  CHECK(read_npy(folder / "inner/d.npy").bytes == array.bytes);
  CHECK(folder.entries() == 2);
}

namespace {

/// Flips, removes, inserts or repeats bytes at random places, or cuts the text.
std::string damaged(std::string text, std::mt19937& random) {
  const std::size_t changes = 1 + random() % 4;
  for (std::size_t i = 0; i < changes && !text.empty(); ++i) {
    // Half of the places are in the dictionary, most of which is blanks.
    const std::size_t place =
        random() % (random() % 2 == 0 ? std::min<std::size_t>(text.size(), 75) : text.size());
    switch (random() % 6) {
      case 0:
        text[place] = static_cast<char>(text[place] ^ (1 << random() % 8));
        break;
      case 1:
        text[place] = static_cast<char>(random() % 256);
        break;
      case 2:
        text.erase(place, 1 + random() % 3);
        break;
      case 3:
        text.insert(place, 1 + random() % 3, static_cast<char>(random() % 256));
        break;
      case 4:
        text.insert(place, text.substr(random() % text.size(), random() % 30));
        break;
      default:
        if (random() % 4 == 0) text.resize(place);
    }
  }
  return text;
}

}  // namespace

TEST_CASE("20000 damaged files are read in full or refused with one line") {
  const std::string originals[] = {
      npy_file(dictionary("<f4", "(2, 3)"), "0123456789abcdefghijklmn"),
      npy_file(dictionary(">f2", "(2, 2, 3)", true), "0123456789abcdefghijklmn", 2),
      npy_file(dictionary("|u1", "(24,)"), "0123456789abcdefghijklmn", 3),
      npy_file(dictionary("<f8", "()"), "01234567"), npy_file(dictionary("<V2", "(0, 4)"), "")};
  const TemporaryFolder folder;
  const fs::path path = folder / "a.npy";
  std::mt19937 random(20250101);
  int read = 0;
  int wrong_sizes = 0;
  int bad_messages = 0;
  for (int i = 0; i < 20000; ++i) {
    fs::remove(path);  // some file systems wait for the disk where a file is overwritten
    store(path, damaged(originals[i % 5], random));
    try {
      const NpyArray array = read_npy(path);
      std::size_t count = 1;
      for (const std::size_t dimension : array.shape) count *= dimension;
      wrong_sizes += count * static_cast<std::size_t>(array.type.item_bytes) != array.bytes.size();
      ++read;
    } catch (const UsageError& error) {
      const std::string_view message = error.what();
      bad_messages += message.size() <= path.string().size() + 2 ||
                      message.find_first_of("\n\r") != message.npos;
    }
  }
  CHECK(wrong_sizes == 0);
  CHECK(bad_messages == 0);
  CHECK(read > 500);
  CHECK(read < 19500);
}
