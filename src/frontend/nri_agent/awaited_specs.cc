#include "frontend/nri_agent/awaited_specs.h"

#include <fmt/core.h>

#include <utility>

#include "frontend/nri_agent/placement_texts.h"

namespace berth::nri_agent {
namespace {

constexpr os::Millis kInventoryPatience{500};  // for specs of pods that were there before berthd was

}  // namespace

void AwaitedSpecs::Set(const Pod& pod) {
  if (!IsName(pod.uid)) return;
  pods_.SetSpec(pod);
  calls_.Run(pod.uid);
}

void AwaitedSpecs::Follow(bool follows) {
  follows_ = follows;
  heard_ = true;
  if (auto* const synchronizing = session_.As<Synchronizing>()) synchronizing->specs_until = os::MonoTime();
  if (!follows) calls_.RunAll();
}

void AwaitedSpecs::OnSynchronize() {
  calls_.Drop();
  if (auto* const synchronizing = session_.As<Synchronizing>(); synchronizing != nullptr && asks() && !heard_)
    synchronizing->specs_until = node_.clock().Now() + kInventoryPatience;
}

/// A kubelet and berthd hear of a new pod at the same time, and a sandbox is made first: that a container waits is
/// rare. The runtime asks nobody anything meanwhile, so each pod is waited for once, and not for long.
bool AwaitedSpecs::Await(const std::string& uid, Call call) {
  if (!follows_ || !Lacks(uid)) return false;
  const auto known = node_.pods().find(uid);
  if (tracked_.Know(uid).unspecified || (known != node_.pods().end() && known->second.reported.spec)) return false;
  calls_.Add(uid, node_.clock().Now() + patience_, std::move(call));
  return true;
}

void AwaitedSpecs::Tick(os::MonoTime now) {
  calls_.RunExpired(now, [this](const std::string& uid) { TakeExpired(uid); });
}

void AwaitedSpecs::TakeExpired(const std::string& uid) {
  if (std::exchange(tracked_.Know(uid).unspecified, true)) return;
  const auto managed = node_.pods().find(uid);
  node_.events().Warning(
      "PodSpecUnknown", managed == node_.pods().end() ? "pod/" + uid : pods::ObjectOf(managed->second.pod),
      fmt::format("the API server has not told of this pod within {} ms; what its containers request "
                  "is inferred from what the runtime shows",
                  patience_.count()));
}

}  // namespace berth::nri_agent
