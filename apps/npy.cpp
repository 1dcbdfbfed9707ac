#include "bitmma/apps/npy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <limits>
#include <new>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "bitmma/apps/file.hpp"
#include "bitmma/apps/usage_error.hpp"

namespace bitmma {
namespace {

namespace fs = std::filesystem;

constexpr NpyType supported_types[] = {{'b', 1}, {'i', 1}, {'i', 2}, {'i', 4}, {'i', 8},
                                       {'u', 1}, {'u', 2}, {'u', 4}, {'u', 8}, {'f', 1},
                                       {'f', 2}, {'f', 4}, {'f', 8}, {'V', 1}, {'V', 2}};

constexpr std::string_view magic{"\x93NUMPY"};

// A header of the types and ranks that are read here is far shorter; version 1.0 has this limit.
constexpr std::uint64_t max_header_bytes = 65535;
constexpr std::size_t max_rank = 64;  // NPY_MAXDIMS of NumPy 2

/// What a header says.
struct Header {
  NpyType type;
  bool big_endian;
  bool fortran_order;
  std::vector<std::size_t> shape;
};

/// A piece of a file for a message: quoted, escaped and not too long.
std::string quoted(std::string_view text) {
  return text.size() <= 40 ? fmt::format("{:?}", text) : fmt::format("{:?}...", text.substr(0, 40));
}

// Parsing the header, a Python dictionary. Each take_ function removes what it reads, and blanks
// before it, from the front of `text`.

void skip_blanks(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t\n\r\f\v"), text.size()));
}

bool take(std::string_view& text, char wanted) {
  skip_blanks(text);
  if (!text.starts_with(wanted)) return false;
  text.remove_prefix(1);
  return true;
}

void expect(std::string_view& text, char wanted) {
  if (take(text, wanted)) return;
  throw UsageError(
      text.empty() ? fmt::format("broken header: it ends where '{}' is expected", wanted)
                   : fmt::format("broken header: '{}' expected before {}", wanted, quoted(text)));
}

std::string_view take_string(std::string_view& text) {
  skip_blanks(text);
  const char quote = text.empty() ? '\0' : text.front();
  const std::size_t end = quote == '\'' || quote == '"' ? text.find(quote, 1) : text.npos;
  if (end == text.npos)
    throw UsageError(fmt::format("broken header: a quoted string expected at {}", quoted(text)));
  const std::string_view content = text.substr(1, end - 1);
  text.remove_prefix(end + 1);
  return content;
}

/// Everything up to a blank or a delimiter.
std::string_view take_word(std::string_view& text) {
  skip_blanks(text);
  const std::string_view word = text.substr(0, text.find_first_of(" \t\n\r\f\v,:(){}[]"));
  text.remove_prefix(word.size());
  return word;
}

/// A type, and whether its bytes are big-endian.
std::pair<NpyType, bool> take_type(std::string_view& text) {
  skip_blanks(text);
  if (text.starts_with('[') || text.starts_with('('))
    throw UsageError("structured dtypes are not supported; save one field as an array of its own");
  const std::string_view descr = take_string(text);
  std::string_view name = descr;
  const char order = descr.empty() ? '\0' : descr.front();
  const bool has_order = order == '<' || order == '>';
  if (has_order || order == '|' || order == '=') name.remove_prefix(1);
  if (name.starts_with('O'))
    throw UsageError("object arrays hold pickled Python objects, which are never loaded");

  std::vector<std::string> choices;
  for (const NpyType& type : supported_types) {
    choices.push_back(fmt::format("{}{}", type.kind, type.item_bytes));
    if (choices.back() != name) continue;
    if (!has_order && type.item_bytes > 1 && type.kind != 'V')
      throw UsageError(fmt::format("dtype {} has no byte order; it must be '<{}' or '>{}'",
                                   quoted(descr), name, name));
    return {type, order == '>'};
  }
  throw UsageError(fmt::format("dtype {} is not supported; supported are {}", quoted(descr),
                               fmt::join(choices, ", ")));
}

bool take_bool(std::string_view& text) {
  const std::string_view word = take_word(text);
  if (word != "True" && word != "False")
    throw UsageError(fmt::format("fortran_order is {}; it must be True or False", quoted(word)));
  return word == "True";
}

std::size_t take_dimension(std::string_view& text) {
  const std::string_view word = take_word(text);
  std::string_view digits = word;
  if (digits.ends_with('L')) digits.remove_suffix(1);  // Python 2 wrote (3L,)
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc::result_out_of_range)
    throw UsageError(fmt::format("dimension {} of the shape is too large", quoted(word)));
  if (error != std::errc{} || end != digits.data() + digits.size() ||
      (digits.size() > 1 && digits.front() == '0'))
    throw UsageError(
        fmt::format("dimension {} of the shape is not a non-negative integer", quoted(word)));
  return value;
}

std::vector<std::size_t> take_shape(std::string_view& text) {
  std::vector<std::size_t> shape;
  expect(text, '(');
  while (!take(text, ')')) {
    shape.push_back(take_dimension(text));
    if (take(text, ',')) continue;
    expect(text, ')');
    if (shape.size() == 1)
      throw UsageError(fmt::format("the shape ({0}) is not a tuple; it must be ({0},)", shape[0]));
    break;
  }
  if (shape.size() > max_rank)
    throw UsageError(
        fmt::format("{} dimensions; at most {} are supported", shape.size(), max_rank));
  return shape;
}

template <typename Value>
void set_once(std::optional<Value>& slot, std::string_view key, Value value) {
  if (slot) throw UsageError(fmt::format("the header has the key '{}' twice", key));
  slot = std::move(value);
}

Header parse_header(std::string_view text) {
  std::optional<std::pair<NpyType, bool>> type;
  std::optional<bool> fortran_order;
  std::optional<std::vector<std::size_t>> shape;
  expect(text, '{');
  while (!take(text, '}')) {
    const std::string_view key = take_string(text);
    expect(text, ':');
    if (key == "descr")
      set_once(type, key, take_type(text));
    else if (key == "fortran_order")
      set_once(fortran_order, key, take_bool(text));
    else if (key == "shape")
      set_once(shape, key, take_shape(text));
    else
      throw UsageError(
          fmt::format("the header has the key {}; the keys are 'descr', 'fortran_order', 'shape'",
                      quoted(key)));
    if (take(text, ',')) continue;
    expect(text, '}');
    break;
  }
  skip_blanks(text);
  if (!text.empty()) throw UsageError(fmt::format("broken header: it ends with {}", quoted(text)));
  const char* missing = !type            ? "descr"
                        : !fortran_order ? "fortran_order"
                        : !shape         ? "shape"
                                         : nullptr;
  if (missing != nullptr) throw UsageError(fmt::format("the header lacks the key '{}'", missing));
  return {type->first, type->second, *fortran_order, *shape};
}

// Sizes and memory.

/// As in NumPy, the other dimensions must fit in 64 bits beside a zero too.
std::size_t byte_count(NpyType type, const std::vector<std::size_t>& shape) {
  auto count = static_cast<std::size_t>(type.item_bytes);
  bool is_empty = false;
  for (const std::size_t dimension : shape) {
    is_empty = is_empty || dimension == 0;
    if (dimension == 0) continue;
    if (count > std::numeric_limits<std::size_t>::max() / dimension)
      throw UsageError(fmt::format("the shape {} is too large", shape_text(shape)));
    count *= dimension;
  }
  return is_empty ? 0 : count;
}

std::vector<std::byte> allocate(std::size_t count) {
  if (count <= std::vector<std::byte>{}.max_size()) {
    try {
      return std::vector<std::byte>(count);
    } catch (const std::bad_alloc&) {
    }
  }
  throw UsageError(fmt::format("{} bytes of memory are needed, more than there are", count));
}

void swap_byte_order(NpyArray& array) {
  for (auto item = array.bytes.begin(); item != array.bytes.end(); item += array.type.item_bytes)
    std::reverse(item, item + array.type.item_bytes);
}

/// Elements stored first axis fastest, rewritten last axis fastest.
std::vector<std::byte> fortran_to_c_order(const NpyArray& array) {
  const std::vector<std::size_t>& shape = array.shape;
  const auto item_bytes = static_cast<std::size_t>(array.type.item_bytes);
  std::vector<std::byte> result = allocate(array.bytes.size());
  if (result.empty()) return result;

  std::vector<std::size_t> strides;  // of the source, in bytes
  std::size_t stride = item_bytes;
  for (const std::size_t dimension : shape) {
    strides.push_back(stride);
    stride *= dimension;
  }
  std::vector<std::size_t> index(shape.size());
  std::size_t from = 0;
  for (std::size_t to = 0; to < result.size(); to += item_bytes) {
    std::memcpy(&result[to], &array.bytes[from], item_bytes);
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      from += strides[axis];
      if (++index[axis] < shape[axis]) break;
      from -= strides[axis] * shape[axis];
      index[axis] = 0;
    }
  }
  return result;
}

// Reading the file.

void read_exactly(std::ifstream& file, char* destination, std::size_t count) {
  if (count == 0) return;
  errno = 0;
  if (!file.read(destination, static_cast<std::streamsize>(count)))
    throw UsageError(fmt::format("cannot read: {}",
                                 errno != 0 ? system_message(errno) : "the file became shorter"));
}

[[noreturn]] void refuse_magic(std::string_view start) {
  if (start.starts_with("PK"))
    throw UsageError("is a .npz or zip archive; save one array with numpy.save()");
  throw UsageError("is not a .npy file: it does not start with \\x93NUMPY");
}

/// The header's text. `unread` is the number of bytes left in the file, before and after.
std::string read_header(std::ifstream& file, std::uint64_t& unread) {
  const auto take_bytes = [&](std::size_t count) {
    if (count > unread)
      throw UsageError(
          fmt::format("truncated header: {} more bytes expected, {} found", count, unread));
    std::string bytes(count, '\0');
    read_exactly(file, bytes.data(), count);
    unread -= count;
    return bytes;
  };
  const std::string start = take_bytes(std::min<std::uint64_t>(unread, magic.size()));
  if (start != magic) refuse_magic(start);
  const std::string version = take_bytes(2);
  const int major = static_cast<unsigned char>(version[0]);
  const int minor = static_cast<unsigned char>(version[1]);
  if (major < 1 || major > 3 || minor != 0)
    throw UsageError(fmt::format(".npy version {}.{} is not supported; supported are 1.0, 2.0, 3.0",
                                 major, minor));
  std::uint64_t length = 0;
  const std::string length_field = take_bytes(major == 1 ? 2 : 4);
  for (std::size_t i = 0; i < length_field.size(); ++i)
    length |= std::uint64_t{static_cast<unsigned char>(length_field[i])} << (8 * i);
  if (length > max_header_bytes)
    throw UsageError(
        fmt::format("a header of {} bytes; at most {} are supported", length, max_header_bytes));
  return take_bytes(length);
}

NpyArray read_file(const fs::path& path) {
  std::ifstream file = open_file(path);
  std::error_code error;
  std::uint64_t unread = fs::file_size(path, error);
  if (error) throw UsageError(error.message());
  const Header header = parse_header(read_header(file, unread));

  const std::size_t count = byte_count(header.type, header.shape);
  if (count != unread)
    throw UsageError(fmt::format("{}: shape {} of '{}' needs {} bytes of data, {} found",
                                 count > unread ? "truncated" : "trailing bytes",
                                 shape_text(header.shape), spelling(header.type), count, unread));
  NpyArray array{header.type, header.shape, allocate(count)};
  read_exactly(file, reinterpret_cast<char*>(array.bytes.data()), count);
  if (header.big_endian) swap_byte_order(array);
  if (header.fortran_order && array.shape.size() > 1) array.bytes = fortran_to_c_order(array);
  return array;
}

// Writing the file.

/// Magic, version 1.0, length and dictionary, padded as NumPy pads it: room for the first dimension
/// to grow to 21 digits, then blanks and a newline up to a multiple of 64 bytes.
std::string header_of(const NpyArray& array) {
  constexpr std::size_t growth_digits = 21;
  constexpr std::size_t alignment = 64;
  constexpr std::size_t prefix_bytes = magic.size() + 4;
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}",
                                 spelling(array.type), shape_text(array.shape));
  if (!array.shape.empty())
    text.append(growth_digits - fmt::formatted_size("{}", array.shape.front()), ' ');
  const std::size_t used = prefix_bytes + text.size() + 1;
  text.append(alignment - used % alignment, ' ');
  text += '\n';
  const std::size_t length = text.size();
  return fmt::format("{}\x01{}{}{}{}", magic, '\0', static_cast<char>(length & 0xFF),
                     static_cast<char>(length >> 8), text);
}

}  // namespace

std::string spelling(NpyType type) {
  return fmt::format("{}{}{}", type.item_bytes == 1 ? '|' : '<', type.kind, type.item_bytes);
}

std::string shape_text(const std::vector<std::size_t>& shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

NpyArray zeros(NpyType type, std::vector<std::size_t> shape) {
  const std::size_t count = byte_count(type, shape);
  return {type, std::move(shape), allocate(count)};
}

NpyArray read_npy(const fs::path& path) {
  return with_file_name(path, [&] { return read_file(path); });
}

void write_npy(const fs::path& path, const NpyArray& array) {
  const auto* bytes = reinterpret_cast<const char*>(array.bytes.data());
  write_file(path, {header_of(array), {bytes, array.bytes.size()}});
}

}  // namespace bitmma
