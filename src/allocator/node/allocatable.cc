#include "allocator/node/allocatable.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/problems.h"
#include "base/text.h"
#include "model/eviction_threshold.h"
#include "model/resources.h"

namespace berth::allocator {
namespace {

constexpr std::array<std::string_view, 4> kReservable{"cpu", "memory", "ephemeral-storage", "pid"};
constexpr const char* kMemoryAvailable = "memory.available";

Result<void> CheckReserved(std::string_view setting, const ResourceList& list) {
  for (const auto& [name, amount] : list) {
    const std::string where = std::string(setting) + "." + name;
    if (std::find(kReservable.begin(), kReservable.end(), name) == kReservable.end())
      return BadSetting(where, "cannot reserve \"" + name + "\" resource (use cpu, memory, ephemeral-storage or pid)");
    if (amount.Sign() < 0)
      return BadSetting(where, "resource quantity for \"" + name + "\" cannot be negative: " + amount.ToString());
  }
  return {};
}

Result<Quantity> HardMemoryEviction(const KubeletConfiguration& config, const Quantity& capacity) {
  const auto hard = HardEviction(config);
  const auto it = hard.find(kMemoryAvailable);
  if (it == hard.end()) return Quantity();
  BERTH_TRY(const auto threshold, ParseEvictionThreshold("evictionHard", it->first, it->second));
  if (!threshold) return Quantity();  // it is dropped
  if (!threshold->share) return threshold->amount;
  return Quantity::FromUnits(ShareOf(*threshold->share, capacity.Value()), Quantity::Format::kBinarySi);
}

}  // namespace

Result<void> CheckReservation(const ResourceList& capacity, const ResourceList& reservation) {
  for (const auto& [name, amount] : reservation) {
    const auto it = capacity.find(name);
    if (it == capacity.end() || amount <= it->second) continue;
    return BadSetting("systemReserved, kubeReserved, evictionHard",
                      "invalid Node Allocatable configuration. Resource \"" + name + "\" has a reservation of " +
                          amount.ToString() + " but capacity of " + it->second.ToString() +
                          ". Expected capacity >= reservation.");
  }
  return {};
}

ResourceList NodeCapacity(const Machine& machine, const KubeletConfiguration& config) {
  ResourceList out;
  out["cpu"] = Quantity::FromUnits(machine.reported_cpus);
  out["memory"] = Quantity::FromBytes(machine.memory);
  for (const HugePages& pages : machine.hugepages)
    out[HugePagesName(pages.page_size)] += Quantity::FromBytes({pages.page_size.v * pages.count});
  std::int64_t pods = config.max_pods;
  if (config.pods_per_core > 0)
    pods = std::min<std::int64_t>(pods, std::int64_t{machine.reported_cpus} * config.pods_per_core);
  out["pods"] = Quantity::FromUnits(pods);
  return out;
}

Result<ResourceList> NodeReservation(const KubeletConfiguration& config, const ResourceList& capacity,
                                     int listed_cpus) {
  BERTH_RETURN_IF_ERROR(CheckReserved("systemReserved", config.system_reserved));
  BERTH_RETURN_IF_ERROR(CheckReserved("kubeReserved", config.kube_reserved));
  ResourceList out = config.system_reserved;
  for (const auto& [name, amount] : config.kube_reserved) out[name] += amount;
  if (listed_cpus >= 0) out["cpu"] = Quantity::FromUnits(listed_cpus);
  const auto memory = capacity.find("memory");
  BERTH_TRY(const Quantity eviction,
            HardMemoryEviction(config, memory == capacity.end() ? Quantity() : memory->second));
  out["memory"] += eviction;
  std::erase_if(out, [](const auto& entry) { return entry.second.IsZero(); });
  return out;
}

ResourceList NodeAllocatable(const ResourceList& capacity, const ResourceList& reservation) {
  ResourceList out;
  for (const auto& [name, amount] : capacity) {
    const auto reserved = reservation.find(name);
    out[name] = reserved == reservation.end() ? amount : amount - reserved->second;
  }
  Quantity& memory = out["memory"];
  for (const auto& [name, amount] : capacity)
    if (IsHugePages(name)) memory -= amount;
  for (auto& [name, amount] : out)
    if (amount.Sign() < 0) amount = Quantity();
  return out;
}

}  // namespace berth::allocator
