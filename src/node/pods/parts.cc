#include "node/pods/parts.h"

#include <fmt/core.h>

#include <utility>

namespace berth::pods {

std::vector<std::string> Parts::AddressesOf(const Pod& pod) const {
  if (IsInNodesNetwork(pod)) return options.node_addresses;
  return runtime.Addresses(pod.uid);
}

runtime::NodeFacts Parts::FactsFor(const Pod& pod) const {
  ResourceList allocatable = allocations.node().allocatable();
  allocatable.insert(options.storage.begin(), options.storage.end());
  return {.node_name = options.node_name,
          .host_ips = options.node_addresses,
          .pod_ips = AddressesOf(pod),
          .allocatable = std::move(allocatable),
          .documents = documents.all()};
}

std::string Parts::LogFolder(const Pod& pod) const {
  return fmt::format("{}/{}_{}_{}", options.log_dir, pod.namespace_, pod.name, pod.uid);
}

std::string Parts::WorkKey(const Pod& pod) const { return os::WorkNotes::KeyOf("pod", pod.uid, FullName(pod)); }

bool Parts::IsSetAside(const Pod& pod) const {
  return options.work_notes != nullptr && options.work_notes->IsSetAside(WorkKey(pod));
}

runtime::PodLifecycle Parts::NewLifecycle(const Pod& pod) const {
  return runtime::PodLifecycle(
      pod, runtime::BackoffOptions{.max = allocations.node().config().max_container_restart_period});
}

void Parts::Recover(ManagedPod& managed, os::MonoTime now) const {
  records.Recover(managed, now);
  const PodCheckpoint* const life = checkpoints.Find(managed.pod.uid);
  if (life != nullptr && managed.lifecycle) managed.lifecycle->Restore(life->times);
  managed.kept.reset();
}

void Parts::Keep(ManagedPod& managed) const {
  managed.kept = managed.lifecycle->changes();
  if (auto kept = checkpoints.Keep(managed.pod.uid, CheckpointOf(managed)); !kept)
    events.Warning("PodTimesNotKept", ObjectOf(managed.pod),
                   fmt::format("a restart of berthd would lose its deadlines: {}", kept.error().message));
}

}  // namespace berth::pods
