// Machines, settings and pods for the engine's tests and benchmarks. Never part of a library.
#ifndef BERTH_ALLOCATOR_TESTING_BUILDERS_H_
#define BERTH_ALLOCATOR_TESTING_BUILDERS_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "allocator/engine.h"

namespace berth::allocator::testing {

/// A regular machine. Core c of n has the CPUs c, c+n, c+2n, ... (split), or c*threads, c*threads+1, ... (adjacent).
struct Shape {
  int sockets = 1;
  int nodes_per_socket = 1;
  int cores_per_node = 4;
  int threads = 2;
  bool adjacent = false;
  Bytes node_memory = GiB(10);
  std::vector<HugePages> hugepages;
  int cores_per_uncore = 0;  ///< 0: no L3 groups
  CpuSet offline;
};

inline void AddTotals(Machine& machine) {
  machine.online = UsableCpus(machine);
  machine.present = machine.online;
  machine.reported_cpus = machine.online.Count();
  machine.reported_cores = 0;
  machine.memory = {};
  std::map<SocketId, int> sockets;
  for (const NumaNode& node : machine.nodes) {
    machine.memory += node.memory;
    for (const Core& core : node.cores) ++machine.reported_cores, ++sockets[core.socket];
  }
  machine.reported_sockets = static_cast<int>(sockets.size());
}

inline Machine MakeMachine(const Shape& shape) {
  Machine out;
  const int nodes = shape.sockets * shape.nodes_per_socket;
  const int cores = nodes * shape.cores_per_node;
  for (int n = 0; n < nodes; ++n) {
    NumaNode& node = out.nodes.emplace_back();
    node.id = NumaId{static_cast<unsigned>(n)};
    node.memory = shape.node_memory;
    node.hugepages = shape.hugepages;
    for (int m = 0; m < nodes; ++m)
      node.distances.push_back(n == m ? 10 : n / shape.nodes_per_socket == m / shape.nodes_per_socket ? 11 : 21);
    for (int k = 0; k < shape.cores_per_node; ++k) {
      const int c = n * shape.cores_per_node + k;
      Core core;
      core.core_id = static_cast<unsigned>(c);
      core.socket = SocketId{static_cast<unsigned>(n / shape.nodes_per_socket)};
      if (shape.cores_per_uncore > 0)
        core.uncore.push_back({CacheId{static_cast<unsigned>(c / shape.cores_per_uncore)}, MiB(32), "Unified", 3});
      for (int t = 0; t < shape.threads; ++t) {
        const CpuId cpu{static_cast<unsigned>(shape.adjacent ? c * shape.threads + t : c + t * cores)};
        if (!shape.offline.Contains(cpu)) core.threads.push_back(cpu);
      }
      if (!core.threads.empty()) node.cores.push_back(std::move(core));
    }
  }
  AddTotals(out);
  for (HugePages pages : shape.hugepages) {
    pages.count *= nodes;
    out.hugepages.push_back(pages);
  }
  return out;
}

inline Quantity Q(std::string_view text) {
  auto out = Quantity::Parse(text);
  BERTH_CHECK(out.has_value());
  return *out;
}

inline CpuSet Cpus(std::string_view text) {
  auto out = CpuSet::Parse(text);
  BERTH_CHECK(out.has_value());
  return *out;
}

/// CPU policy static with these CPUs reserved; no eviction threshold, so that memory sums are round.
inline KubeletConfiguration StaticConfig(std::string reserved = "0") {
  KubeletConfiguration out;
  out.cpu_manager_policy = "static";
  out.reserved_system_cpus = std::move(reserved);
  out.eviction_hard.emplace();
  return out;
}

/// Memory policy Static, `reserved` of memory on node 0.
inline void PinMemory(KubeletConfiguration& config, std::string_view reserved = "1Gi") {
  config.memory_manager_policy = "Static";
  config.system_reserved["memory"] = Q(reserved);
  config.reserved_memory = {{NumaId{0}, {{"memory", Q(reserved)}}}};
}

/// A container whose requests and limits are equal.
inline Container MakeContainer(std::string name, const std::map<std::string, std::string>& amounts) {
  Container out;
  out.name = std::move(name);
  for (const auto& [resource, amount] : amounts) out.resources.requests[resource] = Q(amount);
  out.resources.limits = out.resources.requests;
  return out;
}

inline Pod MakePod(std::string uid, std::vector<Container> containers, std::vector<Container> inits = {}) {
  Pod out;
  out.name = "pod-" + uid;
  out.uid = std::move(uid);
  out.containers = std::move(containers);
  out.init_containers = std::move(inits);
  return out;
}

inline Container Sidecar(Container container) {
  container.restartable_init = true;
  return container;
}

}  // namespace berth::allocator::testing

#endif  // BERTH_ALLOCATOR_TESTING_BUILDERS_H_
