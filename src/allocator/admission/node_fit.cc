#include "allocator/admission/node_fit.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "allocator/admission/shortage.h"
#include "allocator/reason/failure.h"
#include "base/suggest.h"
#include "model/resources.h"

namespace berth::allocator {
namespace {

/// Thousandths for cpu, whole units otherwise.
std::int64_t Amount(std::string_view resource, const Quantity& quantity) {
  return resource == "cpu" ? quantity.MilliValue() : quantity.Value();
}

/// What all other pods of the ledger ask of each resource of what `record` asks, by its position there. Both lists are
/// sorted by name.
std::vector<Quantity> UsedOf(const PodRecord& record, const Ledger& ledger) {
  const ResourceList& requests = record.requests;
  std::vector<Quantity> out(requests.size());
  for (const auto& [uid, pod] : ledger.pods) {
    if (uid == record.uid) continue;
    auto theirs = pod.requests.begin();
    std::size_t position = 0;
    for (auto asked = requests.begin(); asked != requests.end() && theirs != pod.requests.end();) {
      const int order = asked->first.compare(theirs->first);
      if (order == 0) out[position] += theirs->second;
      if (order >= 0) ++theirs;
      if (order <= 0) ++asked, ++position;
    }
  }
  return out;
}

/// nullopt: the node does not know the resource, which is then nobody's concern.
std::optional<std::int64_t> AllocatableOf(PodBooks& books, const std::string& resource, std::int64_t used) {
  const ResourceList& allocatable = books.tables->settings.allocatable;
  if (const auto it = allocatable.find(resource); it != allocatable.end()) return Amount(resource, it->second);
  if (IsMemoryType(resource)) return 0;
  if (IsNativeResource(resource)) return std::nullopt;
  const DevicePool* pool = books.devices.Find(resource);
  if (pool == nullptr) return std::nullopt;
  // Devices that failed while in use still count for those who hold them.
  return std::max<std::int64_t>(pool->Healthy(), used);
}

Reject OutOf(const std::string& resource, std::int64_t requested, std::int64_t used, std::int64_t capacity,
             const DecisionLog& log) {
  Shortage shortage;
  shortage.resource = resource;
  shortage.scope = Shortage::Scope::kNodeFit;
  shortage.requested = requested;
  shortage.free = std::max<std::int64_t>(0, capacity - used);
  shortage.capacity = capacity;
  shortage.missing = requested - shortage.free;
  log.AddShortage(shortage);
  Reject out;
  out.reason = "OutOf" + resource;
  out.message = "Node didn't have enough resource: " + resource + ", requested: " + std::to_string(requested) +
                ", used: " + std::to_string(used) + ", capacity: " + std::to_string(capacity);
  out.details.push_back(ShortageText(shortage));
  if (log) log.Add("reject", "", resource, out.reason + ": " + out.message);
  return out;
}

/// What an unknown resource may have been meant to be.
std::string WhatThereIs(const std::string& resource, const Inputs& inputs) {
  constexpr std::size_t kMostNamed = 10;
  const std::string start = resource + ": no device plugin has registered it";
  if (inputs.devices.empty()) return start + ", nor any other resource";
  std::vector<std::string_view> known;
  for (const auto& [name, devices] : inputs.devices) known.push_back(name);
  const auto kind = [](std::string_view name) { return name.substr(name.rfind('/') + 1); };
  std::vector<std::string_view> alike;
  for (const std::string_view name : known)
    if (kind(name) == kind(resource)) alike.push_back(name);
  if (alike.empty())
    if (const std::string_view near = Nearest(resource, known); !near.empty())
      return start + "; the nearest one there is, is " + std::string(near);
  if (!alike.empty()) known = std::move(alike);
  std::string names;
  for (std::size_t i = 0; i < std::min(known.size(), kMostNamed); ++i) (names += i == 0 ? "" : ", ") += known[i];
  return start + "; there is " + names + (known.size() > kMostNamed ? ", ..." : "");
}

/// Calls visit(entry, position) in the kubelet's order until it returns false.
template <class Visit>
void InKubeletOrder(const ResourceList& requests, const Visit& visit) {
  static constexpr std::array<std::string_view, 3> kFirst{"cpu", "memory", "ephemeral-storage"};
  for (std::string_view first : kFirst)
    if (const auto it = requests.find(first); it != requests.end())
      if (!visit(*it, static_cast<std::size_t>(std::distance(requests.begin(), it)))) return;
  std::size_t position = 0;
  for (const auto& entry : requests) {
    if (std::find(kFirst.begin(), kFirst.end(), entry.first) == kFirst.end() && !visit(entry, position)) return;
    ++position;
  }
}

}  // namespace

std::optional<Reject> CheckNodeFit(PodBooks& books, const DecisionLog& log) {
  const ResourceList& allocatable = books.tables->settings.allocatable;
  const auto pods = static_cast<std::int64_t>(books.ledger->pods.size() - books.ledger->pods.count(books.record.uid));
  if (const auto it = allocatable.find("pods"); it != allocatable.end() && pods + 1 > it->second.Value())
    return OutOf("pods", 1, pods, it->second.Value(), log);
  const ResourceList& requests = books.record.requests;
  const std::vector<Quantity> used_of = UsedOf(books.record, *books.ledger);
  std::optional<Reject> out;
  InKubeletOrder(requests, [&](const auto& entry, std::size_t position) {
    const auto& [resource, quantity] = entry;
    const std::int64_t requested = Amount(resource, quantity);
    if (requested <= 0) return true;
    const std::int64_t used = Amount(resource, used_of[position]);
    const auto capacity = AllocatableOf(books, resource, used);
    if (capacity && requested > *capacity - used) out = OutOf(resource, requested, used, *capacity, log);
    return !out;
  });
  return out;
}

std::optional<Reject> CheckKnown(const Pod& pod, const Inputs& inputs, PodBooks& books, const DecisionLog& log) {
  std::optional<Reject> out;
  ForEachContainer(pod, [&](const Container& container, ContainerKind) {
    for (const auto& [resource, amount] : container.resources.limits) {
      if (out || amount.Sign() <= 0 || IsNativeResource(resource)) continue;
      if (books.tables->settings.allocatable.contains(resource) || books.devices.Find(resource) != nullptr) continue;
      out = OutOf(resource, amount.Value(), 0, 0, log);
      out->container = container.name;
      out->details.push_back(WhatThereIs(resource, inputs));
    }
  });
  return out;
}

// The kubelet hands out the last shared CPU under strict reservation and then starts shared containers without any
// cpuset, that is on everybody's CPUs (docs/differences.md).
std::optional<Reject> CheckSharedPool(const PodBooks& books, const DecisionLog& log) {
  const CpuSet exclusive = ExclusiveCpus(books.record);
  if (exclusive.empty() || !books.shared.empty()) return std::nullopt;
  Reject out = Unexpected("", "exclusive CPUs " + FormatIds(exclusive) + " would leave no CPU for the shared pool");
  out.details.push_back(
      "cpu: all CPUs but the reserved ones would be exclusive, and shared containers may not use "
      "reserved CPUs (strict-cpu-reservation); ask for one CPU less");
  if (log) log.Add("reject", "", "", out.reason + ": " + out.message);
  return out;
}

}  // namespace berth::allocator
