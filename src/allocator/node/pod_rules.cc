#include "allocator/node/pod_rules.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/words.h"
#include "model/resources.h"

namespace berth::allocator {
namespace {

constexpr std::int64_t kPercent = 100;
constexpr std::size_t kLongestName = 63;

std::string RuleText(const PodPolicy& policy) {
  return "rule \"" + Printable(policy.name, kLongestName) + "\" of podPolicies";
}

bool AsksAtPodLevel(const Pod& pod) {
  return pod.resources && !(pod.resources->requests.empty() && pod.resources->limits.empty());
}

/// CPUs of its own come out of what the container asks for: that is what the node counts.
std::string ProblemOfContainers(const NodeTables& tables, const Pod& pod, const PodWishes& wishes) {
  std::string out;
  ForEachContainer(pod, [&](const Container& container, ContainerKind) {
    const ContainerCpuWish* const wish = wishes.Of(container.name);
    if (wish == nullptr || wish->kind == ContainerCpuWish::Kind::kShared || !out.empty()) return;
    const std::string start = std::string(kCpusAnnotation) + ": container \"" +
                              Printable(container.name, kLongestName) + "\" asks for " +
                              Counted(wish->cpus, "exclusive CPU");
    const Quantity request = AmountOf(container.resources.requests, "cpu");
    if (!tables.StaticCpus())
      out = start + ", which nobody has under cpuManagerPolicy none (set static)";
    else if (AsksAtPodLevel(pod))
      out = start + ", which a pod with resources of its own (spec.resources) cannot have";
    else if (request < Quantity::FromUnits(wish->cpus))
      out = start + " and requests " + request.ToString() + ": request at least as many";
  });
  return out;
}

/// The nodes asked for, and their CPUs. "": they are there.
std::string ApplyNodes(const NodeTables& tables, PodRules& out) {
  if (out.wishes.numa_nodes.empty()) return "";
  const std::string start = std::string(kNumaNodesAnnotation) + ": ";
  if (const NodeSet unknown = out.wishes.numa_nodes - tables.nodes.nodes(); !unknown.empty())
    return start + "this machine has no NUMA node " + FormatIds(unknown) + " (it has " +
           FormatIds(tables.nodes.nodes()) + ")";
  for (const auto& [container, wish] : out.wishes.cpus)
    if (wish.kind == ContainerCpuWish::Kind::kMixed)
      return start + "not together with the shared pool beside CPUs of its own (" + std::string(kCpusAnnotation) +
             "): the pool is the whole node's";
  out.nodes = tables.nodes.ToMask(out.wishes.numa_nodes);
  out.nodes.ForEach([&](std::size_t node) { out.node_cpus |= tables.node_cpus[node]; });
  if (out.node_cpus.empty())
    return start + "there is no CPU on " + FormatIds(out.wishes.numa_nodes) + "; name a node with CPUs as well";
  return "";
}

std::string WhichPools(const std::vector<PoolRule>& pools) {
  std::vector<std::string> names;
  for (const PoolRule& pool : pools) names.push_back(pool.name);
  return names.empty() ? "this node has no cpuPools" : "this node has " + Join(names, ", ");
}

/// Why the container may not run in the pool; "": it may.
std::string ProblemOfPool(const NodeTables& tables, const Pod& pod, const PodWishes& wishes,
                          const std::string& container, std::string_view name) {
  const std::string shown = "\"" + Printable(name, kLongestName) + "\"";
  const PoolRule* const pool = FindPool(tables.options.own.pools, name);
  if (pool == nullptr) return "there is no CPU pool " + shown + " (" + WhichPools(tables.options.own.pools) + ")";
  if (std::ranges::none_of(pool->namespaces, [&](const auto& glob) { return MatchesGlob(glob, pod.namespace_); }))
    return "CPU pool " + shown + " is not for namespace " + Printable(pod.namespace_, kLongestName) + " (it is for " +
           Join(pool->namespaces, ", ") + ")";
  const ContainerCpuWish* const wish = wishes.Of(container);
  const std::string who = "container \"" + Printable(container, kLongestName) + "\"";
  if (wish != nullptr && wish->kind != ContainerCpuWish::Kind::kShared)
    return who + " asks for CPU pool " + shown + " and for CPUs of its own (" + std::string(kCpusAnnotation) +
           "): leave one of them out";
  if (!wishes.numa_nodes.empty())
    return "CPU pool " + shown + " says where its CPUs are: leave " + std::string(kNumaNodesAnnotation) + " out";
  if (AsksAtPodLevel(pod))
    return who + " asks for CPU pool " + shown + ", which a pod with resources of its own (spec.resources) cannot have";
  return "";
}

std::string ProblemOfPools(const NodeTables& tables, const Pod& pod, const PodWishes& wishes) {
  std::string out;
  ForEachContainer(pod, [&](const Container& container, ContainerKind) {
    const std::string_view name = wishes.PoolOf(container.name);
    if (!name.empty() && out.empty()) out = ProblemOfPool(tables, pod, wishes, container.name, name);
  });
  return out.empty() ? "" : std::string(kPoolAnnotation) + ": " + out;
}

/// "": the settings are in `out`.
std::string ApplyWishes(const NodeTables& tables, const Pod& pod, PodRules& out) {
  const PodWishes& wishes = out.wishes;
  const std::vector<PodPolicy>& policies = tables.options.own.pods;
  if (policies.empty())
    return "the pod asks for placement by annotation, and this node has no podPolicies that let it (leave the "
           "annotations out, or name the namespace in podPolicies)";
  const PodPolicy* const policy = FindPolicy(policies, pod.namespace_);
  if (policy == nullptr)
    return "the pod asks for placement by annotation, and none of this node's podPolicies is for namespace " +
           Printable(pod.namespace_, kLongestName);
  if (const std::string denied = WhatIsNotAllowed(*policy, wishes); !denied.empty())
    return RuleText(*policy) + " does not allow " + denied;
  if (std::string problem = ProblemOfContainers(tables, pod, wishes); !problem.empty()) return problem;
  if (std::string problem = ApplyNodes(tables, out); !problem.empty()) return problem;
  TopologyPolicy topology_policy = out.topology_policy;
  if (!wishes.topology_policy.empty())
    topology_policy = ParseTopologyPolicy(wishes.topology_policy).value_or(topology_policy);
  if (!wishes.cpu.empty() && !tables.StaticCpus())
    return std::string(kCpuOptionsAnnotation) + ": nobody has CPUs of its own under cpuManagerPolicy none (set static)";
  Result<CpuOptions> cpu = WithWishes(tables.settings.cpu, wishes.cpu);
  if (cpu)
    if (const auto fits = CheckAlignBySocket(tables.topology, *cpu, topology_policy); !fits)
      cpu = std::unexpected(fits.error());
  if (!cpu) return std::string(kCpuOptionsAnnotation) + ": " + cpu.error().message;
  out.cpu = *cpu;
  out.topology_policy = topology_policy;
  if (!wishes.topology_scope.empty()) out.scope = wishes.topology_scope == "pod" ? Scope::kPod : Scope::kContainer;
  out.policy = policy;
  return "";
}

}  // namespace

PodRules NodeRules(const NodeTables& tables) {
  PodRules out;
  out.topology_policy = tables.settings.topology_policy;
  out.scope = tables.settings.scope;
  out.cpu = tables.settings.cpu;
  return out;
}

PodRules RulesFor(const NodeTables& tables, const Pod& pod) {
  PodRules out = NodeRules(tables);
  std::vector<WishProblem> problems;
  out.wishes = ParsePodWishes(pod.annotations, problems);
  if (!problems.empty()) {
    std::string& problem = problems.front().annotation == kPoolAnnotation ? out.pool_problem : out.problem;
    problem = problems.front().annotation + ": " + problems.front().text;
  } else if (!out.wishes.empty()) {
    PodWishes others = out.wishes;
    others.pools.clear();
    if (!others.empty()) out.problem = ApplyWishes(tables, pod, out);
    if (out.problem.empty()) out.pool_problem = ProblemOfPools(tables, pod, out.wishes);
  }
  if (!out.problem.empty() || !out.pool_problem.empty()) out.wishes = PodWishes();
  return out;
}

Result<PoolRules> RulesOfPool(const NodeTables& tables, const PoolRule& pool) {
  PoolRules out{.rules = NodeRules(tables), .threads = pool.threads};
  CpuWishes wishes = pool.cpu;
  if (pool.threads != PoolThreads::kAny && !wishes.kubelet.emplace("full-pcpus-only", true).first->second)
    return Fail(Code::kInvalid, "full-pcpus-only=false cannot be used together with smt: " +
                                    std::string(Name(pool.threads)) + " (leave one of them out)");
  const auto says = [&](const char* option) {
    const auto word = wishes.kubelet.find(option);
    return word != wishes.kubelet.end() && word->second;
  };
  if (says("align-by-socket"))
    return Fail(Code::kInvalid, "align-by-socket is about hints, of which a pool has none (leave it out)");
  BERTH_TRY(CpuOptions cpu, WithWishes(tables.settings.cpu, wishes));
  if (out.threads == PoolThreads::kAny && cpu.full_pcpus_only) out.threads = PoolThreads::kWholeCores;
  if (out.threads == PoolThreads::kWholeCores && says("distribute-cpus-across-numa"))
    return Fail(Code::kInvalid, "distribute-cpus-across-numa gives parts of cores (leave it out, or say smt: any)");
  if (out.threads == PoolThreads::kWholeCores) cpu.distribute_numa = false;
  const bool parts = tables.topology.Whole(tables.isolated, Level::kCore) != tables.isolated;
  if (out.threads == PoolThreads::kWholeCores && parts && cpu.isolated != IsolatedCpus::kRequire) cpu.isolated.reset();
  cpu.full_pcpus_only = false;  // cores are made whole where the choice is done
  cpu.align_by_socket = false;
  if (!cpu.OwnOrder() && !cpu.distribute_numa && !cpu.distribute_cores) cpu.numa = Fill::kPack;
  out.rules.cpu = cpu;
  if (pool.numa_nodes.empty()) return out;
  if (const NodeSet unknown = pool.numa_nodes - tables.nodes.nodes(); !unknown.empty())
    return Fail(Code::kInvalid, "numaNodes: this machine has no NUMA node " + FormatIds(unknown) + " (it has " +
                                    FormatIds(tables.nodes.nodes()) + ")");
  out.rules.nodes = tables.nodes.ToMask(pool.numa_nodes);
  out.rules.nodes.ForEach([&](std::size_t node) { out.rules.node_cpus |= tables.node_cpus[node]; });
  if (out.rules.node_cpus.empty())
    return Fail(Code::kInvalid, "numaNodes: there is no CPU on " + FormatIds(pool.numa_nodes));
  return out;
}

std::optional<std::int64_t> MostCpus(const NodeTables& tables, const PodPolicy& policy) {
  std::optional<std::int64_t> out = policy.max_cpus;
  if (!policy.max_percent) return out;
  const std::int64_t share = (tables.all_cpus - tables.settings.reserved_cpus).Count() * *policy.max_percent / kPercent;
  return std::min(out.value_or(share), share);
}

}  // namespace berth::allocator
