// Compact encoding of a placed pod's record, as a fleet keeps it: bytes, a tenth of the record's size.
#ifndef BERTH_SIMULATOR_CLUSTER_PACKED_POD_H_
#define BERTH_SIMULATOR_CLUSTER_PACKED_POD_H_

#include <string>
#include <string_view>

#include "model/ledger.h"

namespace berth::cluster {

/// What later decisions, releases and starts of containers depend on: uid, requests, and of every container its kind,
/// CPUs, memory blocks and the ids of its devices. Names, hints and what plug-ins answered are left out.
std::string Pack(const PodRecord& record);

/// Points into `packed`, which Pack made.
std::string_view UidOf(std::string_view packed);

/// The record, with containers called "0", "1" and so on. Requires: Pack made `packed`.
PodRecord Unpack(std::string_view packed);

}  // namespace berth::cluster

#endif  // BERTH_SIMULATOR_CLUSTER_PACKED_POD_H_
