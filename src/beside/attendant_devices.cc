// Attendant: what the kubelet says of devices, and who waits for that.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "beside/annotations.h"
#include "beside/attendant.h"
#include "beside/translate.h"

namespace berth::beside {

/// It is to have CPUs or memory of its own, on NUMA nodes that depend on where its devices are.
bool Attendant::FollowsDevices(const Pod& pod, const std::string& name) const {
  const engine::Node& node = parts_.keeper.node();
  return ShallHaveOwn(pod, name) || (node.config().memory_manager_policy == "Static" &&
                                     QosOf(AsWished(pod, name, node.options().own)) == QosClass::kGuaranteed);
}

/// A kubelet gives devices to all containers of a pod when it admits it, so it is asked once for each pod.
bool Attendant::AwaitsDevices(const nri::Pod& pod, const nri::Container& container, Call call) {
  Know(pod, container);
  const std::string uid = UidOf(pod);
  if (HasPlacement(uid, container.name)) return false;
  GuestPod& known = guests_.Know(uid);
  const auto then = [this, uid](std::optional<PodDevices> devices) {
    TakeDevices(uid, std::move(devices));
    helpers_.changed();
  };
  if (known.devices == GuestPod::Devices::kUnknown && device_reports_.Ask(pod.name_space, pod.name, then))
    known.devices = GuestPod::Devices::kAsked;
  if (known.devices != GuestPod::Devices::kAsked || !FollowsDevices(parts_.pods[uid].pod, container.name)) return false;
  awaiting_.push_back({.uid = uid,
                       .what = Awaiting::What::kDevices,
                       .until = parts_.clock.Now() + kDevicePatience,
                       .call = std::move(call)});
  return true;
}

/// nullopt: there is no answer.
void Attendant::TakeDevices(const std::string& uid, std::optional<PodDevices> devices) {
  const auto managed = parts_.pods.find(uid);
  if (managed == parts_.pods.end()) return;
  guests_.Know(uid).devices = devices ? GuestPod::Devices::kKnown : GuestPod::Devices::kUnknown;
  if (devices) managed->second.reported.devices = *std::move(devices);
  EndAwaiting(uid, Awaiting::What::kDevices);
}

/// What a runtime has when it takes berthd in is decided on with the answer, or when that has not come in time.
void Attendant::AskForAllDevices() {
  const bool awaited = device_reports_.AskForAll([this](std::optional<DevicesByPod> all) {
    if (looking_) looking_->devices_until = os::MonoTime();
    if (all) TakeAllDevices(*std::move(all));
  });
  if (awaited && looking_) looking_->devices_until = parts_.clock.Now() + kAllDevicesPatience;
}

void Attendant::TakeAllDevices(DevicesByPod all) {
  if (looking_ && !looking_->pods_known) {
    looking_->devices = std::move(all);
    return;
  }
  std::vector<std::pair<std::string, PodDevices*>> known;
  for (const auto& [uid, managed] : parts_.pods)
    if (const auto found = all.find({managed.pod.namespace_, managed.pod.name}); found != all.end())
      known.emplace_back(uid, &found->second);
  for (const auto& [uid, devices] : known) TakeDevices(uid, *devices);
  helpers_.changed();
}

}  // namespace berth::beside
