// NriAllocator: what the kubelet says of devices, and who waits for that.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "allocator/engine.h"
#include "frontend/nri_agent/annotations.h"
#include "frontend/nri_agent/nri_allocator.h"
#include "frontend/nri_agent/translate.h"

namespace berth::nri_agent {

/// A kubelet gives devices to all containers of a pod when it admits it, so one answer does for the pod. Who is placed
/// without regard to devices does not wait; they are only shown, and asked for with those of other pods. Requires: the
/// container is known.
bool NriAllocator::AwaitsDevices(const nri::Pod& pod, const nri::Container& container, Call call) {
  const std::string uid = UidOf(pod);
  if (HasPlacement(uid, container.name)) return false;
  const allocator::Node& node = node_.allocations().node();
  const Pod asked = AsWished(node_.pods()[uid].pod, container.name, node.options().own);
  TrackedPod& known = tracked_.Know(uid);
  if (!allocator::AsksForOwn(node, asked, container.name)) {
    if (known.devices == TrackedPod::Devices::kUnknown) device_reports_.AskForAllSoon();
    return false;
  }
  const auto then = [this, uid](std::optional<PodDevices> devices) {
    TakeDevices(uid, std::move(devices));
    node_.Changed();
  };
  TrackedContainer& tracked_container = known.containers[container.name];
  if (known.devices == TrackedPod::Devices::kUnknown && !tracked_container.asked_devices &&
      device_reports_.Ask(pod.name_space, pod.name, then)) {
    known.devices = TrackedPod::Devices::kAsked;
    tracked_container.asked_devices = true;
  }
  if (known.devices != TrackedPod::Devices::kAsked) return false;
  awaiting_.push_back({.uid = uid,
                       .what = Awaiting::What::kDevices,
                       .until = node_.clock().Now() + kDevicePatience,
                       .call = std::move(call)});
  return true;
}

/// nullopt: there is no answer.
void NriAllocator::TakeDevices(const std::string& uid, std::optional<PodDevices> devices) {
  const auto managed = node_.pods().find(uid);
  if (managed == node_.pods().end()) return;
  tracked_.Know(uid).devices = devices ? TrackedPod::Devices::kKnown : TrackedPod::Devices::kUnknown;
  if (devices) managed->second.reported.devices = *std::move(devices);
  EndAwaiting(uid, Awaiting::What::kDevices);
}

/// What a runtime has when it takes berthd in is decided on with the answer, or when that has not come in time.
void NriAllocator::AskForAllDevices() {
  const bool awaited = device_reports_.AskForAll([this](std::optional<DevicesByPod> all) {
    if (looking()) looking()->devices_until = os::MonoTime();
    if (all) TakeAllDevices(*std::move(all));
  });
  if (awaited && deciding()) looking()->devices_until = node_.clock().Now() + kAllDevicesPatience;
}

void NriAllocator::TakeAllDevices(DevicesByPod all) {
  if (looking() && !looking()->pods_known) {
    looking()->devices = std::move(all);
    return;
  }
  std::vector<std::pair<std::string, PodDevices*>> known;
  for (const auto& [uid, managed] : node_.pods())
    if (const auto found = all.find({managed.pod.namespace_, managed.pod.name}); found != all.end())
      known.emplace_back(uid, &found->second);
  for (const auto& [uid, devices] : known) TakeDevices(uid, *devices);
  node_.Changed();
}

}  // namespace berth::nri_agent
