#include "allocator/allocation_state/device_books.h"

#include <algorithm>
#include <optional>

namespace berth::allocator {
namespace {

std::optional<std::size_t> Position(const DevicePool& pool, std::string_view id) {
  const auto it = std::lower_bound(pool.devices.begin(), pool.devices.end(), id,
                                   [](const Device* device, std::string_view key) { return device->id < key; });
  if (it == pool.devices.end() || (*it)->id != id) return std::nullopt;
  return static_cast<std::size_t>(it - pool.devices.begin());
}

/// Calls visit(ids) for every assignment of the resource in the ledger.
template <class Visit>
void ForEachAssignment(const Ledger& ledger, std::string_view resource, const Visit& visit) {
  for (const auto& [uid, pod] : ledger.pods)
    for (const Placement& placement : pod.placements)
      for (const DeviceAssignment& assignment : placement.devices)
        if (assignment.resource == resource) visit(assignment.ids);
}

void Mark(DevicePool& pool, const std::vector<std::string>& ids, bool taken) {
  for (const std::string& id : ids)
    if (const auto i = Position(pool, id)) pool.taken[*i] = taken ? 1 : 0;
}

}  // namespace

int DevicePool::Healthy() const {
  return static_cast<int>(std::count_if(devices.begin(), devices.end(), [](const Device* d) { return d->healthy; }));
}

DevicePool DeviceBooks::Open(std::string_view resource) const {
  DevicePool out;
  const auto known = inputs_->devices.find(resource);
  if (known != inputs_->devices.end()) {
    out.registered = true;
    out.devices.reserve(known->second.size());
    for (const Device& device : known->second) out.devices.push_back(&device);
  }
  std::sort(out.devices.begin(), out.devices.end(), [](const Device* a, const Device* b) { return a->id < b->id; });
  out.nodes.reserve(out.devices.size());
  out.taken.resize(out.devices.size());
  out.reusable.resize(out.devices.size());
  for (const Device* device : out.devices) {
    out.nodes.push_back(tables_->nodes.ToMask(device->nodes));
    if (tables_->places) {
      out.nodes.back() = tables_->places->Homes(*device, out.nodes.back());
      out.places.push_back(tables_->places->Find(*device));
    }
    out.topology = out.topology || !out.nodes.back().empty();
  }
  ForEachAssignment(*ledger_, resource, [&](const std::vector<std::string>& ids) { Mark(out, ids, true); });
  return out;
}

DevicePool* DeviceBooks::Find(std::string_view resource) {
  if (const auto open = pools_.find(resource); open != pools_.end()) return &open->second;
  if (!inputs_->devices.contains(resource)) {
    bool held = false;
    ForEachAssignment(*ledger_, resource, [&](const std::vector<std::string>&) { held = true; });
    if (!held) return nullptr;
  }
  return &pools_.emplace(std::string(resource), Open(resource)).first->second;
}

const std::vector<std::string>* DeviceBooks::Preferred(std::string_view resource) const {
  const auto it = inputs_->preferred_devices.find(resource);
  return it == inputs_->preferred_devices.end() ? nullptr : &it->second;
}

void DeviceBooks::SetTaken(std::string_view resource, const std::vector<std::string>& ids, bool taken) {
  if (DevicePool* pool = Find(resource)) Mark(*pool, ids, taken);
}

}  // namespace berth::allocator
