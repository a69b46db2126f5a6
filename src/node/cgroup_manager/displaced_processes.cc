#include "node/cgroup_manager/displaced_processes.h"

#include <utility>

namespace berth::cgroup_manager {

void DisplacedProcesses::Restart() { looking_.reset(); }

bool DisplacedProcesses::Return(const os::Slice& slice) {
  if (!site_.has_v1_cpusets()) return true;
  if (!looking_) {
    looking_ = Looking{};
    if (site_.names().per_qos())
      for (const QosClass qos : site_.names().Tiers()) Add(site_.names().Qos(qos), looking_->above);
  }
  if (!looking_->at_containers && !LookAtPods(slice)) return false;
  if (!ReturnToContainers(slice)) return false;
  returned_ = std::move(looking_->returned);
  problems_ = std::move(looking_->problems);
  looking_.reset();
  return true;
}

void DisplacedProcesses::Add(const std::string& path, std::vector<int>& to) const {
  const auto pids = site_.tree().CpusetPids(path);
  if (pids) to.insert(to.end(), pids->begin(), pids->end());
}

bool DisplacedProcesses::LookAtPods(const os::Slice& slice) {
  for (auto pod = table_.pods().upper_bound(looking_->done); pod != table_.pods().end(); ++pod) {
    std::vector<int> pids = looking_->above;
    Add(pod->second, pids);
    if (!pids.empty()) looking_->found.emplace(pod->first, std::move(pids));
    looking_->done = pod->first;
    if (slice.over()) return false;
  }
  looking_->at_containers = true;
  looking_->done.clear();
  return true;
}

bool DisplacedProcesses::ReturnToContainers(const os::Slice& slice) {
  if (looking_->found.empty()) return true;
  for (auto group = table_.containers().upper_bound(looking_->done); group != table_.containers().end(); ++group) {
    const auto& [path, container] = *group;
    looking_->done = path;
    const auto pids = looking_->found.find(container.uid);
    if (pids == looking_->found.end()) continue;
    const auto back = site_.tree().ReturnToCpuset(path, pids->second);
    if (!back && !site_.IsUnderWay(back.error())) looking_->problems.emplace(path, back.error().message);
    if (back && *back > 0) looking_->returned.emplace(path, *back);
    if (slice.over()) return false;
  }
  return true;
}

}  // namespace berth::cgroup_manager
