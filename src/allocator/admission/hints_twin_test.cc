// The hints of CPUs, memory and devices against a walk over all sets of nodes, as the rules are written.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "allocator/allocation_state/pod_books.h"
#include "allocator/cpu_manager/cpu_policy.h"
#include "allocator/demand/demand.h"
#include "allocator/device_manager/device_policy.h"
#include "allocator/memory_manager/memory_policy.h"
#include "allocator/testing/merge_twin.h"
#include "allocator/testing/random_node.h"

namespace berth::allocator {
namespace {

using testing::PropertySteps;
using testing::RandomNode;

using HintSet = std::set<std::pair<Mask, bool>>;

HintSet Written(const HintList& list, const Mask& all) {
  std::vector<std::vector<MaskHint>> lists;
  testing::AddWrittenOut(list, all, lists);
  HintSet out;
  for (const MaskHint& hint : lists.front())
    if (!hint.any) out.emplace(hint.mask, hint.preferred);
  return out;
}

template <class Sum>
int Narrowest(const Mask& universe, int otherwise, const Sum& enough) {
  int out = otherwise;
  ForEachSubset(universe, [&](const Mask& mask) {
    if (enough(mask)) out = std::min(out, mask.Count());
    return true;
  });
  return out;
}

// rules/cpu#hints.
HintSet CpuTwin(const PodBooks& books, int cpus) {
  const NodeTables& tables = *books.tables;
  const auto in = [&](const CpuSet& set, const Mask& mask) {
    int out = 0;
    mask.ForEach([&](std::size_t node) { out += (tables.node_cpus[node] & set).Count(); });
    return out;
  };
  const CpuSet free = books.shared - tables.settings.reserved_cpus;
  const CpuSet& reuse = books.record.reusable.cpus;
  const int narrowest = Narrowest(tables.cpu_nodes, tables.cpu_nodes.Count(),
                                  [&](const Mask& mask) { return in(tables.all_cpus, mask) >= cpus; });
  const int numa = tables.topology.num_numa();
  const int sockets = tables.topology.num_sockets();
  HintSet out;
  ForEachSubset(tables.cpu_nodes, [&](const Mask& mask) {
    if (in(reuse, mask) < reuse.Count() || reuse.Count() + in(free, mask) < cpus) return true;
    std::set<std::uint32_t> touched;
    for (CpuId cpu : tables.all_cpus)
      mask.ForEach([&](std::size_t node) {
        if (tables.node_cpus[node].Contains(cpu)) touched.insert(tables.topology.IndexOf(cpu, Level::kSocket));
      });
    bool preferred = mask.Count() == narrowest;
    if (tables.settings.cpu.align_by_socket && sockets > 0 && numa / sockets > 0) {
      const int per_socket = numa / sockets;
      preferred = preferred || static_cast<int>(touched.size()) == (narrowest + per_socket - 1) / per_socket;
    }
    out.emplace(mask, preferred);
    return true;
  });
  return out;
}

// rules/memory#hints.
HintSet MemoryTwin(const PodBooks& books, const std::vector<MemoryNeed>& needs) {
  const Mask all = books.tables->nodes.all();
  const auto enough = [&](const Mask& mask, Bytes MemoryTable::* field, bool reuse) {
    for (const MemoryNeed& need : needs) {
      const auto type = books.memory.layout().Find(need.type);
      std::int64_t sum = reuse ? books.ReusableBytes(mask, need.type) : 0;
      mask.ForEach([&](std::size_t node) { sum += type ? (books.memory.Table(node, *type).*field).v : 0; });
      if (sum < need.bytes) return false;
    }
    return true;
  };
  const auto usable = [&](const Mask& mask) {
    bool out = true;
    mask.ForEach([&](std::size_t node) {
      const Mask& cells = books.memory.Cells(node);
      if (mask.Count() == 1) {
        out = out && cells.Count() == 1;
      } else if (books.memory.Assignments(node) > 0) {
        out = out && cells.Count() > 1 && cells == mask;
      }
    });
    return out;
  };
  const int narrowest =
      Narrowest(all, all.Count(), [&](const Mask& mask) { return enough(mask, &MemoryTable::allocatable, false); });
  HintSet out;
  ForEachSubset(all, [&](const Mask& mask) {
    if (enough(mask, &MemoryTable::allocatable, false) && usable(mask) && enough(mask, &MemoryTable::free, true))
      out.emplace(mask, mask.Count() == narrowest);
    return true;
  });
  return out;
}

// rules/devices#hints.
HintSet DeviceTwin(const PodBooks& books, const DevicePool& pool, std::int64_t request, bool reuse) {
  Mask hosts;
  for (const Mask& nodes : pool.nodes) hosts |= nodes;
  const auto count = [&](const Mask& mask, const auto& counts) {
    std::int64_t out = 0;
    for (std::size_t i = 0; i < pool.devices.size(); ++i) out += pool.nodes[i].Meets(mask) && counts(i) ? 1 : 0;
    return out;
  };
  const int narrowest = Narrowest(hosts, static_cast<int>(books.tables->nodes.size()), [&](const Mask& mask) {
    return count(mask, [](std::size_t) { return true; }) >= request;
  });
  HintSet out;
  ForEachSubset(hosts, [&](const Mask& mask) {
    for (std::size_t i = 0; reuse && i < pool.devices.size(); ++i)
      if (pool.reusable[i] != 0 && !pool.nodes[i].empty() && !pool.nodes[i].Meets(mask)) return true;
    std::int64_t matching = count(mask, [&](std::size_t i) { return pool.Available(i); });
    if (reuse) matching += count(mask, [&](std::size_t i) { return pool.reusable[i] != 0; });
    if (matching >= request) out.emplace(mask, mask.Count() == narrowest);
    return true;
  });
  return out;
}

/// Books in the middle of a pod: some of its init containers have left something.
void LeaveSomething(RandomNode& random, PodBooks& books) {
  if (random.OneIn(2)) {
    for (CpuId cpu : books.shared)
      if (random.OneIn(4)) books.record.reusable.cpus.Insert(cpu);
    if (random.OneIn(2)) books.shared -= books.record.reusable.cpus;
  }
  for (unsigned entries = random.Roll(3); entries > 0; --entries) {
    Mask nodes;
    for (std::size_t node = 0; node < books.tables->nodes.size(); ++node)
      if (random.OneIn(2)) nodes.Add(node);
    if (!nodes.empty()) books.reusable_memory.push_back({nodes, "memory", GiB(1 + random.Roll(3)).v});
  }
  for (const char* resource : {"a.com/gpu", "b.com/nic"})
    if (DevicePool* const pool = books.devices.Find(resource))
      for (char& reusable : pool->reusable) reusable = random.OneIn(5) ? 1 : 0;
}

void Check(PodBooks& books, const PodDemand& demand, const std::string& where) {
  const Mask all = books.tables->nodes.all();
  for (const ContainerDemand& c : demand.containers) {
    ASSERT_EQ(Written(CpuHints(books, c.cpus, true), all), c.cpus > 0 ? CpuTwin(books, c.cpus) : HintSet()) << where;
    if (!c.memory.empty()) {
      ASSERT_EQ(Written(MemoryHints(books, c.memory), all), MemoryTwin(books, c.memory)) << where;
    }
    for (const bool reuse : {false, true}) {
      std::vector<HintList> lists;
      AddDeviceHints(books, c.devices, reuse, lists);
      for (const HintList& list : lists) {
        const DevicePool& pool = *books.devices.Find(list.resources.front());
        std::int64_t usable = 0;
        for (std::size_t i = 0; i < pool.devices.size(); ++i)
          usable += pool.Available(i) || (reuse && pool.reusable[i] != 0) ? 1 : 0;
        const auto need = std::find_if(c.devices.begin(), c.devices.end(),
                                       [&](const DeviceNeed& n) { return n.resource == list.resources.front(); });
        const bool listed = pool.topology && usable >= need->count;
        ASSERT_EQ(Written(list, all), listed ? DeviceTwin(books, pool, need->count, reuse) : HintSet()) << where;
      }
    }
  }
}

TEST(HintsTwinTest, EqualsTheWalkOverAllSetsOfNodes) {
  const int rounds = std::min(PropertySteps(2000), 100'000);
  int done = 0;
  for (std::uint64_t seed = 1; done < rounds; ++seed) {
    RandomNode random(seed, 6);
    const std::optional<Node> node = random.MakeNode();
    if (!node) continue;
    const Inputs inputs = random.MakeInputs(*node);
    Ledger ledger = node->EmptyLedger();
    for (int pods = 0; pods < 6; ++pods, ++done) {
      const Pod pod = random.MakePod();
      PodBooks books(node->tables(), ledger, inputs);
      LeaveSomething(random, books);
      Check(books, DemandOf(node->tables(), NodeRules(node->tables()), pod),
            "seed " + std::to_string(seed) + " pod " + std::to_string(pods));
      if (HasFatalFailure()) return;
      Decision decision = Decide(*node, ledger, pod, inputs, nullptr);
      if (const auto* const admit = std::get_if<Admit>(&decision)) Apply(ledger, admit->delta);
    }
  }
}

}  // namespace
}  // namespace berth::allocator
