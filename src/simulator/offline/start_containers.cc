#include "simulator/offline/start_containers.h"

#include <vector>

namespace berth::offline {

void StartContainers(const allocator::Node& node, Ledger& ledger, const std::string& uid) {
  const auto pod = ledger.pods.find(uid);
  if (pod == ledger.pods.end()) return;
  std::vector<std::string> containers;
  for (const Placement& p : pod->second.placements) containers.push_back(p.container);
  for (const std::string& container : containers)
    if (const LedgerDelta delta = allocator::ContainerStarted(node, ledger, uid, container, nullptr); delta.put)
      Apply(ledger, delta);
}

}  // namespace berth::offline
