// Devices as device plugins (or a configuration) report them, and what containers are given with them.
#ifndef BERTH_MODEL_DEVICE_H_
#define BERTH_MODEL_DEVICE_H_

#include <map>
#include <string>
#include <vector>

#include "base/id_set.h"

namespace berth {

/// An observation, an input of decisions.
struct Device {
  std::string id;
  NodeSet nodes;  ///< empty: no topology
  bool healthy = true;
  std::string pci = {};  ///< address of the PCI function it is, or sits on; "": its id, where that is one
  friend bool operator==(const Device&, const Device&) = default;
};

/// Resource name -> devices, sorted by id. A resource that is present but empty is registered without devices.
using DeviceInventory = std::map<std::string, std::vector<Device>, std::less<>>;

/// A file or directory of the host that a container is given with a device.
struct DeviceMount {
  std::string container_path;
  std::string host_path;
  bool read_only = false;
  friend bool operator==(const DeviceMount&, const DeviceMount&) = default;
};

/// A device node that a container is given.
struct DeviceNode {
  std::string container_path;
  std::string host_path;
  std::string permissions;  ///< of r, w, m, for the cgroup
  friend bool operator==(const DeviceNode&, const DeviceNode&) = default;
};

/// What devices bring to the container that holds them: a plugin's answer to Allocate (ContainerAllocateResponse of
/// v1beta1), and where the devices were then.
struct DeviceAnswer {
  std::map<std::string, NodeSet> nodes;  ///< id -> its NUMA nodes; none: no topology
  std::map<std::string, std::string> env;
  std::vector<DeviceMount> mounts;
  std::vector<DeviceNode> device_nodes;
  std::map<std::string, std::string> annotations;
  std::vector<std::string> cdi_devices;  ///< full names: "vendor.example/class=name"
  friend bool operator==(const DeviceAnswer&, const DeviceAnswer&) = default;
};

}  // namespace berth

#endif  // BERTH_MODEL_DEVICE_H_
