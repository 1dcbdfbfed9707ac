#include "bitmma/compare/value_text.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <nlohmann/json.hpp>

namespace bitmma {

TEST_CASE("codes are upper-case hexadecimal as wide as the format's storage") {
  CHECK(hex_text(e4m3, 0xA) == "0x0A");
  CHECK(hex_text(bf16, 0x3F80) == "0x3F80");
  CHECK(hex_text(tf32, 0) == "0x00000000");
  CHECK(hex_text(f64, 0xFFEFFFFFFFFFFFFF) == "0xFFEFFFFFFFFFFFFF");
}

TEST_CASE("numbers that JSON lacks are strings") {
  const auto number = [](double value) { return json_number<nlohmann::json>(value).dump(); };
  CHECK(number(-0.5) == "-0.5");
  CHECK(number(std::numeric_limits<double>::infinity()) == R"("inf")");
  CHECK(number(-std::numeric_limits<double>::infinity()) == R"("-inf")");
  CHECK(number(-std::numeric_limits<double>::quiet_NaN()) == R"("nan")");
}

}  // namespace bitmma
