#include "engine/engine.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "engine/admission.h"
#include "engine/allocatable.h"
#include "engine/decide.h"
#include "engine/failure.h"
#include "engine/fit.h"
#include "engine/log.h"
#include "engine/release.h"
#include "engine/tables.h"

namespace berth::engine {
namespace {

std::vector<std::vector<unsigned>> DistancesByPosition(const Machine& machine, const NodeIndex& nodes) {
  std::vector<std::vector<unsigned>> out(nodes.size());
  for (const NumaNode& node : machine.nodes) out[*nodes.Find(node.id)] = node.distances;
  return out;
}

CpuSet CoresOf(const Topology& topology, const CpuSet& cpus) {
  CpuSet out;
  for (CpuId cpu : cpus) out |= topology.units(Level::kCore)[topology.IndexOf(cpu, Level::kCore)].cpus;
  return out;
}

/// A pod that is already placed keeps what it has, whatever a fresh decision would say now.
Admit Kept(const Ledger& ledger, const PodRecord& record) {
  Admit out;
  out.delta.put = record;
  out.delta.shared = ledger.shared;
  return out;
}

}  // namespace

Result<Node> Node::Make(Machine machine, KubeletConfiguration config, EngineOptions options) {
  auto tables = std::make_shared<NodeTables>();
  BERTH_TRY(tables->topology, Topology::Make(machine));
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

Result<void> CheckDevices(const Node& node, const DeviceInventory& devices) {
  for (const auto& [resource, list] : devices) {
    std::vector<std::string> ids;
    for (const Device& device : list) {
      const std::string where = "device " + device.id + " of " + resource + ": ";
      if (device.id.empty()) return Fail(Code::kInvalid, "a device of " + resource + " has no id");
      if (!device.nodes.IsSubsetOf(node.tables().nodes.nodes()))
        return Fail(Code::kInvalid,
                    where + "NUMA node " + FormatIds(device.nodes - node.tables().nodes.nodes()) +
                        " does not exist on this machine (nodes: " + FormatIds(node.tables().nodes.nodes()) + ")");
      ids.push_back(device.id);
    }
    std::sort(ids.begin(), ids.end());
    if (const auto twice = std::adjacent_find(ids.begin(), ids.end()); twice != ids.end())
      return Fail(Code::kInvalid, "device " + *twice + " of " + resource + ": listed twice");
  }
  return {};
}

Decision Decide(const Node& node, const Ledger& ledger, const Pod& pod, const Inputs& inputs, Trace* trace) {
  return DecideLogged(node, ledger, pod, inputs, Log(trace));
}

Decision DecideLogged(const Node& node, const Ledger& ledger, const Pod& pod, const Inputs& inputs, const Log& log) {
  if (const auto known = ledger.pods.find(pod.uid); known != ledger.pods.end()) {
    if (log) log.Add("allocate", "", "", "the pod is already placed and keeps what it has");
    return Kept(ledger, known->second);
  }
  Admission admission(node, ledger, pod, inputs, log);
  if (auto reject = admission.Run()) return *std::move(reject);
  LedgerDelta delta = admission.Delta();
  if (node.options().node_fit) {
    Books books(node.tables(), ledger, inputs);
    if (auto reject = CheckNodeFit(books, delta.put->requests, log)) return *std::move(reject);
  }
  return Admit{std::move(delta)};
}

LedgerDelta Release(const Node& node, const Ledger& ledger, std::string_view uid, Trace* trace) {
  const auto known = ledger.pods.find(uid);
  if (known == ledger.pods.end()) {
    LedgerDelta out;
    out.shared = ledger.shared;
    return out;
  }
  return ReleasePod(node, ledger, known->second, Log(trace));
}

}  // namespace berth::engine
