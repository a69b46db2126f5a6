#include "host/machine/tree_views.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <string>
#include <utility>

#include "base/text.h"
#include "host/machine/tree_nodes.h"

namespace berth::machine {
namespace {

const std::string kPciDir = "sys/bus/pci/devices";

std::optional<L3Group> ReadL3Of(TreeFiles& files, CpuId cpu) {
  const std::string dir = CpuPath(cpu, "cache");
  const auto indexes = files.NumberedNames(dir, "index");
  if (!indexes) return std::nullopt;
  for (const Numbered& index : *indexes) {
    const std::string at = dir + "/" + index.name + "/";
    const auto level = files.Number(at + "level");
    const auto type = files.Text(at + "type");
    if (!level || *level != 3 || !type || *type != "Unified") continue;
    auto shared = files.CpuMask(at + "shared_cpu_map");
    if (!shared || !*shared || !(*shared)->Contains(cpu)) return std::nullopt;
    L3Group group{.id = CacheId{Raw(cpu)}, .size = {}, .cpus = **std::move(shared)};
    if (const auto id = files.Number(at + "id"); id && *id && **id >= 0 && **id <= UINT32_MAX)
      group.id = CacheId{static_cast<std::uint32_t>(**id)};
    if (const auto size = files.Text(at + "size"); size && *size) group.size = ParseCacheSize(**size).value_or(Bytes{});
    return group;
  }
  return std::nullopt;
}

void SetKinds(std::vector<NumaNode>& nodes, const CpuSet& efficient) {
  for (NumaNode& node : nodes)
    for (Core& core : node.cores)
      core.kind = efficient.Contains(core.threads.front()) ? CoreKind::kEfficiency : CoreKind::kPerformance;
}

/// 0x-prefixed or plain hexadecimal. nullopt: junk or missing.
std::optional<std::uint32_t> ReadHex(TreeFiles& files, const std::string& path) {
  const auto text = files.Text(path);
  if (!text || !*text) return std::nullopt;
  std::string_view digits = **text;
  if (digits.starts_with("0x")) digits.remove_prefix(2);
  std::uint32_t value = 0;
  const auto [end, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  if (digits.empty() || ec != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

/// The last PCI address on the way; empty: none.
std::string_view DeviceIn(const std::vector<std::string_view>& parts) {
  std::string_view device;
  for (const std::string_view part : parts)
    if (IsPciAddress(part)) device = part;
  return device;
}

/// Names of a class ("net", "block", ...) by the PCI device their link leads through. Partitions (the link leads
/// through the disk of the same class) are left out.
Result<void> CollectNames(TreeFiles& files, std::string_view cls,
                          std::map<std::string, std::vector<std::string>>& out) {
  const std::string dir = "sys/class/" + std::string(cls);
  BERTH_TRY(const std::vector<std::string> names, files.Names(dir));
  for (const std::string& name : names) {
    const std::optional<std::string> link = files.Link(dir + "/" + name);
    if (!link) continue;
    if (cls == "drm" && name.starts_with("control")) continue;  // an alias of the card
    const std::vector<std::string_view> parts = Split(*link, '/');
    const std::string_view device = DeviceIn(parts);
    const bool partition = parts.size() > 1 && std::ranges::find(names, parts[parts.size() - 2]) != names.end();
    if (device.empty() || partition) continue;
    out[std::string(device)].push_back(name);
  }
  return {};
}

PciDevice ReadPciDevice(TreeFiles& files, const std::string& address) {
  const std::string dir = kPciDir + "/" + address + "/";
  PciDevice device;
  device.address = address;
  device.class_id = ReadHex(files, dir + "class").value_or(0);
  device.vendor = static_cast<std::uint16_t>(ReadHex(files, dir + "vendor").value_or(0));
  device.device = static_cast<std::uint16_t>(ReadHex(files, dir + "device").value_or(0));
  const auto node = files.Number(dir + "numa_node");
  if (node && *node && **node >= 0 && **node <= kMaxId) device.node = NumaId{static_cast<std::uint32_t>(**node)};
  auto cpus = files.Cpus(dir + "local_cpulist");
  if (!cpus || !*cpus) cpus = files.CpuMask(dir + "local_cpus");
  if (cpus && *cpus) device.local_cpus = **std::move(cpus);
  if (const auto place = files.Link(kPciDir + "/" + address))
    for (const std::string_view part : Split(*place, '/'))
      if ((part.starts_with("pci") || IsPciAddress(part)) && part != address) device.above.emplace_back(part);
  return device;
}

}  // namespace

bool IsPciAddress(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon < 4 || colon > 8 || text.size() != colon + 8) return false;
  const std::string_view rest = text.substr(colon);
  if (rest[3] != ':' || rest[6] != '.') return false;
  const auto hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); };
  return std::ranges::all_of(text.substr(0, colon), hex) && hex(rest[1]) && hex(rest[2]) && hex(rest[4]) &&
         hex(rest[5]) && hex(rest[7]);
}

bool LeadsToPci(std::string_view target) { return !PciBehind(target).empty(); }

std::string PciBehind(std::string_view target) { return std::string(DeviceIn(Split(target, '/'))); }

Result<void> ReadCpuSets(TreeFiles& files, Machine& machine) {
  const std::string dir = "sys/devices/system/cpu";
  BERTH_TRY(const std::vector<Numbered> entries, files.NumberedNames(dir, "cpu"));
  CpuSet folders;
  for (const Numbered& entry : entries) folders.Insert(CpuId{entry.id});
  BERTH_TRY(auto present, files.Cpus(dir + "/present"));
  BERTH_TRY(auto online, files.Cpus(dir + "/online"));
  BERTH_TRY(auto isolated, files.Cpus(dir + "/isolated"));
  BERTH_TRY(auto nohz_full, files.Cpus(dir + "/nohz_full"));
  machine.present = std::move(present).value_or(folders);
  machine.online = std::move(online).value_or(machine.present);
  machine.isolated = std::move(isolated).value_or(CpuSet());
  machine.nohz_full = std::move(nohz_full).value_or(CpuSet());
  return {};
}

std::vector<L3Group> ReadL3(TreeFiles& files, const CpuSet& online) {
  std::vector<L3Group> out;
  CpuSet grouped;
  for (const CpuId cpu : online) {
    if (grouped.Contains(cpu)) continue;
    std::optional<L3Group> group = ReadL3Of(files, cpu);
    if (!group) continue;
    group->cpus &= online;
    group->cpus -= grouped;
    group->cpus.Insert(cpu);
    grouped |= group->cpus;
    out.push_back(*std::move(group));
  }
  return out;
}

Result<void> ReadCoreKinds(TreeFiles& files, std::vector<NumaNode>& nodes) {
  BERTH_TRY(const auto strong, files.Cpus("sys/devices/cpu_core/cpus"));
  BERTH_TRY(const auto small, files.Cpus("sys/devices/cpu_atom/cpus"));
  if (strong && small && !strong->empty() && !small->empty()) {
    SetKinds(nodes, *small);
    return {};
  }
  std::map<CpuId, std::int64_t> capacities;
  std::int64_t strongest = 0;
  for (const NumaNode& node : nodes) {
    for (const Core& core : node.cores) {
      BERTH_TRY(const auto capacity, files.Number(CpuPath(core.threads.front(), "cpu_capacity")));
      if (!capacity) return {};
      capacities[core.threads.front()] = *capacity;
      strongest = std::max(strongest, *capacity);
    }
  }
  CpuSet efficient;
  for (const auto& [cpu, capacity] : capacities)
    if (capacity < strongest - strongest / 5) efficient.Insert(cpu);
  if (!efficient.empty()) SetKinds(nodes, efficient);
  return {};
}

Result<std::vector<PciDevice>> ReadPci(TreeFiles& files) {
  BERTH_TRY(const std::vector<std::string> addresses, files.Names(kPciDir));
  std::map<std::string, std::vector<std::string>> names;
  for (const std::string_view cls : {"net", "block", "infiniband", "drm"})
    BERTH_RETURN_IF_ERROR(CollectNames(files, cls, names));
  std::vector<PciDevice> out;
  for (const std::string& address : addresses) {
    if (!IsPciAddress(address)) continue;
    PciDevice device = ReadPciDevice(files, address);
    if (const auto found = names.find(address); found != names.end()) device.name = Join(found->second, ",");
    out.push_back(std::move(device));
  }
  return out;
}

}  // namespace berth::machine
