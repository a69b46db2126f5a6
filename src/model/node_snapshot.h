// The node at one moment: what everybody but the loop reads. Immutable; parts that did not change are shared between
// one snapshot and the next.
#ifndef BERTH_MODEL_NODE_SNAPSHOT_H_
#define BERTH_MODEL_NODE_SNAPSHOT_H_

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/id_set.h"
#include "base/quantity.h"
#include "model/daemon_status.h"
#include "model/device.h"
#include "model/event.h"
#include "model/kubelet_version.h"
#include "model/ledger.h"
#include "model/machine.h"
#include "model/node_conditions.h"
#include "model/node_figures.h"
#include "model/own_rules.h"
#include "model/pod.h"
#include "model/pod_view.h"
#include "model/trace.h"

namespace berth {

/// What the node may give away, and by which policies.
struct NodeView {
  ResourceList capacity;
  ResourceList allocatable;
  CpuSet reserved_cpus;
  CpuSet all_cpus;
  std::string cpu_policy;  ///< policies as the KubeletConfiguration names them
  std::string memory_policy;
  std::string topology_policy;
  std::string topology_scope;
  KubeletVersion kubelet_version = KubeletVersion::k1_36;  ///< whose decisions are made
  bool node_fit = true;                                    ///< what exceeds `allocatable` is refused
  bool whole_cores = true;                                 ///< full-pcpus-only never gives a part of a core
  bool close_devices = false;                              ///< among equal choices, devices that lie close together
  bool judge_by_free_memory = false;   ///< how few nodes a memory request needs is judged by what is free
  bool memory_groups_overlap = false;  ///< memory of several nodes and of one may share nodes
  bool pod_falls_back = false;         ///< in scope pod, container by container where the whole fits nowhere
  bool keep_rest_aligned = false;      ///< under best-effort, who has nodes in common keeps them
  bool look_ahead = false;             ///< container by container: other nodes where the first choice rejects
  bool preempts_for_critical = false;  ///< others are evicted for a critical pod that does not fit
  OwnRules own{};                      ///< options and pods' policies beyond the kubelet's
  std::string kubelet_configuration;   ///< text berthd was started with; "" for the defaults
  NodeConditions conditions;
  friend bool operator==(const NodeView&, const NodeView&) = default;
};

/// A pod in a snapshot. Nothing is null; each part is the one of the snapshot before as long as it is equal.
struct PodSnapshot {
  std::shared_ptr<const PodView> view;
  std::shared_ptr<const Pod> manifest;
  std::shared_ptr<const Trace> trace;  ///< of the last decision
  /// `manifest` is one; else it is made up from what ledger or runtime hold.
  bool claimed = false;
};

/// Nothing is null.
struct NodeSnapshot {
  std::shared_ptr<const Machine> machine;
  std::shared_ptr<const NodeView> node;
  std::shared_ptr<const Ledger> ledger;
  CpuSet shared;                                                    ///< CPUs of everything without CPUs of its own
  std::shared_ptr<const DeviceInventory> devices;                   ///< as plug-ins told last
  std::vector<PodSnapshot> pods;                                    ///< by namespace and name
  std::shared_ptr<const std::map<std::string, std::string>> files;  ///< full name -> manifest file
  std::shared_ptr<const std::vector<std::shared_ptr<const Event>>> events;  ///< those in memory, oldest first
  std::shared_ptr<const DaemonStatus> status;                               ///< without the history
  std::shared_ptr<const NodeFigures> figures;
};

/// The pod of that name; nullptr if none.
const PodSnapshot* FindPod(const NodeSnapshot& snapshot, std::string_view namespace_, std::string_view name);

}  // namespace berth

#endif  // BERTH_MODEL_NODE_SNAPSHOT_H_
