// Return of a node to the kubelet: every container on all CPUs and memory nodes again, as if Berth had never been
// there.
#ifndef BERTH_FRONTEND_NRI_AGENT_GIVE_BACK_H_
#define BERTH_FRONTEND_NRI_AGENT_GIVE_BACK_H_

#include <cstddef>
#include <string>

#include "base/result.h"
#include "host/cgroup/cgroup.h"
#include "host/os/clock.h"

namespace berth::nri_agent {

struct GiveBackOptions {
  std::string socket;        ///< of the runtime
  std::string index = "50";  ///< as berthd's
  std::string root = "/";    ///< the groups of pods are below it
  std::string own_groups;    ///< /proc/self/cgroup: the container that this process may be in is left as it is
  os::Millis patience{30'000};
};

/// Joins the runtime, twice at least, and has it give each container all CPUs and memory nodes, in its own record too;
/// groups of sandboxes are written. A container that is made and does not run yet follows when it does, within five
/// seconds. Returns how many containers were changed. Requires: no berthd is joined. Errors: kTimeout: no runtime took
/// it in; else those of the tree. Thread: any; waits.
Result<std::size_t> GiveBack(cgroup::Tree& tree, const GiveBackOptions& options);

}  // namespace berth::nri_agent

#endif  // BERTH_FRONTEND_NRI_AGENT_GIVE_BACK_H_
