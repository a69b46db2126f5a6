#include "allocator/topology/device_places.h"

#include <algorithm>
#include <optional>

namespace berth::allocator {
namespace {

/// No real machine has as many bridges above each other; a described one may.
constexpr std::size_t kDeepest = 32;

}  // namespace

DevicePlaces::DevicePlaces(const Machine& machine, const NodeIndex& nodes, const std::vector<CpuSet>& node_cpus)
    : places_(1), node_cpus_(node_cpus), distances_(nodes.size()) {
  for (const PciDevice& device : machine.pci) {
    std::size_t place = kTop;
    for (std::size_t i = 0; i < std::min(device.above.size(), kDeepest); ++i) place = Below(place, device.above[i]);
    functions_.emplace(device.address, Function{.place = place, .local = device.local_cpus});
  }
  for (std::size_t i = 0; i < node_cpus.size(); ++i)
    if (!node_cpus[i].empty()) cpu_nodes_.Add(i);
  for (const NumaNode& node : machine.nodes) distances_[*nodes.Find(node.id)] = node.distances;
}

std::size_t DevicePlaces::Below(std::size_t parent, const std::string& name) {
  const auto [at, fresh] = below_.try_emplace({parent, name}, places_.size());
  if (fresh) places_.push_back({.parent = parent, .name = name});
  return at->second;
}

const DevicePlaces::Function* DevicePlaces::FunctionOf(const Device& device) const {
  const auto found = functions_.find(device.pci.empty() ? device.id : device.pci);
  return found == functions_.end() ? nullptr : &found->second;
}

std::size_t DevicePlaces::Find(const Device& device) const {
  const Function* const function = FunctionOf(device);
  return function == nullptr ? kTop : function->place;
}

std::vector<std::size_t> DevicePlaces::Way(std::size_t place) const {
  std::vector<std::size_t> out;
  for (; place != kTop; place = parent(place)) out.push_back(place);
  std::ranges::reverse(out);
  return out;
}

CpuSet DevicePlaces::LocalCpus(const Device& device) const {
  const Function* const function = FunctionOf(device);
  return function == nullptr ? CpuSet() : function->local;
}

Mask DevicePlaces::Homes(const Device& device, const Mask& nodes) const {
  if (nodes.empty() || nodes.Meets(cpu_nodes_)) return nodes;
  Mask out;
  const CpuSet local = LocalCpus(device);
  for (std::size_t i = 0; i < node_cpus_.size(); ++i)
    if (node_cpus_[i].Intersects(local)) out.Add(i);
  if (out.empty()) nodes.ForEach([&](std::size_t node) { out |= Nearest(node); });
  return out.empty() ? nodes : out;
}

Mask DevicePlaces::Nearest(std::size_t node) const {
  const std::vector<unsigned>& row = distances_[node];
  std::optional<unsigned> least;
  Mask out;
  cpu_nodes_.ForEach([&](std::size_t other) {
    if (other >= row.size() || (least && row[other] > *least)) return;
    if (!least || row[other] < *least) out = Mask();
    least = row[other];
    out.Add(other);
  });
  return out;
}

}  // namespace berth::allocator
