#include "node/ledger/decision_counts.h"

#include <algorithm>
#include <array>
#include <string>

#include "model/resources.h"

namespace berth::ledger {
namespace {

constexpr std::array kMicroseconds = {1.0,   2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0,
                                      500.0, 1e3, 2e3, 5e3,  1e4,  2e4,  5e4,   1e5};
constexpr std::array kMilliseconds = {0.05, 0.1,  0.2,  0.4,   0.8,   1.6,   3.2,  6.4,
                                      12.8, 25.6, 51.2, 102.4, 204.8, 409.6, 819.2};
constexpr const char* kContainerScope = "container";
constexpr const char* kPodScope = "pod";
constexpr const char* kPhysicalCpu = "physical_cpu";
constexpr const char* kNumaNode = "numa_node";
constexpr const char* kUncoreCache = "uncore_cache";

/// Reasons that a kubelet counts by their names.
constexpr std::array<std::string_view, 19> kCounted = {"AppArmor",
                                                       "PodOSSelectorNodeLabelDoesNotMatch",
                                                       "PodOSNotSupported",
                                                       "InvalidNodeInfo",
                                                       "InitContainerRestartPolicyForbidden",
                                                       "SupplementalGroupsPolicyNotSupported",
                                                       "UnexpectedAdmissionError",
                                                       "UnknownReason",
                                                       "UnexpectedPredicateFailureType",
                                                       "OutOfcpu",
                                                       "OutOfmemory",
                                                       "OutOfephemeral-storage",
                                                       "OutOfpods",
                                                       "PodLevelResourcesNotSupported",
                                                       "PodFeatureUnsupported",
                                                       "Evicted",
                                                       "SysctlForbidden",
                                                       "TopologyAffinityError",
                                                       "NodeShutdown"};

bool IsSet(const KubeletConfiguration& config, const std::string& option) {
  const auto it = config.cpu_manager_policy_options.find(option);
  return it != config.cpu_manager_policy_options.end() && it->second == "true";
}

/// All within one last-level cache.
bool SharesCache(const Machine& machine, const CpuSet& cpus) {
  return std::ranges::any_of(machine.l3, [&](const L3Group& group) { return (cpus - group.cpus).empty(); });
}

}  // namespace

/// What of the settings decides which counters there are.
struct DecisionCounts::Rules {
  explicit Rules(const KubeletConfiguration& config)
      : pins_cpus(config.cpu_manager_policy == "static"),
        pins_memory(config.memory_manager_policy == "Static"),
        aligns(config.topology_manager_policy != "none"),
        one_node(config.topology_manager_policy == "single-numa-node"),
        by_pod(config.topology_manager_scope == "pod"),
        whole_cores(IsSet(config, "full-pcpus-only")),
        caches(IsSet(config, "prefer-align-cpus-by-uncorecache")) {}
  bool pins_cpus;
  bool pins_memory;
  bool aligns;
  bool one_node;
  bool by_pod;
  bool whole_cores;
  bool caches;
};

DecisionCounts::DecisionCounts() {
  figures_.time_us = Histogram(kMicroseconds);
  figures_.time_ms = Histogram(kMilliseconds);
  for (const char* boundary : {kPhysicalCpu, kNumaNode, kUncoreCache}) Aligned(kContainerScope, boundary);
  Aligned(kPodScope, kNumaNode);
}

void DecisionCounts::Count(const allocator::Node& node, const Pod& pod, const Decision& decision,
                           std::chrono::nanoseconds time) {
  figures_.time_us.Add(std::chrono::duration<double, std::micro>(time).count());
  figures_.time_ms.Add(std::chrono::duration<double, std::milli>(time).count());
  ++figures_.admissions.tried;
  const Rules rules(node.config());
  if (const auto* reject = std::get_if<Reject>(&decision)) return CountReject(rules, pod, *reject);
  const auto& record = std::get<Admit>(decision).delta.put;
  if (!record) return;
  for (const Placement& placement : record->placements) CountPlacement(rules, node, placement);
  if (rules.one_node && rules.by_pod) ++Aligned(kPodScope, kNumaNode).tried;
}

void DecisionCounts::CountAgain(std::chrono::nanoseconds time) {
  figures_.time_us.Add(std::chrono::duration<double, std::micro>(time).count());
}

void DecisionCounts::CountPlacement(const Rules& rules, const allocator::Node& node, const Placement& placement) {
  CountContainer(rules, placement.cpus.has_value(), placement.memory.has_value());
  if (placement.cpus && rules.caches && SharesCache(node.machine(), *placement.cpus))
    ++Aligned(kContainerScope, kUncoreCache).tried;
}

/// One that got what it asked for.
void DecisionCounts::CountContainer(const Rules& rules, bool cpus, bool memory) {
  if (cpus) ++figures_.cpu_pinnings.tried;
  if (cpus && rules.whole_cores) ++Aligned(kContainerScope, kPhysicalCpu).tried;
  if (memory) ++figures_.memory_pinnings.tried;
  if (rules.one_node && !rules.by_pod) ++Aligned(kContainerScope, kNumaNode).tried;
}

/// Containers before the one that failed were given theirs; when the node as a whole is short, all of them.
void DecisionCounts::CountReject(const Rules& rules, const Pod& pod, const Reject& reject) {
  const bool misaligned = reject.reason == "TopologyAffinityError";
  if (misaligned && rules.one_node) ++Aligned(rules.by_pod ? kPodScope : kContainerScope, kNumaNode).failed;
  if (rules.aligns && (misaligned || !reject.container.empty())) ++figures_.admissions.failed;
  if (misaligned && reject.container.empty()) return;
  const bool guaranteed = QosOf(pod) == QosClass::kGuaranteed;
  bool reached = false;
  ForEachContainer(pod, [&](const Container& container, ContainerKind) {
    if (reached) return;
    const Quantity asked = AmountOf(container.resources.requests, "cpu");
    const bool cpus = guaranteed && rules.pins_cpus && asked.Sign() > 0 && asked.IsInteger();
    const bool memory = guaranteed && rules.pins_memory;
    reached = container.name == reject.container;
    if (!reached)
      CountContainer(rules, cpus, memory);
    else if (!misaligned)
      CountFailed(rules, cpus, memory, reject);
  });
}

/// Devices are given first, then CPUs, then memory: what comes after the one that failed was not tried.
void DecisionCounts::CountFailed(const Rules& rules, bool cpus, bool memory, const Reject& reject) {
  const bool of_memory = reject.message.contains("[memorymanager]");
  const bool of_cpus = reject.reason == "SMTAlignmentError" || reject.message.contains("cpu");
  if (cpus && (of_memory || of_cpus)) ++figures_.cpu_pinnings.tried;
  if (cpus && rules.whole_cores && of_memory) ++Aligned(kContainerScope, kPhysicalCpu).tried;
  if (memory && of_memory) {
    ++figures_.memory_pinnings.tried;
    ++figures_.memory_pinnings.failed;
  } else if (cpus && of_cpus) {
    ++figures_.cpu_pinnings.failed;
    if (rules.whole_cores) ++Aligned(kContainerScope, kPhysicalCpu).failed;
  }
}

void DecisionCounts::CountRejection(std::string_view reason) {
  const bool counted = std::ranges::find(kCounted, reason) != kCounted.end();
  const bool extended = !counted && reason.starts_with("OutOf");
  ++figures_.rejections[std::string(counted ? reason : extended ? "OutOfExtendedResources" : "Other")];
}

}  // namespace berth::ledger
