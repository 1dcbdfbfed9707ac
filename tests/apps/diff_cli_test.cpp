#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "bitmma/tests/apps/program.hpp"

using namespace bitmma;
using namespace bitmma::test;
using nlohmann::json;

namespace {

constexpr NpyType f4{'f', 4}, f8{'f', 8}, u1{'u', 1};

void store_f32(const Program& program, const std::string& name, const Codes& codes) {
  program.store(name, array_of(f4, {2, codes.size() / 2}, codes));
}

constexpr Code one = 0x3F800000, two = 0x40000000;

}  // namespace

TEST_CASE("diff has exit status 0 for equal results and 1 for different ones") {
  const Program program;
  store_f32(program, "x.npy", {one, one, two, two});
  store_f32(program, "y.npy", {one, one, two, two + 1});
  CHECK(output_of(program, "diff x.npy x.npy").starts_with("4 elements, "));
  const std::string text = output_of(program, "diff x.npy y.npy", 1);
  CHECK(text.starts_with("4 elements, 3 equal, 1 different\n"));
  CHECK(text.find("element 3 at (1, 1)") != std::string::npos);
  CHECK(text.find("0x40000001") != std::string::npos);
}

TEST_CASE("diff --json says what differs where") {
  const Program program;
  store_f32(program, "x.npy", {one, one, two + 2, two});
  store_f32(program, "y.npy", {one, one, two, two});
  const json different = json::parse(output_of(program, "diff x.npy y.npy --json", 1));
  CHECK(different["equal"] == false);
  CHECK(different["shape"] == json{2, 2});
  CHECK(different["x_y"]["different_bits"] == 1);
  CHECK(different["x_y"]["first_different"]["coordinates"] == json{1, 0});
  CHECK(different["x_y"]["first_different"]["x"]["code"] == "0x40000002");
  CHECK(different["x_y"]["errors"]["ulp"]["largest"] == 2);
  CHECK(different["exact"].is_null());
  const json equal = json::parse(output_of(program, "diff y.npy y.npy --json"));
  CHECK(equal["equal"] == true);
  CHECK(equal["x_y"]["first_different"].is_null());
}

TEST_CASE("diff --ulp and --any-nan widen what counts as equal") {
  const Program program;
  store_f32(program, "x.npy", {one, two});
  store_f32(program, "near.npy", {one + 2, two});
  output_of(program, "diff x.npy near.npy", 1);
  output_of(program, "diff x.npy near.npy --ulp 1.5", 1);
  output_of(program, "diff x.npy near.npy --ulp 2");

  store_f32(program, "plus.npy", {0, one});
  store_f32(program, "minus.npy", {0x80000000, one});
  output_of(program, "diff plus.npy minus.npy", 1);
  output_of(program, "diff plus.npy minus.npy --ulp 0");

  store_f32(program, "nan.npy", {0x7FFFFFFF, one});
  store_f32(program, "payload.npy", {0xFFC00001, one});
  output_of(program, "diff nan.npy payload.npy", 1);
  output_of(program, "diff nan.npy payload.npy --any-nan");
  output_of(program, "diff nan.npy x.npy --any-nan --ulp 1e300", 1);
}

TEST_CASE("diff --exact says which result is nearer") {
  const Program program;
  const auto f64_code = [](double value) { return from_double(f64, value); };
  store_f32(program, "x.npy", {one, two});
  store_f32(program, "y.npy", {one + 1, two});
  program.store("z.npy", array_of(f8, {2, 1}, {f64_code(1 + 0x1p-26), f64_code(2)}));
  const json document = json::parse(output_of(program, "diff x.npy y.npy --exact z.npy --json", 1));
  CHECK(document["exact"]["x_nearer"] == 1);
  CHECK(document["exact"]["y_nearer"] == 0);
  CHECK(document["exact"]["equally_near"] == 1);
  CHECK(document["exact"]["x_correctly_rounded"] == 2);
  CHECK(document["exact"]["y_correctly_rounded"] == 1);
  const std::string text = output_of(program, "diff x.npy y.npy --exact z.npy", 1);
  CHECK(text.find("X - Z") != std::string::npos);
}

TEST_CASE("diff compares results of two formats by value") {
  const Program program;
  store_f32(program, "x.npy", {one, two});
  program.store("half.npy", array_of({'f', 2}, {2, 1}, {0x3C00, 0x4000}));
  program.store("bf16.npy", array_of({'V', 2}, {2, 1}, {0x3F80, 0x4000}));
  output_of(program, "diff x.npy half.npy");
  output_of(program, "diff bf16.npy half.npy");
}

TEST_CASE("diff asks what bytes hold") {
  const Program program;
  program.store("x.npy", array_of(u1, {1}, {0x7C}));
  program.store("y.npy", array_of(f4, {1}, {0x7F800000}));
  check_refused(program, "diff x.npy y.npy",
                "x.npy: dtype '|u1' may be e4m3 or e5m2; say which with --fp8");
  check_refused(program, "diff x.npy y.npy --fp8 e3m4", "e3m4");
  output_of(program, "diff x.npy y.npy --fp8 e5m2");
  output_of(program, "diff x.npy y.npy --fp8 e4m3", 1);
}

TEST_CASE("diff takes f1 for e5m2 and the only type of bytes that names its format") {
  const Program program;
  program.store("f1.npy", array_of({'f', 1}, {2}, {0x3C, 0x7C}));
  program.store("f4.npy", array_of(f4, {2}, {one, 0x7F800000}));
  output_of(program, "diff f1.npy f4.npy");
  output_of(program, "diff f1.npy f4.npy --fp8 e4m3");
  program.store("v1.npy", array_of({'V', 1}, {2}, {0x38, 0x38}));
  check_refused(program, "diff f1.npy v1.npy", "v1.npy: dtype '|V1' may be e4m3 or e5m2");
  const json document = json::parse(output_of(program, "diff f1.npy v1.npy --fp8 e4m3 --json", 1));
  CHECK(document["x_y"]["x_format"] == "e5m2");
  CHECK(document["x_y"]["y_format"] == "e4m3");
  CHECK(document["x_y"]["equal_bits"] == 1);
}

TEST_CASE("diff --json ends with one newline") {
  const Program program;
  store_f32(program, "x.npy", {one, two});
  CHECK(output_of(program, "diff x.npy x.npy --json").ends_with("\n}\n"));
}

TEST_CASE("diff refuses results that cannot be compared") {
  const Program program;
  store_f32(program, "x.npy", {one, two});
  store_f32(program, "wide.npy", {one, two, two, two});
  program.store("ints.npy", zeros({'i', 8}, {2, 1}));
  check_refused(program, "diff x.npy wide.npy", "wide.npy: shape (2, 2), but x.npy has (2, 1)");
  check_refused(program, "diff x.npy x.npy --exact wide.npy", "wide.npy: shape (2, 2)");
  check_refused(program, "diff x.npy ints.npy",
                "ints.npy: dtype '<i8' holds no number format; choose from '<f2' (f16), ");
  check_refused(program, "diff x.npy lost.npy", "lost.npy: no such file");
  check_refused(program, "diff x.npy x.npy --exact lost.npy", "lost.npy: no such file");
  for (const char* ulp : {"-1", "nan", "x"})
    check_refused(program, std::string("diff x.npy x.npy --ulp ") + ulp, "--ulp");
}
