#include "frontend/static_pods/device_questions.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "model/resources.h"

namespace berth::pods {
namespace {

using Ids = std::set<std::string>;

/// One resource while containers are gone through.
class Chooser {
 public:
  Chooser(const std::vector<Device>& devices, Ids held) : devices_(devices), held_(std::move(held)) {}

  /// Devices for a container, of which the plug-in is asked where there is a choice.
  Result<void> Choose(const Placement& placement, std::size_t count, const std::string& resource,
                      const AskPreference& ask, std::vector<std::string>& preferred) {
    Ids taken;
    for (const std::string& id : left_)
      if (taken.size() < count) taken.insert(id);
    if (taken.size() < count) BERTH_RETURN_IF_ERROR(Fill(placement, count, resource, ask, preferred, taken));
    held_.insert(taken.begin(), taken.end());
    for (const std::string& id : taken) {
      if (placement.kind == ContainerKind::kInit)
        left_.insert(id);
      else
        left_.erase(id);
    }
    return {};
  }

 private:
  Result<void> Fill(const Placement& placement, std::size_t count, const std::string& resource,
                    const AskPreference& ask, std::vector<std::string>& preferred, Ids& taken) {
    const bool topology = std::ranges::any_of(devices_, [](const Device& device) { return !device.nodes.empty(); });
    const bool hinted = topology && placement.hint && placement.hint->nodes;
    Ids free;
    Ids aligned;
    for (const Device& device : devices_) {
      if (!device.healthy || held_.contains(device.id)) continue;
      free.insert(device.id);
      if (hinted && device.nodes.Intersects(*placement.hint->nodes)) aligned.insert(device.id);
    }
    const bool among_aligned = count - taken.size() < aligned.size();
    const Ids& from = among_aligned ? aligned : free;
    Ids available = from;
    available.insert(taken.begin(), taken.end());
    if (!among_aligned) taken.insert(aligned.begin(), aligned.end());
    if (taken.size() >= count) return {};
    BERTH_TRY(const std::vector<std::string> answer, ask(resource, {.available = {available.begin(), available.end()},
                                                                    .must = {taken.begin(), taken.end()},
                                                                    .size = static_cast<std::int32_t>(count)}));
    for (const std::string& id : answer) {
      if (taken.size() >= count) break;
      if (from.contains(id) && taken.insert(id).second) preferred.push_back(id);
    }
    for (const std::string& id : from)
      if (taken.size() < count) taken.insert(id);
    return {};
  }

  const std::vector<Device>& devices_;
  Ids held_;  // by others, and by containers before
  Ids left_;  // by init containers
};

}  // namespace

std::set<std::string> DeviceResourcesOf(const Pod& pod) {
  std::set<std::string> out;
  ForEachContainer(pod, [&](const Container& container, ContainerKind) {
    for (const auto& [name, amount] : container.resources.limits)
      if (!IsNativeResource(name) && !amount.IsZero()) out.insert(name);
  });
  return out;
}

std::string FirstAwaited(const std::set<std::string>& resources, const device_manager::Known& known) {
  for (const std::string& resource : resources)
    if (const auto served = known.resources.find(resource); served != known.resources.end() && !served->second.ready)
      return resource;
  return "";
}

std::set<std::string> ChoosyResources(const device_manager::Known& known) {
  std::set<std::string> out;
  for (const auto& [resource, served] : known.resources)
    if (served.options.preferred) out.insert(resource);
  return out;
}

std::map<std::string, Ids> DevicesHeldByOthers(const Ledger& ledger, const std::string& uid) {
  std::map<std::string, Ids> out;
  for (const auto& [other, record] : ledger.pods) {
    if (other == uid) continue;
    for (const Placement& placement : record.placements)
      for (const DeviceAssignment& held : placement.devices)
        out[held.resource].insert(held.ids.begin(), held.ids.end());
  }
  return out;
}

Result<Preferences> AskPreferences(const PodRecord& record, const DeviceChoices& choices, const AskPreference& ask) {
  Preferences out;
  for (const std::string& resource : choices.asked) {
    const auto devices = choices.devices->find(resource);
    if (devices == choices.devices->end()) continue;
    const auto held = choices.held.find(resource);
    Chooser chooser(devices->second, held != choices.held.end() ? held->second : Ids());
    for (const Placement& placement : record.placements)
      for (const DeviceAssignment& given : placement.devices)
        if (given.resource == resource)
          BERTH_RETURN_IF_ERROR(chooser.Choose(placement, given.ids.size(), resource, ask, out[resource]));
  }
  return out;
}

}  // namespace berth::pods
