// Shared context of cgroup enforcement: the tree, the names of its groups, and what settings say about their values.
#ifndef BERTH_NODE_CGROUP_MANAGER_SITE_H_
#define BERTH_NODE_CGROUP_MANAGER_SITE_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "allocator/engine.h"
#include "base/result.h"
#include "host/cgroup/cgroup.h"
#include "host/cgroup/cgroup_names.h"
#include "host/cgroup/node_values.h"
#include "host/cgroup/pod_cgroup_values.h"

namespace berth::cgroup_manager {

/// Which groups below the tree's root are Berth's: it makes them, says all that they hold, and removes them.
enum class Ownership : std::uint8_t {
  kAll,   ///< those of tiers, pods and containers
  kPods,  ///< those of tiers and pods; a runtime makes those of containers, and names them after ids
  kNone,  ///< a kubelet makes them: of containers CPUs and memory nodes are written, and nothing else
};

/// What is known of a site beside tree and node.
struct SiteFacts {
  cgroup::Names names;
  cgroup::ValueOptions options{};
  cgroup::NodeShares shares{};
  Ownership ownership = Ownership::kAll;
  bool has_own_groups = false;
};

/// Thread: one.
class Site {
 public:
  /// `tree` outlives it; names are those of its root.
  Site(cgroup::Tree& tree, allocator::Node node, SiteFacts facts)
      : tree_(tree), node_(std::move(node)), facts_(std::move(facts)) {}
  Site(const Site&) = delete;
  Site& operator=(const Site&) = delete;

  cgroup::Tree& tree() const { return tree_; }
  const allocator::Node& node() const { return node_; }
  const SiteFacts& facts() const { return facts_; }
  const cgroup::Names& names() const { return facts_.names; }
  const cgroup::ValueOptions& options() const { return facts_.options; }
  const cgroup::NodeShares& shares() const { return facts_.shares; }
  bool v2() const { return tree_.layout().version == cgroup::Version::kV2; }
  /// Of v1, as they also are on most hosts that have a v2 hierarchy beside the others (hybrid).
  bool has_v1_cpusets() const {
    return std::ranges::any_of(tree_.layout().controllers, [](const cgroup::ControllerMount& each) {
      return each.controller == "cpuset" && !each.v2;
    });
  }

  /// Groups of tiers and pods are Berth's.
  bool owns_pods() const { return facts_.ownership != Ownership::kNone; }
  /// Those of containers are.
  bool owns_containers() const { return facts_.ownership == Ownership::kAll; }

  /// Works out options and shares. Errors: of reading what values depend on.
  Result<void> ReadSettings();
  /// The same for a node that has other CPUs now.
  Result<void> SetNode(allocator::Node node);

  /// Groups of berthd and of the supervisors, while they are there.
  std::vector<std::string> OwnGroups() const;
  void set_has_own_groups(bool has) { facts_.has_own_groups = has; }
  /// Whether a group lies below the class Burstable or BestEffort.
  bool BelowTier(std::string_view path) const;
  /// Whether that class holds the shared pool for its containers: v2, where they inherit it.
  bool BelowPoolTier(std::string_view path) const { return v2() && owns_pods() && BelowTier(path); }
  /// Whether a pod's group has a cpuset of its own, what its containers may use: those of pods that may have CPUs of
  /// their own. When the last of a container's own CPUs goes offline, the kernel lets it onto those of the group above
  /// at once, on v1 by moving its processes there. These must be nobody else's.
  bool KeepsPodToItsCpus(std::string_view pod_path) const {
    return owns_pods() && (!owns_containers() || !BelowTier(pod_path));
  }
  /// The call that failed with this is only under way, and to be repeated (cgroup::Tree::WaitBehind).
  bool IsUnderWay(const Error& error) const { return error.code == Code::kBusy && tree_.asking(); }
  /// A group that is gone needs no values: success.
  Result<void> WriteUnlessGone(const std::string& path, const CgroupValues& values) const;

 private:
  cgroup::Tree& tree_;
  allocator::Node node_;
  SiteFacts facts_;
};

}  // namespace berth::cgroup_manager

#endif  // BERTH_NODE_CGROUP_MANAGER_SITE_H_
