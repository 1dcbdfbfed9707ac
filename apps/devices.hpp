/// What `bitmma devices` prints.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "bitmma/kernels/campaign.hpp"
#include "bitmma/kernels/device.hpp"

namespace bitmma {

struct ListedDevice {
  DeviceInfo info;
  std::vector<CampaignKernel> kernels;  ///< that this build has for it
};

/// The CUDA devices. Throws UsageError if there is none.
std::vector<ListedDevice> listed_devices();

/// A line for each device; for each target among them how many instructions are native, lowered or
/// absent there, and a table of those it runs: how, and with which of the kernels.
std::string devices_text(std::span<const ListedDevice> devices);

/// An array with an object for each device; "target" is null where the table does not have it.
std::string devices_json(std::span<const ListedDevice> devices);

}  // namespace bitmma
