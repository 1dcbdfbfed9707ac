#include <fmt/format.h>

#include <cstdio>
#include <exception>

#include "bitmma/apps/commands.hpp"
#include "bitmma/apps/usage_error.hpp"

namespace bitmma {
namespace {

constexpr int usage_status = 2;

/// One line, whatever the library's message looks like.
int usage(std::string_view message) {
  std::string line(message);
  for (char& c : line)
    if (c == '\n') c = ' ';
  fmt::print(stderr, "bitmma: {}\n", line);
  return usage_status;
}

}  // namespace

int run_bitmma(int argc, const char* const* argv) {
  CLI::App app{"Bit-accurate emulator of NVIDIA tensor-core instructions", "bitmma"};
  app.set_version_flag("--version", "bitmma " BITMMA_VERSION);
  app.require_subcommand(1);
  int status = 0;
  add_list(app);
  add_layout(app);
  add_dot(app);
  add_mma(app);
  add_explain(app);
  add_diff(app, status);
  add_demo(app, status);
  try {
    app.parse(argc, argv);
    return status;
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    return usage(fmt::format("{} ('bitmma --help' and 'bitmma COMMAND --help' show the usage)",
                             error.what()));
  } catch (const UsageError& error) {
    return usage(error.what());
  } catch (const std::exception& error) {
    return usage(fmt::format("unexpected: {}", error.what()));
  }
}

}  // namespace bitmma
