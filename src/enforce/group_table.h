// Which groups of pods and containers there are, and whose they are.
#ifndef BERTH_ENFORCE_GROUP_TABLE_H_
#define BERTH_ENFORCE_GROUP_TABLE_H_

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "enforce/site.h"
#include "model/pod.h"

namespace berth::enforce {

/// A container's group found or made.
struct ContainerGroup {
  std::string uid;
  std::string container;  ///< "": the sandbox of a runtime that makes groups
  friend bool operator==(const ContainerGroup&, const ContainerGroup&) = default;
};

/// Thread: the loop's only.
class GroupTable {
 public:
  explicit GroupTable(const Site& site) : site_(site) {}

  /// `watch` is called with the cpuset directory of each group when it is made or found, to see who writes there.
  void set_watch(std::function<void(const std::string& dir)> watch) { watch_ = std::move(watch); }
  void Watch(std::string_view path) const { watch_(CpusetDir(path)); }

  const std::map<std::string, std::string>& pods() const { return pods_; }                              ///< uid -> path
  const std::map<std::string, ContainerGroup, std::less<>>& containers() const { return containers_; }  ///< by path
  /// Containers by id of a runtime that makes groups: id -> container.
  const std::map<std::string, std::string>& IdsOf(const std::string& uid) const;
  bool IsTakenOver(const std::string& pod_path) const { return taken_over_.contains(pod_path); }

  void KnowPod(const std::string& uid, const std::string& path);
  void Know(const std::string& path, ContainerGroup group);
  /// `id` is a container of ours, or with container "" the pod's sandbox. True: that is new.
  bool KnowId(const std::string& uid, const std::string& container, const std::string& id);
  /// A pod somebody else made is kept in the shared pool from now on.
  void TakeOver(const std::string& pod_path) { taken_over_.insert(pod_path); }
  /// Of a pod's containers only those at `paths` are left.
  void KeepOnly(const std::string& uid, const std::set<std::string>& paths);
  /// Nothing of the pod is left.
  void Forget(const std::string& uid);
  /// Those taken over whose group is none of `paths` any more are gone.
  void KeepTakenOver(const std::set<std::string>& paths);

  /// Path of a pod's group: where it was found, else where it belongs.
  std::string PodPathOf(const Pod& pod) const;
  std::string ContainerPathOf(const Pod& pod, std::string_view container) const;
  /// Where the kernel keeps the cpuset of a group; "" where there is no kernel.
  std::string CpusetDir(std::string_view path) const;
  /// The group whose cpuset directory this is; nullopt: none below the root.
  std::optional<std::string> GroupOf(std::string_view dir) const;

 private:
  const Site& site_;
  std::map<std::string, std::string> pods_;
  std::map<std::string, ContainerGroup, std::less<>> containers_;
  std::set<std::string> taken_over_;                               // paths of foreign pods
  std::map<std::string, std::map<std::string, std::string>> ids_;  // uid -> id -> container
  std::function<void(const std::string&)> watch_ = [](const std::string&) {};
};

}  // namespace berth::enforce

#endif  // BERTH_ENFORCE_GROUP_TABLE_H_
