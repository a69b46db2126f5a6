// The engine: decisions about pods on one node. Pure: no I/O, clock, environment, globals or logging; the same input
// gives the same bytes. Every choice can say why through the Trace.
#ifndef BERTH_ENGINE_ENGINE_H_
#define BERTH_ENGINE_ENGINE_H_

#include <memory>
#include <string_view>

#include "base/result.h"
#include "model/decision.h"
#include "model/device.h"
#include "model/kubelet_config.h"
#include "model/ledger.h"
#include "model/machine.h"
#include "model/pod.h"
#include "model/trace.h"

namespace berth::engine {

struct NodeTables;  // indexes built once per machine and configuration; private to the engine

/// Berth's own settings of the engine, beside the kubelet's.
struct EngineOptions {
  bool node_fit = true;  ///< also reject what exceeds node allocatable (OutOfcpu, OutOfmemory, OutOfpods, OutOf<res>),
                         ///< and Make refuses a reservation above capacity or, strict, of all CPUs
  friend bool operator==(const EngineOptions&, const EngineOptions&) = default;
};

/// A machine and its settings, checked against each other and indexed for deciding. Immutable; cheap to copy (shared).
/// Thread: any.
class Node {
 public:
  /// Errors: kInvalid with the kubelet's words for everything it refuses at construction (unknown policy or option,
  /// refused option pairs, reserved CPUs that do not exist, reservedMemory that does not add up, too many NUMA nodes,
  /// reservation above capacity), each naming the setting.
  static Result<Node> Make(Machine machine, KubeletConfiguration config, EngineOptions options = {});

  const Machine& machine() const;
  const KubeletConfiguration& config() const;
  const EngineOptions& options() const;
  const NodeTables& tables() const { return *tables_; }

  const CpuSet& all_cpus() const;       ///< every CPU the engine may hand out or share
  const CpuSet& reserved_cpus() const;  ///< reserved by list or count; {} under CPU policy none
  /// The shared pool while no container has CPUs for itself: under strict reservation without the reserved ones, {}
  /// under CPU policy none.
  CpuSet pool_cpus() const;
  /// What pods may ask for in sum (spec devices-cgroups 2.3): cpu, memory, hugepages-*, pods.
  const ResourceList& capacity() const;
  const ResourceList& allocatable() const;

  /// The ledger of a node where nothing runs.
  Ledger EmptyLedger() const;

 private:
  std::shared_ptr<const NodeTables> tables_;
};

/// What changes from call to call beside the ledger.
struct Inputs {
  DeviceInventory devices;
  /// GetPreferredAllocation's answers, when a plugin gave some: resource -> ids in the order to prefer.
  std::map<std::string, std::vector<std::string>, std::less<>> preferred_devices;
};

/// Decides one pod. Idempotent for a pod that is already in the ledger (re-admission after a restart keeps what it
/// has). Requires: `ledger` was made from node.EmptyLedger() by deltas of this node (or adopted by state). On Reject
/// nothing is taken.
Decision Decide(const Node& node, const Ledger& ledger, const Pod& pod, const Inputs& inputs, Trace* trace);

/// What comes back when a pod is gone: its CPUs, memory and devices. A pod that is not in the ledger gives a delta that
/// changes nothing.
LedgerDelta Release(const Node& node, const Ledger& ledger, std::string_view uid, Trace* trace);

/// A container of an admitted pod is about to start: the ordinary init containers before it are over and their memory
/// (not their CPUs) comes back, as in the kubelet (spec 4.7). A delta that changes nothing if there is nothing to give.
LedgerDelta ContainerStarted(const Node& node, const Ledger& ledger, std::string_view uid, std::string_view container,
                             Trace* trace);

/// Refuses devices on NUMA nodes the machine does not have, without an id, or listed twice. Decide ignores such nodes.
/// Errors: kInvalid naming resource and device.
Result<void> CheckDevices(const Node& node, const DeviceInventory& devices);

}  // namespace berth::engine

#endif  // BERTH_ENGINE_ENGINE_H_
