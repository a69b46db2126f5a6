// Random values for the tests of this component.
#ifndef BERTH_API_CODEC_GENERATOR_TEST_H_
#define BERTH_API_CODEC_GENERATOR_TEST_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "api/codec/codec.h"
#include "model/own_rules.h"

namespace berth::codec {

/// Random values with all the shapes they can take; one seed, one value.
class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}

  std::uint64_t Below(std::uint64_t n) { return std::uniform_int_distribution<std::uint64_t>(0, n - 1)(random_); }
  bool Coin() { return Below(2) == 0; }

  template <class Set>
  Set Ids(std::uint32_t limit) {
    Set out;
    for (std::uint64_t n = Below(6); n > 0; --n) out.Insert(typename Set::Id{static_cast<std::uint32_t>(Below(limit))});
    return out;
  }
  std::string Word() {
    static constexpr std::string_view kParts[] = {"web", "null", "0", "\"q\"", "a/b", "ü", "\n", "\\", "yes", ""};
    return std::string(kParts[Below(std::size(kParts))]) + std::to_string(Below(50));
  }
  Bytes Size() { return {static_cast<std::int64_t>(Below(std::uint64_t{1} << 63))}; }
  ResourceList List() {
    ResourceList out;
    for (std::uint64_t n = Below(4); n > 0; --n)
      out[Word()] =
          Coin() ? Quantity::FromMilli(static_cast<std::int64_t>(Below(1'000'000))) : Quantity::FromBytes(Size());
    return out;
  }
  std::vector<MemoryBlock> Blocks() {
    std::vector<MemoryBlock> out;
    for (std::uint64_t n = Below(3); n > 0; --n) out.push_back({Ids<NodeSet>(200), Word(), Size()});
    return out;
  }
  Placement OnePlacement() {
    Placement p;
    p.container = Word();
    p.kind = static_cast<ContainerKind>(Below(3));
    if (Coin()) p.hint = TopologyHint{.nodes = {}, .preferred = Coin()};
    if (p.hint && Coin()) p.hint->nodes = Ids<NodeSet>(64);
    if (Coin()) p.cpus = Ids<CpuSet>(kMaxId + 1);
    p.mixed = p.cpus && Coin();
    if (Coin()) p.memory = Blocks();
    for (std::uint64_t n = Below(3); n > 0; --n) {
      DeviceAssignment& given = p.devices.emplace_back(DeviceAssignment{Word(), {Word(), Word()}});
      if (Coin()) given.answer = OneAnswer();
    }
    if (Coin()) p.promised = Ids<CpuSet>(300);
    if (Coin()) p.nodes = Ids<NodeSet>(64);
    if (Coin()) p.node_cpus = Ids<CpuSet>(300);
    if (Coin()) p.pool = "p" + Word();
    if (!p.pool.empty()) p.pool_request = static_cast<std::int64_t>(Below(100'000));
    return p;
  }
  DeviceAnswer OneAnswer() {
    DeviceAnswer out;
    for (std::uint64_t n = Below(3); n > 0; --n) out.nodes[Word()] = Ids<NodeSet>(64);
    for (std::uint64_t n = Below(3); n > 0; --n) out.env[Word()] = Word();
    for (std::uint64_t n = Below(3); n > 0; --n) out.mounts.push_back({Word(), Word(), Coin()});
    for (std::uint64_t n = Below(3); n > 0; --n) out.device_nodes.push_back({Word(), Word(), Word()});
    for (std::uint64_t n = Below(3); n > 0; --n) out.annotations[Word()] = Word();
    for (std::uint64_t n = Below(3); n > 0; --n) out.cdi_devices.push_back(Word());
    return out;
  }
  PodRecord OnePod() {
    PodRecord pod;
    pod.uid = Word();
    pod.namespace_ = Word();
    pod.name = Word();
    pod.qos = static_cast<QosClass>(Below(3));
    pod.sequence = random_();
    pod.requests = List();
    for (std::uint64_t n = Below(4); n > 0; --n) pod.placements.push_back(OnePlacement());
    if (Coin()) pod.rule = Word();
    pod.reusable.cpus = Ids<CpuSet>(300);
    for (std::uint64_t n = Below(3); n > 0; --n) pod.reusable.memory[{Ids<NodeSet>(64), Word()}] = Size();
    for (std::uint64_t n = Below(3); n > 0; --n) pod.reusable.devices[Word()] = {Word()};
    for (std::uint64_t n = Below(3); n > 0; --n) pod.allocated[Word()] = {.requests = List(), .limits = List()};
    if (Coin()) pod.identity = Word();
    for (std::uint64_t n = Below(3); n > 0; --n) pod.restarts.insert(Word());
    return pod;
  }
  OwnRules Rules() {
    OwnRules out;
    constexpr const char* kOptions[] = {"numa=pack, l3=strict, end=high", "cores=spread, kind=efficiency",
                                        "isolated=require, full-pcpus-only=false", ""};
    out.cpu = *ParseCpuWishes(kOptions[Below(std::size(kOptions))]);
    out.isolated_apart = Coin();
    for (std::uint64_t n = Below(3); n > 0; --n) {
      PodPolicy& policy = out.pods.emplace_back();
      policy.name = Word();
      policy.namespaces = {Word(), "*"};
      if (Coin()) policy.topology_policies = {"restricted"};
      if (Coin()) policy.topology_scopes = {"pod"};
      if (Coin()) policy.cpu_options = {"l3=*"};
      if (Coin()) policy.cpus = {"mixed"};
      if (Coin()) policy.max_cpus = static_cast<std::int64_t>(Below(100));
      if (Coin()) policy.max_percent = static_cast<std::int64_t>(Below(100));
    }
    for (std::uint64_t n = Below(3); n > 0; --n) {
      PoolRule& pool = out.pools.emplace_back();
      pool.name = Word();
      pool.namespaces = {Word()};
      pool.cpu = *ParseCpuWishes(kOptions[Below(std::size(kOptions))]);
      pool.numa_nodes = Ids<NodeSet>(64);
      pool.threads = static_cast<PoolThreads>(Below(3));
      pool.min_cpus = static_cast<std::int64_t>(Below(9));
      if (Coin()) pool.max_cpus = static_cast<std::int64_t>(9 + Below(9));
    }
    return out;
  }
  CpuPools Pools() {
    CpuPools out;
    for (std::uint64_t n = Below(3); n > 0; --n) out[Word()] = {.cpus = Ids<CpuSet>(300), .idle = Ids<CpuSet>(300)};
    return out;
  }
  Ledger OneLedger() {
    Ledger ledger;
    ledger.revision = random_();
    ledger.next_sequence = random_();
    ledger.cpu_policy = Word();
    ledger.memory_policy = Word();
    ledger.shared = Ids<CpuSet>(kMaxId + 1);
    for (std::uint64_t n = Below(4); n > 0; --n) {
      MemoryNodeState state{.assignments = static_cast<int>(Below(9)), .cells = Ids<NodeSet>(64), .types = {}};
      for (std::uint64_t k = Below(3); k > 0; --k) state.types[Word()] = {Size(), Size(), Size(), Size(), Size()};
      ledger.memory[NumaId{static_cast<std::uint32_t>(Below(64))}] = state;
    }
    ledger.pools = Pools();
    for (std::uint64_t n = Below(5); n > 0; --n) {
      PodRecord pod = OnePod();
      ledger.pods[pod.uid] = pod;
    }
    return ledger;
  }
  Core OneCore() {
    Core core;
    core.core_id = static_cast<std::uint32_t>(Below(90));
    core.socket = SocketId{7};
    core.die = DieId{1};
    core.threads = {CpuId{static_cast<std::uint32_t>(Below(4096))}, CpuId{static_cast<std::uint32_t>(Below(4096))}};
    if (Coin()) core.uncore.push_back({CacheId{static_cast<std::uint32_t>(Below(9))}, Size(), "Unified", 3});
    core.kind = static_cast<CoreKind>(Below(3));
    return core;
  }
  Machine OneMachine() {
    Machine m;
    m.source = Word();
    m.this_host = Coin();
    for (std::uint64_t n = Below(4); n > 0; --n) {
      NumaNode node;
      node.id = NumaId{static_cast<std::uint32_t>(Below(200))};
      node.memory = Size();
      if (Coin()) node.hugepages.push_back({MiB(2), static_cast<std::int64_t>(Below(1000))});
      for (std::uint64_t k = Below(4); k > 0; --k) node.cores.push_back(OneCore());
      if (Coin()) node.distances = {10, 21};
      m.nodes.push_back(node);
    }
    m.present = Ids<CpuSet>(4096);
    m.online = Ids<CpuSet>(4096);
    m.isolated = Ids<CpuSet>(4096);
    m.nohz_full = Ids<CpuSet>(4096);
    m.l3.push_back({CacheId{3}, Size(), Ids<CpuSet>(64)});
    PciDevice pci;
    pci.address = Word();
    pci.class_id = 0x20000;
    pci.vendor = 0x8086;
    if (Coin()) pci.node = NumaId{1};
    if (Coin()) pci.above = {Word(), Word()};
    m.pci.push_back(pci);
    m.memory = Size();
    m.hugepages.push_back({GiB(1), 4});
    m.reported_cpus = static_cast<int>(Below(9));
    m.boot_id = Word();
    return m;
  }

 private:
  std::mt19937_64 random_;
};

/// Through the text, as the API and the ledger file do.
inline Json ThroughText(const Json& json) {
  auto parsed = ParseJson(FormatJson(json), "text");
  EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().message);
  return parsed ? *std::move(parsed) : Json();
}

}  // namespace berth::codec

#endif  // BERTH_API_CODEC_GENERATOR_TEST_H_
