// Nodes for tests of the pod resources API: snapshots made by hand, or at random.
#ifndef BERTH_KUBERNETES_POD_RESOURCES_MADE_NODE_TEST_H_
#define BERTH_KUBERNETES_POD_RESOURCES_MADE_NODE_TEST_H_

#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "model/node_snapshot.h"

namespace berth::pod_resources {

struct MadeContainer {
  std::string name = "app";
  ContainerKind kind = ContainerKind::kApp;
  std::optional<CpuSet> cpus{};
  std::optional<std::vector<MemoryBlock>> memory{};
  std::vector<DeviceAssignment> devices{};
};

struct MadePod {
  PodPhase phase = PodPhase::kRunning;
  std::string reason{};
  bool holds = true;  ///< the ledger has it
  std::string namespace_ = "default";
};

struct MadeNode {
  void Add(const std::string& name, const std::vector<MadeContainer>& containers, const MadePod& made = {}) {
    PodView pod{.namespace_ = made.namespace_, .name = name, .uid = "uid-" + made.namespace_ + "-" + name};
    pod.phase = made.phase;
    pod.reason = made.reason;
    PodRecord record{.uid = pod.uid, .namespace_ = pod.namespace_, .name = name};
    for (const MadeContainer& container : containers) {
      pod.containers.push_back({.name = container.name, .kind = container.kind});
      record.placements.push_back({.container = container.name,
                                   .kind = container.kind,
                                   .cpus = container.cpus,
                                   .memory = container.memory,
                                   .devices = container.devices});
    }
    if (made.holds) ledger.pods[pod.uid] = std::move(record);
    pods.push_back({.view = std::make_shared<const PodView>(std::move(pod))});
  }
  NodeSnapshot Snapshot() const {
    NodeSnapshot out;
    out.node = std::make_shared<const NodeView>(view);
    out.ledger = std::make_shared<const Ledger>(ledger);
    out.shared = shared;
    out.devices = std::make_shared<const DeviceInventory>(devices);
    out.pods = pods;
    std::ranges::sort(out.pods, {},
                      [](const PodSnapshot& pod) { return std::tie(pod.view->namespace_, pod.view->name); });
    return out;
  }

  NodeView view;
  Ledger ledger;
  CpuSet shared;
  DeviceInventory devices;
  std::vector<PodSnapshot> pods;
};

inline MadeNode RandomNode(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t n) { return random() % n; };
  const auto nodes = [&] {
    NodeSet out;
    for (std::uint64_t n = below(4); n > 0; --n) out.Insert(NumaId{static_cast<std::uint32_t>(below(40))});
    return out;
  };
  const auto assignment = [&](std::uint64_t resource) {
    DeviceAssignment out{.resource = "vendor.example/r" + std::to_string(resource)};
    for (std::uint64_t n = below(4); n > 0; --n) out.ids.push_back("d" + std::to_string(n));
    std::ranges::sort(out.ids);
    if (below(4) == 0) return out;
    out.answer.emplace();
    for (const std::string& id : out.ids)
      if (below(3) != 0) out.answer->nodes[id] = nodes();
    return out;
  };
  const auto container = [&](std::uint64_t number) {
    MadeContainer out{.name = "c" + std::to_string(number), .kind = static_cast<ContainerKind>(below(3))};
    if (below(2) == 0) {
      out.cpus.emplace();
      for (std::uint64_t n = below(9); n > 0; --n) out.cpus->Insert(CpuId{static_cast<std::uint32_t>(below(700))});
    }
    if (below(2) == 0) {
      out.memory.emplace();
      for (std::uint64_t n = below(4); n > 0; --n)
        out.memory->push_back({nodes(),
                               n % 2 == 0 ? "memory" : "hugepages-2Mi",
                               {static_cast<std::int64_t>(below(std::uint64_t{1} << 50))}});
    }
    for (std::uint64_t n = below(3); n > 0; --n) out.devices.push_back(assignment(n));
    return out;
  };
  MadeNode out;
  for (std::uint64_t resource = below(3); resource > 0; --resource)
    for (std::uint64_t device = 1; device < 4; ++device)
      out.devices["vendor.example/r" + std::to_string(resource)].push_back(
          {.id = "d" + std::to_string(device), .nodes = nodes(), .healthy = below(3) != 0});
  for (std::uint64_t pod = below(12); pod > 0; --pod) {
    std::vector<MadeContainer> containers;
    for (std::uint64_t n = 1 + below(5); n > 0; --n) containers.push_back(container(n));
    out.Add("pod" + std::to_string(pod), containers,
            {.phase = static_cast<PodPhase>(below(4)),
             .reason = below(4) == 0 ? "Terminating" : "",
             .holds = below(3) != 0,
             .namespace_ = "ns" + std::to_string(below(3))});
  }
  return out;
}

}  // namespace berth::pod_resources

#endif  // BERTH_KUBERNETES_POD_RESOURCES_MADE_NODE_TEST_H_
