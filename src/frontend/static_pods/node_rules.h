// Node restrictions on pods beside resources: kernel settings, runtime classes, profiles.
#ifndef BERTH_FRONTEND_STATIC_PODS_NODE_RULES_H_
#define BERTH_FRONTEND_STATIC_PODS_NODE_RULES_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "host/os/capabilities.h"
#include "model/decision.h"
#include "model/pod.h"

namespace berth::pods {

struct NodeRules {
  bool restart_rules = true;  ///< the gate ContainerRestartRules: containers may have a restart policy of their own
  /// That a plain process can be given; what berthd lacks it cannot give.
  os::CapabilitySet capabilities = os::kAllCapabilities;
  bool has_sandboxes = false;  ///< the runtime makes namespaces for pods; else nothing of the following is looked at
  std::vector<std::string> unsafe_sysctls;             ///< allowed ones: names, or beginnings that end in "*"
  std::map<std::string, std::string> runtime_classes;  ///< to handlers of the runtime
  bool app_armor = false;                              ///< the kernel has it
  bool strict_groups = false;                          ///< the runtime knows supplementalGroupsPolicy
  /// Handlers of the runtime ("": the default one) that make all below a mount read-only.
  std::set<std::string> recursive_read_only;
};

struct Refusal {
  std::string path;  ///< of the field: "spec.runtimeClassName"
  Reject why;
};

/// Why a pod may not run on this node whatever is free, in the kubelet's words where it has some: every reason; empty:
/// it may.
std::vector<Refusal> WhyRefused(const Pod& pod, const NodeRules& rules);

/// Where `pod` asks for a port of the node that `other` has, as "8080/TCP"; "": nowhere. A pod in the node's network
/// asks for all ports that it names.
std::string SharedHostPort(const Pod& pod, const Pod& other);

/// Both as one answer: of what the rules say, and of ports that one of `placed`, the other pods with a place, has.
/// nullopt: the pod may run here when there is room.
std::optional<Reject> RefusalOf(const Pod& pod, const NodeRules& rules, const std::vector<const Pod*>& placed);

/// "net/ipv4/ip_forward" as "net.ipv4.ip_forward".
std::string SysctlName(std::string_view name);

}  // namespace berth::pods

#endif  // BERTH_FRONTEND_STATIC_PODS_NODE_RULES_H_
