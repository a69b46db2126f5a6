#include "frontend/nri_agent/reported_pods.h"

#include <utility>

#include "frontend/nri_agent/translate.h"
#include "model/resources.h"

namespace berth::nri_agent {

pods::ManagedPod& ReportedPods::Track(const nri::Pod& pod) {
  const std::string uid = UidOf(pod);
  tracked_.Know(uid).sandboxes.insert(pod.id);
  departures_.Cancel(uid);
  const auto [entry, is_new] = node_.pods().try_emplace(uid);
  pods::ManagedPod& managed = entry->second;
  Pod seen = PodOf(pod);
  seen.containers = std::move(managed.pod.containers);
  seen.init_containers = std::move(managed.pod.init_containers);
  seen.overhead = std::move(managed.pod.overhead);
  seen.resources = std::move(managed.pod.resources);
  managed.pod = std::move(seen);
  if (auto* const synchronizing = session_.As<Synchronizing>()) synchronizing->there.insert(uid);
  if (is_new) {
    const pods::PodCheckpoint* const life = node_.checkpoints().Find(uid);  // an earlier berthd refused it
    managed.stage = pods::Foreign{life != nullptr ? life->evicted.value_or(pods::Why()) : pods::Why()};
  }
  if (!managed.lifecycle) managed.lifecycle.emplace(managed.pod);
  return managed;
}

TrackedContainer& ReportedPods::Track(const nri::Pod& pod, const nri::Container& container) {
  pods::ManagedPod& managed = Track(pod);
  const std::string uid = UidOf(pod);
  TrackedContainer& tracked_container = tracked_.Know(uid, container, AttemptOf(container));
  const Pod before = managed.pod;
  if (const Pod* const spec = specs_.Find(uid)) {
    TakeSpec(managed.pod, *spec);
    managed.reported.spec = true;
  }
  if (!managed.reported.spec)
    TakeContainer(managed.pod, ContainerOf(container, QosOf(managed.pod)), tracked_.Know(uid));
  else if (pods::FindContainer(managed.pod, container.name).container == nullptr)
    managed.pod.containers.push_back(ContainerOf(container, QosOf(managed.pod)));  // an ephemeral one
  TakeChanged(managed, before);
  return tracked_container;
}

void ReportedPods::SetSpec(const Pod& spec) {
  specs_.Set(spec);
  const auto managed = node_.pods().find(spec.uid);
  if (managed == node_.pods().end()) return;
  managed->second.reported.spec = true;
  const Pod before = managed->second.pod;
  TakeSpec(managed->second.pod, *specs_.Find(spec.uid));
  TakeChanged(managed->second, before);
  node_.Changed();
}

/// What is known of its containers has changed.
void ReportedPods::TakeChanged(pods::ManagedPod& managed, const Pod& before) {
  if (managed.pod == before) return;
  managed.lifecycle.emplace(managed.pod);
  node_.RestoreLifecycle(managed, node_.clock().Now());
}

runtime::ContainerStatus ReportedPods::StatusOf(const nri::Pod& pod, const nri::Container& container,
                                                runtime::ContainerState state) {
  const TrackedContainer* const tracked_container = tracked_.Find(UidOf(pod), container);
  runtime::ContainerStatus status{.id = container.id,
                                  .pod_uid = UidOf(pod),
                                  .container = container.name,
                                  .attempt = tracked_container == nullptr ? 0 : tracked_container->attempt,
                                  .state = state,
                                  .pid = static_cast<int>(container.pid)};
  if (const auto known = node_.statuses().all().find(status.pod_uid); known != node_.statuses().all().end())
    if (const auto before = known->second.find(status.container);
        before != known->second.end() && before->second.id == status.id) {
      status.started_at = before->second.started_at;
      if (status.pid == 0) status.pid = before->second.pid;
    }
  const std::string now = os::FormatTime(node_.clock().Wall());
  if (status.started_at.empty()) status.started_at = now;
  if (state == runtime::ContainerState::kExited) status.finished_at = now;
  return status;
}

void ReportedPods::SetState(const nri::Pod& pod, const nri::Container& container, runtime::ContainerState state) {
  if (tracked_.Find(UidOf(pod), container) == nullptr) return;
  runtime_.Put(StatusOf(pod, container, state));
  node_.Changed();
}

void ReportedPods::SetExited(const ContainerKey& who) {
  const auto records = node_.statuses().all().find(who.first);
  if (records == node_.statuses().all().end()) return;
  const auto before = records->second.find(who.second);
  if (before == records->second.end() || before->second.state != runtime::ContainerState::kRunning) return;
  runtime::ContainerStatus status = before->second;
  status.state = runtime::ContainerState::kExited;
  status.finished_at = os::FormatTime(node_.clock().Wall());
  runtime_.Put(std::move(status));
}

void ReportedPods::Recognize(const nri::Pod& pod, const nri::Container& container) {
  const runtime::ContainerStatus status = StatusOf(pod, container, runtime::ContainerState::kRunning);
  runtime_.Recognize(status);
  static_cast<void>(node_.statuses().Take(status));
  node_.RestoreLifecycle(node_.pods()[status.pod_uid], node_.clock().Now());
}

}  // namespace berth::nri_agent
