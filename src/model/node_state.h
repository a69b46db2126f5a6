// The state of a node as it is published: all that a scheduler needs to decide with the node's own engine.
#ifndef BERTH_MODEL_NODE_STATE_H_
#define BERTH_MODEL_NODE_STATE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/time_text.h"
#include "base/units.h"
#include "model/device.h"
#include "model/kubelet_config.h"
#include "model/kubelet_version.h"
#include "model/ledger.h"
#include "model/machine.h"
#include "model/own_rules.h"

namespace berth {

struct NodeState {
  std::string node;              ///< its name in the cluster
  std::string berth_version;     ///< of the program that wrote it
  std::uint64_t generation = 0;  ///< grows with each change that is published
  std::optional<WallTime> time;  ///< of that change
  Machine machine;
  KubeletConfiguration config;                             ///< only what decisions rest on; the rest has its defaults
  KubeletVersion kubelet_version = KubeletVersion::k1_36;  ///< whose decisions are made
  bool node_fit = true;
  bool whole_cores = false;
  bool close_devices = false;
  bool judge_by_free_memory = false;
  bool memory_groups_overlap = false;
  bool pod_falls_back = false;
  bool keep_rest_aligned = false;
  bool look_ahead = false;
  OwnRules own{};  ///< options and pods' policies beyond the kubelet's
  DeviceInventory devices;
  Ledger ledger;
  friend bool operator==(const NodeState&, const NodeState&) = default;
};

/// Without what no decision rests on, and without what is nobody's business: what devices bring to containers, the boot
/// id, PCI devices where they decide nothing, settings of other things than resources. Devices are sorted by id. The
/// machine is no longer this host.
NodeState Compact(NodeState state);

/// The largest amount of memory (or of anything) that a published state may name; sums of what fits into one state do
/// not overflow.
inline constexpr Bytes kMostBytes{std::int64_t{1} << 48};

/// Whether a state that came from somewhere holds together: amounts that can be added up, ids that are there once, a
/// ledger of this machine's CPUs and nodes that does not contradict itself. What settings say, and where devices are,
/// is checked by who makes an allocator::Node of it. Errors: kInvalid with the field.
Result<void> CheckNodeState(const NodeState& state);

}  // namespace berth

#endif  // BERTH_MODEL_NODE_STATE_H_
