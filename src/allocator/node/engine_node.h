// A machine and its settings, ready for decisions.
#ifndef BERTH_ALLOCATOR_NODE_ENGINE_NODE_H_
#define BERTH_ALLOCATOR_NODE_ENGINE_NODE_H_

#include <memory>

#include "allocator/node/engine_options.h"
#include "base/id_set.h"
#include "base/quantity.h"
#include "base/result.h"
#include "model/kubelet_config.h"
#include "model/kubelet_rules.h"
#include "model/ledger.h"
#include "model/machine.h"

namespace berth::allocator {

struct NodeTables;  // indexes built once per machine and configuration; private to the engine

/// A machine and its settings, checked against each other and indexed for deciding. Immutable; cheap to copy (shared).
/// Thread: any.
class Node {
 public:
  /// Errors: kInvalid with the kubelet's words for everything it refuses at construction (unknown policy or option,
  /// refused option pairs, reserved CPUs that do not exist, reservedMemory that does not add up, too many NUMA nodes,
  /// reservation above capacity), each naming the setting, all that do not follow from another, a line each.
  static Result<Node> Make(Machine machine, KubeletConfiguration config, EngineOptions options = {});

  const Machine& machine() const;
  const KubeletConfiguration& config() const;
  const EngineOptions& options() const;
  const KubeletRules& kubelet() const;  ///< of the version that the options name
  const NodeTables& tables() const { return *tables_; }

  const CpuSet& all_cpus() const;       ///< every CPU the engine may hand out or share
  const CpuSet& reserved_cpus() const;  ///< reserved by list or count; {} under CPU policy none
  const CpuSet& apart_cpus() const;     ///< isolated, for exclusive use alone; {} unless the node's options say so
  /// The shared pool while no container has CPUs for itself: under strict reservation without the reserved ones, {}
  /// under CPU policy none.
  CpuSet pool_cpus() const;
  /// What pods may ask for in sum (rules/cgroups#node-allocatable): cpu, memory, hugepages-*, pods.
  const ResourceList& capacity() const;
  const ResourceList& allocatable() const;

  /// The ledger of a node where nothing runs.
  Ledger EmptyLedger() const;

 private:
  std::shared_ptr<const NodeTables> tables_;
};

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_NODE_ENGINE_NODE_H_
