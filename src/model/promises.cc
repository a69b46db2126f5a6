#include "model/promises.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "base/quantity.h"
#include "model/resources.h"

namespace berth {
namespace {

using Broken = std::vector<std::string>;

std::string Who(const HolderFacts& holder) { return holder.pod + "/" + holder.container; }

/// Of amounts read from a file: no overflow.
std::int64_t Sum(Bytes a, Bytes b) {
  std::int64_t out = 0;
  if (!__builtin_add_overflow(a.v, b.v, &out)) return out;
  return a.v > 0 ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int64_t>::min();
}

/// Containers whose lifetimes overlap must not share; an ordinary init container ends before the next one starts, so
/// it may leave what it held to those after it.
bool RunTogether(const HolderFacts& a, const HolderFacts& b) {
  if (a.pod != b.pod) return true;
  const HolderFacts& first = a.position < b.position ? a : b;
  return first.kind != ContainerKind::kInit;
}

/// Named pools, beside what containers have for themselves. Adds what they hold to `taken`.
void CheckPools(const NodeFacts& node, const StateFacts& state, CpuSet& taken, Broken& out) {
  std::set<std::string> used;
  for (const HolderFacts& h : state.holders) {
    if (h.pool.empty()) continue;
    used.insert(h.pool);
    if (!state.pools.contains(h.pool)) out.push_back(Who(h) + " runs in CPU pool " + h.pool + ", which is not there");
    if (!h.cpus.empty()) out.push_back(Who(h) + " runs in CPU pool " + h.pool + " and holds CPUs " + FormatIds(h.cpus));
  }
  for (const auto& [name, pool] : state.pools) {
    const std::string who = "CPU pool " + name;
    const CpuSet held = HeldCpus(pool);
    if (!used.contains(name)) out.push_back(who + " is there although no container runs in it");
    if (pool.cpus.empty()) out.push_back(who + " has no CPUs");
    if (const CpuSet odd = pool.cpus & pool.idle; !odd.empty())
      out.push_back(who + " leaves CPUs " + FormatIds(odd) + " idle that it runs on");
    if (const CpuSet odd = held - node.cpus; !odd.empty())
      out.push_back(who + " holds CPUs that are not online: " + FormatIds(odd));
    if (const CpuSet odd = held & node.reserved; !odd.empty())
      out.push_back(who + " holds reserved CPUs: " + FormatIds(odd));
    if (const CpuSet odd = held & state.shared; !odd.empty())
      out.push_back("CPUs of " + who + " are in the shared pool: " + FormatIds(odd));
    if (const CpuSet odd = held & taken; !odd.empty())
      out.push_back("CPUs of " + who + " are held by others: " + FormatIds(odd));
    taken |= held;
  }
}

void CheckCpus(const NodeFacts& node, const StateFacts& state, Broken& out) {
  CpuSet exclusive;
  for (const HolderFacts& h : state.holders) {
    if (const CpuSet odd = h.cpus - node.cpus; !odd.empty())
      out.push_back(Who(h) + " holds CPUs that are not online: " + FormatIds(odd));
    if (const CpuSet odd = h.cpus & node.reserved; !odd.empty())
      out.push_back(Who(h) + " holds reserved CPUs: " + FormatIds(odd));
    if (const CpuSet odd = h.cpus & state.shared; !odd.empty())
      out.push_back("CPUs of " + Who(h) + " are in the shared pool: " + FormatIds(odd));
    exclusive |= h.cpus;
  }
  CpuSet taken = exclusive;
  CheckPools(node, state, taken, out);
  if (!node.static_cpus) {
    if (!exclusive.empty()) out.emplace_back("exclusive CPUs under CPU policy none");
    if (!state.pools.empty()) out.emplace_back("CPU pools under CPU policy none");
    return;
  }
  const CpuSet all = node.strict ? node.cpus - node.reserved : node.cpus;
  if (const CpuSet odd = state.shared & node.apart; !odd.empty())
    out.push_back("CPUs kept for exclusive use are in the shared pool: " + FormatIds(odd));
  if (const CpuSet known = state.shared | taken; (known | node.apart) != all)
    out.push_back((state.pools.empty() ? "shared pool and exclusive CPUs are "
                                       : "shared pool, CPU pools and exclusive CPUs are ") +
                  FormatIds(known) + ", not " + FormatIds(all));
  if (state.shared.empty() && !node.strict) out.emplace_back("the shared pool is empty");
}

void CheckPair(const HolderFacts& a, const HolderFacts& b, Broken& out) {
  if (const CpuSet both = a.cpus & b.cpus; !both.empty())
    out.push_back(Who(a) + " and " + Who(b) + " both hold CPUs " + FormatIds(both));
  for (const auto& [resource, ids] : a.devices) {
    const auto other = b.devices.find(resource);
    if (other == b.devices.end()) continue;
    for (const std::string& id : ids)
      if (std::ranges::find(other->second, id) != other->second.end())
        out.push_back(Who(a) + " and " + Who(b) + " both hold " + resource + " " + id);
  }
}

bool HoldsUnits(const HolderFacts& h) { return !h.cpus.empty() || !h.devices.empty(); }

void CheckPairs(const StateFacts& state, Broken& out) {
  for (std::size_t i = 0; i < state.holders.size(); ++i) {
    if (!HoldsUnits(state.holders[i])) continue;
    for (std::size_t j = i + 1; j < state.holders.size(); ++j)
      if (HoldsUnits(state.holders[j]) && RunTogether(state.holders[i], state.holders[j]))
        CheckPair(state.holders[i], state.holders[j], out);
  }
}

void CheckMemoryTables(const NodeFacts& node, const StateFacts& state, Broken& out) {
  if (state.memory.size() != node.allocatable.size()) out.emplace_back("the memory counters do not cover every node");
  for (const auto& [id, counters] : state.memory) {
    const auto expected = node.allocatable.find(id);
    if (expected == node.allocatable.end()) {
      out.push_back("memory counters of an unknown node " + std::to_string(Raw(id)));
      continue;
    }
    for (const auto& [type, table] : counters.types) {
      const std::string where = type + " of node " + std::to_string(Raw(id));
      const auto allocatable = expected->second.find(type);
      if (allocatable == expected->second.end() || table.allocatable != allocatable->second)
        out.push_back(where + ": allocatable has changed");
      if (table.reserved.v < 0 || table.free.v < 0) {
        out.push_back(where + ": a counter is negative");
      } else if (Sum(table.reserved, table.free) != table.allocatable.v) {
        out.push_back(where + ": reserved and free are not the allocatable");
      }
    }
  }
}

void CheckMemory(const NodeFacts& node, const StateFacts& state, Broken& out) {
  std::map<std::string, std::int64_t> pinned;
  for (const HolderFacts& h : state.holders) {
    for (const MemoryBlock& block : h.memory) {
      if (block.size.v < 0) out.push_back(Who(h) + " holds a negative amount of " + block.type);
      if (block.nodes.empty()) out.push_back(Who(h) + " holds memory on no node");
      for (NumaId id : block.nodes)
        if (!node.allocatable.contains(id)) out.push_back(Who(h) + " holds memory on an unknown node");
      pinned[block.type] = Sum({pinned[block.type]}, block.size);
    }
  }
  if (state.memory.empty()) return;
  CheckMemoryTables(node, state, out);
  if (!state.exact_books) return;
  std::map<std::string, std::int64_t> reserved;
  for (const auto& [id, counters] : state.memory)
    for (const auto& [type, table] : counters.types) reserved[type] = Sum({reserved[type]}, table.reserved);
  for (const auto& [type, amount] : pinned)
    if (!reserved.contains(type)) out.push_back("nothing is booked for the blocks of " + type);
  for (const auto& [type, amount] : reserved)
    if (amount != pinned[type])
      out.push_back(type + ": " + std::to_string(amount) + " bytes are booked, the containers hold " +
                    std::to_string(pinned[type]));
}

void CheckDevices(const NodeFacts& node, const HolderFacts& h, Broken& out) {
  for (const auto& [resource, ids] : h.devices) {
    const auto devices = node.devices.find(resource);
    for (const std::string& id : ids)
      if (devices == node.devices.end() || std::ranges::find(devices->second, id, &Device::id) == devices->second.end())
        out.push_back(Who(h) + " holds " + resource + " " + id + ", which does not exist");
    for (std::size_t i = 0; i < ids.size(); ++i)
      if (std::find(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(i), ids[i]) !=
          ids.begin() + static_cast<std::ptrdiff_t>(i))
        out.push_back(Who(h) + " holds " + resource + " " + ids[i] + " twice");
  }
}

void CheckHolders(const NodeFacts& node, const StateFacts& state, Broken& out) {
  for (const HolderFacts& h : state.holders) {
    const bool holds = HoldsUnits(h) || !h.memory.empty();
    if (holds && !state.pods.contains(h.pod)) out.push_back(Who(h) + " holds something although its pod is gone");
    CheckDevices(node, h, out);
  }
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
    const std::string type = HugePagesName(huge.page_size);
    const Bytes total{huge.page_size.v * huge.count};
    out[type] = std::max(Bytes{}, total - Reserved(config, node.id, type));
    pages += total;
  }
  out["memory"] = std::max(Bytes{}, std::max(Bytes{}, node.memory - Reserved(config, node.id, "memory")) - pages);
  return out;
}

/// The node a ledger says it was made on: nothing of it is reserved, every device exists.
NodeFacts NodeOf(const Ledger& ledger) {
  NodeFacts out;
  out.cpus = ledger.shared | TakenCpus(ledger);
  // What was exclusive when the policy was changed to none stays so until its pod ends, without a pool beside it.
  out.static_cpus = ledger.cpu_policy == "static" || !out.cpus.empty();
  out.strict = ledger.cpu_policy != "static" && ledger.shared.empty();
  for (const auto& [id, counters] : ledger.memory) {
    auto& types = out.allocatable[id];
    for (const auto& [type, table] : counters.types) types[type] = table.allocatable;
  }
  for (const auto& [uid, pod] : ledger.pods)
    for (const Placement& p : pod.placements)
      for (const DeviceAssignment& given : p.devices)
        for (const std::string& id : given.ids) out.devices[given.resource].push_back({.id = id});
  return out;
}

void CheckRecords(const Ledger& ledger, Broken& out) {
  std::map<std::uint64_t, std::string> order;
  for (const auto& [uid, pod] : ledger.pods) {
    if (pod.uid != uid) out.push_back("the record of pod " + uid + " says uid " + pod.uid);
    if (pod.sequence >= ledger.next_sequence)
      out.push_back(uid + " was admitted as number " + std::to_string(pod.sequence) + ", the next one is " +
                    std::to_string(ledger.next_sequence));
    if (const auto [other, added] = order.emplace(pod.sequence, uid); !added)
      out.push_back(uid + " and " + other->second + " were both admitted as number " + std::to_string(pod.sequence));
    std::set<std::string> names;
    for (const Placement& p : pod.placements) {
      if (!names.insert(p.container).second) out.push_back(uid + "/" + p.container + " is placed twice");
      if (p.cpus && p.cpus->empty()) out.push_back(uid + "/" + p.container + " has an empty set of CPUs for itself");
      if (p.mixed && !p.cpus) out.push_back(uid + "/" + p.container + " is mixed without CPUs for itself");
    }
  }
}

void CheckAssignments(const Ledger& ledger, Broken& out) {
  std::map<NumaId, int> blocks;
  for (const auto& [uid, pod] : ledger.pods)
    for (const Placement& p : pod.placements)
      if (p.memory)
        for (const MemoryBlock& block : *p.memory)
          for (const NumaId id : block.nodes) ++blocks[id];
  for (const auto& [id, counters] : ledger.memory)
    if (counters.assignments != blocks[id])
      out.push_back("node " + std::to_string(Raw(id)) + " counts " + std::to_string(counters.assignments) +
                    " assignments of memory, there are " + std::to_string(blocks[id]));
}

}  // namespace

NodeFacts FactsOf(const Machine& machine, const KubeletConfiguration& config, const CpuSet& reserved,
                  const DeviceInventory& devices, const CpuSet& apart) {
  NodeFacts out;
  out.apart = apart;
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

StateFacts FactsOf(const Ledger& ledger, std::set<std::string> pods) {
  StateFacts out{.shared = ledger.shared, .holders = {}, .memory = ledger.memory, .pods = std::move(pods)};
  out.pools = ledger.pools;
  for (const auto& [uid, pod] : ledger.pods) {
    int position = 0;
    for (const Placement& p : pod.placements) {
      HolderFacts holder{.pod = uid, .container = p.container, .kind = p.kind, .position = position++};
      if (p.cpus) holder.cpus = *p.cpus;
      holder.pool = p.pool;
      if (p.memory) holder.memory = *p.memory;
      for (const DeviceAssignment& assigned : p.devices) holder.devices[assigned.resource] = assigned.ids;
      out.holders.push_back(std::move(holder));
    }
  }
  return out;
}

std::vector<std::string> BrokenPromises(const NodeFacts& node, const StateFacts& state) {
  Broken out;
  CheckCpus(node, state, out);
  CheckPairs(state, out);
  CheckMemory(node, state, out);
  CheckHolders(node, state, out);
  return out;
}

std::vector<std::string> Contradictions(const Ledger& ledger) {
  std::set<std::string> pods;
  for (const auto& [uid, pod] : ledger.pods) pods.insert(uid);
  const StateFacts state = FactsOf(ledger, std::move(pods));
  Broken out;
  CheckRecords(ledger, out);
  CheckAssignments(ledger, out);
  const Broken promises = BrokenPromises(NodeOf(ledger), state);
  out.insert(out.end(), promises.begin(), promises.end());
  return out;
}

}  // namespace berth
