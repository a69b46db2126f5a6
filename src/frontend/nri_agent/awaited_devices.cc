#include "frontend/nri_agent/awaited_devices.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "allocator/engine.h"
#include "frontend/nri_agent/annotations.h"
#include "frontend/nri_agent/container_key.h"
#include "frontend/nri_agent/translate.h"

namespace berth::nri_agent {

AwaitedDevices::AwaitedDevices(core::Node& node, TrackedContainers& tracked, NriSession& session, DeviceSource source)
    : node_(node),
      tracked_(tracked),
      session_(session),
      reports_(node.executor(), node.clock(), std::move(source), [this](bool warning, const std::string& message) {
        node_.events().Tell(warning, warning ? "DevicesUnknown" : "DevicesKnown", node_.ObjectOfNode(), message);
        node_.Changed();
      }) {}

void AwaitedDevices::OnSynchronize() {
  calls_.Drop();
  AskForAll();
}

/// A kubelet gives devices to all containers of a pod when it admits it, so one answer does for the pod. Who is placed
/// without regard to devices does not wait; they are only shown, and asked for with those of other pods.
bool AwaitedDevices::Await(const nri::Pod& pod, const nri::Container& container, Call call) {
  const std::string uid = UidOf(pod);
  if (PlacementOf(node_.allocations().newest(), {uid, container.name}) != nullptr) return false;
  const allocator::Node& node = node_.allocations().node();
  const Pod asked = AsWished(node_.pods()[uid].pod, container.name, node.options().own);
  TrackedPod& known = tracked_.Know(uid);
  if (!allocator::AsksForOwn(node, asked, container.name)) {
    if (known.devices == TrackedPod::Devices::kUnknown) reports_.AskForAllSoon();
    return false;
  }
  const auto then = [this, uid](std::optional<PodDevices> devices) {
    Take(uid, std::move(devices));
    node_.Changed();
  };
  TrackedContainer& tracked_container = known.containers[container.name];
  if (known.devices == TrackedPod::Devices::kUnknown && !tracked_container.asked_devices &&
      reports_.Ask(pod.name_space, pod.name, then)) {
    known.devices = TrackedPod::Devices::kAsked;
    tracked_container.asked_devices = true;
  }
  if (known.devices != TrackedPod::Devices::kAsked) return false;
  calls_.Add(uid, node_.clock().Now() + kDevicePatience, std::move(call));
  return true;
}

/// nullopt: there is no answer.
void AwaitedDevices::Take(const std::string& uid, std::optional<PodDevices> devices) {
  const auto managed = node_.pods().find(uid);
  if (managed == node_.pods().end()) return;
  tracked_.Know(uid).devices = devices ? TrackedPod::Devices::kKnown : TrackedPod::Devices::kUnknown;
  if (devices) managed->second.reported.devices = *std::move(devices);
  calls_.Run(uid);
}

void AwaitedDevices::AskForAll() {
  const bool awaited = reports_.AskForAll([this](std::optional<DevicesByPod> all) {
    if (auto* const synchronizing = session_.As<Synchronizing>()) synchronizing->devices_until = os::MonoTime();
    if (all) TakeAll(*std::move(all));
  });
  if (Synchronizing* const deciding = session_.deciding(); awaited && deciding != nullptr)
    deciding->devices_until = node_.clock().Now() + kAllDevicesPatience;
}

void AwaitedDevices::TakeAll(DevicesByPod all) {
  if (auto* const synchronizing = session_.As<Synchronizing>();
      synchronizing != nullptr && !synchronizing->pods_known) {
    synchronizing->devices = std::move(all);
    return;
  }
  std::vector<std::pair<std::string, PodDevices*>> known;
  for (const auto& [uid, managed] : node_.pods())
    if (const auto found = all.find({managed.pod.namespace_, managed.pod.name}); found != all.end())
      known.emplace_back(uid, &found->second);
  for (const auto& [uid, devices] : known) Take(uid, *devices);
  node_.Changed();
}

void AwaitedDevices::OnPodsKnown() {
  if (auto* const synchronizing = session_.As<Synchronizing>(); synchronizing != nullptr && synchronizing->devices)
    TakeAll(*std::exchange(synchronizing->devices, std::nullopt));
}

void AwaitedDevices::Tick(os::MonoTime now) {
  calls_.RunExpired(now, [this](const std::string& uid) { tracked_.Know(uid).devices = TrackedPod::Devices::kLate; });
  if (!aside() && now >= reports_.next_try()) AskForAll();
}

os::MonoTime AwaitedDevices::next_due() const {
  return aside() ? calls_.next_due() : std::min(calls_.next_due(), reports_.next_try());
}

}  // namespace berth::nri_agent
