#include "host/machine/derive.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace berth::machine {

std::vector<L3Group> L3FromUncore(const std::vector<NumaNode>& nodes) {
  std::map<CacheId, L3Group> groups;
  for (const NumaNode& node : nodes) {
    for (const Core& core : node.cores) {
      for (const UncoreCache& cache : core.uncore) {
        if (cache.level != 3) continue;
        L3Group& group = groups[cache.id];
        group.id = cache.id;
        group.size = cache.size;
        for (CpuId cpu : core.threads) group.cpus.Insert(cpu);
      }
    }
  }
  std::vector<L3Group> out;
  for (auto& [id, group] : groups) out.push_back(std::move(group));
  return out;
}

void AddHugePages(std::vector<HugePages>& totals, const std::vector<HugePages>& more) {
  for (const HugePages& pages : more) {
    const auto same = std::ranges::find(totals, pages.page_size, &HugePages::page_size);
    if (same == totals.end()) {
      totals.push_back(pages);
    } else {
      same->count += pages.count;
    }
  }
}

int CountPhysicalCores(const std::vector<NumaNode>& nodes) {
  std::size_t cores = 0;
  for (const NumaNode& node : nodes) cores += node.cores.size();
  return static_cast<int>(cores);
}

int CountSockets(const std::vector<NumaNode>& nodes) {
  std::set<SocketId> seen;
  for (const NumaNode& node : nodes)
    for (const Core& core : node.cores) seen.insert(core.socket);
  return static_cast<int>(seen.size());
}

int CountThreads(const std::vector<NumaNode>& nodes) {
  std::size_t threads = 0;
  for (const NumaNode& node : nodes)
    for (const Core& core : node.cores) threads += core.threads.size();
  return static_cast<int>(threads);
}

void SortViews(Machine& machine) {
  std::erase_if(machine.l3, [](const L3Group& group) { return group.cpus.empty(); });
  std::ranges::sort(machine.l3, {}, [](const L3Group& group) { return group.cpus.First(); });
  std::ranges::sort(machine.pci, {}, &PciDevice::address);
}

Result<void> CheckNodes(const std::vector<NumaNode>& nodes) {
  NodeSet ids;
  CpuSet cpus;
  for (const NumaNode& node : nodes) {
    const std::string name = "NUMA node " + std::to_string(Raw(node.id));
    if (ids.Contains(node.id)) return Fail(Code::kInvalid, name + " is described twice");
    ids.Insert(node.id);
    for (const Core& core : node.cores) {
      if (core.threads.empty())
        return Fail(Code::kInvalid, name + ": core " + std::to_string(core.core_id) + " has no threads");
      for (CpuId cpu : core.threads) {
        if (cpus.Contains(cpu))
          return Fail(Code::kInvalid, name + ": CPU " + std::to_string(Raw(cpu)) + " belongs to two cores");
        cpus.Insert(cpu);
      }
    }
  }
  return {};
}

}  // namespace berth::machine
