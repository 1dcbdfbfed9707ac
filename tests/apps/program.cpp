#include "bitmma/tests/apps/program.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>

namespace bitmma::test {
namespace {

namespace fs = std::filesystem;

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

Program::Program() {
  std::string name = (fs::temp_directory_path() / "bitmma-test-XXXXXX").string();
  REQUIRE(mkdtemp(name.data()) != nullptr);
  folder_ = name;
  work_ = folder_ / "work";
  fs::create_directory(work_);
}

Program::~Program() { fs::remove_all(folder_); }

Outcome Program::run(const std::string& arguments, const std::string& before,
                     const std::string& after) const {
  const fs::path out = folder_ / "stdout", err = folder_ / "stderr";
  const std::string command = "cd '" + work_.string() + "' && " + before +
                              " '" BITMMA_PROGRAM "' " + arguments + " >'" + out.string() +
                              "' 2>'" + err.string() + "' " + after;
  const int status = std::system(command.c_str());
  REQUIRE(WIFEXITED(status));
  return {WEXITSTATUS(status), content(out), content(err)};
}

void Program::store(std::string_view name, const NpyArray& array) const {
  write_npy(work_ / name, array);
}

void Program::store_text(std::string_view name, std::string_view text) const {
  std::ofstream file(work_ / name, std::ios::binary);
  file << text;
  file.close();
  REQUIRE(file);
}

NpyArray Program::load(std::string_view name) const { return read_npy(work_ / name); }

std::map<std::string, std::string> Program::files() const {
  std::map<std::string, std::string> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(work_))
    files[entry.path().string()] = entry.is_regular_file() ? content(entry.path()) : "";
  return files;
}

void check_refused(const Program& program, const std::string& arguments, std::string_view reason,
                   const std::string& before) {
  CAPTURE(arguments);
  const std::map<std::string, std::string> files = program.files();
  const Outcome outcome = program.run(arguments, before);
  CHECK(outcome.status == 2);
  CHECK(outcome.out == "");
  CHECK(outcome.err.starts_with("bitmma: "));
  CHECK(std::ranges::count(outcome.err, '\n') == 1);
  CHECK(outcome.err.ends_with('\n'));
  CHECK_MESSAGE(outcome.err.find(reason) != std::string::npos, outcome.err);
  CHECK(program.files() == files);
}

std::string output_of(const Program& program, const std::string& arguments, int status) {
  CAPTURE(arguments);
  const Outcome outcome = program.run(arguments);
  CHECK(outcome.err == "");
  CHECK(outcome.status == status);
  return outcome.out;
}

NpyArray array_of(NpyType type, std::vector<std::size_t> shape, const Codes& elements) {
  NpyArray array = zeros(type, std::move(shape));
  REQUIRE(array.size() == elements.size());
  for (std::size_t i = 0; i < elements.size(); ++i) array.set_bits(i, elements[i]);
  return array;
}

Codes elements_of(const NpyArray& array) {
  Codes elements;
  for (std::size_t i = 0; i < array.size(); ++i) elements.push_back(array.bits(i));
  return elements;
}

Codes random_codes(const Format& format, std::size_t count, std::mt19937& random) {
  std::normal_distribution<double> normal;
  Codes codes(count);
  for (Code& code : codes) code = from_double(format, normal(random));
  return codes;
}

Execution execution(std::string_view arch, std::string_view instr) {
  const Target* target = find_target(arch);
  REQUIRE(target != nullptr);
  const std::optional<Instruction> row = find_instruction(instr);
  REQUIRE(row);
  REQUIRE(row->runs_on(*target));
  return resolve(*row, *target);
}

}  // namespace bitmma::test
