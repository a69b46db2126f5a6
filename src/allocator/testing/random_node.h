// Random machines, settings and pods for the engine's property tests.
#ifndef BERTH_ALLOCATOR_TESTING_RANDOM_NODE_H_
#define BERTH_ALLOCATOR_TESTING_RANDOM_NODE_H_

#include <array>
#include <cstdlib>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include "allocator/testing/builders.h"
#include "base/text.h"
#include "model/kubelet_version.h"

namespace berth::allocator::testing {

/// BERTH_PROPERTY_STEPS, or `standard` where it is not set.
inline int PropertySteps(int standard) {
  const char* const text = std::getenv("BERTH_PROPERTY_STEPS");
  return text == nullptr ? standard : ParseDecimal<int>(text).value_or(standard);
}

class RandomNode {
 public:
  /// most_nodes: 4 to 8; above 4 machines have up to so many nodes.
  explicit RandomNode(std::uint64_t seed, unsigned most_nodes = 4)
      : rng_(seed), most_nodes_(most_nodes), version_(kKubeletVersions[seed % kKubeletVersions.size()]) {}

  unsigned Roll(unsigned n) { return static_cast<unsigned>(rng_() % n); }
  bool OneIn(unsigned n) { return Roll(n) == 0; }

  /// nullopt: the settings do not fit the machine; draw again. `own_rules`: with options of Berth's own, and
  /// podPolicies that let pods have what AddWishes gives them.
  std::optional<Node> MakeNode(bool own_rules = false) {
    Shape shape{.sockets = 1 + static_cast<int>(Roll(2)),
                .nodes_per_socket = 1 + static_cast<int>(Roll(most_nodes_ / 2))};
    shape.cores_per_node = 1 + static_cast<int>(Roll(5));
    shape.threads = 1 + static_cast<int>(Roll(2));
    shape.adjacent = OneIn(2);
    shape.node_memory = GiB(4 + Roll(8));
    shape.cores_per_uncore = static_cast<int>(Roll(3));
    if (OneIn(2)) shape.hugepages = {{MiB(2), 256}};
    for (unsigned cpu = 0; cpu < 40; ++cpu)
      if (OneIn(3) && OneIn(6)) shape.offline.Insert(CpuId{cpu});
    Machine machine = MakeMachine(shape);
    if (machine.online.Count() < 2) return std::nullopt;
    EngineOptions options{.kubelet_version = version_, .node_fit = OneIn(2)};
    if (own_rules) {
      for (const CpuId cpu : machine.online)
        if (OneIn(6)) machine.isolated.Insert(cpu);
      options.own = MakeRules();
      options.memory_groups_overlap = OneIn(3);
    }
    auto node = Node::Make(machine, Config(machine), options);
    if (!node || node->EmptyLedger().shared.empty()) return std::nullopt;
    return *std::move(node);
  }

  /// As MakeNode with own_rules, and with named pools p0 to p2. nullopt: as MakeNode.
  std::optional<Node> MakeNodeWithPools() {
    const std::optional<Node> node = MakeNode(true);
    if (!node) return std::nullopt;
    EngineOptions options = node->options();
    for (unsigned i = 0; i < 3; ++i) options.own.pools.push_back(MakePool("p" + std::to_string(i), *node));
    auto out = Node::Make(node->machine(), node->config(), options);
    if (!out) return std::nullopt;
    return *std::move(out);
  }

  /// In a pool with all its containers, or with some.
  void AddPool(Pod& pod) {
    const auto any = [&] { return "p" + std::to_string(Roll(3)); };
    std::string& text = pod.annotations["berth.dev/pool"];
    text = OneIn(3) ? pod.containers.front().name + "=" + any() : any();
    if (OneIn(4)) text += ", " + pod.containers.back().name + "x=" + any();  // none of its
  }

  /// Cores, L3 groups and sockets of one size each, as the kubelet's averages want them; some nodes without CPUs, and
  /// memory that differs from node to node. nullopt: as MakeNode.
  std::optional<Node> MakeRegularNode() {
    Shape shape{.sockets = 1 + static_cast<int>(Roll(2)), .nodes_per_socket = 1 + static_cast<int>(Roll(2))};
    shape.cores_per_node = 2 + 2 * static_cast<int>(Roll(3));
    shape.threads = 1 + static_cast<int>(Roll(2));
    shape.adjacent = OneIn(2);
    shape.cores_per_uncore = OneIn(2) ? 0 : 2;
    if (OneIn(2)) shape.hugepages = {{MiB(2), 256}};
    Machine machine = MakeMachine(shape);
    for (NumaNode& node : machine.nodes) node.memory = GiB(2 + Roll(8));
    if (OneIn(4)) AddMemoryNode(machine);
    AddTotals(machine);
    auto node = Node::Make(machine, Config(machine), {.kubelet_version = version_, .node_fit = false});
    if (!node || node->EmptyLedger().shared.empty()) return std::nullopt;
    return *std::move(node);
  }

  Inputs MakeInputs(const Node& node) {
    Inputs out;
    const unsigned nodes = static_cast<unsigned>(node.machine().nodes.size());
    for (const char* resource : {"a.com/gpu", "b.com/nic"}) {
      if (OneIn(3)) continue;
      std::vector<Device>& devices = out.devices[resource];
      const bool placed = !OneIn(4);
      for (unsigned count = Roll(7), i = 0; i < count; ++i) {
        Device& device = devices.emplace_back();
        device.id = "d" + std::to_string(i);
        device.healthy = !OneIn(8);
        if (placed) device.nodes.Insert(NumaId{Roll(nodes)});
        if (placed && OneIn(6)) device.nodes.Insert(NumaId{Roll(nodes)});
      }
    }
    return out;
  }

  /// What plugins may do between two admissions: a device goes, a resource goes, an answer of GetPreferredAllocation.
  void ChangeDevices(Inputs& inputs) {
    if (!OneIn(3) || inputs.devices.empty()) return;
    const auto changed = std::next(inputs.devices.begin(), Roll(static_cast<unsigned>(inputs.devices.size())));
    std::vector<Device>& devices = changed->second;
    if (OneIn(2) && !devices.empty()) {
      std::vector<std::string>& preferred = inputs.preferred_devices[changed->first];
      preferred.clear();
      for (unsigned i = 0; i < 4; ++i) preferred.push_back("d" + std::to_string(Roll(7)));
    } else if (OneIn(2) && !devices.empty()) {
      devices.erase(devices.begin() + Roll(static_cast<unsigned>(devices.size())));
    } else if (OneIn(4)) {
      inputs.devices.erase(changed);
    }
  }

  Pod MakePod() {
    Pod out;
    out.uid = "u" + std::to_string(next_pod_++);
    out.name = "pod-" + out.uid;
    const bool guaranteed = !OneIn(4);
    for (unsigned count = OneIn(3) ? 1 + Roll(2) : 0; count > 0; --count) {
      Container init = RandomContainer("i" + std::to_string(count), guaranteed);
      init.restartable_init = OneIn(3);
      out.init_containers.push_back(std::move(init));
    }
    for (unsigned count = 1 + Roll(2); count > 0; --count)
      out.containers.push_back(RandomContainer("c" + std::to_string(count), guaranteed));
    return out;
  }

  /// Settings of its own, CPUs of its own, or none of it. Not all of it is to be had.
  void AddWishes(Pod& pod) {
    constexpr std::array kScopes{"container", "pod"};
    if (OneIn(3)) pod.annotations["berth.dev/topology-policy"] = AnyPolicy();
    if (OneIn(4)) pod.annotations["berth.dev/topology-scope"] = kScopes[Roll(kScopes.size())];
    if (OneIn(3)) pod.annotations["berth.dev/cpu-options"] = AnyOptions();
    if (OneIn(3)) AddCpuWishes(pod);
  }
  /// Other numbers for the containers that ask for CPUs of their own, and sometimes for others.
  void AddCpuWishes(Pod& pod) {
    std::string& text = pod.annotations["berth.dev/cpus"];
    text.clear();
    for (const Container& container : pod.containers)
      text += (text.empty() ? "" : ",") + container.name + "=" + std::to_string(1 + Roll(4)) +
              (container.name == "c1" ? " exclusive + shared" : " exclusive");
  }

  /// As MakePod, and some with pod-level resources, a class from their status, or odd amounts.
  Pod MakePodOfAnyKind() {
    Pod out = MakePod();
    if (OneIn(10)) out.status_qos = OneIn(2) ? QosClass::kGuaranteed : QosClass::kBurstable;
    if (OneIn(10)) {
      out.resources.emplace();
      if (!OneIn(3)) out.resources->limits = {{"cpu", Q("4")}, {"memory", Q("1Gi")}};
      if (OneIn(2)) out.resources->requests = out.resources->limits;
    }
    if (!out.init_containers.empty() && OneIn(3)) {  // more than one node has
      Resources& first = out.init_containers.front().resources;
      first.requests["hugepages-2Mi"] = first.limits["hugepages-2Mi"] = Q("600Mi");
    }
    if (OneIn(10)) out.containers.front().resources.limits["a.com/gpu"] = Q("0");
    if (OneIn(10)) out.containers.front().resources.requests["cpu"] = Q("1999.5m");
    if (OneIn(10)) out.containers.front().resources.limits["c.com/unknown"] = Q("1");
    return out;
  }

 private:
  static void AddMemoryNode(Machine& machine) {
    const auto id = static_cast<unsigned>(machine.nodes.size());
    NumaNode& added = machine.nodes.emplace_back();
    added.id = NumaId{id};
    added.memory = GiB(4);
    for (NumaNode& node : machine.nodes) {
      if (node.id == added.id) continue;
      node.distances.push_back(17);
      added.distances.push_back(17);
    }
    added.distances.push_back(10);
  }

  std::string AnyPolicy() { return std::array{"none", "best-effort", "restricted", "single-numa-node"}[Roll(4)]; }

  std::string AnyOptions() {
    constexpr std::array kWords{"l3=strict",   "l3=strict,end=high", "cores=spread",
                                "numa=spread", "end=high",           "full-pcpus-only",
                                "l3=pack",     "isolated=prefer",    "isolated=avoid"};
    return kWords[Roll(kWords.size())];
  }

  PoolRule MakePool(std::string name, const Node& node) {
    PoolRule out;
    out.name = std::move(name);
    out.namespaces = {"*"};
    if (OneIn(2)) out.cpu = *ParseCpuWishes(AnyOptions());
    if (OneIn(3)) out.threads = OneIn(2) ? PoolThreads::kWholeCores : PoolThreads::kOnePerCore;
    if (OneIn(3)) out.min_cpus = Roll(4);
    if (OneIn(3)) out.max_cpus = 3 + Roll(8);
    if (OneIn(4)) out.numa_nodes = {node.machine().nodes[Roll(static_cast<unsigned>(node.machine().nodes.size()))].id};
    return out;
  }

  OwnRules MakeRules() {
    OwnRules out;
    if (OneIn(2)) out.cpu = *ParseCpuWishes(AnyOptions());
    out.isolated_apart = OneIn(3);
    PodPolicy& rule = out.pods.emplace_back();
    rule.name = "some";
    rule.namespaces = rule.topology_policies = rule.topology_scopes = rule.cpu_options = rule.cpus = {"*"};
    if (OneIn(3)) rule.max_cpus = 2 + Roll(8);
    return out;
  }

  KubeletConfiguration Config(const Machine& machine) {
    KubeletConfiguration out = StaticConfig(FormatIds(CpuSet{*machine.online.First()}));
    if (OneIn(2)) {
      out.reserved_system_cpus.clear();
      out.system_reserved["cpu"] = Q(OneIn(2) ? "1" : "1500m");
    }
    out.feature_gates["CPUManagerPolicyAlphaOptions"] = true;
    constexpr std::array kOptions{"full-pcpus-only",
                                  "strict-cpu-reservation",
                                  "prefer-align-cpus-by-uncorecache",
                                  "distribute-cpus-across-numa",
                                  "align-by-socket",
                                  "distribute-cpus-across-cores"};
    for (const char* option : kOptions)
      if (OneIn(5)) out.cpu_manager_policy_options[option] = "true";
    out.topology_manager_policy = AnyPolicy();
    out.topology_manager_scope = OneIn(3) ? "pod" : "container";
    if (OneIn(4)) out.topology_manager_policy_options["prefer-closest-numa-nodes"] = "true";
    if (!OneIn(3)) PinMemory(out, "512Mi");
    return out;
  }

  Container RandomContainer(std::string name, bool guaranteed) {
    std::map<std::string, std::string> amounts;
    amounts["cpu"] = OneIn(5) ? "500m" : std::to_string(1 + Roll(OneIn(3) ? 8 : 3));
    amounts["memory"] = std::to_string(128 + Roll(OneIn(4) ? 9000 : 1500)) + "Mi";
    if (OneIn(6)) amounts["hugepages-2Mi"] = std::to_string(2 * (1 + Roll(200))) + "Mi";
    if (OneIn(4)) amounts["a.com/gpu"] = std::to_string(1 + Roll(3));
    if (OneIn(5)) amounts["b.com/nic"] = std::to_string(1 + Roll(2));
    Container out = MakeContainer(std::move(name), amounts);
    if (!guaranteed) out.resources.requests["cpu"] = Q("50m");
    return out;
  }

  std::mt19937_64 rng_;
  unsigned most_nodes_;
  KubeletVersion version_;  // any
  unsigned next_pod_ = 0;
};

}  // namespace berth::allocator::testing

#endif  // BERTH_ALLOCATOR_TESTING_RANDOM_NODE_H_
