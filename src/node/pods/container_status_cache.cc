#include "node/pods/container_status_cache.h"

#include <algorithm>
#include <utility>

namespace berth::pods {

std::optional<runtime::ContainerStatus> ContainerStatusCache::Take(const runtime::ContainerStatus& status) {
  std::vector<std::string>& ids = ids_[status.pod_uid];
  if (std::ranges::find(ids, status.id) == ids.end()) ids.push_back(status.id);
  auto [it, added] = statuses_[status.pod_uid].try_emplace(status.container, status);
  if (added) return std::nullopt;
  runtime::ContainerStatus before = it->second;
  if (before.attempt <= status.attempt) it->second = status;
  return before;
}

bool ContainerStatusCache::RunsSomething(const std::string& uid) const {
  const auto it = statuses_.find(uid);
  return it != statuses_.end() && std::ranges::any_of(it->second, [](const auto& c) {
           return c.second.state == runtime::ContainerState::kRunning;
         });
}

void ContainerStatusCache::Recover(ManagedPod& managed, os::MonoTime now) const {
  const auto it = statuses_.find(managed.pod.uid);
  if (it == statuses_.end() || !managed.lifecycle) return;
  for (const auto& [name, status] : it->second) managed.lifecycle->Recover(status, now, clock_.Wall());
}

Result<void> ContainerStatusCache::Forget(const runtime::ContainerStatus& earlier) {
  std::erase(ids_[earlier.pod_uid], earlier.id);
  return runtime_.Forget(earlier.id);
}

std::vector<std::string> ContainerStatusCache::ForgetPod(const std::string& uid) {
  std::vector<std::string> problems;
  if (const auto ids = ids_.find(uid); ids != ids_.end()) {
    for (const std::string& id : ids->second)
      if (auto forgotten = runtime_.Forget(id); !forgotten) problems.push_back(std::move(forgotten).error().message);
    ids_.erase(ids);
  }
  runtime_.ForgetPod(uid);
  statuses_.erase(uid);
  return problems;
}

}  // namespace berth::pods
