/// ldmatrix, stmatrix and movmatrix of one warp, on a simulated shared memory.
///
/// Every address is checked before anything is read or written. Fragments are what fragment.hpp
/// says: register r of a lane stands at lane · fragment_registers(row) + r.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "bitmma/emulator/fragment.hpp"
#include "bitmma/emulator/shared_memory.hpp"
#include "bitmma/isa/data_movement.hpp"

namespace bitmma {

/// The address operand of each lane.
using LaneAddresses = std::array<std::uint32_t, warp_lanes>;

/// What PTX demands of an address. It gives no order to two lanes' stores to one place, so that
/// stmatrix's overlap is an error here whatever the data; ldmatrix may read a row many times.
enum class AddressRule : std::uint8_t { alignment, range, overlap };

constexpr std::string_view rule_name(AddressRule rule) {
  switch (rule) {
    case AddressRule::alignment:
      return "alignment";
    case AddressRule::range:
      return "range";
    case AddressRule::overlap:
      break;
  }
  return "overlap";
}

/// The first rule that a lane's address breaks.
struct AddressFault {
  int lane;
  AddressRule rule;
  std::string message;  ///< one line: lane, address, rule, and what would be right
};

/// A load, store or move that cannot be done; what() says why in one line. Nothing was changed.
struct DataMovementError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The faults of the addresses that count on the target, by lane; none of a movmatrix's.
std::vector<AddressFault> address_faults(const DataMovement& row, const Target& target,
                                         const AddressRange& memory,
                                         const LaneAddresses& addresses);

/// ldmatrix: the registers that the lanes receive. Throws DataMovementError if the row is no load,
/// the target does not have it, or an address is at fault.
FragmentRegisters load_matrix(const DataMovement& row, const Target& target,
                              const SharedMemory& memory, const LaneAddresses& addresses);

/// stmatrix: writes the lanes' registers. Throws DataMovementError if the row is no store, the
/// target does not have it, the registers are not 32 lanes', or an address is at fault.
void store_matrix(const DataMovement& row, const Target& target, SharedMemory& memory,
                  const LaneAddresses& addresses, std::span<const std::uint32_t> registers);

/// movmatrix: the fragment of the transposed matrix. Throws DataMovementError if the row is no
/// move, the target does not have it, or the registers are not 32 lanes'.
FragmentRegisters move_matrix(const DataMovement& row, const Target& target,
                              std::span<const std::uint32_t> registers);

}  // namespace bitmma
