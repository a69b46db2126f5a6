// Cgroups of a kubelet's containers: found once the runtime has made them, and given the CPUs and memory nodes that the
// ledger has for them.
#ifndef BERTH_FRONTEND_NRI_AGENT_CONTAINER_GROUPS_H_
#define BERTH_FRONTEND_NRI_AGENT_CONTAINER_GROUPS_H_

#include <string>
#include <vector>

#include "frontend/nri_agent/container_key.h"
#include "frontend/nri_agent/tracked_containers.h"
#include "node/core/node_core.h"
#include "rpc/nri/nri_values.h"

namespace berth::nri_agent {

/// Thread: the loop's only.
class ContainerGroups {
 public:
  /// Both outlive it.
  ContainerGroups(core::Node& node, TrackedContainers& tracked) : node_(node), tracked_(tracked) {}

  /// Finds those of a pod of the node that the runtime has made by now: of its sandbox, and of containers that have
  /// been started. Before that a runtime is at work on a container's group, also one that was killed and left it to a
  /// program of its own; what it holds meanwhile is nobody's mistake, and nothing runs there. `listed`: names of all
  /// groups below the pod's, where they were just read.
  void Find(const nri::Pod& pod, const std::vector<std::string>* listed = nullptr);
  /// nullptr: its group is not known.
  const std::string* PathOf(const ContainerKey& who) const;
  /// Writes what the ledger has for the container, if its group is known.
  void Apply(const ContainerKey& who, cgroup_manager::Runs runs);
  /// A group below a pod's has come, or its CPUs were written, and the table does not have it: it is kept off the CPUs
  /// of others, also off what is just being given away. Whoever made it may write its CPUs once more; that is a call
  /// of this again.
  void Confine(const std::string& path);

  CpuSet CpusOf(const ContainerKey& who) const;
  /// As the runtime is told.
  nri::Resources ResourcesOf(const ContainerKey& who) const;

 private:
  core::Node& node_;
  TrackedContainers& tracked_;
};

}  // namespace berth::nri_agent

#endif  // BERTH_FRONTEND_NRI_AGENT_CONTAINER_GROUPS_H_
