#include "engine/allocatable.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/text.h"
#include "engine/settings.h"

namespace berth::engine {
namespace {

constexpr std::array<std::string_view, 4> kReservable{"cpu", "memory", "ephemeral-storage", "pid"};
constexpr std::string_view kMemoryAvailable = "memory.available";
constexpr std::string_view kDefaultMemoryAvailable = "100Mi";

Result<void> CheckReserved(std::string_view setting, const ResourceList& list) {
  for (const auto& [name, amount] : list) {
    const std::string where = std::string(setting) + "." + name + ": ";
    if (std::find(kReservable.begin(), kReservable.end(), name) == kReservable.end())
      return Fail(Code::kInvalid,
                  where + "cannot reserve \"" + name + "\" resource (use cpu, memory, ephemeral-storage or pid)");
    if (amount.Sign() < 0)
      return Fail(Code::kInvalid,
                  where + "resource quantity for \"" + name + "\" cannot be negative: " + amount.ToString());
  }
  return {};
}

/// The hard threshold as written; nullopt: none.
std::optional<std::string> HardMemoryThreshold(const KubeletConfiguration& config) {
  if (!config.eviction_hard) return std::string(kDefaultMemoryAvailable);
  const auto it = config.eviction_hard->find(std::string(kMemoryAvailable));
  if (it != config.eviction_hard->end()) return it->second;
  if (config.merge_default_eviction_settings) return std::string(kDefaultMemoryAvailable);
  return std::nullopt;
}

/// "12.5%" of capacity. The kubelet keeps the share as a 32-bit float, which shows in the result (spec E28).
Result<Quantity> Percentage(std::string_view text, const Quantity& capacity) {
  const std::string where = "evictionHard[\"memory.available\"]: ";
  float percent = 0;
  const char* const end = text.end() - 1;
  const auto [ptr, ec] = std::from_chars(text.begin(), end, percent);
  if (ec != std::errc() || ptr != end)
    return Fail(Code::kInvalid, where + "\"" + Printable(text) + "\" is not a percentage like \"10%\"");
  if (percent < 0 || percent > 100)
    return Fail(Code::kInvalid, where + "eviction percentage threshold memory.available must be " +
                                    (percent < 0 ? ">= 0%: " : "<= 100%: ") + Printable(text));
  if (percent == 0.0F || percent == 100.0F) return Quantity();  // the threshold is dropped
  const float share = percent / 100;
  return Quantity::FromUnits(
      static_cast<std::int64_t>(static_cast<double>(capacity.Value()) * static_cast<double>(share)),
      Quantity::Format::kBinarySi);
}

Result<Quantity> HardMemoryEviction(const KubeletConfiguration& config, const Quantity& capacity) {
  const std::optional<std::string> text = HardMemoryThreshold(config);
  if (!text) return Quantity();
  if (text->ends_with('%')) return Percentage(*text, capacity);
  auto amount = Quantity::Parse(*text);
  if (!amount) return Wrap(std::move(amount).error(), "evictionHard[\"memory.available\"]");
  if (amount->Sign() <= 0)
    return Fail(Code::kInvalid,
                "evictionHard[\"memory.available\"]: eviction threshold memory.available must be positive: " +
                    amount->ToString());
  return *amount;
}

}  // namespace

Result<void> CheckReservation(const ResourceList& capacity, const ResourceList& reservation) {
  for (const auto& [name, amount] : reservation) {
    const auto it = capacity.find(name);
    if (it == capacity.end() || amount <= it->second) continue;
    return Fail(Code::kInvalid,
                "systemReserved, kubeReserved, evictionHard: invalid Node Allocatable configuration. Resource \"" +
                    name + "\" has a reservation of " + amount.ToString() + " but capacity of " +
                    it->second.ToString() + ". Expected capacity >= reservation.");
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
    if (name.starts_with("hugepages-")) memory -= amount;
  for (auto& [name, amount] : out)
    if (amount.Sign() < 0) amount = Quantity();
  return out;
}

}  // namespace berth::engine
