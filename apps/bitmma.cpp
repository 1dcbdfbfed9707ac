#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <exception>
#include <iostream>
#include <vector>

#include "bitmma/apps/commands.hpp"
#include "bitmma/apps/usage_error.hpp"
#include "bitmma/kernels/device.hpp"

namespace bitmma {
namespace {

constexpr int usage_status = 2;

int usage(const UsageError& error) {
  // Unlike fmt::print(), no exception where stderr is closed: the exit status still tells.
  std::fputs(fmt::format("bitmma: {}\n", error.what()).c_str(), stderr);
  return usage_status;
}

/// No argument may be empty, so that an unset shell variable is not taken for an absent operand.
void check_arguments(int argc, const char* const* argv) {
  for (int i = 1; i < argc; ++i)
    if (*argv[i] == '\0') throw UsageError(fmt::format("argument {} is empty", i));
}

void parse(CLI::App& app, int argc, const char* const* argv) {
  check_arguments(argc, argv);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help_or_version) {
    app.exit(help_or_version);  // prints it
  }
}

UsageError output_error() { return UsageError("cannot write all of the standard output"); }

/// Throws if a part of what was printed is lost, as on a full disk.
void flush_output() {
  if (!std::cout.flush() || std::fflush(stdout) != 0) throw output_error();
}

/// The parser's message; where the first argument is no command, the commands that there are.
UsageError parse_error(CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> unknown = app.remaining();
  if (!app.get_subcommands().empty() || unknown.empty())
    return UsageError(fmt::format("{} ('bitmma --help' and 'bitmma COMMAND --help' show the usage)",
                                  error.what()));
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return UsageError(
      fmt::format("{}: unknown command; choose from {}", unknown[0], fmt::join(names, ", ")));
}

}  // namespace

int run_bitmma(int argc, const char* const* argv) {
  CLI::App app{"Bit-accurate emulator of NVIDIA tensor-core instructions", "bitmma"};
  app.set_version_flag("--version", "bitmma " BITMMA_VERSION);
  app.require_subcommand(1);
  int status = 0;
  add_list(app);
  add_layout(app);
  add_descriptor(app, status);
  add_dot(app);
  add_mma(app);
  add_explain(app);
  add_diff(app, status);
  add_sass(app);
  add_devices(app);
  add_run(app);
  add_verify(app, status);
  add_demo(app, status);
  try {
    parse(app, argc, argv);
    flush_output();
    return status;
  } catch (const CLI::ParseError& error) {
    return usage(parse_error(app, error));
  } catch (const UsageError& error) {
    return usage(error);
  } catch (const DeviceError& error) {
    return usage(UsageError(error.what()));
  } catch (const std::exception& error) {
    // Where much is printed, fmt::print() meets the full disk first.
    if (std::ferror(stdout) != 0) return usage(output_error());
    return usage(UsageError(fmt::format("unexpected: {}", error.what())));
  }
}

}  // namespace bitmma
