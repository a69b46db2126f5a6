#include "node/pods/managed_pod.h"

#include <algorithm>
#include <type_traits>
#include <utility>

namespace berth::pods {

const Why& ManagedPod::why() const {
  static const Why kNone;
  return std::visit(
      [](const auto& s) -> const Why& {
        if constexpr (requires { s.why; })
          return s.why;
        else
          return kNone;
      },
      stage);
}

const std::string& ManagedPod::admitted_at() const {
  static const std::string kNone;
  return std::visit(
      [](const auto& s) -> const std::string& {
        if constexpr (requires { s.admitted_at; })
          return s.admitted_at;
        else if constexpr (requires { s.at; })
          return s.at;
        else
          return kNone;
      },
      stage);
}

bool ManagedPod::evicted() const {
  const auto* const rejected = std::get_if<Rejected>(&stage);
  return rejected != nullptr && !rejected->admitted_at.empty();
}

bool ManagedPod::PlaceIsFree() const {
  const auto* ending = std::get_if<Ending>(&stage);
  return Is<Done>() || (ending != nullptr && ending->place_free);
}

bool ManagedPod::Mounts() const {
  return std::ranges::any_of(mounting, [](const auto& of) { return !of.second.made; });
}

void End(ManagedPod& managed, os::MonoTime now) {
  if (managed.Is<Ending>()) return;
  const bool free = managed.Is<Done>();
  Ending ending{.why = managed.why(),
                .admitted_at = managed.admitted_at(),
                .rejected = managed.Is<Rejected>(),
                .place_free = free};
  managed.stage = std::move(ending);
  managed.remove_at.reset();
  managed.remove_delay = os::Millis(0);
  if (managed.lifecycle) managed.lifecycle->Terminate(now);
}

void Evict(ManagedPod& managed, Why why, std::optional<os::Millis> grace, os::MonoTime now) {
  managed.stage = Rejected{.why = std::move(why), .admitted_at = managed.admitted_at()};
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
