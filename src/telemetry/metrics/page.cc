#include "telemetry/metrics/page.h"

#include <algorithm>
#include <string_view>

#include "telemetry/metrics/exposition_format.h"
#include "telemetry/metrics/families.h"

namespace berth::metrics {
namespace {

using Seconds = std::chrono::duration<double>;

double Number(std::uint64_t count) { return static_cast<double>(count); }
double Number(int count) { return count; }
double Number(Bytes bytes) { return static_cast<double>(bytes.v); }
double Number(std::chrono::nanoseconds time) { return Seconds(time).count(); }
double SecondsSince1970(WallTime at) { return Seconds(at.time_since_epoch()).count(); }
std::string Text(NumaId node) { return std::to_string(Raw(node)); }

void AddOne(Page& page, const Family& family, double value) {
  page.Begin(family);
  page.Add(value);
}

void AddHistogram(Page& page, const Family& family, const Histogram& histogram) {
  page.Begin(family);
  page.Add(histogram);
}

void AddCounts(Page& page, const Family& family, const std::map<std::string, std::uint64_t>& counts) {
  page.Begin(family);
  for (const auto& [label, count] : counts) page.Add(Number(count), {label});
}

/// CPUs of the pool that the CPU manager could still give away; empty when it gives none.
CpuSet GivableCpus(const NodeSnapshot& node) {
  return node.ledger->cpu_policy == "static" ? node.ledger->shared - node.node->reserved_cpus : CpuSet();
}

/// These, and isolated ones that are kept out of the pool.
CpuSet FreeForExclusiveUse(const NodeSnapshot& node) {
  CpuSet out = GivableCpus(node);
  if (node.ledger->cpu_policy != "static" || !node.node->own.isolated_apart) return out;
  const CpuSet isolated = (node.machine->isolated | node.machine->nohz_full) & node.node->all_cpus;
  return out | (isolated - TakenCpus(*node.ledger) - node.node->reserved_cpus);
}

void AddCpuManager(Page& page, const NodeSnapshot& node) {
  constexpr int kMillicores = 1000;
  const DecisionFigures& decisions = node.figures->decisions;
  const CpuSet exclusive = ExclusiveCpus(*node.ledger);
  AddOne(page, kCpuPinnings, Number(decisions.cpu_pinnings.tried));
  AddOne(page, kCpuPinningErrors, Number(decisions.cpu_pinnings.failed));
  AddOne(page, kSharedPool, Number(GivableCpus(node).Count() * kMillicores));
  AddOne(page, kExclusiveCpus, Number(exclusive.Count()));
  page.Begin(kExclusivePerNuma);
  for (const NumaNode& numa : node.machine->nodes)
    page.Add(Number((exclusive & CpusOfNode(*node.machine, numa.id)).Count()), {Text(numa.id)});
}

void AddDecisions(Page& page, const DecisionFigures& decisions) {
  AddOne(page, kMemoryPinnings, Number(decisions.memory_pinnings.tried));
  AddOne(page, kMemoryPinningErrors, Number(decisions.memory_pinnings.failed));
  AddOne(page, kAdmissions, Number(decisions.admissions.tried));
  AddOne(page, kAdmissionErrors, Number(decisions.admissions.failed));
  AddHistogram(page, kAdmissionTime, decisions.time_ms);
  page.Begin(kAligned);
  for (const auto& [kind, count] : decisions.alignments) page.Add(Number(count.tried), {kind.scope, kind.boundary});
  page.Begin(kMisaligned);
  for (const auto& [kind, count] : decisions.alignments) page.Add(Number(count.failed), {kind.scope, kind.boundary});
  AddCounts(page, kRejections, decisions.rejections);
}

void AddPlugins(Page& page, const DeviceFigures& devices) {
  AddCounts(page, kPluginRegistrations, devices.registrations);
  page.Begin(kPluginAllocations);
  for (const auto& [resource, seconds] : devices.allocate_seconds) page.Add(seconds, {resource});
}

void AddPodResources(Page& page, const std::optional<PodResourcesFigures>& figures) {
  using ByVersion = std::map<std::string, std::uint64_t>;
  const PodResourcesFigures calls = figures.value_or(PodResourcesFigures{});
  const auto add = [&](const Family& family, const ByVersion& counts) {
    AddCounts(page, family, figures ? counts : ByVersion());
  };
  add(kPodResourcesCalls,
      {{"v1", calls.list.tried + calls.get_allocatable.tried + calls.get.tried}, {"v1alpha1", calls.list_alpha}});
  add(kPodResourcesLists, {{"v1", calls.list.tried}});
  add(kPodResourcesAllocatables, {{"v1", calls.get_allocatable.tried}});
  add(kPodResourcesGets, {{"v1", calls.get.tried}});
  add(kPodResourcesListErrors, {{"v1", calls.list.failed}});
  add(kPodResourcesAllocatableErrors, {{"v1", calls.get_allocatable.failed}});
  add(kPodResourcesGetErrors, {{"v1", calls.get.failed}});
}

void AddPods(Page& page, const NodeSnapshot& node) {
  int running_pods = 0;
  std::map<ContainerPhase, int> containers = {{ContainerPhase::kRunning, 0}, {ContainerPhase::kExited, 0}};
  for (const PodSnapshot& pod : node.pods) {
    bool runs = false;
    for (const ContainerView& container : pod.view->containers) {
      runs = runs || container.phase == ContainerPhase::kRunning;
      ++containers[container.phase];
    }
    running_pods += runs ? 1 : 0;
  }
  AddOne(page, kCgroupVersion, node.status->cgroup_version == "v2" ? 2 : 1);
  page.Begin(kNodeName);
  page.Add(1, {node.status->node_name});
  AddOne(page, kRunningPods, running_pods);
  page.Begin(kRunningContainers);
  page.Add(containers[ContainerPhase::kExited], {"exited"});
  page.Add(containers[ContainerPhase::kRunning], {"running"});
}

/// `value` gives a double of a container's usage, or nullopt.
template <class Value>
void AddOfContainers(Page& page, const Family& family, const NodeUsage* usage, const Value& value) {
  page.Begin(family);
  if (usage == nullptr) return;
  for (const PodUsage& pod : usage->pods)
    for (const auto& [name, of] : pod.containers)
      if (const std::optional<double> number = value(of)) page.Add(*number, {name, pod.pod->namespace_, pod.pod->name});
}

/// The same for a member that has a Number.
template <class T>
void AddMember(Page& page, const Family& family, const NodeUsage* usage, std::optional<T> GroupUsage::* member) {
  AddOfContainers(page, family, usage, [&](const GroupUsage& of) {
    return of.*member ? std::optional(Number(*(of.*member))) : std::nullopt;
  });
}

void AddStalls(Page& page, const NodeUsage* usage, std::optional<Stall> GroupUsage::* member, const Family& waiting,
               const Family& stalled) {
  AddOfContainers(page, waiting, usage, [&](const GroupUsage& of) {
    return of.*member ? std::optional(Number((of.*member)->some)) : std::nullopt;
  });
  AddOfContainers(page, stalled, usage, [&](const GroupUsage& of) {
    return of.*member ? std::optional(Number((of.*member)->full)) : std::nullopt;
  });
}

void AddStarts(Page& page, const NodeUsage* usage) {
  page.Begin(kContainerStart);
  if (usage == nullptr) return;
  for (const PodUsage& pod : usage->pods)
    for (const ContainerView& container : pod.pod->containers) {
      if (!pod.containers.contains(container.name) || !container.last) continue;
      if (const auto at = ParseTime(container.last->started_at))
        page.Add(SecondsSince1970(*at), {container.name, pod.pod->namespace_, pod.pod->name});
    }
}

void AddContainers(Page& page, const NodeUsage* usage) {
  AddMember(page, kContainerCpu, usage, &GroupUsage::cpu);
  AddMember(page, kContainerWorkingSet, usage, &GroupUsage::working_set);
  AddMember(page, kContainerMemory, usage, &GroupUsage::memory);
  AddMember(page, kContainerRss, usage, &GroupUsage::anonymous);
  AddMember(page, kContainerSwap, usage, &GroupUsage::swap);
  AddStarts(page, usage);
  const auto throttling = [&](const Family& family, const auto& value) {
    AddOfContainers(page, family, usage, [&](const GroupUsage& of) {
      return of.throttling ? std::optional<double>(value(*of.throttling)) : std::nullopt;
    });
  };
  throttling(kContainerPeriods, [](const Throttling& t) { return Number(t.periods); });
  throttling(kContainerThrottled, [](const Throttling& t) { return Number(t.throttled); });
  throttling(kContainerThrottledTime, [](const Throttling& t) { return Number(t.time); });
  AddStalls(page, usage, &GroupUsage::cpu_stall, kCpuWaiting, kCpuStalled);
  AddStalls(page, usage, &GroupUsage::memory_stall, kMemoryWaiting, kMemoryStalled);
  AddStalls(page, usage, &GroupUsage::io_stall, kIoWaiting, kIoStalled);
}

template <class T>
void AddOfPods(Page& page, const Family& family, const NodeUsage* usage, std::optional<T> GroupUsage::* member) {
  page.Begin(family);
  if (usage == nullptr) return;
  for (const PodUsage& pod : usage->pods)
    if (const auto& value = pod.usage.*member) page.Add(Number(*value), {pod.pod->namespace_, pod.pod->name});
}

void AddPodsAndNode(Page& page, const NodeUsage* usage) {
  AddOfPods(page, kPodCpu, usage, &GroupUsage::cpu);
  AddOfPods(page, kPodWorkingSet, usage, &GroupUsage::working_set);
  page.Begin(kNodeCpu);
  if (usage != nullptr && usage->host.all.cpu) page.Add(Number(*usage->host.all.cpu));
  page.Begin(kNodeWorkingSet);
  if (usage != nullptr && usage->host.all.working_set) page.Add(Number(*usage->host.all.working_set));
  AddOne(page, kScrapeError, usage == nullptr ? 1 : 0);
}

void AddWork(Page& page, const PageInput& input) {
  const NodeFigures& figures = *input.node.figures;
  page.Begin(kBuild);
  page.Add(1, {input.node.status->version});
  page.Begin(kKubeletRules);
  page.Add(1, {std::string(Name(input.node.node->kubelet_version))});
  AddHistogram(page, kDecisionTime, figures.decisions.time_us);
  AddOne(page, kSaves, Number(figures.ledger.saves.tried));
  AddOne(page, kSaveFailures, Number(figures.ledger.saves.failed));
  AddHistogram(page, kSaveTime, figures.ledger.save_seconds);
  AddOne(page, kRevision, Number(input.node.ledger->revision));
  AddOne(page, kPoolChanges, Number(figures.ledger.pool_changes));
  AddOne(page, kPoolCpus, Number(input.node.shared.Count()));
  AddOne(page, kCgroupWrites, Number(input.node.status->cgroup_writes));
  const auto repairs = figures.events.find("CgroupRepaired");
  AddOne(page, kRepairs, repairs == figures.events.end() ? 0 : Number(repairs->second));
  AddCounts(page, kEvents, figures.events);
  AddHistogram(page, kLoopTurns, input.turns);
}

void AddStates(Page& page, const NodeSnapshot& node) {
  std::map<PodPhase, int> phases = {
      {PodPhase::kPending, 0}, {PodPhase::kRunning, 0}, {PodPhase::kSucceeded, 0}, {PodPhase::kFailed, 0}};
  for (const PodSnapshot& pod : node.pods) ++phases[pod.view->phase];
  page.Begin(kPods);
  for (const auto& [phase, count] : phases) page.Add(count, {Name(phase)});
  page.Begin(kAnswerTime);
  for (const auto& [call, seconds] : node.figures->answer_seconds) page.Add(seconds, {call});
  page.Begin(kRuntimeCalls);
  for (const auto& [call, count] : node.status->runtime_calls) page.Add(Number(count.calls), {call});
  page.Begin(kRuntimeFailures);
  for (const auto& [call, count] : node.status->runtime_calls) page.Add(Number(count.failed), {call});
  page.Begin(kPublishWrites);
  for (const auto& [kind, of] : node.figures->published) page.Add(Number(of.writes.tried), {kind});
  page.Begin(kPublishFailures);
  for (const auto& [kind, of] : node.figures->published) page.Add(Number(of.writes.failed), {kind});
  page.Begin(kPublishCurrent);
  for (const auto& [kind, of] : node.figures->published) page.Add(of.current ? 1 : 0, {kind});
  page.Begin(kContainerCpus);
  for (const PodSnapshot& pod : node.pods)
    for (const ContainerView& container : pod.view->containers)
      if (container.place && container.place->known)
        page.Add(container.place->cpus ? container.place->cpus->Count() : 0,
                 {container.name, pod.view->namespace_, pod.view->name});
}

template <class T>
void AddOfTiers(Page& page, const Family& family, const NodeUsage* usage, std::optional<T> GroupUsage::* member) {
  page.Begin(family);
  if (usage == nullptr) return;
  for (const auto& [tier, of] : usage->groups)
    if (const auto& value = of.*member) page.Add(Number(*value), {tier});
}

void AddNumaNodes(Page& page, const NodeSnapshot& node, const NodeUsage* usage) {
  const CpuSet givable = FreeForExclusiveUse(node);
  page.Begin(kNumaCpus);
  for (const NumaNode& numa : node.machine->nodes)
    page.Add(CpusOfNode(*node.machine, numa.id).Count(), {Text(numa.id)});
  page.Begin(kNumaFreeCpus);
  for (const NumaNode& numa : node.machine->nodes)
    page.Add((givable & CpusOfNode(*node.machine, numa.id)).Count(), {Text(numa.id)});
  page.Begin(kNumaMemory);
  for (const NumaNode& numa : node.machine->nodes) page.Add(Number(numa.memory), {Text(numa.id)});
  page.Begin(kNumaFreeMemory);
  if (usage != nullptr)
    for (const auto& [id, memory] : usage->host.nodes) page.Add(Number(memory.free), {Text(id)});
  page.Begin(kNumaPinnable);
  for (const auto& [id, state] : node.ledger->memory)
    for (const auto& [type, table] : state.types) page.Add(Number(table.allocatable), {Text(id), type});
  page.Begin(kNumaPinnableFree);
  for (const auto& [id, state] : node.ledger->memory)
    for (const auto& [type, table] : state.types) page.Add(Number(table.free), {Text(id), type});
}

void AddProcess(Page& page, const PageInput& input) {
  page.Begin(kProcessCpu);
  if (input.process.cpu) page.Add(Number(*input.process.cpu));
  page.Begin(kProcessMemory);
  if (input.process.resident) page.Add(Number(*input.process.resident));
  page.Begin(kProcessStart);
  if (input.node.status->started_at) page.Add(SecondsSince1970(*input.node.status->started_at));
}

}  // namespace

std::string FormatPage(const PageInput& input) {
  Page page;
  AddCpuManager(page, input.node);
  AddDecisions(page, input.node.figures->decisions);
  AddPlugins(page, input.node.figures->devices);
  AddPodResources(page, input.pod_resources);
  AddPods(page, input.node);
  AddContainers(page, input.usage);
  AddPodsAndNode(page, input.usage);
  AddWork(page, input);
  AddStates(page, input.node);
  AddOfTiers(page, kTierCpu, input.usage, &GroupUsage::cpu);
  AddOfTiers(page, kTierWorkingSet, input.usage, &GroupUsage::working_set);
  AddNumaNodes(page, input.node, input.usage);
  AddProcess(page, input);
  return std::move(page).text();
}

}  // namespace berth::metrics
