#include <doctest/doctest.h>

#include <string>

#include "bitmma/tests/apps/program.hpp"

using namespace bitmma;
using namespace bitmma::test;

namespace {

constexpr const char* commands[] = {"list", "layout", "descriptor", "dot", "mma",    "explain",
                                    "diff", "sass",   "devices",    "run", "verify", "demo"};

}  // namespace

TEST_CASE("the help of every command shows an example of it") {
  const Program program;
  const std::string overview = output_of(program, "--help");
  for (const std::string command : commands) {
    const std::string example = "example: bitmma " + command + " ";
    CHECK(output_of(program, command + " --help").find(example) != std::string::npos);
    CHECK(overview.find(example) != std::string::npos);
  }
}

TEST_CASE("the version is one line") {
  const std::string version = output_of(Program(), "--version");
  CHECK(version.starts_with("bitmma "));
  CHECK(version.find('\n') == version.size() - 1);
}

TEST_CASE("a missing, unknown or misused command is refused") {
  const Program program;
  check_refused(program, "", "subcommand is required");
  check_refused(program, "lost",
                "lost: unknown command; choose from list, layout, descriptor, dot, mma, "
                "explain, diff, sass, devices, run, verify, demo");
  check_refused(program, "--lost", "--lost: unknown command");
  check_refused(program, "list extra", "not expected: extra");
  check_refused(program, "list --lost", "not expected: --lost");
  check_refused(program, "list --arch", "--arch");
  check_refused(program, "list --arch sm_80 --arch sm_90", "--arch");
  check_refused(program, "diff x.npy", "Y is required");
}

TEST_CASE("an empty argument is refused") {
  const Program program;
  check_refused(program, "list --arch ''", "argument 3 is empty");
  check_refused(program, "diff '' x.npy", "argument 2 is empty");
}

TEST_CASE("control characters of an argument stay out of the message") {
  const Program program;
  check_refused(program, "list \"$(printf 'a\\nb\\033c')\"", "a?b?c");
  check_refused(program, "diff \"$(printf 'a\\nb')\" y.npy", "a?b: no such file");
}

TEST_CASE("output that is lost is no success") {
  const Program program;
  for (const char* arguments : {"list", "list --json", "list --help", "--help", "--version"})
    for (const char* lost : {">&-", ">/dev/full"}) {
      CAPTURE(arguments);
      CAPTURE(lost);
      const Outcome outcome = program.run(arguments, "", lost);
      CHECK(outcome.status == 2);
      CHECK(outcome.err.find("cannot write") != std::string::npos);
    }
}

TEST_CASE("the exit status tells of bad usage where stderr is closed") {
  const Program program;
  CHECK(program.run("list --arch sm_1", "", "2>&-").status == 2);
  CHECK(program.run("lost", "", "2>/dev/full").status == 2);
}
