#include "frontend/static_pods/static_pod_context.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace berth::pods {

StaticPodContext::StaticPodContext(core::Node& node, StaticPodOptions options)
    : node_(node), options_(std::move(options)) {}

bool StaticPodContext::Mounts(const std::string& uid) const {
  const auto state = states_.find(uid);
  return state != states_.end() &&
         std::ranges::any_of(state->second.mounting, [](const auto& of) { return !of.second.made; });
}

Mounting* StaticPodContext::FindMounting(const std::string& uid, const std::string& container) {
  const auto state = states_.find(uid);
  if (state == states_.end()) return nullptr;
  const auto found = state->second.mounting.find(container);
  return found == state->second.mounting.end() ? nullptr : &found->second;
}

std::vector<std::string> StaticPodContext::AddressesOf(const Pod& pod) const {
  if (IsInNodesNetwork(pod)) return options_.node_addresses;
  return node_.runtime().Addresses(pod.uid);
}

runtime::NodeFacts StaticPodContext::FactsFor(const Pod& pod) const {
  ResourceList allocatable = node_.allocations().node().allocatable();
  allocatable.insert(options_.storage.begin(), options_.storage.end());
  return {.node_name = node_.options().pods.node_name,
          .host_ips = options_.node_addresses,
          .pod_ips = AddressesOf(pod),
          .allocatable = std::move(allocatable),
          .documents = documents_.all()};
}

std::string StaticPodContext::LogFolder(const Pod& pod) const {
  return fmt::format("{}/{}_{}_{}", options_.log_dir, pod.namespace_, pod.name, pod.uid);
}

std::string StaticPodContext::WorkKey(const Pod& pod) const {
  return os::WorkNotes::KeyOf("pod", pod.uid, FullName(pod));
}

bool StaticPodContext::IsSetAside(const Pod& pod) const {
  return options_.work_notes != nullptr && options_.work_notes->IsSetAside(WorkKey(pod));
}

runtime::PodLifecycle StaticPodContext::NewLifecycle(const Pod& pod) const {
  return runtime::PodLifecycle(
      pod, runtime::BackoffOptions{.max = node_.allocations().node().config().max_container_restart_period});
}

void StaticPodContext::Keep(ManagedPod& managed) const {
  managed.kept = managed.lifecycle->changes();
  if (auto kept = node_.checkpoints().Keep(managed.pod.uid, CheckpointOf(managed)); !kept)
    node_.events().Warning("PodTimesNotKept", ObjectOf(managed.pod),
                           fmt::format("a restart of berthd would lose its deadlines: {}", kept.error().message));
}

}  // namespace berth::pods
