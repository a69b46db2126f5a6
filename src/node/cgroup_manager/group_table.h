// Table of the cgroups of pods and containers: their paths, and the pod and container each belongs to.
#ifndef BERTH_NODE_CGROUP_MANAGER_GROUP_TABLE_H_
#define BERTH_NODE_CGROUP_MANAGER_GROUP_TABLE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "model/pod.h"
#include "node/cgroup_manager/site.h"

namespace berth::cgroup_manager {

/// A container's group found or made.
struct ContainerGroup {
  std::string uid;
  std::string container;  ///< "": the sandbox of a runtime that makes groups
  friend bool operator==(const ContainerGroup&, const ContainerGroup&) = default;
};

/// All groups that are known.
struct Groups {
  std::map<std::string, std::string> pods;                        ///< uid -> path
  std::map<std::string, ContainerGroup, std::less<>> containers;  ///< by path
  std::set<std::string> taken_over;                               ///< paths of pods somebody else made
  /// Containers by id of a runtime that makes groups: uid -> id -> container.
  std::map<std::string, std::map<std::string, std::string>> ids;
};

/// Thread: one.
class GroupTable {
 public:
  explicit GroupTable(const Site& site, Groups groups = {}) : site_(site), groups_(std::move(groups)) {}

  /// `watch` is called with the cpuset directory of each group when it is made or found, to see who writes there.
  void set_watch(std::function<void(const std::string& dir)> watch) { watch_ = std::move(watch); }
  void Watch(std::string_view path) const { watch_(CpusetDir(path)); }

  const Groups& all() const { return groups_; }
  /// Changes whenever all() does.
  std::uint64_t changes() const { return changes_; }
  const std::map<std::string, std::string>& pods() const { return groups_.pods; }  ///< uid -> path
  const std::map<std::string, ContainerGroup, std::less<>>& containers() const { return groups_.containers; }
  /// Containers by id of a runtime that makes groups: id -> container.
  const std::map<std::string, std::string>& IdsOf(const std::string& uid) const;
  bool IsTakenOver(const std::string& pod_path) const { return groups_.taken_over.contains(pod_path); }

  void KnowPod(const std::string& uid, const std::string& path);
  /// Requires: it is below its pod's, where that is known.
  void Know(const std::string& path, ContainerGroup group);
  /// `id` is a container of ours, or with container "" the pod's sandbox. True: that is new.
  bool KnowId(const std::string& uid, const std::string& container, const std::string& id);
  /// That container is gone for good.
  void ForgetId(const std::string& uid, const std::string& id);
  /// A pod somebody else made is kept in the shared pool from now on.
  void TakeOver(const std::string& pod_path);
  /// Of a pod's containers only those at `paths` are left.
  void KeepOnly(const std::string& uid, const std::set<std::string>& paths);
  /// Nothing of the pod is left.
  void Forget(const std::string& uid);
  /// A group of that pod is being made: until it is finished, given up (both: SetFinished) or the pod is forgotten,
  /// what it holds is nobody else's doing.
  void SetUnfinished(const std::string& path, const std::string& uid);
  void SetFinished(const std::string& path) { unfinished_.erase(path); }
  bool IsUnfinished(const std::string& path) const { return unfinished_.contains(path); }
  /// Those taken over whose group is none of `paths` any more are gone.
  void KeepTakenOver(const std::set<std::string>& paths);

  /// Path of a pod's group: where it was found, else where it belongs.
  std::string PodPathOf(const Pod& pod) const;
  std::string ContainerPathOf(const Pod& pod, std::string_view container) const;
  /// Path of a container's group that was found, or is called as Berth calls those it makes; nullopt: there is none.
  std::optional<std::string> HomeOf(const Pod& pod, std::string_view container) const {
    return site_.ownership().HomeOf(site_, *this, pod, container);
  }
  /// Path of a container's group that is known below its pod's; nullptr: none is.
  const std::string* FindContainer(const std::string& pod_path, std::string_view uid, std::string_view container) const;
  /// Where the kernel keeps the cpuset of a group; "" where there is no kernel.
  std::string CpusetDir(std::string_view path) const;
  /// The group whose cpuset directory this is; nullopt: none below the root.
  std::optional<std::string> GroupOf(std::string_view dir) const;

 private:
  void EraseContainers(const std::string& uid, const std::set<std::string>& kept);

  const Site& site_;
  Groups groups_;
  std::uint64_t changes_ = 0;
  std::map<std::string, std::string> unfinished_;  // path -> uid
  std::set<std::string> moved_;                    // uids whose group was elsewhere before: so may their containers' be
  std::function<void(const std::string&)> watch_ = [](const std::string&) {};
};

}  // namespace berth::cgroup_manager

#endif  // BERTH_NODE_CGROUP_MANAGER_GROUP_TABLE_H_
