// State of a static pod that only its start needs, beside what the node core knows of it (node/pods/managed_pod.h).
#ifndef BERTH_FRONTEND_STATIC_PODS_STATIC_POD_STATE_H_
#define BERTH_FRONTEND_STATIC_PODS_STATIC_POD_STATE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "frontend/static_pods/pre_start.h"
#include "host/os/clock.h"
#include "runtime/lifecycle/env.h"
#include "runtime/lifecycle/runtime.h"

namespace berth::pods {

/// What a container mounts, made on another thread for one attempt.
struct Mounting {
  int attempt = 0;
  std::optional<Result<std::vector<runtime::BoundMount>>> made;  ///< nullopt: under way
};

/// Whether the words of a pod's containers together are within bounds, with what is known of node and documents.
struct WordsLook {
  runtime::NodeFacts facts;
  Result<void> outcome;
};

struct StaticPodState {
  std::optional<WordsLook> words;              ///< nullopt: not looked at yet
  std::map<std::string, os::MonoTime> dying;   ///< containers whose leftovers were killed and not seen to end yet
  std::set<std::string> making;                ///< containers for whose groups systemd is being asked
  std::map<std::string, Mounting> mounting;    ///< of containers that wait for what they mount
  std::map<std::string, PreStart> pre_starts;  ///< by container
  std::uint64_t documents = 0;                 ///< DocumentBook::revision() its volumes were made of
};

}  // namespace berth::pods

#endif  // BERTH_FRONTEND_STATIC_PODS_STATIC_POD_STATE_H_
