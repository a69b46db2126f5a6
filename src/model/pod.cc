#include "model/pod.h"

#include <algorithm>
#include <array>

#include "model/resources.h"

namespace berth {
namespace {

/// Cpu and memory decide the QoS class, nothing else does.
constexpr std::array<std::string_view, 2> kQosResources{"cpu", "memory"};

void Add(ResourceList& sum, const ResourceList& list) {
  for (const auto& [name, amount] : list) sum[name] += amount;
}

void RaiseTo(ResourceList& sum, const ResourceList& floor) {
  for (const auto& [name, amount] : floor) {
    const auto [it, added] = sum.try_emplace(name, amount);
    if (!added) it->second = std::max(it->second, amount);
  }
}

/// One side (requests or limits) of the whole pod, without overhead.
ResourceList Aggregate(const Pod& pod, ResourceList Resources::* side) {
  ResourceList total;
  for (const Container& c : pod.containers) Add(total, c.resources.*side);
  ResourceList sidecars;
  ResourceList init_peak;
  for (const Container& c : pod.init_containers) {
    ResourceList running = sidecars;
    Add(running, c.resources.*side);
    RaiseTo(init_peak, running);
    if (c.restartable_init) sidecars = std::move(running);
  }
  Add(total, sidecars);
  RaiseTo(total, init_peak);
  if (pod.resources)
    for (const auto& [name, amount] : (*pod.resources).*side)
      if (CountsAtPodLevel(name)) total.insert_or_assign(name, amount);
  return total;
}

using QosAmounts = std::array<Quantity, kQosResources.size()>;

/// Adds what is positive of cpu and memory.
void AddQosResources(QosAmounts& sum, const ResourceList& list) {
  for (std::size_t i = 0; i < kQosResources.size(); ++i)
    if (const auto it = list.find(kQosResources[i]); it != list.end() && it->second.Sign() > 0) sum[i] += it->second;
}

bool HasAllQosResources(const ResourceList& list) {
  return std::ranges::all_of(kQosResources, [&](std::string_view name) {
    const auto it = list.find(name);
    return it != list.end() && it->second.Sign() > 0;
  });
}

/// Positive cpu and memory of what decides the class; `limited`: each part of it has a limit for both.
struct QosInput {
  QosAmounts requests;
  QosAmounts limits;
  bool limited = true;
};

QosInput QosInputOf(const Pod& pod) {
  QosInput out;
  const auto consider = [&](const Resources& resources) {
    AddQosResources(out.requests, resources.requests);
    AddQosResources(out.limits, resources.limits);
    out.limited = out.limited && HasAllQosResources(resources.limits);
  };
  if (pod.resources) {
    consider(*pod.resources);
  } else {
    ForEachContainer(pod, [&](const Container& c, ContainerKind) { consider(c.resources); });
  }
  return out;
}

}  // namespace

std::string_view Name(QosClass qos) {
  switch (qos) {
    case QosClass::kGuaranteed: return "Guaranteed";
    case QosClass::kBurstable: return "Burstable";
    case QosClass::kBestEffort: return "BestEffort";
  }
  return "BestEffort";
}

std::string_view Name(DocumentKind kind) { return kind == DocumentKind::kConfigMap ? "ConfigMap" : "Secret"; }

std::string_view Name(RestartPolicy policy) {
  switch (policy) {
    case RestartPolicy::kAlways: return "Always";
    case RestartPolicy::kOnFailure: return "OnFailure";
    case RestartPolicy::kNever: return "Never";
  }
  return "Always";
}

std::string_view Name(ContainerKind kind) {
  switch (kind) {
    case ContainerKind::kInit: return "init";
    case ContainerKind::kSidecar: return "sidecar";
    case ContainerKind::kApp: return "app";
  }
  return "app";
}

std::optional<std::int32_t> PriorityOfClass(std::string_view name) {
  if (name == "system-cluster-critical") return kCriticalPriority;
  if (name == "system-node-critical") return kCriticalPriority + 1000;
  return std::nullopt;
}

std::int32_t PriorityOf(const Pod& pod) {
  return pod.priority != 0 ? pod.priority : PriorityOfClass(pod.priority_class).value_or(0);
}

std::string FullName(const Pod& pod) { return pod.namespace_ + "/" + pod.name; }

QosClass QosOf(const Pod& pod) {
  if (pod.status_qos) return *pod.status_qos;
  const QosInput in = QosInputOf(pod);
  if (in.requests == QosAmounts() && in.limits == QosAmounts()) return QosClass::kBestEffort;
  return in.limited && in.requests == in.limits ? QosClass::kGuaranteed : QosClass::kBurstable;
}

ResourceList PodRequests(const Pod& pod) {
  ResourceList out = Aggregate(pod, &Resources::requests);
  Add(out, pod.overhead);
  return out;
}

ResourceList PodLimits(const Pod& pod) {
  ResourceList out = Aggregate(pod, &Resources::limits);
  for (const auto& [name, amount] : pod.overhead)
    if (const auto it = out.find(name); it != out.end() && !it->second.IsZero()) it->second += amount;
  return out;
}

bool IsLimited(const Pod& pod, std::string_view resource) {
  const auto has = [&](const ResourceList& limits) { return !AmountOf(limits, resource).IsZero(); };
  if (pod.resources && has(pod.resources->limits)) return true;
  for (const Container& c : pod.containers)
    if (!has(c.resources.limits)) return false;
  bool sidecars = false;
  for (const Container& c : pod.init_containers) {
    const bool own = has(c.resources.limits);
    if (!own && !sidecars) return false;
    if (c.restartable_init) sidecars = sidecars || own;
  }
  return true;
}

}  // namespace berth
