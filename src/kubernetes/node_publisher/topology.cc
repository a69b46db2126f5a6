#include "kubernetes/node_publisher/topology.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "model/resources.h"

namespace berth::node_publisher {
namespace {

using codec::Json;

struct Amounts {
  std::int64_t capacity = 0;
  std::int64_t allocatable = 0;
  std::int64_t taken = 0;
};
using ZoneAmounts = std::map<std::string, Amounts, std::less<>>;

/// What each NUMA node has and what of it is taken, by id.
class Zones {
 public:
  explicit Zones(const NodeSnapshot& snapshot) : snapshot_(snapshot) {
    for (const NumaNode& node : snapshot.machine->nodes) AddMachine(node);
    AddDevices();
    AddTaken();
  }
  const std::map<NumaId, ZoneAmounts>& all() const { return zones_; }

 private:
  void AddMachine(const NumaNode& node) {
    ZoneAmounts& zone = zones_[node.id];
    const CpuSet cpus = CpusOfNode(*snapshot_.machine, node.id);
    CpuSet given = cpus;
    given -= snapshot_.node->reserved_cpus;
    zone["cpu"] = {.capacity = cpus.Count(), .allocatable = given.CountCommon(snapshot_.node->all_cpus)};
    std::int64_t in_pages = 0;
    for (const HugePages& pages : node.hugepages) {
      const std::int64_t size = pages.page_size.v * pages.count;
      in_pages += size;
      zone[HugePagesName(pages.page_size)] = {.capacity = size, .allocatable = size};
    }
    zone["memory"] = {.capacity = node.memory.v, .allocatable = std::max<std::int64_t>(0, node.memory.v - in_pages)};
    const auto books = snapshot_.ledger->memory.find(node.id);
    if (books == snapshot_.ledger->memory.end()) return;
    for (const auto& [type, table] : books->second.types) {
      Amounts& amounts = zone[type];
      amounts.allocatable = table.allocatable.v;
      amounts.capacity = std::max(amounts.capacity, amounts.allocatable);
    }
  }

  void AddDevices() {
    for (const auto& [resource, devices] : *snapshot_.devices)
      for (const Device& device : devices) {
        if (!device.healthy || device.nodes.empty()) continue;
        for (auto& [id, zone] : zones_) {
          Amounts& amounts = zone[resource];
          if (!device.nodes.Contains(id)) continue;
          ++amounts.capacity;
          ++amounts.allocatable;
        }
      }
  }

  void AddTaken() {
    const CpuSet taken = TakenCpus(*snapshot_.ledger);
    for (auto& [id, zone] : zones_) zone["cpu"].taken = CpusOfNode(*snapshot_.machine, id).CountCommon(taken);
    std::map<std::string_view, std::set<std::string_view>> held;  // sidecars may share with init containers
    for (const auto& [uid, pod] : snapshot_.ledger->pods)
      for (const Placement& placement : pod.placements) {
        if (placement.memory) AddBlocks(*placement.memory);
        for (const DeviceAssignment& given : placement.devices)
          held[given.resource].insert(given.ids.begin(), given.ids.end());
      }
    for (const auto& [resource, devices] : *snapshot_.devices) {
      const auto ids = held.find(resource);
      if (ids == held.end()) continue;
      for (const Device& device : devices) {
        if (!device.healthy || !ids->second.contains(device.id)) continue;
        for (const NumaId id : device.nodes)
          if (const auto zone = zones_.find(id); zone != zones_.end()) ++zone->second[resource].taken;
      }
    }
  }
  void AddBlocks(const std::vector<MemoryBlock>& blocks) {
    for (const MemoryBlock& block : blocks)
      for (const NumaId id : block.nodes)
        if (const auto zone = zones_.find(id); zone != zones_.end()) zone->second[block.type].taken += block.size.v;
  }

  const NodeSnapshot& snapshot_;
  std::map<NumaId, ZoneAmounts> zones_;
};

std::string ZoneName(std::size_t position) { return "node-" + std::to_string(position); }

Json CostsJson(const std::vector<unsigned>& distances, std::size_t zones) {
  Json out = Json::array();
  if (distances.size() != zones) return out;  // unknown
  for (std::size_t i = 0; i < zones; ++i) out.push_back({{"name", ZoneName(i)}, {"value", distances[i]}});
  return out;
}

Json ResourcesJson(const ZoneAmounts& zone) {
  Json out = Json::array();
  for (const auto& [name, amounts] : zone)
    out.push_back({{"name", name},
                   {"capacity", std::to_string(amounts.capacity)},
                   {"allocatable", std::to_string(amounts.allocatable)},
                   {"available", std::to_string(std::max<std::int64_t>(0, amounts.allocatable - amounts.taken))}});
  return out;
}

Json AttributeJson(const char* name, const std::string& value) { return {{"name", name}, {"value", value}}; }

}  // namespace

Json NodeResourceTopology(const std::string& name, const NodeSnapshot& snapshot, const KubeletConfiguration& config,
                          std::span<const PodName> pods) {
  const Zones found(snapshot);
  std::map<NumaId, const NumaNode*> nodes;
  for (const NumaNode& node : snapshot.machine->nodes) nodes[node.id] = &node;
  Json zones = Json::array();
  for (const auto& [id, zone] : found.all()) {
    Json one = {{"name", ZoneName(zones.size())}, {"type", "Node"}};
    if (Json costs = CostsJson(nodes[id]->distances, found.all().size()); !costs.empty())
      one["costs"] = std::move(costs);
    one["resources"] = ResourcesJson(zone);
    zones.push_back(std::move(one));
  }
  const std::string fingerprint = PodFingerprint(pods);
  Json attributes = Json::array();
  attributes.push_back(AttributeJson("topologyManagerPolicy", snapshot.node->topology_policy));
  attributes.push_back(AttributeJson("topologyManagerScope", snapshot.node->topology_scope));
  // The plug-in assumes 8 where it is not said.
  if (const auto most = config.topology_manager_policy_options.find("max-allowable-numa-nodes");
      most != config.topology_manager_policy_options.end())
    attributes.push_back(AttributeJson("topologyManagerMaxNUMANodes", most->second));
  attributes.push_back(AttributeJson("nodeTopologyPodsFingerprint", fingerprint));
  attributes.push_back(AttributeJson("nodeTopologyPodsFingerprintMethod", "all"));
  return {{"apiVersion", "topology.node.k8s.io/v1alpha2"},
          {"kind", "NodeResourceTopology"},
          {"metadata", {{"name", name}, {"annotations", {{"topology.node.k8s.io/fingerprint", fingerprint}}}}},
          {"attributes", std::move(attributes)},
          {"zones", std::move(zones)}};
}

}  // namespace berth::node_publisher
