#include "simulator/offline/placement_text.h"

#include "base/text.h"
#include "model/ledger.h"

namespace berth::offline {

std::string ContainerLabel(const Placement& placement) {
  if (placement.kind == ContainerKind::kApp) return placement.container;
  return placement.container + " (" + std::string(Name(placement.kind)) + ")";
}

std::string CpuText(const Placement& placement) {
  return CpusText(placement) +
         (placement.cpus || placement.nodes.empty() ? "" : ", node " + FormatIds(placement.nodes));
}

std::string MemoryText(const Placement& placement) { return FormatIds(MemoryNodes(placement)); }

std::string DeviceText(const Placement& placement) {
  std::vector<std::string> parts;
  for (const DeviceAssignment& assigned : placement.devices)
    parts.push_back(assigned.resource + ": " + Join(assigned.ids, ", "));
  return Join(parts, "; ");
}

std::string HintText(const TopologyHint& hint) {
  return (hint.nodes ? FormatIds(*hint.nodes) : "any") + (hint.preferred ? "" : ", not preferred");
}

std::string HintText(const std::optional<TopologyHint>& hint) { return hint ? HintText(*hint) : ""; }

}  // namespace berth::offline
