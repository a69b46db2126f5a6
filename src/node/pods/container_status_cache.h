// Container status cache: what the runtime has said, of each container the newest attempt, and all records it keeps.
#ifndef BERTH_NODE_PODS_CONTAINER_STATUS_CACHE_H_
#define BERTH_NODE_PODS_CONTAINER_STATUS_CACHE_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/os/clock.h"
#include "node/pods/managed_pod.h"
#include "runtime/lifecycle/runtime.h"

namespace berth::pods {

/// By container name, newest attempt.
using Statuses = std::map<std::string, runtime::ContainerStatus, std::less<>>;

/// Thread: the loop's only.
class ContainerStatusCache {
 public:
  ContainerStatusCache(runtime::Runtime& runtime, const os::Clock& clock) : runtime_(runtime), clock_(clock) {}

  /// Takes a status; returns that of the container before, nullopt: there was none.
  std::optional<runtime::ContainerStatus> Take(const runtime::ContainerStatus& status);
  const std::map<std::string, Statuses>& all() const { return statuses_; }  ///< by pod's uid
  bool Knows(const std::string& uid) const { return statuses_.contains(uid); }
  bool RunsSomething(const std::string& uid) const;
  /// Tells the pod's lifecycle what was known before it.
  void Recover(ManagedPod& managed, os::MonoTime now) const;
  /// One attempt has been followed by another. Errors: as Runtime::Forget.
  Result<void> Forget(const runtime::ContainerStatus& earlier);
  /// Nothing of the pod is left; returns what went wrong, a sentence each.
  std::vector<std::string> ForgetPod(const std::string& uid);

 private:
  runtime::Runtime& runtime_;
  const os::Clock& clock_;
  std::map<std::string, Statuses> statuses_;             // by uid
  std::map<std::string, std::vector<std::string>> ids_;  // uid -> runtime ids
};

}  // namespace berth::pods

#endif  // BERTH_NODE_PODS_CONTAINER_STATUS_CACHE_H_
