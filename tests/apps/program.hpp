/// Runs of the real program bitmma, in a folder of the test's own.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "bitmma/apps/npy.hpp"
#include "bitmma/emulator/instruction.hpp"

namespace bitmma::test {

using Codes = std::vector<Code>;

struct Outcome {
  int status;
  std::string out;
  std::string err;
};

class Program {
 public:
  Program();
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// Runs "bitmma <arguments>" by the shell, in work(). `before` is put before the program's name:
  /// environment variables; `after` at the end of the line, where it may redirect once more.
  Outcome run(const std::string& arguments, const std::string& before = "",
              const std::string& after = "") const;

  /// The folder in which the program runs, empty at first.
  const std::filesystem::path& work() const { return work_; }
  void store(std::string_view name, const NpyArray& array) const;
  void store_text(std::string_view name, std::string_view content) const;
  NpyArray load(std::string_view name) const;
  /// Every file below work(), with its content.
  std::map<std::string, std::string> files() const;

 private:
  std::filesystem::path folder_;
  std::filesystem::path work_;
};

/// Checks that the arguments are refused: exit status 2, one line on stderr that has `reason`,
/// nothing on stdout, and every file as before.
void check_refused(const Program& program, const std::string& arguments, std::string_view reason,
                   const std::string& before = "");

/// Runs the arguments, checks that the exit status is `status` and stderr empty; returns stdout.
std::string output_of(const Program& program, const std::string& arguments, int status = 0);

NpyArray array_of(NpyType type, std::vector<std::size_t> shape, const Codes& elements);
Codes elements_of(const NpyArray& array);

/// Codes of normally distributed values.
Codes random_codes(const Format& format, std::size_t count, std::mt19937& random);

/// The instruction on the target, which must have it.
Execution execution(std::string_view arch, std::string_view instr);

}  // namespace bitmma::test
