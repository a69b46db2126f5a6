#include "allocator/node/engine_node.h"

#include <utility>
#include <vector>

#include "allocator/node/allocatable.h"
#include "allocator/node/node_tables.h"
#include "allocator/node/pod_rules.h"
#include "base/problems.h"
#include "model/kubelet_rules.h"

namespace berth::allocator {
namespace {

std::vector<std::vector<unsigned>> DistancesByPosition(const Machine& machine, const NodeIndex& nodes) {
  std::vector<std::vector<unsigned>> out(nodes.size());
  for (const NumaNode& node : machine.nodes) out[*nodes.Find(node.id)] = node.distances;
  return out;
}

void AddKinds(const Machine& machine, NodeTables& tables) {
  for (const NumaNode& node : machine.nodes)
    for (const Core& core : node.cores) {
      if (core.kind == CoreKind::kUniform) continue;
      CpuSet& kind = core.kind == CoreKind::kEfficiency ? tables.efficiency : tables.performance;
      for (const CpuId cpu : core.threads) kind.Insert(cpu);
    }
}

/// Isolated CPUs out of the shared pool; who has CPUs of its own prefers them, unless something else is said.
Result<void> SetApart(const OwnRules& own, NodeTables& tables) {
  if (!own.isolated_apart || !tables.StaticCpus()) return {};
  tables.apart = tables.isolated - tables.settings.reserved_cpus;
  CpuSet pool = tables.all_cpus - tables.apart;
  if (tables.settings.cpu.strict_reservation) pool -= tables.settings.reserved_cpus;
  if (pool.empty())
    return BadSetting("isolatedCpus", "the kernel isolates CPUs " + FormatIds(tables.isolated) +
                                          ", none would be left for the shared pool (say pool, or isolate fewer)");
  if (!tables.settings.cpu.isolated) tables.settings.cpu.isolated = IsolatedCpus::kPrefer;
  return {};
}

Result<void> AddOwnOptions(const OwnRules& own, NodeSettings& settings) {
  if (own.cpu.empty()) return {};
  if (settings.cpu_policy != CpuPolicy::kStatic)
    return BadSetting("cpuOptions",
                      "nobody has CPUs of its own under cpuManagerPolicy none (leave them out, or set static)");
  auto cpu = WithWishes(settings.cpu, own.cpu);
  if (!cpu) return BadSetting("cpuOptions", cpu.error().message);
  settings.cpu = *cpu;
  return {};
}

/// Of a machine whose tables are there.
Result<void> CheckPools(const OwnRules& own, const NodeTables& tables) {
  if (own.pools.empty()) return {};
  if (!tables.StaticCpus())
    return BadSetting("cpuPools", "there are no pools under cpuManagerPolicy none (leave them out, or set static)");
  Problems problems;
  for (const PoolRule& pool : own.pools)
    if (auto rules = RulesOfPool(tables, pool); !rules)
      problems.Add(BadSetting("cpuPools", pool.name + ": " + rules.error().message).error());
  return problems.Done();
}

}  // namespace

Result<Node> Node::Make(Machine machine, KubeletConfiguration config, EngineOptions options) {
  auto tables = std::make_shared<NodeTables>();
  BERTH_TRY(tables->topology, CpuTopology::Make(machine));
  tables->kubelet = KubeletRulesOf(options.kubelet_version);
  BERTH_TRY(tables->settings, CheckSettings(machine, config, tables->topology, tables->kubelet));
  Problems problems;
  problems.Take(AddOwnOptions(options.own, tables->settings));
  if (options.node_fit) {
    problems.Take(CheckReservation(tables->settings.capacity, tables->settings.reservation));
    problems.Take(CheckSharedCpus(tables->settings, tables->topology));
  }
  BERTH_RETURN_IF_ERROR(problems.Done());
  tables->nodes = NodeIndex(NodeIds(machine));
  tables->all_cpus = tables->topology.cpus();
  for (std::size_t i = 0; i < tables->nodes.size(); ++i) {
    tables->node_cpus.push_back(CpusOfNode(machine, tables->nodes.id(i)) & tables->all_cpus);
    if (!tables->node_cpus.back().empty()) tables->cpu_nodes.Add(i);
  }
  tables->isolated = (machine.isolated | machine.nohz_full) & tables->all_cpus;
  BERTH_RETURN_IF_ERROR(SetApart(options.own, *tables));
  AddKinds(machine, *tables);
  tables->reserved_cores = tables->topology.Around(tables->settings.reserved_cpus, Level::kCore);
  tables->memory = MemoryLayout(machine, tables->nodes, tables->settings);
  tables->aligner = Aligner(tables->nodes.size(), tables->settings.topology_policy, tables->settings.prefer_closest,
                            DistancesByPosition(machine, tables->nodes), options.keep_rest_aligned);
  if (options.close_devices) tables->places.emplace(machine, tables->nodes, tables->node_cpus);
  BERTH_RETURN_IF_ERROR(CheckPools(options.own, *tables));
  tables->machine = std::move(machine);
  tables->config = std::move(config);
  tables->options = std::move(options);
  Node out;
  out.tables_ = std::move(tables);
  return out;
}

const Machine& Node::machine() const { return tables_->machine; }
const KubeletConfiguration& Node::config() const { return tables_->config; }
const EngineOptions& Node::options() const { return tables_->options; }
const KubeletRules& Node::kubelet() const { return tables_->kubelet; }
const CpuSet& Node::all_cpus() const { return tables_->all_cpus; }
const CpuSet& Node::apart_cpus() const { return tables_->apart; }
const CpuSet& Node::reserved_cpus() const { return tables_->settings.reserved_cpus; }
const ResourceList& Node::capacity() const { return tables_->settings.capacity; }
const ResourceList& Node::allocatable() const { return tables_->settings.allocatable; }

CpuSet Node::pool_cpus() const {
  if (!tables_->StaticCpus()) return {};
  CpuSet out = tables_->all_cpus - tables_->apart;
  if (tables_->settings.cpu.strict_reservation) out -= tables_->settings.reserved_cpus;
  return out;
}

Ledger Node::EmptyLedger() const {
  Ledger out;
  out.cpu_policy = tables_->StaticCpus() ? "static" : "none";
  out.memory_policy = tables_->StaticMemory() ? "Static" : "None";
  out.shared = pool_cpus();
  if (tables_->StaticMemory()) out.memory = tables_->memory.InitialState(tables_->nodes);
  return out;
}

}  // namespace berth::allocator
