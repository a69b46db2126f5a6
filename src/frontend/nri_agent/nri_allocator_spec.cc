// NriAllocator: what an API server says of pods.
#include <fmt/core.h>

#include <utility>
#include <vector>

#include "frontend/nri_agent/nri_allocator.h"
#include "frontend/nri_agent/placement_texts.h"

namespace berth::nri_agent {

/// What is known of its containers has changed.
void NriAllocator::TakeChanged(pods::ManagedPod& managed, const Pod& before) {
  if (managed.pod == before) return;
  managed.lifecycle.emplace(managed.pod);
  node_.RestoreLifecycle(managed, node_.clock().Now());
}

/// A kubelet and berthd hear of a new pod at the same time, and a sandbox is made first: that a container waits is
/// rare. The runtime asks nobody anything meanwhile, so each pod is waited for once, and not for long.
bool NriAllocator::AwaitsSpec(const std::string& uid, Call call) {
  if (!follows_specs_ || options_.spec_patience == os::Millis(0) || specs_.Find(uid) != nullptr) return false;
  const auto known = node_.pods().find(uid);
  if (tracked_.Know(uid).unspecified || (known != node_.pods().end() && known->second.reported.spec)) return false;
  awaiting_.push_back({.uid = uid,
                       .what = Awaiting::What::kSpec,
                       .until = node_.clock().Now() + options_.spec_patience,
                       .call = std::move(call)});
  return true;
}

void NriAllocator::EndAwaiting(const std::function<bool(const Awaiting&)>& over) {
  std::vector<Awaiting> ended;
  for (Awaiting& each : std::exchange(awaiting_, {})) (over(each) ? ended : awaiting_).push_back(std::move(each));
  for (Awaiting& each : ended) each.call();
}

void NriAllocator::EndAwaiting(const std::string& uid, Awaiting::What what) {
  EndAwaiting([&](const Awaiting& each) { return each.uid == uid && each.what == what; });
}

void NriAllocator::EndAwaitingInVain(os::MonoTime now) {
  for (const Awaiting& each : awaiting_) {
    if (each.until > now) continue;
    TrackedPod& pod = tracked_.Know(each.uid);
    if (each.what == Awaiting::What::kDevices)
      pod.devices = TrackedPod::Devices::kLate;
    else if (!std::exchange(pod.unspecified, true))
      TellSpecUnknown(each.uid);
  }
  EndAwaiting([&](const Awaiting& each) { return each.until <= now; });
}

void NriAllocator::TellSpecUnknown(const std::string& uid) {
  const auto managed = node_.pods().find(uid);
  node_.events().Warning(
      "PodSpecUnknown", managed == node_.pods().end() ? "pod/" + uid : pods::ObjectOf(managed->second.pod),
      fmt::format("the API server has not told of this pod within {} ms; what its containers request "
                  "is inferred from what the runtime shows",
                  options_.spec_patience.count()));
}

void NriAllocator::SetSpec(const Pod& pod) {
  if (!IsName(pod.uid)) return;
  specs_.Set(pod);
  const auto managed = node_.pods().find(pod.uid);
  if (managed != node_.pods().end()) {
    managed->second.reported.spec = true;
    const Pod before = managed->second.pod;
    TakeSpec(managed->second.pod, *specs_.Find(pod.uid));
    TakeChanged(managed->second, before);
    node_.Changed();
  }
  EndAwaiting(pod.uid, Awaiting::What::kSpec);
}

void NriAllocator::ForgetSpec(const std::string& name_space, const std::string& name) {
  specs_.Forget(name_space, name);
}

void NriAllocator::FollowsSpecs(bool follows) {
  follows_specs_ = follows;
  heard_of_specs_ = true;
  if (looking()) looking()->specs_until = os::MonoTime();
  if (!follows) EndAwaiting([](const Awaiting& each) { return each.what == Awaiting::What::kSpec; });
}

}  // namespace berth::nri_agent
