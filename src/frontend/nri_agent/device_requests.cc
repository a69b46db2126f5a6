#include "frontend/nri_agent/device_requests.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/text.h"
#include "model/resources.h"

namespace berth::nri_agent {
namespace {

constexpr std::size_t kLongestList = 500;  // of ids, for people

std::string GivenText(const std::vector<Device>& devices) {
  std::string ids;
  NodeSet nodes;
  for (const Device& device : devices) {
    ids += (ids.empty() ? "" : ", ") + device.id;
    nodes |= device.nodes;
  }
  return "given by the kubelet, as its pod resources say: " + Printable(ids, kLongestList) +
         (nodes.empty() ? " (no NUMA node)" : " (NUMA node " + FormatIds(nodes) + ")");
}

void AddRequest(std::vector<Container>& containers, std::string_view name, const DeviceInventory& devices) {
  for (Container& container : containers)
    for (const auto& [resource, list] : devices)
      if (container.name == name && !IsNativeResource(resource))
        container.resources.limits.insert_or_assign(resource,
                                                    Quantity::FromUnits(static_cast<std::int64_t>(list.size())));
}

}  // namespace

void RequestDevices(Pod& pod, std::string_view container, const DeviceInventory& devices, Trace* trace) {
  AddRequest(pod.init_containers, container, devices);
  AddRequest(pod.containers, container, devices);
  if (trace == nullptr) return;
  for (const auto& [resource, list] : devices) trace->Add("device", std::string(container), resource, GivenText(list));
}

}  // namespace berth::nri_agent
