#include "engine/node/node.h"

#include <utility>
#include <vector>

#include "engine/node/allocatable.h"
#include "engine/node/node_tables.h"

namespace berth::engine {
namespace {

std::vector<std::vector<unsigned>> DistancesByPosition(const Machine& machine, const NodeIndex& nodes) {
  std::vector<std::vector<unsigned>> out(nodes.size());
  for (const NumaNode& node : machine.nodes) out[*nodes.Find(node.id)] = node.distances;
  return out;
}

CpuSet CoresOf(const CpuTopology& topology, const CpuSet& cpus) {
  CpuSet out;
  for (CpuId cpu : cpus) out |= topology.units(Level::kCore)[topology.IndexOf(cpu, Level::kCore)].cpus;
  return out;
}

}  // namespace

Result<Node> Node::Make(Machine machine, KubeletConfiguration config, EngineOptions options) {
  auto tables = std::make_shared<NodeTables>();
  BERTH_TRY(tables->topology, CpuTopology::Make(machine));
  BERTH_TRY(tables->settings, CheckSettings(machine, config, tables->topology));
  if (options.node_fit) {
    BERTH_RETURN_IF_ERROR(CheckReservation(tables->settings.capacity, tables->settings.reservation));
    BERTH_RETURN_IF_ERROR(CheckSharedCpus(tables->settings, tables->topology));
  }
  tables->nodes = NodeIndex(NodeIds(machine));
  tables->all_cpus = tables->topology.cpus();
  for (std::size_t i = 0; i < tables->nodes.size(); ++i) {
    tables->node_cpus.push_back(CpusOfNode(machine, tables->nodes.id(i)) & tables->all_cpus);
    if (!tables->node_cpus.back().empty()) tables->cpu_nodes.Add(i);
  }
  tables->reserved_cores = CoresOf(tables->topology, tables->settings.reserved_cpus);
  tables->memory = MemoryLayout(machine, tables->nodes, tables->settings);
  tables->aligner = Aligner(tables->nodes.size(), tables->settings.topology_policy, tables->settings.prefer_closest,
                            DistancesByPosition(machine, tables->nodes));
  if (options.close_devices) tables->places.emplace(machine, tables->nodes, tables->node_cpus);
  tables->machine = std::move(machine);
  tables->config = std::move(config);
  tables->options = options;
  Node out;
  out.tables_ = std::move(tables);
  return out;
}

const Machine& Node::machine() const { return tables_->machine; }
const KubeletConfiguration& Node::config() const { return tables_->config; }
const EngineOptions& Node::options() const { return tables_->options; }
const CpuSet& Node::all_cpus() const { return tables_->all_cpus; }
const CpuSet& Node::reserved_cpus() const { return tables_->settings.reserved_cpus; }
const ResourceList& Node::capacity() const { return tables_->settings.capacity; }
const ResourceList& Node::allocatable() const { return tables_->settings.allocatable; }

CpuSet Node::pool_cpus() const {
  if (!tables_->StaticCpus()) return {};
  CpuSet out = tables_->all_cpus;
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

}  // namespace berth::engine
