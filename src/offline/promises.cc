#include "offline/promises.h"

#include <algorithm>

#include "base/quantity.h"

namespace berth::offline {
namespace {

using Broken = std::optional<std::string>;

std::string Who(const HolderFacts& holder) { return holder.pod + "/" + holder.container; }

/// Containers whose lifetimes overlap must not share; an ordinary init container ends before the next one starts, so
/// it may leave what it held to those after it.
bool RunTogether(const HolderFacts& a, const HolderFacts& b) {
  if (a.pod != b.pod) return true;
  const HolderFacts& first = a.position < b.position ? a : b;
  return first.kind != ContainerKind::kInit;
}

Broken BrokenCpus(const NodeFacts& node, const StateFacts& state) {
  CpuSet exclusive;
  for (const HolderFacts& h : state.holders) {
    if (const CpuSet odd = h.cpus - node.cpus; !odd.empty())
      return Who(h) + " holds CPUs that are not online: " + FormatIds(odd);
    if (const CpuSet odd = h.cpus & node.reserved; !odd.empty())
      return Who(h) + " holds reserved CPUs: " + FormatIds(odd);
    if (const CpuSet odd = h.cpus & state.shared; !odd.empty())
      return "CPUs of " + Who(h) + " are in the shared pool: " + FormatIds(odd);
    exclusive |= h.cpus;
  }
  if (!node.static_cpus) return exclusive.empty() ? Broken() : "exclusive CPUs under CPU policy none";
  const CpuSet all = node.strict ? node.cpus - node.reserved : node.cpus;
  if (const CpuSet known = state.shared | exclusive; known != all)
    return "shared pool and exclusive CPUs are " + FormatIds(known) + ", not " + FormatIds(all);
  if (state.shared.empty() && !node.strict) return "the shared pool is empty";
  return std::nullopt;
}

Broken BrokenPairs(const StateFacts& state) {
  for (std::size_t i = 0; i < state.holders.size(); ++i) {
    for (std::size_t j = i + 1; j < state.holders.size(); ++j) {
      const HolderFacts& a = state.holders[i];
      const HolderFacts& b = state.holders[j];
      if (!RunTogether(a, b)) continue;
      if (const CpuSet both = a.cpus & b.cpus; !both.empty())
        return Who(a) + " and " + Who(b) + " both hold CPUs " + FormatIds(both);
      for (const auto& [resource, ids] : a.devices) {
        const auto other = b.devices.find(resource);
        if (other == b.devices.end()) continue;
        for (const std::string& id : ids)
          if (std::ranges::find(other->second, id) != other->second.end())
            return Who(a) + " and " + Who(b) + " both hold " + resource + " " + id;
      }
    }
  }
  return std::nullopt;
}

Broken BrokenMemoryTables(const NodeFacts& node, const StateFacts& state) {
  if (state.memory.size() != node.allocatable.size()) return "the memory counters do not cover every node";
  for (const auto& [id, counters] : state.memory) {
    const auto expected = node.allocatable.find(id);
    if (expected == node.allocatable.end()) return "memory counters of an unknown node " + std::to_string(Raw(id));
    for (const auto& [type, table] : counters.types) {
      const std::string where = type + " of node " + std::to_string(Raw(id));
      const auto allocatable = expected->second.find(type);
      if (allocatable == expected->second.end() || table.allocatable != allocatable->second)
        return where + ": allocatable has changed";
      if (table.reserved.v < 0 || table.free.v < 0) return where + ": a counter is negative";
      if (table.reserved + table.free != table.allocatable)
        return where + ": reserved and free are not the allocatable";
    }
  }
  return std::nullopt;
}

Broken BrokenMemory(const NodeFacts& node, const StateFacts& state) {
  std::map<std::string, Bytes> pinned;
  for (const HolderFacts& h : state.holders) {
    for (const MemoryBlock& block : h.memory) {
      if (block.size.v < 0) return Who(h) + " holds a negative amount of " + block.type;
      for (NumaId id : block.nodes)
        if (!node.allocatable.contains(id)) return Who(h) + " holds memory on an unknown node";
      pinned[block.type] += block.size;
    }
  }
  if (state.memory.empty()) return std::nullopt;
  if (Broken broken = BrokenMemoryTables(node, state)) return broken;
  if (!state.exact_books) return std::nullopt;
  std::map<std::string, Bytes> reserved;
  for (const auto& [id, counters] : state.memory)
    for (const auto& [type, table] : counters.types) reserved[type] += table.reserved;
  for (const auto& [type, amount] : pinned)
    if (!reserved.contains(type)) return "nothing is booked for the blocks of " + type;
  for (const auto& [type, amount] : reserved)
    if (amount != pinned[type])
      return type + ": " + std::to_string(amount.v) + " bytes are booked, the containers hold " +
             std::to_string(pinned[type].v);
  return std::nullopt;
}

Broken BrokenHolders(const NodeFacts& node, const StateFacts& state) {
  for (const HolderFacts& h : state.holders) {
    const bool holds = !h.cpus.empty() || !h.memory.empty() || !h.devices.empty();
    if (holds && !state.pods.contains(h.pod)) return Who(h) + " holds something although its pod is gone";
    for (const auto& [resource, ids] : h.devices) {
      const auto devices = node.devices.find(resource);
      for (const std::string& id : ids)
        if (devices == node.devices.end() ||
            std::ranges::find(devices->second, id, &Device::id) == devices->second.end())
          return Who(h) + " holds " + resource + " " + id + ", which does not exist";
      for (std::size_t i = 0; i < ids.size(); ++i)
        if (std::find(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(i), ids[i]) !=
            ids.begin() + static_cast<std::ptrdiff_t>(i))
          return Who(h) + " holds " + resource + " " + ids[i] + " twice";
    }
  }
  return std::nullopt;
}

/// Bytes of one type that a node keeps back.
Bytes Reserved(const KubeletConfiguration& config, NumaId node, const std::string& type) {
  Bytes sum;
  for (const MemoryReservation& r : config.reserved_memory)
    if (r.node == node)
      if (const auto amount = r.limits.find(type); amount != r.limits.end()) sum.v += amount->second.Value();
  return sum;
}

std::map<std::string, Bytes, std::less<>> AllocatableMemory(const NumaNode& node, const KubeletConfiguration& config) {
  std::map<std::string, Bytes, std::less<>> out;
  Bytes pages;
  for (const HugePages& huge : node.hugepages) {
    const std::string type = "hugepages-" + Quantity::FromBytes(huge.page_size).ToString();
    const Bytes total{huge.page_size.v * huge.count};
    out[type] = std::max(Bytes{}, total - Reserved(config, node.id, type));
    pages += total;
  }
  out["memory"] = std::max(Bytes{}, std::max(Bytes{}, node.memory - Reserved(config, node.id, "memory")) - pages);
  return out;
}

}  // namespace

NodeFacts FactsOf(const Machine& machine, const KubeletConfiguration& config, const CpuSet& reserved,
                  const DeviceInventory& devices) {
  NodeFacts out;
  out.cpus = UsableCpus(machine);
  out.static_cpus = config.cpu_manager_policy == "static";
  out.reserved = reserved;
  if (const auto option = config.cpu_manager_policy_options.find("strict-cpu-reservation");
      option != config.cpu_manager_policy_options.end() && !option->second.empty())
    out.strict = std::string("1tT").find(option->second.front()) != std::string::npos;
  if (config.memory_manager_policy == "Static")
    for (const NumaNode& node : machine.nodes) out.allocatable[node.id] = AllocatableMemory(node, config);
  out.devices = devices;
  return out;
}

std::optional<std::string> BrokenPromise(const NodeFacts& node, const StateFacts& state) {
  if (Broken broken = BrokenCpus(node, state)) return broken;
  if (Broken broken = BrokenPairs(state)) return broken;
  if (Broken broken = BrokenMemory(node, state)) return broken;
  return BrokenHolders(node, state);
}

}  // namespace berth::offline
