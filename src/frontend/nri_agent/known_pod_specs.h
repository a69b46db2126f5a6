// Pod specs of a kubelet from its API server: the containers of each pod and their requests.
#ifndef BERTH_FRONTEND_NRI_AGENT_KNOWN_POD_SPECS_H_
#define BERTH_FRONTEND_NRI_AGENT_KNOWN_POD_SPECS_H_

#include <map>
#include <string>
#include <utility>

#include "model/pod.h"

namespace berth::nri_agent {

/// Thread: one.
class Specs {
 public:
  /// Requires: `pod.uid` is the one by which its node knows it.
  void Set(const Pod& pod);
  void Forget(const std::string& name_space, const std::string& name);
  /// Of the pod: its containers with their requests and limits of CPUs, memory and huge pages, those of the pod itself,
  /// and its overhead. nullptr: not known.
  const Pod* Find(const std::string& uid) const;

 private:
  std::map<std::string, Pod> specs_;                                   // by uid
  std::map<std::pair<std::string, std::string>, std::string> uid_of_;  // by namespace and name
};

/// `pod` has the containers of `spec`, as it has them; those that only a runtime has shown, which are ephemeral ones,
/// are behind them.
void TakeSpec(Pod& pod, const Pod& spec);

}  // namespace berth::nri_agent

#endif  // BERTH_FRONTEND_NRI_AGENT_KNOWN_POD_SPECS_H_
