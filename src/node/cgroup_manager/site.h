// Shared context of cgroup enforcement: the tree, the names of its groups, and what settings say about their values.
#ifndef BERTH_NODE_CGROUP_MANAGER_SITE_H_
#define BERTH_NODE_CGROUP_MANAGER_SITE_H_

#include <algorithm>
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
#include "node/cgroup_manager/ownership.h"

namespace berth::cgroup_manager {

/// What is known of a site beside tree and node.
struct SiteFacts {
  cgroup::Names names;
  cgroup::ValueOptions options{};
  cgroup::NodeShares shares{};
  const Ownership* ownership = nullptr;
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

  const Ownership& ownership() const { return *facts_.ownership; }
  /// Those that are Berth's; empty also without levels per QoS.
  std::vector<QosClass> tiers() const { return ownership().Tiers(names()); }

  /// Works out options and shares. Errors: of reading what values depend on.
  Result<void> ReadSettings();
  /// The same for a node that has other CPUs now.
  Result<void> SetNode(allocator::Node node);

  /// Groups of berthd and of the supervisors, while they are there.
  std::vector<std::string> OwnGroups() const;
  void set_has_own_groups(bool has) { facts_.has_own_groups = has; }
  /// Whether a group lies below the class Burstable or BestEffort, and that is Berth's.
  bool BelowTier(std::string_view path) const;
  /// Whether that class holds the shared pool for its containers: v2, where they inherit it.
  bool BelowPoolTier(std::string_view path) const { return v2() && BelowTier(path); }
  /// Whether a pod's group has a cpuset of its own, what its containers may use: those of pods that may have CPUs of
  /// their own. When the last of a container's own CPUs goes offline, the kernel lets it onto those of the group above
  /// at once, on v1 by moving its processes there. These must be nobody else's.
  bool KeepsPodToItsCpus(std::string_view pod_path) const { return ownership().KeepsPodToItsCpus(*this, pod_path); }
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
