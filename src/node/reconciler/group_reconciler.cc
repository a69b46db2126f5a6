#include "node/reconciler/group_reconciler.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace berth::reconciler {

void GroupReconciler::LookForForeignGroups() {
  const auto foreign = groups_.ownership().FindForeign(groups_.discovery());
  if (!foreign) return events_.Warning("FailedCgroupUpdate", allocations_.ObjectOfNode(), foreign.error().message);
  std::erase_if(foreign_groups_,
                [&](const std::string& path) { return std::ranges::find(*foreign, path) == foreign->end(); });
  for (const std::string& path : *foreign) {
    if (adopt_unknown_)
      TakeOver(path);
    else if (foreign_groups_.insert(path).second)
      events_.Warning("UnknownGroup", "cgroup/" + path,
                      "Berth did not make this group and leaves it alone; it may use every CPU of the group above");
  }
}

void GroupReconciler::TakeOver(const std::string& path) {
  if (auto taken = groups_.discovery().TakeOver(path); !taken)
    return events_.Warning("FailedCgroupUpdate", "cgroup/" + path, taken.error().message);
  events_.Warning("UnknownGroup", "cgroup/" + path,
                  "Berth did not make this group; its containers are kept in the shared pool from now on");
  pool_.Changed();
}

/// A group that is there at two looks is no container of ours that is just being made.
void GroupReconciler::LookForForeignContainers() {
  const auto unknown = groups_.ownership().FindUnknown(groups_.runtime_groups(), allocations_.ledger());
  if (!unknown) return events_.Warning("FailedCgroupUpdate", allocations_.ObjectOfNode(), unknown.error().message);
  std::map<std::string, bool> seen;
  for (const auto& [path, uid] : *unknown) {
    const auto pod = pods_.pods().find(uid);
    const bool settled = pod != pods_.pods().end() && pod->second.lifecycle && !pod->second.lifecycle->creating();
    const auto before = foreign_containers_.find(path);
    bool& reported = seen[path];
    reported = before != foreign_containers_.end() && before->second;
    if (reported || !settled || before == foreign_containers_.end()) continue;
    reported = true;
    events_.Warning("UnknownContainer", "cgroup/" + path,
                    fmt::format("no container of {} that Berth made, though in its group; it is left alone, on "
                                "the CPUs of that pod at most, until the pod ends",
                                pods::ObjectOf(pod->second.pod)));
  }
  foreign_containers_ = std::move(seen);
}

void GroupReconciler::RemoveUnused() {
  const std::map<std::string, std::string> groups = groups_.table().pods();
  std::erase_if(stuck_, [&](const std::string& path) {
    return std::ranges::none_of(groups, [&](const auto& group) { return group.second == path; });
  });
  for (const auto& [uid, path] : groups) {
    if (pods_.pods().contains(uid) || stuck_.contains(path)) continue;
    Pod pod;
    pod.uid = uid;
    const auto removed = groups_.pod_groups().Remove(pod);
    if (removed ? *removed : removed.error().code == Code::kBusy) continue;
    stuck_.insert(path);
    events_.Warning(
        "UnknownGroup", "cgroup/" + path,
        removed ? "processes run here that Berth did not start; they are left alone" : removed.error().message);
  }
}

}  // namespace berth::reconciler
