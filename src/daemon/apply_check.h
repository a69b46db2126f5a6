// Node-specific validation of manifests for `berth apply`: kernel settings, runtime classes and profiles of this node,
// beside the checks of manifest/, which hold on every node.
#ifndef BERTH_DAEMON_APPLY_CHECK_H_
#define BERTH_DAEMON_APPLY_CHECK_H_

#include <string>
#include <vector>

#include "frontend/static_pods/node_rules.h"
#include "manifest/pod_options.h"
#include "model/device.h"
#include "model/pod.h"

namespace berth::daemon {

/// Where profiles are that a manifest names; "": they are not looked for.
struct ProfilePlaces {
  std::string seccomp;                                               ///< the folder of profiles of type Localhost
  std::string app_armor = "/sys/kernel/security/apparmor/profiles";  ///< the kernel's list of those that are loaded
};

struct ApplyRules {
  manifest::PodOptions pods;  ///< how strictly they are read
  pods::NodeRules node;
  ProfilePlaces profiles;
  std::string node_name;       ///< what pods' names get appended
  std::string cluster_domain;  ///< of their host names
};

/// What the node's devices are asked for by: of each kind that has some.
std::vector<std::string> DeviceResources(const DeviceInventory& devices);

/// Why the pod would be rejected or never start here whatever is free, with the cure; empty: it may. Reads files: not
/// for the loop.
std::vector<manifest::FieldProblem> CheckOnNode(const Pod& pod, const ApplyRules& rules);

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_APPLY_CHECK_H_
