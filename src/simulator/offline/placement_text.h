// Placements in the words of tables and sentences.
#ifndef BERTH_SIMULATOR_OFFLINE_PLACEMENT_TEXT_H_
#define BERTH_SIMULATOR_OFFLINE_PLACEMENT_TEXT_H_

#include <optional>
#include <string>

#include "model/placement.h"

namespace berth::offline {

std::string ContainerLabel(const Placement& placement);         ///< "app", "setup (init)", "proxy (sidecar)"
std::string CpuText(const Placement& placement);                ///< "4-7", "CPU pool batch" or "shared"
std::string MemoryText(const Placement& placement);             ///< nodes: "0", "0-1"; "" when not pinned
std::string DeviceText(const Placement& placement);             ///< "vendor.example/gpu: gpu0, gpu1"; "" for none
std::string HintText(const TopologyHint& hint);                 ///< "0-1", "any"; with ", not preferred"
std::string HintText(const std::optional<TopologyHint>& hint);  ///< "" for none

}  // namespace berth::offline

#endif  // BERTH_SIMULATOR_OFFLINE_PLACEMENT_TEXT_H_
