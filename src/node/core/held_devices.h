// Devices that pods hold and that their plug-ins call unhealthy, or know no more.
#ifndef BERTH_NODE_CORE_HELD_DEVICES_H_
#define BERTH_NODE_CORE_HELD_DEVICES_H_

#include <map>
#include <string>
#include <tuple>

#include "node/ledger/node_allocations.h"
#include "node/pods/device_book.h"
#include "telemetry/events/event_log.h"

namespace berth::core {

/// Thread: the loop's only.
class HeldDevices {
 public:
  explicit HeldDevices(const ledger::NodeAllocations& allocations, const pods::DeviceBook& devices,
                       events::EventLog& events)
      : allocations_(allocations), devices_(devices), events_(events) {}

  /// At the start, and when plug-ins have told something new: an event for each container and resource whose devices
  /// are not what they were at the last look; healthy before the first. While a plug-in is away, and waited for,
  /// nothing is said about its devices.
  void Look();

 private:
  enum class Health { kHealthy, kUnhealthy, kGone };
  /// Uid, container, resource, id.
  using Key = std::tuple<std::string, std::string, std::string, std::string>;

  Health HealthOf(const std::string& resource, const std::string& id) const;
  void Tell(const PodRecord& record, const Placement& placement, const std::string& resource, Health health,
            const std::string& ids) const;

  const ledger::NodeAllocations& allocations_;
  const pods::DeviceBook& devices_;
  events::EventLog& events_;
  std::map<Key, Health> ill_;
};

}  // namespace berth::core

#endif  // BERTH_NODE_CORE_HELD_DEVICES_H_
