#include "bitmma/emulator/data_movement.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>

using namespace bitmma;

namespace {

constexpr std::uint32_t base = 0x1000;

const Target& newest() { return *find_target("sm_120"); }

DataMovement form(std::string_view name) { return find_data_movement(name).value(); }

SharedMemory random_memory(std::size_t rows, std::mt19937& random) {
  SharedMemory memory{base, std::vector<std::byte>(rows * matrix_row_bytes)};
  for (std::byte& byte : memory.bytes) byte = static_cast<std::byte>(random());
  return memory;
}

/// 32 different rows of 48, in no order.
LaneAddresses scattered_addresses(std::mt19937& random) {
  std::array<std::uint32_t, 48> rows{};
  std::iota(rows.begin(), rows.end(), 0U);
  std::ranges::shuffle(rows, random);
  LaneAddresses addresses{};
  for (std::size_t lane = 0; lane < addresses.size(); ++lane)
    addresses[lane] = base + rows[lane] * matrix_row_bytes;
  return addresses;
}

/// Addresses of rows one after another.
LaneAddresses consecutive_addresses(std::uint32_t stride = matrix_row_bytes) {
  LaneAddresses addresses{};
  for (std::uint32_t lane = 0; lane < addresses.size(); ++lane)
    addresses[lane] = base + lane * stride;
  return addresses;
}

FragmentRegisters random_registers(const DataMovement& row, std::mt19937& random) {
  FragmentRegisters registers(static_cast<std::size_t>(32 * fragment_registers(row)));
  for (std::uint32_t& word : registers) word = static_cast<std::uint32_t>(random());
  return registers;
}

// PTX's text once more, as plain loops: what thread t finds in byte or half e of its register r.

/// Element `index` of the row that begins at an address, bit by bit.
std::uint32_t element_at(const SharedMemory& memory, std::uint32_t address, int index, int bits) {
  std::uint32_t value = 0;
  for (int i = 0; i < bits; ++i) {
    const int bit = index * bits + i;
    const auto byte = std::to_integer<int>(memory.bytes[address - base + unsigned(bit / 8)]);
    value |= static_cast<std::uint32_t>(byte >> bit % 8 & 1) << i;
  }
  return value;
}

/// ldmatrix .m8n8: t / 4 is the row, 2 · (t % 4) + e the column; the other way round with .trans.
std::uint32_t m8n8_word(const SharedMemory& memory, const LaneAddresses& addresses, bool trans,
                        int t, int r) {
  std::uint32_t word = 0;
  for (int e = 0; e < 2; ++e) {
    const int group = t / 4, pair = 2 * (t % 4) + e;
    const int row = trans ? pair : group, column = trans ? group : pair;
    word |= element_at(memory, addresses.at(unsigned(8 * r + row)), column, 16) << 16 * e;
  }
  return word;
}

/// ldmatrix .m16n16.trans: registers 2i and 2i + 1 are rows t / 4 and t / 4 + 8 of the transposed
/// matrix i, columns 4 · (t % 4) to + 3.
std::uint32_t m16n16_word(const SharedMemory& memory, const LaneAddresses& addresses, int bits,
                          int t, int r) {
  std::uint32_t word = 0;
  for (int e = 0; e < 4; ++e)
    word |= element_at(memory, addresses.at(unsigned(r / 2 * 16 + 4 * (t % 4) + e)),
                       t / 4 + r % 2 * 8, bits)
            << 8 * e;
  return word;
}

/// ldmatrix .m8n16: row t / 4 of matrix r, columns 4 · (t % 4) to + 3.
std::uint32_t m8n16_word(const SharedMemory& memory, const LaneAddresses& addresses, int bits,
                         int t, int r) {
  std::uint32_t word = 0;
  for (int e = 0; e < 4; ++e)
    word |= element_at(memory, addresses.at(unsigned(8 * r + t / 4)), 4 * (t % 4) + e, bits)
            << 8 * e;
  return word;
}

std::uint32_t expected_word(const DataMovement& row, const SharedMemory& memory,
                            const LaneAddresses& addresses, int t, int r) {
  if (row.rows == 16) return m16n16_word(memory, addresses, row.element.memory_bits, t, r);
  if (row.columns == 16) return m8n16_word(memory, addresses, row.element.memory_bits, t, r);
  return m8n8_word(memory, addresses, row.transposed, t, r);
}

/// stmatrix .m16n8.trans: bytes 0 and 1 are row t / 4, bytes 2 and 3 row t / 4 + 8; columns
/// 2 · (t % 4) and + 1, and column c goes to the c-th address.
void store_m16n8(SharedMemory& memory, const LaneAddresses& addresses,
                 const FragmentRegisters& registers, int count) {
  for (int t = 0; t < 32; ++t)
    for (int r = 0; r < count; ++r)
      for (int e = 0; e < 4; ++e) {
        const int column = 2 * (t % 4) + e % 2, line = t / 4 + e / 2 * 8;
        const std::uint32_t address = addresses.at(unsigned(8 * r + column)) + unsigned(line);
        memory.bytes.at(address - base) =
            static_cast<std::byte>(registers.at(unsigned(t * count + r)) >> 8 * e);
      }
}

void store_m8n8(SharedMemory& memory, const LaneAddresses& addresses,
                const FragmentRegisters& registers, int count, bool trans) {
  for (int t = 0; t < 32; ++t)
    for (int r = 0; r < count; ++r)
      for (int e = 0; e < 4; ++e) {
        const int group = t / 4, pair = 2 * (t % 4) + e / 2;
        const int row = trans ? pair : group, column = trans ? group : pair;
        const std::uint32_t address = addresses.at(unsigned(8 * r + row)) + unsigned(2 * column);
        memory.bytes.at(address + unsigned(e % 2) - base) =
            static_cast<std::byte>(registers.at(unsigned(t * count + r)) >> 8 * e);
      }
}

std::string error_of(const auto& action) {
  try {
    action();
  } catch (const DataMovementError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("every ldmatrix loads what PTX's text says, from rows anywhere") {
  std::mt19937 random(1);
  int forms = 0;
  for (const DataMovement& row : data_movement_table) {
    if (row.kind != MovementKind::load) continue;
    CAPTURE(short_name(row));
    for (int repetition = 0; repetition < 20; ++repetition) {
      const SharedMemory memory = random_memory(48, random);
      const LaneAddresses addresses = scattered_addresses(random);
      const FragmentRegisters loaded = load_matrix(row, newest(), memory, addresses);
      const int registers = fragment_registers(row);
      REQUIRE(loaded.size() == static_cast<std::size_t>(32 * registers));
      for (int t = 0; t < 32; ++t)
        for (int r = 0; r < registers; ++r)
          CHECK(loaded[static_cast<std::size_t>(t * registers + r)] ==
                expected_word(row, memory, addresses, t, r));
    }
    ++forms;
  }
  CHECK(forms == 18);
}

TEST_CASE("every stmatrix stores what PTX's text says, and nothing else") {
  std::mt19937 random(2);
  int forms = 0;
  for (const DataMovement& row : data_movement_table) {
    if (row.kind != MovementKind::store) continue;
    CAPTURE(short_name(row));
    for (int repetition = 0; repetition < 20; ++repetition) {
      SharedMemory memory = random_memory(48, random);
      SharedMemory expected = memory;
      const LaneAddresses addresses = scattered_addresses(random);
      const FragmentRegisters registers = random_registers(row, random);
      store_matrix(row, newest(), memory, addresses, registers);
      if (row.rows == 16)
        store_m16n8(expected, addresses, registers, row.count);
      else
        store_m8n8(expected, addresses, registers, row.count, row.transposed);
      CHECK(memory.bytes == expected.bytes);
    }
    ++forms;
  }
  CHECK(forms == 9);
}

TEST_CASE("narrow elements are taken from the row's beginning and extended by zeros above") {
  SharedMemory memory{base, std::vector<std::byte>(8 * matrix_row_bytes, std::byte{0xFF})};
  // 6-bit elements 1, 2, 3, 4 of row 0: 000100 000011 000010 000001; 4-bit: 0x81, 0x30, 0x10
  memory.bytes[0] = std::byte{0x81};
  memory.bytes[1] = std::byte{0x30};
  memory.bytes[2] = std::byte{0x10};
  const LaneAddresses addresses = consecutive_addresses();
  const FragmentRegisters six =
      load_matrix(form("ldmatrix.m8n16.x1.b8x16.b6x16_p32"), newest(), memory, addresses);
  CHECK(six[0] == 0x04030201);
  CHECK(six[1] == 0x3F3F3F3F);
  const FragmentRegisters four =
      load_matrix(form("ldmatrix.m8n16.x1.b8x16.b4x16_p64"), newest(), memory, addresses);
  CHECK(four[0] == 0x03000801);
  CHECK(four[1] == 0x0F0F0100);
  CHECK(four[3] == 0x0F0F0F0F);
  // What follows the packed elements is padding: changing it changes nothing.
  for (std::size_t row = 0; row < 8; ++row)
    for (std::size_t byte = 12; byte < 16; ++byte) memory.bytes[row * 16 + byte] = std::byte{0x5A};
  CHECK(load_matrix(form("ldmatrix.m8n16.x1.b8x16.b6x16_p32"), newest(), memory, addresses) == six);
}

TEST_CASE("ldmatrix .x4 gives A's fragment of m16n8k16, .x2.trans that of a row-major B") {
  std::mt19937 random(3);
  const Instruction mma = find_instruction("m16n8k16.f32.f16.f16.f32").value();
  TileCodes a(16 * 16), b(16 * 8);
  SharedMemory a_memory{base, std::vector<std::byte>(16 * 32)};
  SharedMemory b_memory{base, std::vector<std::byte>(16 * 16)};
  const auto fill = [&](TileCodes& codes, SharedMemory& memory) {
    for (std::size_t i = 0; i < codes.size(); ++i) {
      codes[i] = random() & 0xFFFF;
      memory.bytes[2 * i] = static_cast<std::byte>(codes[i]);
      memory.bytes[2 * i + 1] = static_cast<std::byte>(codes[i] >> 8);
    }
  };
  fill(a, a_memory);
  fill(b, b_memory);
  LaneAddresses a_addresses{};
  for (std::uint32_t lane = 0; lane < 32; ++lane)
    a_addresses[lane] = base + lane % 16 * 32 + lane / 16 * 16;
  CHECK(load_matrix(form("ldmatrix.m8n8.x4.b16"), newest(), a_memory, a_addresses) ==
        to_fragment(mma, Operand::a, a));
  CHECK(load_matrix(form("ldmatrix.m8n8.x2.trans.b16"), newest(), b_memory,
                    consecutive_addresses()) == to_fragment(mma, Operand::b, b));
  CHECK(load_matrix(form("ldmatrix.m8n8.x2.b16"), newest(), b_memory, consecutive_addresses()) !=
        to_fragment(mma, Operand::b, b));
}

TEST_CASE("what stmatrix stored ldmatrix loads, transposed or not") {
  std::mt19937 random(4);
  for (const std::string_view qualifiers :
       {"m8n8.x1.b16", "m8n8.x2.b16", "m8n8.x4.b16", "m8n8.x1.trans.b16", "m8n8.x2.trans.b16",
        "m8n8.x4.trans.b16"}) {
    const DataMovement store = form(std::string("stmatrix.").append(qualifiers));
    const DataMovement load = form(std::string("ldmatrix.").append(qualifiers));
    const FragmentRegisters registers = random_registers(store, random);
    const LaneAddresses addresses = scattered_addresses(random);
    SharedMemory memory = random_memory(48, random);
    store_matrix(store, newest(), memory, addresses, registers);
    CHECK(load_matrix(load, newest(), memory, addresses) == registers);
  }
}

TEST_CASE("movmatrix transposes, as stmatrix and ldmatrix .trans do; twice it is the identity") {
  std::mt19937 random(5);
  const DataMovement move = form("movmatrix.m8n8.trans.b16");
  const FragmentRegisters registers = random_registers(move, random);
  const FragmentRegisters moved = move_matrix(move, newest(), registers);
  SharedMemory memory = random_memory(8, random);
  const LaneAddresses addresses = consecutive_addresses();
  store_m8n8(memory, addresses, registers, 1, false);
  for (int t = 0; t < 32; ++t)
    CHECK(moved[static_cast<std::size_t>(t)] == m8n8_word(memory, addresses, true, t, 0));
  CHECK(moved != registers);
  CHECK(move_matrix(move, newest(), moved) == registers);
}

TEST_CASE("a tile of ones gives 0x3C003C00 everywhere; wrong addresses are errors or other words") {
  // 16 × 16 f16 ones, rows of 32 bytes, zeros after them.
  const DataMovement row = form("ldmatrix.m8n8.x4.b16");
  SharedMemory memory{base, std::vector<std::byte>(2 * 16 * 32)};
  for (std::size_t i = 0; i < 16 * 16; ++i) memory.bytes[2 * i + 1] = std::byte{0x3C};
  LaneAddresses right{};
  for (std::uint32_t lane = 0; lane < 32; ++lane)
    right[lane] = base + lane % 16 * 32 + lane / 16 * 16;
  CHECK(load_matrix(row, newest(), memory, right) == FragmentRegisters(128, 0x3C003C00));

  // A stride of a whole row for each lane leaves the tile: lanes 16 to 31.
  const LaneAddresses too_far = consecutive_addresses(32);
  const std::vector<AddressFault> faults = address_faults(row, newest(), {base, 16 * 32}, too_far);
  REQUIRE(faults.size() == 16);
  for (std::size_t i = 0; i < faults.size(); ++i) {
    CHECK(faults[i].lane == static_cast<int>(16 + i));
    CHECK(faults[i].rule == AddressRule::range);
  }
  const FragmentRegisters wrong = load_matrix(row, newest(), memory, too_far);
  CHECK(wrong[0] == 0x3C003C00);
  CHECK(wrong[2] == 0);
  CHECK(std::ranges::count(wrong, 0x3C003C00U) == 64);

  // Lanes counted in elements of two bytes are misaligned but for every eighth.
  const std::vector<AddressFault> misaligned =
      address_faults(row, newest(), {base, 16 * 32}, consecutive_addresses(2));
  CHECK(misaligned.size() == 28);
  CHECK(misaligned.front().lane == 1);
  CHECK(misaligned.front().rule == AddressRule::alignment);
}

TEST_CASE("an address at fault is named with its lane, the rule and what would be right") {
  const DataMovement load = form("ldmatrix.m8n8.x1.b16");
  const SharedMemory memory{base, std::vector<std::byte>(8 * matrix_row_bytes)};
  const auto load_error = [&](LaneAddresses addresses, std::size_t lane, std::uint32_t address,
                              std::string_view target) {
    addresses[lane] = address;
    return error_of([&] { load_matrix(load, *find_target(target), memory, addresses); });
  };
  LaneAddresses addresses{};
  addresses.fill(base);
  CHECK(load_error(addresses, 3, base + 0x14, "sm_90") ==
        "ldmatrix.m8n8.x1.b16: lane 3: address 0x1014 is no multiple of 16: the row before it "
        "begins at 0x1010");
  CHECK(load_error(addresses, 7, base + 0x80, "sm_90") ==
        "ldmatrix.m8n8.x1.b16: lane 7: address 0x1080 begins 16 bytes that are not all inside the "
        "memory: choose 0x1000 to 0x1070");
  CHECK(load_error(addresses, 0, base - 16, "sm_90").find("lane 0: address 0xff0 begins") !=
        std::string::npos);
  CHECK(load_error(addresses, 0, 0xFFFFFFF0, "sm_90").find("choose 0x1000 to 0x1070") !=
        std::string::npos);
  CHECK(load_error(addresses, 7, base + 0x70, "sm_90") == "no error");
  // Lane 8 is ignored, but not on sm_75.
  CHECK(load_error(addresses, 8, 3, "sm_80") == "no error");
  CHECK(load_error(addresses, 8, 3, "sm_75").find("lane 8: address 0x3 is no") !=
        std::string::npos);
  addresses.fill(1);
  CHECK(load_error(addresses, 0, 1, "sm_90").find("(faults of 8 lanes in all)") !=
        std::string::npos);
}

TEST_CASE("a range of addresses contains what begins and ends in it, and does not wrap") {
  constexpr AddressRange range{0x1000, 0x20};
  static_assert(range.contains(0x1000, 0x20));
  static_assert(range.contains(0x1010, 16));
  CHECK_FALSE(range.contains(0x1011, 16));
  CHECK_FALSE(range.contains(0xFFF, 1));
  CHECK_FALSE(range.contains(0x1020, 1));
  CHECK_FALSE(AddressRange{0x1000, std::uint64_t{1} << 33}.contains(0xFFF, 1));
  CHECK(AddressRange{0xFFFFFFF0, 16}.contains(0xFFFFFFF0, 16));
}

TEST_CASE("a memory that begins between two rows, or is too small for one") {
  const DataMovement row = form("ldmatrix.m8n8.x1.b16");
  LaneAddresses addresses{};
  addresses.fill(0x1000);
  const auto message = [&](const AddressRange& memory) {
    const std::vector<AddressFault> faults = address_faults(row, newest(), memory, addresses);
    return faults.empty() ? "no fault" : faults.front().message;
  };
  CHECK(message({0x1008, 40}).find("choose 0x1010 to 0x1020") != std::string::npos);
  CHECK(message({0x1008, 24}).find("choose 0x1010 to 0x1010") != std::string::npos);
  CHECK(message({0x1008, 23}).find("holds no row of 16 bytes") != std::string::npos);
  CHECK(message({0x1008, 0}).find("holds no row of 16 bytes") != std::string::npos);
  CHECK(message({0xFF8, 23}).find("holds no row of 16 bytes") != std::string::npos);
  CHECK(message({0xFF8, 24}) == "no fault");
}

TEST_CASE("stmatrix refuses rows of two lanes at one address and then writes nothing") {
  std::mt19937 random(6);
  const DataMovement store = form("stmatrix.m8n8.x2.b16");
  SharedMemory memory = random_memory(32, random);
  const SharedMemory before = memory;
  LaneAddresses addresses = consecutive_addresses();
  addresses[9] = addresses[3];
  const FragmentRegisters registers = random_registers(store, random);
  CHECK(error_of([&] { store_matrix(store, newest(), memory, addresses, registers); }) ==
        "stmatrix.m8n8.x2.b16: lane 9: address 0x1030 is lane 3's too, and nothing orders their "
        "stores: choose a row of its own");
  addresses = consecutive_addresses();
  addresses[15] = 8;
  CHECK(error_of([&] { store_matrix(store, newest(), memory, addresses, registers); }) !=
        "no error");
  CHECK(memory.bytes == before.bytes);
  // Lane 16 provides no address; a load may read one row many times.
  addresses = consecutive_addresses();
  addresses[16] = addresses[3];
  CHECK(error_of([&] { store_matrix(store, newest(), memory, addresses, registers); }) ==
        "no error");
  addresses.fill(base);
  CHECK(address_faults(form("ldmatrix.m8n8.x4.b16"), newest(), memory.range(), addresses).empty());
}

TEST_CASE("a data movement of another kind or target, or with too few registers, is an error") {
  const DataMovement load = form("ldmatrix.m16n16.x1.trans.b8");
  const DataMovement store = form("stmatrix.m8n8.x4.b16");
  const DataMovement move = form("movmatrix.m8n8.trans.b16");
  const LaneAddresses addresses = consecutive_addresses();
  SharedMemory memory{base, std::vector<std::byte>(32 * matrix_row_bytes)};
  const FragmentRegisters registers(32);
  CHECK(error_of([&] { load_matrix(store, newest(), memory, addresses); }) ==
        "stmatrix.m8n8.x4.b16: choose a form of ldmatrix");
  CHECK(error_of([&] { move_matrix(load, newest(), registers); }) ==
        "ldmatrix.m16n16.x1.trans.b8: choose a form of movmatrix");
  CHECK(error_of([&] { store_matrix(move, newest(), memory, addresses, registers); }) ==
        "movmatrix.m8n8.trans.b16: choose a form of stmatrix");
  CHECK(error_of([&] { load_matrix(load, *find_target("sm_90"), memory, addresses); }) ==
        "ldmatrix.m16n16.x1.trans.b8: not on sm_90: it needs sm_100a or later");
  CHECK(error_of([&] { store_matrix(store, newest(), memory, addresses, registers); }) ==
        "stmatrix.m8n8.x4.b16: 32 registers, but 32 lanes have 128");
  CHECK(error_of([&] { move_matrix(move, newest(), FragmentRegisters(31)); }) ==
        "movmatrix.m8n8.trans.b16: 31 registers, but 32 lanes have 32");
}
