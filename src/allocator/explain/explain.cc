#include "allocator/explain/explain.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "allocator/decision/decide.h"
#include "allocator/decision/decide_logged.h"
#include "allocator/explain/attempt.h"
#include "allocator/explain/nearest.h"
#include "allocator/explain/removal.h"
#include "allocator/node/node_tables.h"
#include "allocator/node/pod_rules.h"
#include "allocator/reason/decision_log.h"
#include "model/resources.h"

namespace berth::allocator {
namespace {

/// Decisions tried for one explanation; what the nearest request leaves is for the removal.
constexpr int kTries = 3000;
/// So many placements tried in looking ahead count as one of them.
constexpr int kAheadPerTry = 80;

void AddCpus(const NodeTables& tables, const CpuSet& held, const Shortage& shortage, Holder& out) {
  for (std::size_t i = 0; i < tables.nodes.size(); ++i) {
    const int cpus = tables.node_cpus[i].CountCommon(held);
    if (cpus == 0 || !shortage.nodes.Contains(tables.nodes.id(i))) continue;
    out.amount += cpus;
    out.nodes.Insert(tables.nodes.id(i));
  }
}

/// Named pools hold CPUs for all that run in them.
void AddPools(const NodeTables& tables, const Ledger& ledger, const Shortage& shortage, std::vector<Holder>& out) {
  for (const auto& [name, pool] : ledger.pools) {
    Holder holder;
    AddCpus(tables, HeldCpus(pool), shortage, holder);
    holder.pod = PoolText(name);
    holder.resource = shortage.resource;
    if (holder.amount > 0) out.push_back(std::move(holder));
  }
}

/// What a placement holds of a resource on some nodes; amount 0: nothing.
Holder HeldBy(const NodeTables& tables, const Inputs& inputs, const Placement& placement, const Shortage& shortage) {
  Holder out;
  if (shortage.resource == "cpu" && placement.cpus) AddCpus(tables, *placement.cpus, shortage, out);
  if (IsMemoryType(shortage.resource) && placement.memory) {
    for (const MemoryBlock& block : *placement.memory) {
      if (block.type != shortage.resource || !block.nodes.Intersects(shortage.nodes)) continue;
      out.amount += block.size.v;
      out.nodes |= block.nodes;
    }
  }
  for (const DeviceAssignment& given : placement.devices) {
    const auto devices = inputs.devices.find(shortage.resource);
    if (given.resource != shortage.resource || devices == inputs.devices.end()) continue;
    for (const Device& device : devices->second) {
      if (!std::binary_search(given.ids.begin(), given.ids.end(), device.id)) continue;
      if (!device.nodes.empty() && !device.nodes.Intersects(shortage.nodes)) continue;
      ++out.amount;
      out.nodes |= device.nodes;
    }
  }
  return out;
}

std::vector<Holder> HoldersOfAllocatable(const Ledger& ledger, const Shortage& shortage) {
  std::vector<Holder> out;
  for (const auto& [uid, record] : ledger.pods) {
    Holder holder;
    if (const auto it = record.requests.find(shortage.resource); it != record.requests.end())
      holder.amount = shortage.resource == "cpu" ? it->second.MilliValue() : it->second.Value();
    if (shortage.resource == "pods") holder.amount = 1;
    if (holder.amount == 0) continue;
    holder.uid = uid;
    holder.pod = FullName(record);
    holder.resource = shortage.resource;
    out.push_back(std::move(holder));
  }
  return out;
}

std::vector<Holder> HoldersOf(const Node& node, const Ledger& ledger, const Inputs& inputs, const Shortage& shortage) {
  if (shortage.scope == Shortage::Scope::kNodeFit) return HoldersOfAllocatable(ledger, shortage);
  std::vector<Holder> out;
  for (const auto& [uid, record] : ledger.pods) {
    for (const Placement& placement : record.placements) {
      Holder holder = HeldBy(node.tables(), inputs, placement, shortage);
      if (holder.amount == 0) continue;
      holder.uid = uid;
      holder.pod = FullName(record);
      holder.container = placement.container;
      holder.resource = shortage.resource;
      out.push_back(std::move(holder));
    }
  }
  if (shortage.resource == "cpu") AddPools(node.tables(), ledger, shortage, out);
  return out;
}

/// Settings that look at the pod in another way, of which each is enough to admit it.
std::vector<std::string> SettingsThatAdmit(const Node& node, const Ledger& ledger, const Pod& pod,
                                           const Inputs& inputs) {
  std::vector<std::string> out;
  if (pod.init_containers.size() + pod.containers.size() < 2) return out;
  const auto try_with = [&](KubeletConfiguration config, const EngineOptions& options, const char* said) {
    const auto other = Node::Make(node.machine(), std::move(config), options);
    if (other && std::holds_alternative<Admit>(Decide(*other, ledger, pod, inputs, nullptr))) out.emplace_back(said);
  };
  const PodRules rules = RulesFor(node.tables(), pod);
  if (rules.topology_policy == TopologyPolicy::kNone) return out;  // nothing is aligned
  EngineOptions options = node.options();
  if (rules.scope == Scope::kPod) {
    options.pod_falls_back = true;
    if (!node.options().pod_falls_back) try_with(node.config(), options, "podFallsBack: true");
    return out;
  }
  KubeletConfiguration as_whole = node.config();
  as_whole.topology_manager_scope = "pod";
  try_with(std::move(as_whole), options, "topologyManagerScope: pod");
  options.look_ahead = true;
  if (!node.options().look_ahead && rules.topology_policy != TopologyPolicy::kBestEffort)
    try_with(node.config(), options, "lookAhead: true");
  return out;
}

}  // namespace

Explanation Explain(const Node& node, const Ledger& ledger, const Pod& pod, const Inputs& inputs) {
  Explanation out;
  Trace trace;
  Observation seen;
  out.decision = DecideLogged(node, ledger, pod, inputs, DecisionLog(&trace, &seen));
  out.hints = std::move(seen.hints);
  out.merges = std::move(seen.merges);
  out.steps = trace.steps();
  if (std::holds_alternative<Admit>(out.decision)) return out;
  out.shortages = std::move(seen.shortages);
  for (const Shortage& shortage : out.shortages)
    for (Holder& holder : HoldersOf(node, ledger, inputs, shortage))
      if (std::find(out.holders.begin(), out.holders.end(), holder) == out.holders.end())
        out.holders.push_back(std::move(holder));
  out.settings = SettingsThatAdmit(node, ledger, pod, inputs);
  Attempt attempt(node, ledger, inputs, kAheadPerTry);
  attempt.Allow(kTries / 2);
  NearestSearch found = FindNearest(attempt, pod);
  out.nearest = std::move(found.nearest);
  out.nearest_exhaustive = found.exhaustive;
  attempt.Allow(kTries / 2);
  out.removal = SmallestRemoval(attempt, pod, NewestFirst(ledger));
  return out;
}

}  // namespace berth::allocator
