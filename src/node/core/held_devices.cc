#include "node/core/held_devices.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace berth::core {

HeldDevices::Health HeldDevices::HealthOf(const std::string& resource, const std::string& id) const {
  const DeviceInventory& all = devices_.known().devices;
  const auto devices = all.find(resource);
  if (devices == all.end()) return Health::kGone;
  const auto device = std::ranges::lower_bound(devices->second, id, {}, &Device::id);
  if (device == devices->second.end() || device->id != id) return Health::kGone;
  return device->healthy ? Health::kHealthy : Health::kUnhealthy;
}

void HeldDevices::Look() {
  std::map<Key, Health> ill;
  for (const auto& [uid, record] : allocations_.ledger().pods)
    for (const Placement& placement : record.placements)
      for (const DeviceAssignment& held : placement.devices) {
        const device_manager::Served* const served = devices_.Find(held.resource);
        const bool away = served != nullptr && !served->ready;
        std::map<Health, std::string> changed;  // to their ids
        for (const std::string& id : held.ids) {
          Key key{uid, placement.container, held.resource, id};
          const auto found = ill_.find(key);
          const Health before = found == ill_.end() ? Health::kHealthy : found->second;
          const Health now = away ? before : HealthOf(held.resource, id);
          if (now != before) changed[now] += (changed[now].empty() ? "" : ", ") + id;
          if (now != Health::kHealthy) ill.emplace(std::move(key), now);
        }
        for (const auto& [health, ids] : changed) Tell(record, placement, held.resource, health, ids);
      }
  ill_ = std::move(ill);
}

void HeldDevices::Tell(const PodRecord& record, const Placement& placement, const std::string& resource, Health health,
                       const std::string& ids) const {
  const std::string what = fmt::format("container {} holds {} {}", placement.container, resource, ids);
  const std::string object = "pod/" + FullName(record);
  if (health == Health::kHealthy)
    events_.Normal("DeviceHealthy", object, what + ": healthy again");
  else
    events_.Warning("DeviceUnhealthy", object,
                    what + (health == Health::kUnhealthy ? ": its plug-in calls that unhealthy"
                                                         : ": no plug-in has that any more"));
}

}  // namespace berth::core
