/// What a project that uses bitmma looks like: one dot product on two targets, and the exact value.

#include <array>
#include <bitmma/compare/difference.hpp>
#include <bitmma/emulator/fragment.hpp>
#include <bitmma/emulator/matrix.hpp>
#include <bitmma/reference/exact_text.hpp>
#include <iostream>

int main() {
  using namespace bitmma;
  static_assert(acc_offset(5, 3) == 75);
  std::array<Code, 4> a{}, b{};
  for (std::size_t k = 0; k < a.size(); ++k) {
    a[k] = from_double(f16, k == 0 ? 4096 : 0.3125);
    b[k] = from_double(f16, k == 0 ? 4096 : 1);
  }
  const Code c = 0;
  const ExactValue exact = exact_dot({{f16, a}, {f16, b}, f32, c});
  const Execution volta = find_execution("sm_70", "m8n8k4.f32.f16.f16.f32").value();
  const Code d = run_chain(volta, a.data(), b.data(), a.size(), c);
  std::cout << "sm_70 " << to_double(f32, d) << ", exact " << to_decimal(exact) << "\n";
  return to_double(f32, d) == 16777216 && to_decimal(exact) == "16777216.9375" ? 0 : 1;
}
