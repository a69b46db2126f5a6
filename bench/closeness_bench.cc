// How close devices of one pod lie on a large board, by the kubelet's rules and with closeDevices, as one table. Says
// nothing about time: the same figures on every host.
//
// The board: 36 NUMA nodes, of which two have 72 CPUs each, four are the memory of each of eight GPUs, and two more
// have memory only; eight PCI roots, four beside each CPU, each with a bridge above one GPU and one NIC. Pods of one
// GPU, one NIC, 16 CPUs and memory come and go. Plug-ins give GPUs names in no order, so the lowest id is any of them,
// as with a kubelet, where the choice among equal ones is arbitrary.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "allocator/engine.h"
#include "allocator/testing/builders.h"

namespace {

using namespace berth;
using namespace berth::allocator;

constexpr unsigned kGpus = 8;
constexpr unsigned kMemoryNodesOfGpu = 4;
constexpr unsigned kNodes = 36;
constexpr unsigned kCpusOfNode = 72;
constexpr int kBoards = 50;  // each with other names
constexpr int kPodsOfBoard = 400;

/// A place of a GPU and a NIC: the node with CPUs beside its root.
unsigned HomeOf(unsigned slot) { return slot / (kGpus / 2); }
std::string Address(unsigned slot, std::string_view part) { return fmt::format("00{:02x}:{}", slot, part); }

unsigned Distance(unsigned a, unsigned b) {
  if (a == b) return 10;
  const auto home = [](unsigned node) { return node < 2 ? node : HomeOf((node - 2) / kMemoryNodesOfGpu % kGpus); };
  return home(a) == home(b) ? 80 : a < 2 && b < 2 ? 40 : 120;
}

Machine Board() {
  Machine out = testing::MakeMachine(
      {.sockets = 2, .nodes_per_socket = 1, .cores_per_node = kCpusOfNode, .threads = 1, .node_memory = GiB(480)});
  for (unsigned n = 2; n < kNodes; ++n) {
    NumaNode& node = out.nodes.emplace_back();
    node.id = NumaId{n};
    node.memory = GiB(46);
  }
  for (unsigned n = 0; n < kNodes; ++n) {
    std::vector<unsigned>& row = out.nodes[n].distances;
    row.clear();
    for (unsigned other = 0; other < kNodes; ++other) row.push_back(Distance(n, other));
  }
  for (unsigned slot = 0; slot < kGpus; ++slot)
    for (const char* const part : {"02:00.0", "03:00.0"}) {
      PciDevice& function = out.pci.emplace_back();
      function.address = Address(slot, part);
      function.node = NumaId{HomeOf(slot)};
      function.local_cpus = CpusOfNode(out, *function.node);
      function.above = {fmt::format("pci00{:02x}:00", slot), Address(slot, "00:00.0")};
    }
  testing::AddTotals(out);
  return out;
}

struct Slots {
  Inputs inputs;
  std::vector<unsigned> gpu_slot;  // by the number in the id
};

/// GPUs named without order; NICs by address. memory_nodes: GPUs say they sit on the nodes of their memory.
Slots Devices(std::mt19937_64& random, bool memory_nodes) {
  Slots out;
  for (unsigned slot = 0; slot < kGpus; ++slot) out.gpu_slot.push_back(slot);
  std::ranges::shuffle(out.gpu_slot, random);
  for (unsigned i = 0; i < kGpus; ++i) {
    const unsigned slot = out.gpu_slot[i];
    Device gpu{.id = fmt::format("gpu-{}", i), .nodes = {}, .healthy = true, .pci = Address(slot, "02:00.0")};
    const unsigned first = 2 + slot * kMemoryNodesOfGpu;
    for (unsigned n = 0; memory_nodes && n < kMemoryNodesOfGpu; ++n) gpu.nodes.Insert(NumaId{first + n});
    if (!memory_nodes) gpu.nodes.Insert(NumaId{HomeOf(slot)});
    out.inputs.devices["a.com/gpu"].push_back(std::move(gpu));
    out.inputs.devices["b.com/nic"].push_back({.id = Address(i, "03:00.0"), .nodes = {NumaId{HomeOf(i)}}});
  }
  return out;
}

struct Sums {
  std::int64_t pods = 0;
  std::int64_t admitted = 0;
  std::int64_t same_root = 0;
  std::int64_t same_node = 0;
  double distance = 0;
};

void Count(const Slots& slots, const Placement& placement, Sums& sums) {
  unsigned gpu = 0;
  unsigned nic = 0;
  for (const DeviceAssignment& given : placement.devices) {
    if (given.resource == "a.com/gpu") gpu = slots.gpu_slot[static_cast<unsigned>(given.ids[0].back() - '0')];
    if (given.resource == "b.com/nic") nic = static_cast<unsigned>(given.ids[0][3] - '0');
  }
  ++sums.admitted;
  sums.same_root += gpu == nic ? 1 : 0;
  double distance = 0;
  bool beside = true;
  for (const CpuId cpu : *placement.cpus)
    for (const unsigned slot : {gpu, nic}) {
      const unsigned node = Raw(cpu) / kCpusOfNode;
      distance += Distance(node, HomeOf(slot));
      beside = beside && node == HomeOf(slot);
    }
  sums.distance += distance / (2.0 * placement.cpus->Count());
  sums.same_node += beside ? 1 : 0;
}

void Live(const Node& node, const Slots& slots, std::mt19937_64& random, Sums& sums) {
  Ledger ledger = node.EmptyLedger();
  std::vector<std::string> running;
  std::size_t most = kGpus;
  for (int pods = 0; pods < kPodsOfBoard;) {
    if (random() % 20 == 0) most = 1 + random() % kGpus;  // full times and empty ones
    while (running.size() >= most || (!running.empty() && random() % 4 == 0)) {
      const std::size_t i = random() % running.size();
      Apply(ledger, Release(node, ledger, running[i], nullptr));
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
    }
    const Pod pod = testing::MakePod(
        fmt::format("u{}", pods++),
        {testing::MakeContainer("c", {{"cpu", "16"}, {"memory", "64Gi"}, {"a.com/gpu", "1"}, {"b.com/nic", "1"}})});
    ++sums.pods;
    const Decision decision = Decide(node, ledger, pod, slots.inputs, nullptr);
    const auto* const admit = std::get_if<Admit>(&decision);
    if (admit == nullptr) continue;
    Count(slots, admit->delta.put->placements[0], sums);
    Apply(ledger, admit->delta);
    running.push_back(pod.uid);
  }
}

void Row(const char* policy, bool memory_nodes, bool close) {
  KubeletConfiguration config = testing::StaticConfig("0,72");
  testing::PinMemory(config);
  config.topology_manager_policy = policy;
  const auto node = Node::Make(Board(), config, {.node_fit = true, .close_devices = close});
  BERTH_CHECK(node.has_value());
  std::mt19937_64 random(16);
  Sums sums;
  for (int board = 0; board < kBoards; ++board) {
    const Slots slots = Devices(random, memory_nodes);
    Live(*node, slots, random, sums);
  }
  const auto share = [&](std::int64_t part, std::int64_t all) {
    return all == 0 ? std::string("-")
                    : fmt::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(all));
  };
  const std::string distance =
      sums.admitted == 0 ? "-" : fmt::format("{:.1f}", sums.distance / static_cast<double>(sums.admitted));
  fmt::print("| {} | {} | {} | {} | {} | {} | {} |\n", memory_nodes ? "its memory" : "the CPU beside it", policy,
             close ? "closeDevices" : "the kubelet's", share(sums.admitted, sums.pods), distance,
             share(sums.same_node, sums.admitted), share(sums.same_root, sums.admitted));
}

}  // namespace

int main() {
  fmt::print(
      "| a GPU's node is | policy | rules | admitted | mean distance | CPUs beside both | GPU and NIC on one root |\n");
  fmt::print("|---|---|---|--:|--:|--:|--:|\n");
  for (const bool memory_nodes : {false, true})
    for (const char* const policy : {"best-effort", "restricted", "single-numa-node"})
      for (const bool close : {false, true}) Row(policy, memory_nodes, close);
  return 0;
}
