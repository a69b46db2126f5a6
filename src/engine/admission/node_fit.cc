#include "engine/admission/node_fit.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/admission/shortage.h"
#include "engine/reason/failure.h"
#include "model/resources.h"

namespace berth::engine {
namespace {

/// Thousandths for cpu, whole units otherwise.
std::int64_t Amount(std::string_view resource, const Quantity& quantity) {
  return resource == "cpu" ? quantity.MilliValue() : quantity.Value();
}

std::int64_t UsedBy(const Ledger& ledger, std::string_view resource) {
  Quantity sum;
  for (const auto& [uid, pod] : ledger.pods)
    if (const auto it = pod.requests.find(resource); it != pod.requests.end()) sum += it->second;
  return Amount(resource, sum);
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

std::vector<std::string> InKubeletOrder(const ResourceList& requests) {
  std::vector<std::string> out;
  for (const char* first : {"cpu", "memory", "ephemeral-storage"})
    if (requests.contains(first)) out.emplace_back(first);
  for (const auto& [name, amount] : requests)
    if (std::find(out.begin(), out.end(), name) == out.end()) out.push_back(name);
  return out;
}

}  // namespace

std::optional<Reject> CheckNodeFit(PodBooks& books, const ResourceList& requests, const DecisionLog& log) {
  const ResourceList& allocatable = books.tables->settings.allocatable;
  const auto pods = static_cast<std::int64_t>(books.ledger->pods.size());
  if (const auto it = allocatable.find("pods"); it != allocatable.end() && pods + 1 > it->second.Value())
    return OutOf("pods", 1, pods, it->second.Value(), log);
  for (const std::string& resource : InKubeletOrder(requests)) {
    const std::int64_t requested = Amount(resource, requests.find(resource)->second);
    if (requested <= 0) continue;
    const std::int64_t used = UsedBy(*books.ledger, resource);
    const auto capacity = AllocatableOf(books, resource, used);
    if (capacity && requested > *capacity - used) return OutOf(resource, requested, used, *capacity, log);
  }
  return std::nullopt;
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

}  // namespace berth::engine
