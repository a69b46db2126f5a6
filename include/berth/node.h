// A simulated node: a machine, a kubelet's settings, and the pods that have a place on it. It decides as berthd and the
// kubelet do; nothing of it reaches the kernel.
#ifndef BERTH_NODE_H_
#define BERTH_NODE_H_

#include <memory>
#include <string>
#include <string_view>

#include "base/id_set.h"
#include "base/quantity.h"
#include "base/result.h"
#include "model/decision.h"
#include "model/device.h"
#include "model/kubelet_config.h"
#include "model/kubelet_version.h"
#include "model/ledger.h"
#include "model/machine.h"
#include "model/own_rules.h"
#include "model/pod.h"
#include "model/trace.h"

namespace berth {

/// What a node has beside its machine.
struct NodeOptions {
  KubeletConfiguration settings =
      {};  ///< by default a kubelet's defaults, under which no container gets CPUs of its own
  DeviceInventory devices = {};
  KubeletVersion kubelet_version = kDefaultKubeletVersion;  ///< whose decisions are made
  bool node_fit = true;     ///< also reject what exceeds `allocatable` in sum (OutOfcpu, OutOfmemory, OutOfpods, ...)
  bool whole_cores = true;  ///< under full-pcpus-only never give a part of a core; false: the kubelet's formulas
  bool close_devices = false;          ///< among choices that are equal to a kubelet, devices that lie close together
  bool judge_by_free_memory = false;   ///< how few nodes pinned memory needs is judged by what is free
  bool memory_groups_overlap = false;  ///< pinned memory of several nodes and of one may share nodes
  bool pod_falls_back = false;         ///< in scope pod, container by container where the whole fits nowhere
  bool keep_rest_aligned = false;      ///< under best-effort, who has nodes in common keeps them
  bool look_ahead = false;             ///< container by container: other nodes where the first choice rejects
  OwnRules own = {};                   ///< options of the choice of CPUs, and what pods may ask for by annotation
};

/// Decides about pods, one after the other, and keeps the books. Pods are told apart by uid; one without a uid goes by
/// its "namespace/name". The same calls in the same order give the same answers, on every host.
///
/// Ownership: a value. A copy goes its own way from then on, and costs as much as the books are long: try on a copy
/// what must not happen to the original. A Node that was moved from may only be assigned to or destroyed. Thread: const
/// functions from any number at the same time, the others from one at a time.
class Node {
 public:
  /// Errors: kInvalid for settings that contradict each other or the machine, and for devices on nodes it does not
  /// have, each naming the setting.
  static Result<Node> Make(Machine machine, NodeOptions options = {});

  Node(const Node& other);
  Node& operator=(const Node& other);
  Node(Node&& other) noexcept;
  Node& operator=(Node&& other) noexcept;
  ~Node();

  // References live as long as the node; what they show changes only by the functions that are not const.

  const Machine& machine() const;
  const KubeletConfiguration& settings() const;
  const DeviceInventory& devices() const;
  const CpuSet& reserved_cpus() const;      ///< never given to a container alone; {} under CPU policy none
  const ResourceList& capacity() const;     ///< cpu, memory, hugepages-*, pods
  const ResourceList& allocatable() const;  ///< what pods may ask for in sum
  /// Every pod with its placements, and what is left: the shared pool, and memory by NUMA node.
  const Ledger& ledger() const;

  /// What Admit would answer. Changes nothing. A pod that has a place keeps it. `trace`: every step is appended, a
  /// sentence each; nullptr: nobody asks, which is faster.
  /// Requires: an API server's defaults are in place (ParsePods does that), no amount is negative.
  Decision Decide(const Pod& pod, Trace* trace = nullptr) const;

  /// Decides, and gives the pod its place unless the answer is Reject. It is for good: until Release.
  Decision Admit(const Pod& pod, Trace* trace = nullptr);

  /// Changes what a pod that has a place may use to what `pod` asks for, while it runs, unless the answer is Reject:
  /// its apps and sidecars keep every CPU they have when they grow, get no other when they shrink, and keep the nodes
  /// of their memory and their devices. Reject::reason is "Deferred" (it would fit if others gave something back) or
  /// "Infeasible". Requires: as Decide; nothing but amounts of CPU, memory and huge pages differs from what was
  /// admitted.
  Decision Resize(const Pod& pod, Trace* trace = nullptr);

  /// All containers of a pod were started: memory that only its init containers needed comes back. Without this call it
  /// stays the pod's. An unknown uid changes nothing.
  void InitContainersDone(std::string_view uid);

  /// The pod is gone: what it had comes back. `uid`: as it was admitted (FindPod has the record to a name). False:
  /// there is no such pod, and nothing has changed.
  bool Release(std::string_view uid, Trace* trace = nullptr);

  /// Why the pod would be placed where it is, or what stands in its way: what is short where, who holds it, the nearest
  /// request that would be admitted, and the fewest pods whose end would admit it. Text of several lines for people. A
  /// pod of that name that has a place is explained as if it had none. Takes as long as trying all that.
  std::string Explain(const Pod& pod) const;

  /// Devices as they are now: some became unhealthy, a plugin came or went. Containers keep what they have.
  /// Errors: kInvalid, a device without an id, listed twice, or on a NUMA node that is not there; nothing has changed.
  Result<void> SetDevices(DeviceInventory devices);

  /// Goes on from a ledger that was kept (ParseLedger) instead of the one in force. That other CPUs were reserved when
  /// it was made is no error: pods keep what they have. Errors: kInvalid when it was made on another machine or under
  /// other settings, or contradicts itself; nothing has changed.
  Result<void> Restore(Ledger ledger);

 private:
  struct Parts;
  explicit Node(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace berth

#endif  // BERTH_NODE_H_
