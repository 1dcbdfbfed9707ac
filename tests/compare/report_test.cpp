#include "bitmma/compare/report.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "bitmma/tests/compare/result.hpp"

namespace bitmma {
namespace {

using Json = nlohmann::json;

Comparison compare_in_shape(const Result& x, const Result& y, std::vector<std::size_t> shape,
                            const Policy& policy = {}, std::optional<ResultView> exact = {},
                            std::span<const double> magnitudes = {}) {
  return compare({x.view(), y.view(), exact, magnitudes, std::move(shape)}, policy);
}

}  // namespace

TEST_CASE("text: equal results are one line") {
  const Result ones(f32, std::vector<Code>(2500, 0x3f800000));
  const Result half_ones(f16, std::vector<Code>(2500, 0x3c00));
  CHECK(report_text(compare_two(ones, ones)) == "2,500 elements, all bits equal\n");
  CHECK(report_text(compare_two(ones, half_ones)) == "2,500 elements, all values equal\n");
  CHECK(report_text(compare_two(values(f32, {1}), values(f32, {1}))) ==
        "1 element, all bits equal\n");
  CHECK(report_text(compare_two(Result(f32, {}), Result(f32, {}))) ==
        "0 elements, nothing to compare\n");
}

TEST_CASE("text: counts are grouped by thousands") {
  std::vector<Code> codes(1234567, 0);
  const Result zeros(e4m3, codes);
  codes[1234566] = 1;
  const std::string text = report_text(compare_two(Result(e4m3, codes), zeros));
  CHECK(text.substr(0, text.find('\n')) == "1,234,567 elements, 1,234,566 equal, 1 different");
}

TEST_CASE("text: one difference") {
  const Result x(f32, {0x3f800000, 0x40000000, 0x40400001, 0x40800000});
  const Result y(f32, {0x3f800000, 0x40000000, 0x40400000, 0x40800000});
  CHECK(report_text(compare_in_shape(x, y, {2, 2})) == R"(4 elements, 3 equal, 1 different

First difference: element 2 at (1, 0)
  X  f32   0x40400001          3.0000002
  Y  f32   0x40400000          3

Errors                       largest  root mean square       mean  largest at
  X - Y  absolute           2.38e-07          1.19e-07   5.96e-08  (1, 0)
  X - Y  relative           7.95e-08          3.97e-08   1.99e-08  (1, 0)
  X - Y  ulp of f32                1               0.5       0.25  (1, 0)

Error in ulp         X < Y       X > Y
             0                       3  ##############################
          <= 1           0           1  ##########
)");
}

TEST_CASE("text: special values, a policy and magnitudes") {
  const Result x(f32, {0x7fffffff, 0x7fc00000, 0x7f800000, 0x00000000, 0x3f800003, 0x3f800000});
  const Result y(f32, {0x3f800000, 0x7fffffff, 0xff800000, 0x80000000, 0x3f800000, 0x00000000});
  const double magnitudes[] = {1, 1, 1, 1, 4, 1};
  const Comparison comparison = compare_in_shape(x, y, {6}, {true, 4.0}, std::nullopt, magnitudes);
  CHECK(report_text(comparison) == R"(6 elements, 0 equal, 6 different
Policy (any NaN equal, within 4 ulp): 3 elements unequal, first at 0

First difference: element 0
  X  f32   0x7FFFFFFF          nan
  Y  f32   0x3F800000          1

Errors                       largest  root mean square       mean  largest at
  X - Y  absolute                  1             0.577      0.333  5
  X - Y  relative           3.58e-07          2.53e-07   1.79e-07  4  (undefined: 1)
  X - Y  ulp of f32         1.07e+09          6.15e+08   3.55e+08  5
  X - Y  of sum|a||b|+|c|          1             0.577      0.333  5

Special values
  X, Y   NaN against a number                      1  first at 0
  X, Y   NaN against NaN with other bits           1  first at 1
  X, Y   +Inf against -Inf                         1  first at 2
  X, Y   +0 against -0                             1  first at 3

Error in ulp         X < Y       X > Y
             0                       1  #######
          <= 4           0           1  #######
       > 65536           0           1  #######
not comparable                       3  ####################
)");
}

TEST_CASE("text: two results against an exact one") {
  const Result x(f16, {0x3c00, 0x3c00, 0x4200, 0x0000});
  const Result y(f16, {0x3c01, 0x3c00, 0x4200, 0x0000});
  const Result z = values(f64, {1.0625, 1.000244140625, 3, 0});
  CHECK(report_text(compare_in_shape(x, y, {4, 1}, {}, z.view())) ==
        R"(4 elements, 3 equal, 1 different

First difference: element 0 at (0, 0)
  X  f16   0x3C00              1
  Y  f16   0x3C01              1.0009766
  Z  f64   0x3FF1000000000000  1.0625

Against Z                              X             Y
  correctly rounded                    3             3
  nearer                               0             1
  equally near                         3
  one value, both wrong                0

Errors                       largest  root mean square       mean  largest at
  X - Y  absolute          -0.000977          0.000488  -0.000244  (0, 0)
  X - Y  relative          -0.000976          0.000488  -0.000244  (0, 0)
  X - Y  ulp of f16               -1               0.5      -0.25  (0, 0)
  X - Z  absolute            -0.0625            0.0313    -0.0157  (0, 0)
  X - Z  relative            -0.0588            0.0294    -0.0148  (0, 0)
  X - Z  ulp of f16              -64                32      -16.1  (0, 0)
  Y - Z  absolute            -0.0615            0.0308    -0.0154  (0, 0)
  Y - Z  relative            -0.0579             0.029    -0.0145  (0, 0)
  Y - Z  ulp of f16              -63              31.5      -15.8  (0, 0)

Error in ulp         X < Z       X > Z               Y < Z       Y > Z
             0                       2  ####                         2  ####
          <= 1           1           0  ##               1           0  ##
         <= 64           1           0  ##               1           0  ##
)");
}

TEST_CASE("text: a policy that accepts the differences says so") {
  const Result x(f32, {0x3f800001});
  const Result y(f32, {0x3f800000});
  const std::string text = report_text(compare_two(x, y, {false, 1.0}));
  CHECK(text.find("\nPolicy (within 1 ulp): equal\n") != std::string::npos);
}

TEST_CASE("text: no line is longer than 80 columns and no blank ends one") {
  const Result x(f32, {0x7fffffff, 0x7fc00000, 0x7f800000, 0x00000000, 0x3f800003, 0x00000001});
  const Result y(f32, {0x3f800000, 0x7fffffff, 0xff800000, 0x80000000, 0x3f800000, 0x7f7fffff});
  const Result z = values(f64, {1, 2, 3, 4, 5, 6});
  std::istringstream lines(report_text(compare_in_shape(x, y, {2, 3}, {}, z.view())));
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    CHECK(line.size() <= 80);
    CHECK((line.empty() || line.back() != ' '));
  }
  CHECK(count > 20);
}

TEST_CASE("json: every field of a comparison of two") {
  const Result x(f32, {0x7fffffff, 0x3f800003, 0x40000000, 0x00000000});
  const Result y(f32, {0xff800000, 0x3f800000, 0x40000000, 0x80000000});
  const double magnitudes[] = {1, 1, 1, 1};
  const Json report =
      Json::parse(report_json(compare_in_shape(x, y, {2, 2}, {true, 3.0}, {}, magnitudes)));

  CHECK(report["shape"] == Json({2, 2}));
  CHECK(report["equal"] == false);
  CHECK(report["policy"] == Json{{"any_nan", true}, {"max_ulp", 3.0}});
  CHECK(report["exact"].is_null());

  const Json& pair = report["x_y"];
  CHECK(pair["x_format"] == "f32");
  CHECK(pair["y_format"] == "f32");
  CHECK(pair["ulp_format"] == "f32");
  CHECK(pair["count"] == 4);
  CHECK(pair["equal_bits"] == 1);
  CHECK(pair["different_bits"] == 3);
  CHECK(pair["rejected"] == 1);
  CHECK(pair["first_different"] == Json::parse(R"({"index": 0, "coordinates": [0, 0],
                        "x": {"code": "0x7FFFFFFF", "value": "nan"},
                        "y": {"code": "0xFF800000", "value": "-inf"}})"));
  CHECK(pair["first_rejected"] == pair["first_different"]);
  CHECK(pair["errors"]["ulp"] ==
        Json{{"count", 3},
             {"largest", 3.0},
             {"largest_index", 1},
             {"mean", 1.0},
             {"root_mean_square", pair["errors"]["ulp"]["root_mean_square"]}});
  CHECK(pair["errors"]["ulp"]["root_mean_square"].get<double>() ==
        doctest::Approx(1.7320508075688772));
  CHECK(pair["errors"]["magnitude"]["count"] == 3);
  CHECK(pair["errors"]["absolute"]["largest"] == 3 * 1.1920928955078125e-7);
  CHECK(pair["errors"]["relative"]["largest"] == 3 * 1.1920928955078125e-7);
  CHECK(pair["specials"]["nan_against_number"] == Json{{"count", 1}, {"first_index", 0}});
  CHECK(pair["specials"]["zero_sign"] == Json{{"count", 1}, {"first_index", 3}});
  CHECK(pair["specials"]["nan_bits"] == Json{{"count", 0}, {"first_index", nullptr}});
  CHECK(pair["specials"].size() == 5);

  const Json& histogram = pair["histogram"];
  CHECK(histogram["zero"] == 2);
  CHECK(histogram["not_comparable"] == 1);
  CHECK(histogram["buckets"].size() == 18);
  CHECK(histogram["buckets"][0] == Json{{"over", 0}, {"up_to", 1}, {"below", 0}, {"above", 0}});
  CHECK(histogram["buckets"][2] == Json{{"over", 2}, {"up_to", 4}, {"below", 0}, {"above", 1}});
  CHECK(histogram["buckets"][17] ==
        Json{{"over", 65536}, {"up_to", nullptr}, {"below", 0}, {"above", 0}});
}

TEST_CASE("json: an error beyond the largest f64 is the string inf") {
  const Json report = Json::parse(
      report_json(compare_two(values(f64, {1.7e308, 1}), values(f16, {0, 1}), {false, 1.0})));
  CHECK(report["x_y"]["errors"]["ulp"]["largest"] == "inf");
  CHECK(report["x_y"]["rejected"] == 1);
}

TEST_CASE("json: the object ends without a newline") {
  const Result one = values(f32, {1});
  CHECK(report_json(compare_two(one, one)).back() == '}');
}

TEST_CASE("json: equal results have null where there is nothing to name") {
  const Result one = values(f32, {1});
  const Json report = Json::parse(report_json(compare_three(one, one, one)));
  CHECK(report["equal"] == true);
  CHECK(report["shape"] == Json::array({1}));
  CHECK(report["policy"]["max_ulp"].is_null());
  CHECK(report["x_y"]["first_different"].is_null());
  CHECK(report["x_y"]["first_rejected"].is_null());
  CHECK(report["x_y"]["errors"]["absolute"]["largest_index"].is_null());
  CHECK(report["exact"]["at_first_different"].is_null());
}

TEST_CASE("json: every field of a comparison with an exact result") {
  const Result x = values(f16, {1, 1, 2});
  const Result y = values(f16, {1, 1.5, 2});
  const Result z = values(f64, {1, 1.375, 3});
  const Json exact = Json::parse(report_json(compare_three(x, y, z)))["exact"];
  CHECK(exact["x"]["x_format"] == "f16");
  CHECK(exact["x"]["y_format"] == "f64");
  CHECK(exact["x"]["errors"]["absolute"]["largest"] == -1.0);
  CHECK(exact["y"]["errors"]["absolute"]["mean"].get<double>() == doctest::Approx(-0.875 / 3));
  CHECK(exact["x_nearer"] == 0);
  CHECK(exact["y_nearer"] == 1);
  CHECK(exact["equally_near"] == 2);
  CHECK(exact["x_correctly_rounded"] == 1);
  CHECK(exact["y_correctly_rounded"] == 1);
  CHECK(exact["equal_but_wrong"] == 1);
  CHECK(exact["at_first_different"] == Json{{"code", "0x3FF6000000000000"}, {"value", 1.375}});
}

}  // namespace bitmma
