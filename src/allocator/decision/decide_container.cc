#include "allocator/decision/decide_container.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "allocator/admission/admission.h"
#include "allocator/admission/node_fit.h"
#include "allocator/cpu_manager/cpu_policy.h"
#include "allocator/demand/demand.h"
#include "allocator/memory_manager/memory_policy.h"
#include "allocator/node/pod_rules.h"
#include "allocator/reason/decision_log.h"

namespace berth::allocator {
namespace {

/// Whether another container of the pod has taken CPUs that were this one's.
bool IsTakenOver(const PodRecord& record, const Placement& placement) {
  return placement.cpus && placement.kind == ContainerKind::kInit &&
         std::ranges::any_of(record.placements, [&](const Placement& other) {
           return &other != &placement && other.cpus && other.cpus->Intersects(*placement.cpus);
         });
}

/// Apps of the ledger that are init containers by now: what they have is there for those after them.
void EndInitContainers(PodRecord& record, const Pod& pod) {
  for (Placement& placement : record.placements) {
    if (placement.kind != ContainerKind::kApp) continue;
    const auto init = std::ranges::find(pod.init_containers, placement.container, &Container::name);
    if (init == pod.init_containers.end() || init->restartable_init) continue;
    placement.kind = ContainerKind::kInit;
    if (placement.cpus) record.reusable.cpus |= *placement.cpus;
  }
}

/// What it has goes back, but for what another container of its pod has by now.
void GiveBack(PodBooks& books, PodRecord& record, std::string_view container) {
  const auto placement = std::ranges::find(record.placements, container, &Placement::container);
  if (placement == record.placements.end()) return;
  ReleaseCpus(books, record, *placement);
  ReleaseMemory(books, *placement);
  if (placement->cpus) {
    CpuSet back = *placement->cpus;  // the rest is another's by now, or was and may be used again
    for (const Placement& other : record.placements)
      if (&other != &*placement && other.cpus) back -= *other.cpus;
    record.reusable.cpus -= back;
  }
  record.placements.erase(placement);
  SettleOverlapping(books, record);
}

/// What DecideContainer is asked.
struct ContainerQuestion {
  const Node& node;
  const Ledger& ledger;
  const Pod& pod;
  std::string_view container;
  const Inputs& inputs;
};

/// `reuses`: it may have CPUs that init containers of its pod left, and its nodes have to be those of all of them.
Decision DecideOnce(const ContainerQuestion& asked, bool reuses, const DecisionLog& log) {
  const auto& [node, ledger, pod, container, inputs] = asked;
  Admission admission(node, ledger, pod, inputs, log);
  PodRecord record;
  if (const auto known = ledger.pods.find(pod.uid); known != ledger.pods.end()) {
    record = known->second;
    const Placement* const placed = FindPlacement(record, container);
    if (placed != nullptr && !IsTakenOver(record, *placed)) {
      if (log) log.Add("allocate", std::string(container), "", "the container is already placed and keeps what it has");
      LedgerDelta kept;
      kept.shared = ledger.shared;
      kept.put = std::move(record);
      return Admit{std::move(kept)};
    }
  } else {
    record = admission.books().record;
  }
  EndInitContainers(record, pod);
  GiveBack(admission.books(), record, container);
  const CpuSet left = reuses ? CpuSet() : std::exchange(record.reusable.cpus, CpuSet());
  admission.GoOn(std::move(record), container);
  if (node.options().node_fit)
    if (auto reject = CheckKnown(pod, inputs, admission.books(), log)) return *std::move(reject);
  if (auto reject = admission.Run()) return *std::move(reject);
  if (auto reject = CheckSharedPool(admission.books(), log)) return *std::move(reject);
  if (node.options().node_fit)
    if (auto reject = CheckNodeFit(admission.books(), log)) return *std::move(reject);
  LedgerDelta delta = admission.TakeDelta();
  delta.put->reusable.cpus |= left;  // for others of its pod
  return Admit{std::move(delta)};
}

}  // namespace

Decision DecideContainer(const Node& node, const Ledger& ledger, const Pod& pod, std::string_view container,
                         const Inputs& inputs, Trace* trace) {
  const DecisionLog log(trace);
  const ContainerQuestion asked{node, ledger, pod, container, inputs};
  if (inputs.devices.empty()) return DecideOnce(asked, true, log);
  Trace without = trace == nullptr ? Trace() : *trace;
  Decision out = DecideOnce(asked, true, log);
  if (std::holds_alternative<Admit>(out)) return out;
  const DecisionLog second(trace == nullptr ? nullptr : &without);
  second.Add("reuse", container, "cpu", "CPUs that init containers left are not used again: with them it is refused");
  Decision other = DecideOnce(asked, false, second);
  if (std::holds_alternative<Reject>(other)) return out;
  if (trace != nullptr) *trace = std::move(without);
  return other;
}

bool AsksForOwn(const Node& node, const Pod& pod, std::string_view container) {
  const PodDemand demand = DemandOf(node.tables(), RulesFor(node.tables(), pod), pod);
  return std::ranges::any_of(demand.containers, [&](const ContainerDemand& each) {
    return each.container->name == container && (each.cpus > 0 || !each.memory.empty());
  });
}

}  // namespace berth::allocator
