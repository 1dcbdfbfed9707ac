#include <fmt/format.h>

#include <optional>
#include <string>

#include "bitmma/apps/commands.hpp"
#include "bitmma/apps/npy.hpp"
#include "bitmma/apps/operand.hpp"
#include "bitmma/apps/usage_error.hpp"
#include "bitmma/compare/report.hpp"

namespace bitmma {
namespace {

struct Options {
  std::string x;
  std::string y;
  std::string exact;
  std::string fp8;
  Policy policy;
  bool json = false;
};

/// An array and the format of its elements.
struct Result {
  NpyArray array;
  const Format* format;
  ResultView view() const { return {format, array.bytes}; }
};

Result read_result(const std::string& file, const std::string& fp8) {
  NpyArray array = read_npy(file);
  const Format& format = result_format(array.type, fp8, file);
  return {std::move(array), &format};
}

void check_shape(const Result& result, const std::string& file, const Result& x,
                 const std::string& x_file) {
  if (result.array.shape != x.array.shape)
    throw UsageError(fmt::format("{}: shape {}, but {} has {}", file,
                                 shape_text(result.array.shape), x_file,
                                 shape_text(x.array.shape)));
}

void run(const Options& options, int& status) {
  if (options.policy.max_ulp && !(*options.policy.max_ulp >= 0))
    throw UsageError(fmt::format("--ulp {}: choose a number from 0", *options.policy.max_ulp));
  const Result x = read_result(options.x, options.fp8);
  const Result y = read_result(options.y, options.fp8);
  check_shape(y, options.y, x, options.x);
  std::optional<Result> exact;
  if (!options.exact.empty()) {
    exact = read_result(options.exact, options.fp8);
    check_shape(*exact, options.exact, x, options.x);
  }
  ComparisonInput input{x.view(), y.view(), std::nullopt, {}, x.array.shape};
  if (exact) input.exact = exact->view();
  const Comparison comparison = compare(input, options.policy);
  fmt::print("{}", options.json ? report_json(comparison) + "\n" : report_text(comparison));
  status = comparison.equal() ? 0 : 1;
}

}  // namespace

void add_diff(CLI::App& app, int& status) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "diff",
      "Differences of two results, element by element; exit status 0 equal, 1 different\n"
      "example: bitmma diff gpu.npy emulated.npy --exact exact.npy");
  command->add_option("X", options->x, "X.npy")->required();
  command->add_option("Y", options->y, "Y.npy")->required();
  command->add_option("--exact", options->exact, "Z.npy: errors of X and Y against it");
  command->add_option("--fp8", options->fp8, "what u1 and V1 arrays hold: e4m3 or e5m2")
      ->check(CLI::IsMember({"e4m3", "e5m2"}));
  command->add_flag("--any-nan", options->policy.any_nan, "any NaN equals any NaN");
  command->add_option("--ulp", options->policy.max_ulp, "values so many ulp apart are equal");
  command->add_flag("--json", options->json, "an object; compare/report.hpp names its fields");
  command->callback([options, &status] { run(*options, status); });
}

}  // namespace bitmma
