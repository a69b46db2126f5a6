#include "simulator/cluster/shape.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "allocator/demand/demand.h"
#include "model/pod_wishes.h"
#include "model/resources.h"

namespace berth::cluster {
namespace {

void AddText(std::string& key, std::string_view text) {
  key += std::to_string(text.size());
  key += ':';
  key += text;
}

void AddList(std::string& key, char name, const ResourceList& list) {
  key += name;
  for (const auto& [resource, amount] : list) {
    AddText(key, resource);
    AddText(key, amount.ToString());
  }
}

void AddResources(std::string& key, const Resources& resources) {
  AddList(key, 'r', resources.requests);
  AddList(key, 'l', resources.limits);
}

/// What a pod asks of its placement by annotation; {}: nothing.
std::map<std::string, std::string> WishesIn(const std::map<std::string, std::string>& annotations) {
  std::map<std::string, std::string> out;
  for (const std::string_view name : kWishAnnotations)
    if (const auto found = annotations.find(std::string(name)); found != annotations.end()) out.insert(*found);
  return out;
}

/// A decision names containers of a pod that holds devices in several of them.
bool NamesMatter(const Pod& pod) {
  int with_devices = 0;
  ForEachContainer(pod, [&](const Container& container, ContainerKind) {
    const auto native = [](const auto& limit) { return IsNativeResource(limit.first) || IsMemoryType(limit.first); };
    if (!std::ranges::all_of(container.resources.limits, native)) ++with_devices;
  });
  return with_devices > 1 || !WishesIn(pod.annotations).empty();
}

/// name: instead of their own; 0: they keep these.
std::vector<Container> OnlyResources(const std::vector<Container>& containers, char name) {
  std::vector<Container> out;
  out.reserve(containers.size());
  for (const Container& container : containers) {
    Container& bare = out.emplace_back();
    bare.name = name == 0 ? container.name : name + std::to_string(out.size() - 1);
    bare.resources = container.resources;
    bare.restartable_init = container.restartable_init;
  }
  return out;
}

/// cpu, memory and ephemeral-storage first, as a kubelet looks at them.
std::size_t Rank(std::string_view resource) {
  constexpr std::array<std::string_view, 3> kFirst{"cpu", "memory", "ephemeral-storage"};
  return static_cast<std::size_t>(std::ranges::find(kFirst, resource) - kFirst.begin());
}

std::int64_t Healthy(const std::vector<Device>& devices) {
  return std::ranges::count_if(devices, [](const Device& device) { return device.healthy; });
}

/// As node fit looks at it: rules/cgroups#node-fit.
Limit LimitOf(const std::string& resource, const Kind& kind) {
  const ResourceList& allocatable = kind.node.allocatable();
  if (const auto it = allocatable.find(resource); it != allocatable.end())
    return {Concern::kLimited, AmountIn(resource, it->second)};
  if (IsMemoryType(resource)) return {Concern::kLimited, 0};
  if (IsNativeResource(resource)) return {};
  const auto devices = kind.inputs.devices.find(resource);
  if (devices == kind.inputs.devices.end()) return {Concern::kHeldOnly, 0};
  return {Concern::kLimited, Healthy(devices->second)};
}

}  // namespace

std::int64_t AmountIn(std::string_view resource, const Quantity& quantity) {
  return resource == "cpu" ? quantity.MilliValue() : quantity.Value();
}

std::string ShapeKey(const Pod& pod) {
  std::string key;
  ForEachContainer(pod, [&](const Container& container, ContainerKind kind) {
    key += kind == ContainerKind::kInit ? 'i' : kind == ContainerKind::kSidecar ? 's' : 'a';
    AddResources(key, container.resources);
  });
  AddList(key, 'o', pod.overhead);
  if (pod.resources) {
    key += 'p';
    AddResources(key, *pod.resources);
  }
  if (pod.status_qos) key += std::to_string(static_cast<int>(*pod.status_qos));
  if (const std::map<std::string, std::string> wishes = WishesIn(pod.annotations); !wishes.empty()) {
    key += 'w';
    AddText(key, pod.namespace_);
    for (const auto& [name, value] : wishes) {
      AddText(key, name);
      AddText(key, value);
    }
  }
  if (!NamesMatter(pod)) return key;
  key += 'n';
  ForEachContainer(pod, [&](const Container& container, ContainerKind) { AddText(key, container.name); });
  return key;
}

Shape ShapeOf(const Pod& pod, std::string key) {
  Shape out{.key = std::move(key), .pod = {}, .asked = {}};
  out.pod.uid = "a pod that asks";
  out.pod.annotations = WishesIn(pod.annotations);
  if (!out.pod.annotations.empty()) out.pod.namespace_ = pod.namespace_;
  const bool names = NamesMatter(pod);
  out.pod.init_containers = OnlyResources(pod.init_containers, names ? '\0' : 'i');
  out.pod.containers = OnlyResources(pod.containers, names ? '\0' : 'c');
  out.pod.overhead = pod.overhead;
  out.pod.resources = pod.resources;
  out.pod.status_qos = pod.status_qos;
  for (const auto& [resource, quantity] : PodRequests(out.pod))
    if (const std::int64_t amount = AmountIn(resource, quantity); amount > 0) out.asked.push_back({resource, amount});
  for (const Asked& asked : out.asked) {
    if (asked.resource == "cpu") out.cpu_milli = asked.amount;
    if (asked.resource == "memory") out.memory = asked.amount;
  }
  std::ranges::stable_sort(out.asked, {}, [](const Asked& asked) { return Rank(asked.resource); });
  return out;
}

Ask AskOf(const Shape& shape, const Kind& kind) {
  Ask out;
  for (const Asked& asked : shape.asked) out.limits.push_back(LimitOf(asked.resource, kind));
  // What init containers have, later containers take over; apps and sidecars hold theirs side by side.
  const allocator::NodeTables& tables = kind.node.tables();
  std::int64_t init = 0;
  for (const allocator::ContainerDemand& demand :
       allocator::DemandOf(tables, allocator::RulesFor(tables, shape.pod), shape.pod).containers)
    if (demand.kind == ContainerKind::kInit) {
      init = std::max<std::int64_t>(init, demand.cpus);
    } else {
      out.exclusive_cpus += demand.cpus;
    }
  out.exclusive_cpus = std::max(out.exclusive_cpus, init);
  return out;
}

}  // namespace berth::cluster
