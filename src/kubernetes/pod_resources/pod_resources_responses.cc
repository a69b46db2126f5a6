#include "kubernetes/pod_resources/pod_resources_responses.h"

#include <algorithm>
#include <cstdint>
#include <string>

namespace berth::pod_resources {
namespace {

const PodRecord* RecordIn(const NodeSnapshot& snapshot, const std::string& uid) {
  const auto found = snapshot.ledger->pods.find(uid);
  return found != snapshot.ledger->pods.end() ? &found->second : nullptr;
}

void AddNode(NumaId node, v1::TopologyInfo& out) { out.add_nodes()->set_id(Raw(node)); }

/// An entry for each device and node, as the kubelet has it; one without topology for a device without nodes.
void AddDevice(const std::string& resource, const std::string& id, const NodeSet& nodes,
               google::protobuf::RepeatedPtrField<v1::ContainerDevices>& out) {
  const auto add = [&]() -> v1::ContainerDevices& {
    v1::ContainerDevices& entry = *out.Add();
    entry.set_resource_name(resource);
    entry.add_device_ids(id);
    return entry;
  };
  if (nodes.empty()) add();
  for (const NumaId node : nodes) AddNode(node, *add().mutable_topology());
}

NodeSet NodesNow(const DeviceInventory& devices, const std::string& resource, const std::string& id) {
  const auto list = devices.find(resource);
  if (list == devices.end()) return {};
  const auto found = std::ranges::lower_bound(list->second, id, {}, &Device::id);
  return found != list->second.end() && found->id == id ? found->nodes : NodeSet();
}

/// Where the device was when it was given; where it is where that was not kept.
NodeSet NodesOf(const NodeSnapshot& snapshot, const DeviceAssignment& assignment, const std::string& id) {
  if (!assignment.answer) return NodesNow(*snapshot.devices, assignment.resource, id);
  const auto found = assignment.answer->nodes.find(id);
  return found != assignment.answer->nodes.end() ? found->second : NodeSet();
}

void AddPlacement(const NodeSnapshot& snapshot, const Placement& placement, v1::ContainerResources& out) {
  for (const DeviceAssignment& assignment : placement.devices)
    for (const std::string& id : assignment.ids)
      AddDevice(assignment.resource, id, NodesOf(snapshot, assignment, id), *out.mutable_devices());
  if (placement.cpus)
    for (const CpuId cpu : *placement.cpus) out.add_cpu_ids(Raw(cpu));
  if (!placement.memory) return;
  for (const MemoryBlock& block : *placement.memory) {
    v1::ContainerMemory& entry = *out.add_memory();
    entry.set_memory_type(block.type);
    entry.set_size(static_cast<std::uint64_t>(block.size.v));
    for (const NumaId node : block.nodes) AddNode(node, *entry.mutable_topology());
  }
}

/// Of each container of that kind.
void AddContainers(const NodeSnapshot& snapshot, const PodView& pod, ContainerKind kind, v1::PodResources& out) {
  const PodRecord* const record = RecordIn(snapshot, pod.uid);
  for (const ContainerView& container : pod.containers) {
    if (container.kind != kind) continue;
    v1::ContainerResources& entry = *out.add_containers();
    entry.set_name(container.name);
    const Placement* const placement = record != nullptr ? FindPlacement(*record, container.name) : nullptr;
    if (placement != nullptr) AddPlacement(snapshot, *placement, entry);
  }
}

}  // namespace

bool IsActive(const NodeSnapshot& snapshot, const PodSnapshot& pod) {
  if (RecordIn(snapshot, pod.view->uid) != nullptr) return true;
  const bool over = pod.view->phase == PodPhase::kFailed || pod.view->phase == PodPhase::kSucceeded;
  return !over && pod.view->reason != "Terminating";
}

v1::PodResources ResourcesOf(const NodeSnapshot& snapshot, const PodSnapshot& pod) {
  v1::PodResources out;
  out.set_name(pod.view->name);
  out.set_namespace_(pod.view->namespace_);
  AddContainers(snapshot, *pod.view, ContainerKind::kSidecar, out);
  AddContainers(snapshot, *pod.view, ContainerKind::kApp, out);
  return out;
}

v1::ListPodResourcesResponse ListPods(const NodeSnapshot& snapshot, bool only_active) {
  v1::ListPodResourcesResponse out;
  for (const PodSnapshot& pod : snapshot.pods)
    if (!only_active || IsActive(snapshot, pod)) *out.add_pod_resources() = ResourcesOf(snapshot, pod);
  return out;
}

v1::AllocatableResourcesResponse AllocatableOf(const NodeSnapshot& snapshot) {
  v1::AllocatableResourcesResponse out;
  for (const auto& [resource, devices] : *snapshot.devices)
    for (const Device& device : devices)
      if (device.healthy) AddDevice(resource, device.id, device.nodes, *out.mutable_devices());
  if (snapshot.node->cpu_policy == "static")
    for (const CpuId cpu : snapshot.node->all_cpus - snapshot.node->reserved_cpus) out.add_cpu_ids(Raw(cpu));
  for (const auto& [node, state] : snapshot.ledger->memory)
    for (const auto& [type, table] : state.types) {
      if (table.allocatable.v == 0) continue;
      v1::ContainerMemory& entry = *out.add_memory();
      entry.set_memory_type(type);
      entry.set_size(static_cast<std::uint64_t>(table.allocatable.v));
      AddNode(node, *entry.mutable_topology());
    }
  return out;
}

v1::ListPodResourcesResponse ListPodsAlpha(const NodeSnapshot& snapshot) {
  v1::ListPodResourcesResponse out;
  for (const PodSnapshot& pod : snapshot.pods) {
    v1::PodResources& entry = *out.add_pod_resources();
    entry.set_name(pod.view->name);
    entry.set_namespace_(pod.view->namespace_);
    AddContainers(snapshot, *pod.view, ContainerKind::kApp, entry);
    for (v1::ContainerResources& container : *entry.mutable_containers()) {
      container.clear_cpu_ids();
      container.clear_memory();
      for (v1::ContainerDevices& devices : *container.mutable_devices()) devices.clear_topology();
    }
  }
  return out;
}

}  // namespace berth::pod_resources
