// Container key: a container by its pod's uid and its name, and the placement that a ledger has for it.
#ifndef BERTH_FRONTEND_NRI_AGENT_CONTAINER_KEY_H_
#define BERTH_FRONTEND_NRI_AGENT_CONTAINER_KEY_H_

#include <string>
#include <utility>

#include "model/ledger.h"

namespace berth::nri_agent {

using ContainerKey = std::pair<std::string, std::string>;  // uid, container

/// nullptr: the ledger has none.
inline const Placement* PlacementOf(const Ledger& ledger, const ContainerKey& who) {
  const auto record = ledger.pods.find(who.first);
  return record == ledger.pods.end() ? nullptr : FindPlacement(record->second, who.second);
}

}  // namespace berth::nri_agent

#endif  // BERTH_FRONTEND_NRI_AGENT_CONTAINER_KEY_H_
