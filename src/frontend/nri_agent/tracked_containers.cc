#include "frontend/nri_agent/tracked_containers.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace berth::nri_agent {

TrackedPod* TrackedContainers::Find(const std::string& uid) {
  const auto pod = pods_.find(uid);
  return pod == pods_.end() ? nullptr : &pod->second;
}

TrackedContainer& TrackedContainers::Know(const std::string& uid, const nri::Container& container, int attempt) {
  TrackedContainer& tracked_container = pods_[uid].containers[container.name];
  if (tracked_container.id != container.id)
    tracked_container = TrackedContainer{.id = container.id, .attempt = std::max(attempt, tracked_container.attempt)};
  return tracked_container;
}

TrackedContainer* TrackedContainers::Find(const std::string& uid, const nri::Container& container) {
  TrackedPod* const pod = Find(uid);
  if (pod == nullptr) return nullptr;
  const auto tracked_container = pod->containers.find(container.name);
  return tracked_container != pod->containers.end() && tracked_container->second.id == container.id
             ? &tracked_container->second
             : nullptr;
}

void TrackedContainers::Forget(const std::string& uid, const nri::Container& container) {
  if (Find(uid, container) != nullptr) pods_[uid].containers.erase(container.name);
}

void TakeContainer(Pod& pod, Container container, const TrackedPod& known) {
  const auto is_it = [&](const Container& c) { return c.name == container.name; };
  if (const auto app = std::ranges::find_if(pod.containers, is_it); app != pod.containers.end()) {
    *app = std::move(container);
    return;
  }
  std::erase_if(pod.init_containers, is_it);
  const auto has_ended = [&](const Container& c) {
    const auto tracked_container = known.containers.find(c.name);
    return tracked_container != known.containers.end() && tracked_container->second.ended;
  };
  for (Container& other : pod.containers)
    if (has_ended(other)) pod.init_containers.push_back(other);
  std::erase_if(pod.containers, has_ended);
  pod.containers.push_back(std::move(container));
}

}  // namespace berth::nri_agent
