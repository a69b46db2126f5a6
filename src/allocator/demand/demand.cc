#include "allocator/demand/demand.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string_view>

#include "model/resources.h"

namespace berth::allocator {
namespace {

/// Requests above this cannot be met by any machine; capped so that sums of them do not overflow.
constexpr std::int64_t kMostCpus = 1'000'000;
constexpr std::int64_t kMostBytes = std::numeric_limits<std::int64_t>::max() / 1024;

/// spec.resources names cpu, memory or huge pages. Such pods are left to the shared pool, because managing them needs
/// a feature that is off (rules/sources#pod-level-resources).
bool HasPodLevelResources(const Pod& pod) {
  if (!pod.resources) return false;
  const auto counts = [](const auto& entry) { return CountsAtPodLevel(entry.first); };
  return std::any_of(pod.resources->requests.begin(), pod.resources->requests.end(), counts) ||
         std::any_of(pod.resources->limits.begin(), pod.resources->limits.end(), counts);
}

/// Whole to the thousandth: "1.9999" is rounded up to 2 CPUs (rules/cpu#exclusive-cpus).
int WholeCpus(const Container& container) {
  const Quantity cpus = AmountOf(container.resources.requests, "cpu");
  if (cpus.Sign() <= 0) return 0;
  if (cpus.Value() >= kMostCpus) return cpus.IsInteger() ? static_cast<int>(kMostCpus) : 0;
  return cpus.Value() * 1000 == cpus.MilliValue() ? static_cast<int>(cpus.Value()) : 0;
}

std::vector<MemoryNeed> MemoryOf(const Container& container) {
  std::vector<MemoryNeed> out;
  out.reserve(container.resources.requests.size());
  for (const auto& [name, amount] : container.resources.requests)
    if (IsMemoryType(name)) out.push_back({name, std::clamp<std::int64_t>(amount.Value(), 0, kMostBytes)});
  return out;
}

std::vector<DeviceNeed> DevicesOf(const ResourceList& limits) {
  std::vector<DeviceNeed> out;
  out.reserve(limits.size());
  for (const auto& [name, amount] : limits)
    if (!IsNativeResource(name)) out.push_back({name, std::max<std::int64_t>(amount.Value(), 0)});
  return out;
}

/// rules/cpu#pod-sums: init containers run one after another beside the sidecars declared before them.
int PodCpus(const std::vector<ContainerDemand>& containers) {
  std::int64_t init = 0;
  std::int64_t sidecars = 0;
  std::int64_t apps = 0;
  for (const ContainerDemand& c : containers) {
    if (c.kind == ContainerKind::kSidecar) sidecars += c.cpus;
    if (c.kind == ContainerKind::kInit) init = std::max(init, sidecars + c.cpus);
    if (c.kind == ContainerKind::kApp) apps += c.cpus;
  }
  return static_cast<int>(std::min(std::max(init, apps + sidecars), kMostCpus));
}

/// rules/memory#requests. Oddity: a type that no app container asks for is left out, whatever init containers and
/// sidecars ask.
std::vector<MemoryNeed> PodMemory(const std::vector<ContainerDemand>& containers) {
  struct Sums {
    std::int64_t init = 0, sidecars = 0, apps = 0;
    bool in_app = false;
  };
  std::map<std::string_view, Sums> types;
  for (const ContainerDemand& c : containers) {
    for (const MemoryNeed& need : c.memory) {
      Sums& s = types[need.type];
      if (c.kind == ContainerKind::kSidecar) s.sidecars += need.bytes;
      if (c.kind == ContainerKind::kInit) s.init = std::max(s.init, s.sidecars + need.bytes);
      if (c.kind == ContainerKind::kApp) s.apps += need.bytes, s.in_app = true;
    }
  }
  std::vector<MemoryNeed> out;
  for (const auto& [type, s] : types)
    if (s.in_app) out.push_back({std::string(type), std::max(s.apps + s.sidecars, s.init)});
  return out;
}

}  // namespace

PodDemand DemandOf(const NodeTables& tables, const PodRules& rules, const Pod& pod) {
  PodDemand out;
  out.qos = QosOf(pod);
  const bool managed = out.qos == QosClass::kGuaranteed && !HasPodLevelResources(pod);
  out.containers.reserve(pod.init_containers.size() + pod.containers.size());
  ForEachContainer(pod, [&](const Container& container, ContainerKind kind) {
    ContainerDemand& c = out.containers.emplace_back();
    c.container = &container;
    c.kind = kind;
    c.pool = rules.wishes.PoolOf(container.name);
    if (!c.pool.empty()) {
      c.pool_request =
          std::clamp<std::int64_t>(AmountOf(container.resources.requests, "cpu").MilliValue(), 0, kMostCpus * 1000);
    } else if (const ContainerCpuWish* const wish = rules.wishes.Of(container.name); wish != nullptr) {
      c.cpus = wish->cpus;
      c.mixed = wish->kind == ContainerCpuWish::Kind::kMixed;
    } else if (managed && tables.StaticCpus()) {
      c.cpus = WholeCpus(container);
    }
    if (managed && tables.StaticMemory()) c.memory = MemoryOf(container);
    c.devices = DevicesOf(container.resources.limits);
  });
  if (rules.topology_policy == TopologyPolicy::kNone || rules.scope != Scope::kPod) return out;
  out.cpus = PodCpus(out.containers);
  out.memory = PodMemory(out.containers);
  Pod without_overhead = pod;
  without_overhead.overhead.clear();
  out.devices = DevicesOf(PodLimits(without_overhead));
  return out;
}

}  // namespace berth::allocator
