#include "simulator/offline/zone_view.h"

#include <algorithm>

#include "model/resources.h"
#include "simulator/cluster/shape.h"

namespace berth::offline {
namespace {

constexpr std::int64_t kNotListed = -1;

}  // namespace

ZoneView::ZoneView(const cluster::Fleet& fleet) : fleet_(fleet) {
  const std::vector<cluster::NodeIndex> nodes = fleet.Nodes();
  for (const cluster::NodeIndex node : nodes) AddNames(fleet.StateOf(node));
  for (const cluster::NodeIndex node : nodes) {
    if (nodes_.size() <= node) nodes_.resize(node + 1);
    const KubeletConfiguration& config = fleet.KindOf(node).node.config();
    nodes_[node].checked = config.topology_manager_policy == "single-numa-node";
    nodes_[node].pod_scope = config.topology_manager_scope == "pod";
    Read(node);
  }
}

void ZoneView::AddNames(const cluster::State& state) {
  names_.emplace("cpu", names_.size());
  for (const auto& [id, books] : state.books.memory)
    for (const auto& [type, table] : books.types) names_.emplace(type, names_.size());
  for (const auto& [resource, devices] : state.kind->inputs.devices) names_.emplace(resource, names_.size());
}

void ZoneView::Read(cluster::NodeIndex node) {
  const cluster::State& state = fleet_.StateOf(node);
  const cluster::Kind& kind = *state.kind;
  const cluster::Held held = state.Held();
  const CpuSet free = cluster::FreeCpus(kind, state.books);
  Viewed& viewed = nodes_[node];
  viewed.zones.assign(kind.zones.size(), Available(names_.size(), kNotListed));
  for (std::size_t i = 0; i < kind.zones.size(); ++i) {
    const cluster::Zone& zone = kind.zones[i];
    Available& available = viewed.zones[i];
    available[names_.find("cpu")->second] = std::int64_t{1000} * (zone.cpus & free).Count();
    if (const auto books = state.books.memory.find(zone.id); books != state.books.memory.end())
      for (const auto& [type, table] : books->second.types) available[names_.find(type)->second] = table.free.v;
    for (const auto& [resource, devices] : kind.inputs.devices)
      for (const Device& device : devices) {
        if (!device.healthy || !device.nodes.Contains(zone.id)) continue;
        std::int64_t& count = available[names_.find(resource)->second];
        const auto taken = held.devices.find(resource);
        count = std::max<std::int64_t>(0, count) +
                (taken != held.devices.end() && taken->second.contains(device.id) ? 0 : 1);
      }
  }
}

std::vector<ZoneAsks::Amount> ZoneView::AmountsOf(const ResourceList& requests, bool only_counted) const {
  std::vector<ZoneAsks::Amount> out;
  for (const auto& [resource, quantity] : requests) {
    const std::int64_t amount = cluster::AmountIn(resource, quantity);
    const auto known = names_.find(resource);
    if (amount <= 0 || known == names_.end()) continue;
    if (only_counted && (resource == "cpu" || IsMemoryType(resource))) continue;
    out.push_back({known->second, amount});
  }
  return out;
}

ZoneAsks ZoneView::AsksOf(const Pod& pod) const {
  ZoneAsks out;
  // Of others than Guaranteed pods CPUs and memory fit everywhere.
  const bool only_devices = QosOf(pod) != QosClass::kGuaranteed;
  ForEachContainer(pod, [&](const Container& container, ContainerKind kind) {
    out.containers.push_back({AmountsOf(container.resources.requests, only_devices), kind != ContainerKind::kApp});
  });
  const ResourceList requests = PodRequests(pod);
  out.whole.amounts = AmountsOf(requests, only_devices);
  out.effective = AmountsOf(requests, false);
  return out;
}

/// The first zone that has enough of everything, by position; the number of zones if there is none.
std::size_t ZoneView::FirstFor(const std::vector<Available>& zones, const std::vector<ZoneAsks::Amount>& amounts) {
  const auto enough = [&](const Available& zone) {
    return std::ranges::all_of(amounts, [&](const ZoneAsks::Amount& asked) {
      if (zone[asked.resource] >= asked.amount) return true;
      return std::ranges::all_of(zones, [&](const Available& other) { return other[asked.resource] == kNotListed; });
    });
  };
  return static_cast<std::size_t>(std::ranges::find_if(zones, enough) - zones.begin());
}

void ZoneView::TakeOff(Available& zone, const std::vector<ZoneAsks::Amount>& amounts) {
  for (const ZoneAsks::Amount& asked : amounts)
    if (std::int64_t& left = zone[asked.resource]; left != kNotListed)
      left = std::max<std::int64_t>(0, left - asked.amount);
}

bool ZoneView::FitsContainers(std::vector<Available> zones, const ZoneAsks& asks) {
  for (const ZoneAsks::One& container : asks.containers) {
    const std::size_t zone = FirstFor(zones, container.amounts);
    if (zone == zones.size()) return false;
    if (!container.init) TakeOff(zones[zone], container.amounts);
  }
  return true;
}

bool ZoneView::Passes(const ZoneAsks& asks, cluster::NodeIndex node) {
  Viewed& viewed = nodes_[node];
  if (!viewed.checked) return true;
  const bool as_one = viewed.pod_scope || asks.containers.size() == 1;
  const std::vector<ZoneAsks::Amount>& one = viewed.pod_scope ? asks.whole.amounts : asks.containers.front().amounts;
  if (as_one ? FirstFor(viewed.zones, one) < viewed.zones.size() : FitsContainers(viewed.zones, asks)) return true;
  if (!viewed.refused) refused_.push_back(node);
  viewed.refused = true;
  return false;
}

void ZoneView::Reserve(const ZoneAsks& asks, cluster::NodeIndex node) {
  for (Available& zone : nodes_[node].zones) TakeOff(zone, asks.effective);
}

void ZoneView::Resync() {
  for (const cluster::NodeIndex node : refused_) {
    nodes_[node].refused = false;
    Read(node);
  }
  refused_.clear();
}

}  // namespace berth::offline
