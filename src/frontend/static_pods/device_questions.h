// GetPreferredAllocation requests about a pod, before its devices are chosen: docs/rules/devices.md. Pure.
#ifndef BERTH_FRONTEND_STATIC_PODS_DEVICE_QUESTIONS_H_
#define BERTH_FRONTEND_STATIC_PODS_DEVICE_QUESTIONS_H_

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/device.h"
#include "model/ledger.h"
#include "node/device_manager/plugins.h"

namespace berth::pods {

/// Device resources that some container of the pod asks for (limits that are no native resource, above 0).
std::set<std::string> DeviceResourcesOf(const Pod& pod);

/// The first of these whose plug-in is not there, but is waited for; "": none.
std::string FirstAwaited(const std::set<std::string>& resources, const device_manager::Known& known);

/// Those whose plug-ins want to be asked which devices they prefer.
std::set<std::string> ChoosyResources(const device_manager::Known& known);

/// Devices that pods other than `uid` hold, by resource.
std::map<std::string, std::set<std::string>> DevicesHeldByOthers(const Ledger& ledger, const std::string& uid);

/// What there is to choose from.
struct DeviceChoices {
  std::shared_ptr<const DeviceInventory> devices;
  std::map<std::string, std::set<std::string>> held;  ///< as above
  std::set<std::string> asked;                        ///< resources whose plug-ins want to be asked
};

using Preferences = std::map<std::string, std::vector<std::string>, std::less<>>;
using AskPreference = std::function<Result<std::vector<std::string>>(const std::string& resource,
                                                                     const device_manager::PreferenceQuestion&)>;

/// Asks about each container in turn, as a kubelet does: `record` is where the pod would go without being asked; its
/// hints are those of the decision that follows. Errors: the first of `ask`.
Result<Preferences> AskPreferences(const PodRecord& record, const DeviceChoices& choices, const AskPreference& ask);

}  // namespace berth::pods

#endif  // BERTH_FRONTEND_STATIC_PODS_DEVICE_QUESTIONS_H_
