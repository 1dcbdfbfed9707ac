/// A campaign as commands run it: from and into a record's file, with progress, up to a time limit.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "bitmma/kernels/campaign.hpp"
#include "bitmma/kernels/record.hpp"

namespace bitmma {

/// Where a campaign is kept, and when it ends.
struct CampaignRun {
  std::string file;                           ///< of the record; empty to keep none
  std::optional<std::chrono::seconds> limit;  ///< to stop after
};

/// What is done of the planned record in the file: the campaign goes on from there. The planned
/// record itself where there is no file yet. Throws UsageError for a file with another campaign,
/// naming the first difference, and for one that ended with a mismatch.
Record resume(const std::string& file, const Record& planned);

/// Does what the record has left to do. Shows how far it is, and writes the file about every second
/// and at the end. Returns the first mismatch; throws DeviceError and UsageError.
std::optional<Mismatch> run_record(const CampaignRun& run, Record& record,
                                   const CampaignDevice& device);

}  // namespace bitmma
