/// The commands of the program bitmma, one file each.
#pragma once

#include <CLI/CLI.hpp>

namespace bitmma {

// Each adds a subcommand whose callback does the work. A callback throws UsageError for bad input;
// it leaves the exit status in `status`: 0 done or equal, 1 a difference was found.
void add_list(CLI::App& app);
void add_layout(CLI::App& app);
void add_descriptor(CLI::App& app, int& status);
void add_dot(CLI::App& app);
void add_mma(CLI::App& app);
void add_explain(CLI::App& app);
void add_diff(CLI::App& app, int& status);
void add_sass(CLI::App& app);
void add_devices(CLI::App& app);
void add_run(CLI::App& app);
void add_verify(CLI::App& app, int& status);
void add_demo(CLI::App& app, int& status);

/// Runs the program; returns its exit status.
int run_bitmma(int argc, const char* const* argv);

}  // namespace bitmma
