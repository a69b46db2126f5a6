// Devices as device plugins (or a configuration) report them: an observation, an input of decisions.
#ifndef BERTH_MODEL_DEVICE_H_
#define BERTH_MODEL_DEVICE_H_

#include <map>
#include <string>
#include <vector>

#include "base/id_set.h"

namespace berth {

struct Device {
  std::string id;
  NodeSet nodes;  ///< empty: no topology
  bool healthy = true;
  friend bool operator==(const Device&, const Device&) = default;
};

/// Resource name -> devices, sorted by id. A resource that is present but empty is registered without devices.
using DeviceInventory = std::map<std::string, std::vector<Device>, std::less<>>;

}  // namespace berth

#endif  // BERTH_MODEL_DEVICE_H_
