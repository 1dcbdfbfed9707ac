#include "bitmma/tests/oracle/oracle.hpp"

#include <algorithm>
#include <array>
#include <boost/multiprecision/cpp_int.hpp>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace bitmma::oracle {
namespace {

/// Wide enough for 33 products below 2^256 in units of 2^-300; an overflow would throw.
using Integer = boost::multiprecision::checked_int1024_t;

struct Format {
  std::string_view name;
  int exponent_bits;
  int fraction_bits;
  int ignored_bits;
  bool has_infinity;

  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  int smallest_exponent() const { return 1 - bias(); }
};

constexpr Format f16{"f16", 5, 10, 0, true};
constexpr Format f32{"f32", 8, 23, 0, true};
constexpr std::array all_formats{f16,
                                 f32,
                                 Format{"bf16", 8, 7, 0, true},
                                 Format{"tf32", 8, 10, 13, true},
                                 Format{"e4m3", 4, 3, 0, false},
                                 Format{"e5m2", 5, 2, 0, true}};

const Format& find_format(std::string_view name) {
  const auto found = std::ranges::find(all_formats, name, &Format::name);
  if (found == all_formats.end())
    throw std::invalid_argument("oracle: no format " + std::string(name));
  return *found;
}

enum class Kind : std::uint8_t { finite, plus_infinity, minus_infinity, nan };

/// An operand, in units of 2^-150, or a term of a sum, in units of 2^-300.
struct Exact {
  Kind kind;
  bool negative;  ///< the sign bit, for zeros too
  int exponent;   ///< as encoded: the format's smallest one for subnormals; of a product, the sum
  Integer units;  ///< signed
};

constexpr int units_in_one = 150;       // of an operand, as a power of two
constexpr int term_units_in_one = 300;  // of a term
constexpr int powers_of_two = 600;      // the largest sum is below 2^262 = 2^562 units

std::vector<Integer> make_powers_of_two() {
  std::vector<Integer> powers{1};
  while (powers.size() < powers_of_two) powers.push_back(powers.back() * 2);
  return powers;
}

const Integer& two_to(int exponent) {
  static const std::vector<Integer> powers = make_powers_of_two();
  return powers.at(static_cast<std::size_t>(exponent));
}

/// The largest e with 2^e <= value, which is positive.
int floor_log2(const Integer& value) { return static_cast<int>(msb(value)); }

constexpr Code count_of(int bits) { return Code{1} << bits; }

Kind infinity_of_sign(bool negative) {
  return negative ? Kind::minus_infinity : Kind::plus_infinity;
}

Exact decode(const Format& format, Code code) {
  const Code fractions = count_of(format.fraction_bits);
  const Code fields = count_of(format.exponent_bits);
  const Code fraction = code / count_of(format.ignored_bits) % fractions;
  const Code above_fraction = code / count_of(format.ignored_bits) / fractions;
  const Code field = above_fraction % fields;
  const bool negative = above_fraction / fields % 2 == 1;

  if (field == fields - 1 && format.has_infinity)
    return {fraction == 0 ? infinity_of_sign(negative) : Kind::nan, negative, 0, 0};
  if (field == fields - 1 && fraction == fractions - 1) return {Kind::nan, negative, 0, 0};

  const int exponent = static_cast<int>(std::max(field, Code{1})) - format.bias();
  const Code significand = field == 0 ? fraction : fractions + fraction;
  const Integer units = two_to(exponent - format.fraction_bits + units_in_one) * significand;
  return {Kind::finite, negative, exponent, negative ? Integer(-units) : units};
}

Exact multiply(const Exact& x, const Exact& y) {
  const bool negative = x.negative != y.negative;
  if (x.kind == Kind::nan || y.kind == Kind::nan) return {Kind::nan, negative, 0, 0};
  if (x.kind == Kind::finite && y.kind == Kind::finite)
    return {Kind::finite, negative, x.exponent + y.exponent, x.units * y.units};
  const bool infinity_times_zero =
      (x.kind == Kind::finite && x.units == 0) || (y.kind == Kind::finite && y.units == 0);
  return {infinity_times_zero ? Kind::nan : infinity_of_sign(negative), negative, 0, 0};
}

/// An operand as a term: the same value, the same exponent.
Exact as_term(const Exact& x) {
  return multiply(x, {Kind::finite, false, 0, two_to(units_in_one)});
}

Kind kind_of_sum(Kind x, Kind y) {
  if (x == Kind::finite || x == y) return y;
  return y == Kind::finite ? x : Kind::nan;
}

enum class Rounding : std::uint8_t { toward_zero, nearest_even };

/// A magnitude in term units, rounded to a multiple of 2^(e - fraction_bits), where e is its own
/// exponent but no less than smallest_exponent.
Integer round(const Integer& magnitude, int smallest_exponent, int fraction_bits,
              Rounding rounding) {
  const int exponent = std::max(floor_log2(magnitude), smallest_exponent + term_units_in_one);
  const Integer& ulp = two_to(exponent - fraction_bits);
  Integer count = magnitude / ulp;
  if (rounding == Rounding::nearest_even) {
    const Integer twice_the_rest = (magnitude - count * ulp) * 2;
    if (twice_the_rest > ulp || (twice_the_rest == ulp && count % 2 == 1)) ++count;
  }
  return count * ulp;
}

Code sign_code(const Format& format, bool negative) {
  return negative ? count_of(format.exponent_bits + format.fraction_bits) : 0;
}

Code infinity_code(const Format& format) {
  return (count_of(format.exponent_bits) - 1) * count_of(format.fraction_bits);
}

/// The only NaN that an instruction returns.
Code nan_code(const Format& format) {
  return count_of(format.exponent_bits + format.fraction_bits) - 1;
}

/// The code of a magnitude in term units that the format (f16 or f32) holds exactly, or Inf if it
/// is too large.
Code encode_magnitude(const Format& format, const Integer& magnitude) {
  if (magnitude == 0) return 0;
  if (magnitude >= two_to(format.bias() + 1 + term_units_in_one)) return infinity_code(format);
  const int exponent =
      std::max(floor_log2(magnitude) - term_units_in_one, format.smallest_exponent());
  const Integer& ulp = two_to(exponent - format.fraction_bits + term_units_in_one);
  const Code count = static_cast<Code>(magnitude / ulp);
  const Code hidden = count_of(format.fraction_bits);
  if (count < hidden) return count;
  return static_cast<Code>(exponent + format.bias()) * hidden + (count - hidden);
}

/// A term rounded as IEEE 754 says, to nearest even; every NaN becomes the canonical one.
Code round_ieee(const Format& format, const Exact& term) {
  if (term.kind == Kind::nan) return nan_code(format);
  const Code sign = sign_code(format, term.negative);
  if (term.kind != Kind::finite) return sign + infinity_code(format);
  if (term.units == 0) return sign;
  return sign + encode_magnitude(format, round(abs(term.units), format.smallest_exponent(),
                                               format.fraction_bits, Rounding::nearest_even));
}

/// x + y exactly. Of zeros, only -0 + -0 is -0.
Exact add(const Exact& x, const Exact& y) {
  const Kind kind = kind_of_sum(x.kind, y.kind);
  if (kind != Kind::finite) return {kind, kind == Kind::minus_infinity, 0, 0};
  const Integer units = x.units + y.units;
  const bool negative = units == 0 ? x.negative && y.negative : units < 0;
  return {Kind::finite, negative, 0, units};
}

Code convert(const Format& from, Code code, const Format& to) {
  return round_ieee(to, as_term(decode(from, code)));
}

std::vector<Code> convert(const Format& from, std::span<const Code> codes, const Format& to) {
  std::vector<Code> converted;
  for (const Code code : codes) converted.push_back(convert(from, code, to));
  return converted;
}

Code add_ieee(const Format& format, Code x, Code y) {
  return round_ieee(format, add(as_term(decode(format, x)), as_term(decode(format, y))));
}

Code multiply_f32(Code x, Code y) {
  return round_ieee(f32, multiply(decode(f32, x), decode(f32, y)));
}

Code multiply_add_f32(Code x, Code y, Code z) {
  return round_ieee(f32, add(multiply(decode(f32, x), decode(f32, y)), as_term(decode(f32, z))));
}

/// How one kind of tensor-core step computes.
struct Step {
  int products;       ///< at most, in one step
  int fraction_bits;  ///< that a term keeps below the largest exponent
  int floor;          ///< the least exponent that terms are aligned to
  int result_fraction_bits;
  Rounding rounding;
};

/// The sum of the terms, each truncated toward zero to a multiple of 2^(largest exponent - F).
Integer aligned_sum(const Step& step, const std::vector<Exact>& terms) {
  int largest = step.floor;
  for (const Exact& term : terms)
    if (term.units != 0) largest = std::max(largest, term.exponent);
  const Integer& quantum = two_to(largest - step.fraction_bits + term_units_in_one);
  Integer count = 0;
  for (const Exact& term : terms) count += term.units / quantum;
  return count * quantum;
}

struct Operands {
  const Format& a_format;
  const Format& b_format;
  std::span<const Code> a;
  std::span<const Code> b;
};

/// One step over all the products, to a result of the accumulator's format.
Code fused_step(const Step& step, const Operands& operands, const Format& accumulator,
                const Format& c_format, Code c) {
  std::vector<Exact> terms{as_term(decode(c_format, c))};
  for (std::size_t i = 0; i < operands.a.size(); ++i)
    terms.push_back(multiply(decode(operands.a_format, operands.a[i]),
                             decode(operands.b_format, operands.b[i])));
  Kind kind = Kind::finite;
  for (const Exact& term : terms) kind = kind_of_sum(kind, term.kind);
  if (kind == Kind::nan) return nan_code(accumulator);
  if (kind != Kind::finite)
    return sign_code(accumulator, kind == Kind::minus_infinity) + infinity_code(accumulator);

  const Integer sum = aligned_sum(step, terms);
  if (sum == 0) return 0;
  const Code magnitude = encode_magnitude(
      accumulator,
      round(abs(sum), accumulator.smallest_exponent(), step.result_fraction_bits, step.rounding));
  return magnitude == 0 ? 0 : sign_code(accumulator, sum < 0) + magnitude;
}

/// Steps in ascending k, the result of one being c of the next.
Code chain(const Step& step, const Operands& operands, const Format& accumulator,
           const Format& c_format, Code c) {
  const std::size_t k = operands.a.size();
  for (std::size_t first = 0; first < k;) {
    const std::size_t count = std::min(k - first, static_cast<std::size_t>(step.products));
    c = fused_step(step,
                   {operands.a_format, operands.b_format, operands.a.subspan(first, count),
                    operands.b.subspan(first, count)},
                   accumulator, first == 0 ? c_format : accumulator, c);
    first += count;
  }
  return c;
}

/// What mma.sync with FP8 operands is on a target.
enum class Fp8 : std::uint8_t { none, native, as_f16 };

/// The parameters of the targets that compute alike. 0 products: no such operands.
struct Machine {
  std::array<std::string_view, 3> targets;
  bool native_m8n8k4;
  int fraction_bits;
  int f16_products;
  int tf32_products;
  int f32_floor;
  int f16_floor;
  Fp8 fp8;
  bool wgmma;
  int fp8_products;
  int fp8_fraction_bits;
  int fp8_result_fraction_bits;  // in an f32
};

constexpr std::array machines{
    Machine{{"sm_70", "sm_72"}, true, 23, 4, 0, -131, -19, Fp8::none, false, 0, 0, 0},
    Machine{{"sm_75"}, true, 24, 8, 0, -132, -20, Fp8::none, false, 0, 0, 0},
    Machine{{"sm_80", "sm_86", "sm_87"}, false, 24, 8, 4, -132, -20, Fp8::none, false, 0, 0, 0},
    Machine{{"sm_89"}, false, 24, 8, 4, -132, -20, Fp8::native, false, 16, 13, 13},
    Machine{{"sm_90"}, false, 25, 16, 8, -133, -21, Fp8::as_f16, true, 32, 13, 13},
    Machine{
        {"sm_100", "sm_103", "sm_110"}, false, 25, 16, 8, -133, -21, Fp8::as_f16, false, 0, 0, 0},
    Machine{{"sm_120"}, false, 25, 16, 8, -133, -21, Fp8::native, false, 32, 25, 23},
};

const Machine& find_machine(std::string_view target) {
  for (const Machine& machine : machines)
    if (!target.empty() && std::ranges::find(machine.targets, target) != machine.targets.end())
      return machine;
  throw std::invalid_argument("oracle: no target " + std::string(target));
}

bool is_fp8(std::string_view format) { return format == "e4m3" || format == "e5m2"; }

/// The step of operands of format a with accumulators of format d.
Step find_step(const Machine& machine, std::string_view a, std::string_view d) {
  const bool to_f32 = d == "f32";
  const int floor = to_f32 ? machine.f32_floor : machine.f16_floor;
  const Rounding rounding = to_f32 ? Rounding::toward_zero : Rounding::nearest_even;
  if (is_fp8(a))
    return {machine.fp8_products, machine.fp8_fraction_bits, floor,
            to_f32 ? machine.fp8_result_fraction_bits : 10, rounding};
  const bool before_ampere = machine.tf32_products == 0;
  const int products = a == "tf32"                    ? machine.tf32_products
                       : a == "bf16" && before_ampere ? 0
                                                      : machine.f16_products;
  return {products, machine.fraction_bits, floor, to_f32 ? 23 : 10, rounding};
}

/// m8n8k4 where the tensor core has none: IEEE operations in f32.
Code m8n8k4_in_f32(const Operands& operands, const Format& accumulator, Code c) {
  const std::vector<Code> a = convert(operands.a_format, operands.a, f32);
  const std::vector<Code> b = convert(operands.b_format, operands.b, f32);
  if (accumulator.name == "f32") {
    Code sum = 0;
    for (std::size_t i = 0; i < 4; ++i) sum = multiply_add_f32(a[i], b[i], sum);
    return add_ieee(f32, c, sum);
  }
  const Code p01 = multiply_add_f32(a[1], b[1], multiply_f32(a[0], b[0]));
  const Code p23 = multiply_add_f32(a[3], b[3], multiply_f32(a[2], b[2]));
  const Code sum = add_ieee(f32, add_ieee(f32, convert(f16, c, f32), p01), p23);
  return convert(f32, sum, f16);
}

std::vector<Code> fp8_codes_as_f16(const Format& format) {
  std::vector<Code> all(256);
  std::iota(all.begin(), all.end(), Code{0});
  return convert(format, all, f16);
}

/// Exact; from a table of all 256 codes, for speed.
std::vector<Code> convert_fp8(const Format& format, std::span<const Code> codes) {
  static const std::vector<Code> e4m3 = fp8_codes_as_f16(find_format("e4m3"));
  static const std::vector<Code> e5m2 = fp8_codes_as_f16(find_format("e5m2"));
  const std::vector<Code>& table = format.name == "e4m3" ? e4m3 : e5m2;
  std::vector<Code> converted;
  for (const Code code : codes) converted.push_back(table.at(code));
  return converted;
}

/// FP8 where mma.sync has none: two f16 steps from zero, then an IEEE addition.
Code fp8_as_f16(const Step& f16_step, const Operands& operands, const Format& accumulator, Code c) {
  const std::vector<Code> a = convert_fp8(operands.a_format, operands.a);
  const std::vector<Code> b = convert_fp8(operands.b_format, operands.b);
  Code sum = 0;
  for (const std::size_t half : {std::size_t{0}, std::size_t{1}}) {
    std::vector<Code> half_a;
    std::vector<Code> half_b;
    for (std::size_t k = 0; k < a.size(); ++k) {
      if (k % 4 / 2 != half) continue;
      half_a.push_back(a[k]);
      half_b.push_back(b[k]);
    }
    sum = chain(f16_step, {f16, f16, half_a, half_b}, accumulator, accumulator, sum);
  }
  return add_ieee(accumulator, c, sum);
}

void require(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(std::string("oracle: ") + what);
}

}  // namespace

Code multiply_accumulate(std::string_view target, const Instruction& instruction,
                         std::span<const Code> a, std::span<const Code> b, Code c) {
  const Machine& machine = find_machine(target);
  const bool wgmma = instruction.family == Family::wgmma;
  const bool m8n8k4 = !wgmma && instruction.k == 4 && instruction.a == "f16";
  const bool f16_to_f32 = m8n8k4 && instruction.d == "f32" && instruction.c == "f16";
  const auto k = static_cast<std::size_t>(instruction.k);
  require(a.size() == k && b.size() == k, "a and b must hold k codes each");
  require(instruction.d == "f16" || instruction.d == "f32", "D must be f16 or f32");
  require(instruction.c == instruction.d || f16_to_f32,
          "C and D of these formats do not go together");
  require(instruction.a == instruction.b || (is_fp8(instruction.a) && is_fp8(instruction.b)),
          "A and B of these formats do not go together");
  require(!wgmma || machine.wgmma, "the target has no wgmma");

  const Format& accumulator = find_format(instruction.d);
  const Operands operands{find_format(instruction.a), find_format(instruction.b), a, b};
  if (m8n8k4 && !machine.native_m8n8k4)
    return m8n8k4_in_f32(operands, accumulator, f16_to_f32 ? convert(f16, c, f32) : c);
  if (is_fp8(instruction.a) && !wgmma) {
    require(machine.fp8 != Fp8::none, "the target has no FP8");
    if (machine.fp8 == Fp8::as_f16)
      return fp8_as_f16(find_step(machine, "f16", instruction.d), operands, accumulator, c);
  }
  const Step step = find_step(machine, instruction.a, instruction.d);
  require(step.products > 0, "the target has no such operands");
  return chain(step, operands, accumulator, find_format(instruction.c), c);
}

}  // namespace bitmma::oracle
