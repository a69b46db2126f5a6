#include "node/pods/managed_pod.h"

#include <utility>

namespace berth::pods {

bool ManagedPod::evicted() const {
  const auto* const rejected = std::get_if<Rejected>(&stage);
  return rejected != nullptr && !rejected->admitted_at.empty();
}

bool ManagedPod::PlaceIsFree() const {
  const auto* ending = std::get_if<Ending>(&stage);
  return Is<Done>() || (ending != nullptr && ending->place_free);
}

void End(ManagedPod& managed, os::MonoTime now) {
  if (managed.Is<Ending>()) return;
  managed.Move(pod_event::End());
  managed.remove_at.reset();
  managed.remove_delay = os::Millis(0);
  if (managed.lifecycle) managed.lifecycle->Terminate(now);
}

void Evict(ManagedPod& managed, Why why, std::optional<os::Millis> grace, os::MonoTime now) {
  managed.Move(pod_event::Evict{std::move(why)});
  managed.lifecycle->Terminate(now, grace);
}

void Evict(ManagedPod& managed, std::string_view message, std::optional<os::Millis> grace, os::MonoTime now) {
  Evict(managed, {.reason = std::string(kEvictedReason), .message = std::string(message), .details = {}}, grace, now);
}

FoundContainer FindContainer(const Pod& pod, std::string_view name) {
  FoundContainer out;
  ForEachContainer(pod, [&](const Container& container, ContainerKind kind) {
    if (container.name == name) out = {&container, kind};
  });
  return out;
}

std::string ObjectOf(const Pod& pod) { return "pod/" + FullName(pod); }

}  // namespace berth::pods
