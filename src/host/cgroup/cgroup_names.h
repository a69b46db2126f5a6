// Cgroup names and paths of QoS classes, pods and containers, for each cgroup driver (rules/cgroups#names). Pure.
//
//   cgroupfs   kubepods/burstable/pod<uid>/<container>
//   systemd    kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod<uid>.slice/berth-<uid>-<container>.scope
#ifndef BERTH_HOST_CGROUP_CGROUP_NAMES_H_
#define BERTH_HOST_CGROUP_CGROUP_NAMES_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/pod.h"

namespace berth::cgroup {

enum class Driver { kCgroupfs, kSystemd };
std::string_view Name(Driver driver);  ///< "cgroupfs", "systemd"

/// On-disk form of a list of components: "/" + components joined by "/", or nested slices with '-' in a component
/// written as '_'. Empty list: "/". Errors: kInvalid for a component with '/' or '_'.
Result<std::string> PathOf(Driver driver, const std::vector<std::string>& components);
/// Components of an on-disk path: all of them, or those of the last slice.
std::vector<std::string> ComponentsOf(Driver driver, std::string_view path);

/// Names below one cgroup root. All paths are relative to that root.
class Names {
 public:
  /// The usual names: cgroupfs, root "/".
  Names() = default;
  /// `cgroup_root`: as configured, components separated by '/' for either driver. Without `per_qos` there are no levels
  /// above pods. Errors: kInvalid for a root that cannot be named.
  static Result<Names> Make(Driver driver, std::string_view cgroup_root, bool per_qos);

  Driver driver() const { return driver_; }
  bool per_qos() const { return per_qos_; }
  /// On-disk path of the root: what Tree::Open takes.
  const std::string& root() const { return root_; }
  /// The path of one of our groups from the top of its hierarchy; as CRI has it in `cgroup_parent`
  /// (rules/cgroups#names; with systemd runtimes take its last part).
  std::string FromTop(std::string_view path) const { return (root_ == "/" ? "" : root_) + "/" + std::string(path); }
  /// The classes whose Qos() is a group that pods are made in, the group of all pods first.
  std::vector<QosClass> Tiers() const;
  /// Group of all pods (kGuaranteed) or of a class; "" without levels per QoS.
  std::string Qos(QosClass qos) const;
  std::string Pod(QosClass qos, std::string_view uid) const;
  /// `pod_path`: as returned by Pod or found on disk.
  std::string Container(std::string_view pod_path, std::string_view name) const;
  /// Group of berthd, and of the supervisors unless Runtime() is another.
  std::string Own() const;
  /// Group of the supervisors of containers.
  std::string Runtime() const { return runtime_.empty() ? Own() : runtime_; }
  /// Settings name these groups by their path from the top of the hierarchy. Such a group is its operator's: never
  /// removed. Errors: kInvalid when it cannot be Berth's: outside of the root, where pods are, or no scope though the
  /// driver is systemd.
  Result<void> NameOwn(std::string_view path);
  Result<void> NameRuntime(std::string_view path);
  bool own_is_named() const { return !own_.empty(); }
  /// Uid of the pod whose group is called `group` (last component); nullopt: not a pod's.
  std::optional<std::string> PodUid(std::string_view group) const;
  /// Name of the container whose group is called `group`, below the group of pod `uid`; nullopt: not a container's.
  std::optional<std::string> ContainerName(std::string_view uid, std::string_view group) const;

 private:
  std::string Below(const std::vector<std::string>& components) const;
  Result<std::string> BelowRoot(std::string_view path) const;

  Driver driver_ = Driver::kCgroupfs;
  std::vector<std::string> root_components_;
  std::string root_ = "/";
  std::string own_;      // "": the usual one
  std::string runtime_;  // "": berthd's
  bool per_qos_ = true;
};

}  // namespace berth::cgroup

#endif  // BERTH_HOST_CGROUP_CGROUP_NAMES_H_
