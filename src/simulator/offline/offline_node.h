// Input of `berth simulate` and `berth explain`: a node made from files (or a running node's ledger), and pods.
#ifndef BERTH_SIMULATOR_OFFLINE_OFFLINE_NODE_H_
#define BERTH_SIMULATOR_OFFLINE_OFFLINE_NODE_H_

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "allocator/engine.h"
#include "base/result.h"
#include "model/ledger.h"
#include "model/machine.h"
#include "model/node_snapshot.h"
#include "model/pod.h"

namespace berth::offline {

/// What a running berthd says about its node.
struct RunningNode {
  std::string name;
  Machine machine;
  NodeView view;
  Ledger ledger;
  DeviceInventory devices;
};
/// Asks the berthd behind a socket.
using AskNode = std::function<Result<RunningNode>(const std::string& socket)>;

struct OfflineOptions {
  std::string machine;  ///< as machine::Load takes it; "": the ledger's node if that is a socket, else this host
  /// KubeletConfiguration file; "": the one `berth_config` names, the running node's, or the kubelet's defaults.
  std::string config;
  std::string berth_config;     ///< BerthConfiguration file: what bears on decisions; "": the running node's, or none
  std::string kubelet_version;  ///< as Name has it; "": of settings, running node, or the default
  std::string devices;          ///< device inventory file; "": no devices
  std::string ledger;           ///< ledger file, or the socket of a berthd; "": an empty node
  bool node_fit = true;         ///< also reject what exceeds node allocatable
  bool whole_cores = true;      ///< under full-pcpus-only never give a part of a core
  bool close_devices = false;   ///< among equal choices, devices that lie close together
  bool judge_by_free_memory = false;   ///< how few nodes a memory request needs is judged by what is free
  bool memory_groups_overlap = false;  ///< memory of several nodes and of one may share nodes
  bool pod_falls_back = false;         ///< in scope pod, container by container where the whole fits nowhere
  bool keep_rest_aligned = false;      ///< under best-effort, who has nodes in common keeps them
  bool look_ahead = false;             ///< container by container: other nodes where the first choice rejects
  AskNode ask;                         ///< used when `ledger` is a socket, and required then
};

/// A node, what is placed on it, and the devices it has.
struct OfflineNode {
  allocator::Node node;
  Ledger ledger;
  allocator::Inputs inputs;
  allocator::QueueRules queue{};  ///< of the settings named
  NodeConditions conditions;      ///< of a running node; a simulated one has none
  std::string node_name;          ///< of a running node; "": not known
};

/// Loads and checks all of it; warnings go to `err`.
/// Errors: as the parts; kInvalid when the ledger does not fit the machine and configuration. That only the reserved
/// CPUs were others when it was made is a warning.
Result<OfflineNode> LoadOfflineNode(const OfflineOptions& options, std::ostream& err);

/// Pods of a manifest file, "-" for standard input; warnings go to `err`. Pods without a uid get none here.
Result<std::vector<Pod>> LoadPods(const std::string& file, std::ostream& err);

}  // namespace berth::offline

#endif  // BERTH_SIMULATOR_OFFLINE_OFFLINE_NODE_H_
