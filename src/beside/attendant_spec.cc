// Attendant: what an API server says of pods.
#include <fmt/core.h>

#include <utility>
#include <vector>

#include "beside/attendant.h"
#include "beside/words.h"

namespace berth::beside {

/// What is known of its containers has changed.
void Attendant::TakeChanged(pods::ManagedPod& managed, const Pod& before) {
  if (managed.pod == before) return;
  managed.lifecycle.emplace(managed.pod);
  parts_.Recover(managed, parts_.clock.Now());
}

/// A kubelet and berthd hear of a new pod at the same time, and a sandbox is made first: that a container waits is
/// rare. The runtime asks nobody anything meanwhile, so each pod is waited for once, and not for long.
bool Attendant::AwaitsSpec(const std::string& uid, Call call) {
  if (!follows_specs_ || options_.spec_patience == os::Millis(0) || specs_.Find(uid) != nullptr) return false;
  const GuestPod& pod = guests_.Know(uid);
  if (pod.specified || pod.unspecified) return false;
  awaiting_.push_back({.uid = uid, .until = parts_.clock.Now() + options_.spec_patience, .call = std::move(call)});
  return true;
}

void Attendant::EndAwaiting(const std::function<bool(const std::string& uid, os::MonoTime until)>& over) {
  std::vector<Awaiting> ended;
  for (Awaiting& each : std::exchange(awaiting_, {}))
    (over(each.uid, each.until) ? ended : awaiting_).push_back(std::move(each));
  for (Awaiting& each : ended) each.call();
}

void Attendant::EndAwaitingInVain(os::MonoTime now) {
  for (const Awaiting& each : awaiting_) {
    if (each.until > now) continue;
    GuestPod& pod = guests_.Know(each.uid);
    if (std::exchange(pod.unspecified, true)) continue;
    const auto managed = parts_.pods.find(each.uid);
    parts_.events.Warning(
        "PodSpecUnknown", managed == parts_.pods.end() ? "pod/" + each.uid : pods::ObjectOf(managed->second.pod),
        fmt::format("the API server has not told of this pod within {} ms; what its containers request "
                    "is inferred from what the runtime shows",
                    options_.spec_patience.count()));
  }
  EndAwaiting([&](const std::string&, os::MonoTime until) { return until <= now; });
}

void Attendant::SetSpec(const Pod& pod) {
  if (!IsName(pod.uid)) return;
  specs_.Set(pod);
  const auto managed = parts_.pods.find(pod.uid);
  GuestPod* const guest = guests_.Find(pod.uid);
  if (managed != parts_.pods.end() && guest != nullptr) {
    guest->specified = true;
    const Pod before = managed->second.pod;
    TakeSpec(managed->second.pod, *specs_.Find(pod.uid));
    TakeChanged(managed->second, before);
    helpers_.changed();
  }
  EndAwaiting([&](const std::string& uid, os::MonoTime) { return uid == pod.uid; });
}

void Attendant::ForgetSpec(const std::string& name_space, const std::string& name) { specs_.Forget(name_space, name); }

void Attendant::FollowsSpecs(bool follows) {
  follows_specs_ = follows;
  heard_of_specs_ = true;
  if (looking_) looking_->not_before = os::MonoTime();
  if (!follows) EndAwaiting([](const std::string&, os::MonoTime) { return true; });
}

}  // namespace berth::beside
