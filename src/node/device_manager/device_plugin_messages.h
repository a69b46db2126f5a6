// Messages of the device plug-in interface (v1beta1), read and written. What plug-ins send is checked here. Pure.
#ifndef BERTH_NODE_DEVICE_MANAGER_DEVICE_PLUGIN_MESSAGES_H_
#define BERTH_NODE_DEVICE_MANAGER_DEVICE_PLUGIN_MESSAGES_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/id_set.h"
#include "base/result.h"
#include "model/device.h"
#include "node/device_manager/plugins.h"

namespace berth::device_manager {

/// More of one resource are refused.
inline constexpr std::size_t kMostDevices = 65'536;
inline constexpr std::size_t kLongestId = 1'024;
/// Of what one container is given with devices of one resource; it is kept in the ledger.
inline constexpr std::size_t kLongestAnswer = std::size_t{256} << 10;

struct Registration {
  std::string version;
  std::string endpoint;
  std::string resource;
};

/// What a plug-in that was found by its socket says of itself.
struct PluginInfo {
  std::string type;      ///< "DevicePlugin"; there are others
  std::string name;      ///< the resource
  std::string endpoint;  ///< path of the socket that serves; "": the one where it was asked
  std::vector<std::string> versions;
  friend bool operator==(const PluginInfo&, const PluginInfo&) = default;
};

/// Devices by id, and what was wrong with the list.
struct DeviceList {
  std::vector<Device> devices;
  std::vector<std::string> problems;
};

/// Unchecked, both. Errors: kInvalid: no such message.
Result<Registration> ReadRegistration(std::string_view bytes);
Result<PluginInfo> ReadPluginInfo(std::string_view bytes);
/// Errors of all that follow: kInvalid, naming what is wrong: here, the kubelet's words for what it refuses, and an
/// endpoint that is no file name.
Result<void> CheckRegistration(const Registration& registration);
Result<void> CheckPluginInfo(const PluginInfo& info);
Result<PluginOptions> ReadOptions(std::string_view bytes);
/// `nodes`: the machine's. Devices without an id are left out, of two with the same id the first; NUMA nodes that the
/// machine does not have do not count.
Result<DeviceList> ReadDeviceList(std::string_view bytes, const NodeSet& nodes);
/// What the first container of the answer gets. Without DeviceAnswer::nodes.
Result<DeviceAnswer> ReadAllocation(std::string_view bytes);
Result<std::vector<std::string>> ReadPreference(std::string_view bytes);

/// `joined`: what came of it.
std::string WriteRegistrationStatus(const Result<void>& joined);
std::string WriteAllocation(const std::vector<std::string>& ids);
std::string WritePreStart(const std::vector<std::string>& ids);
std::string WritePreference(const PreferenceQuestion& question);

}  // namespace berth::device_manager

#endif  // BERTH_NODE_DEVICE_MANAGER_DEVICE_PLUGIN_MESSAGES_H_
