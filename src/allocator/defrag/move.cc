#include "allocator/defrag/move.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "allocator/allocation_state/inputs.h"
#include "allocator/allocation_state/pod_books.h"
#include "allocator/cpu_manager/cpu_policy.h"
#include "allocator/demand/demand.h"
#include "allocator/memory_manager/memory_policy.h"
#include "allocator/node/node_tables.h"
#include "allocator/reason/decision_log.h"

namespace berth::allocator {
namespace {

bool Holds(const Placement& placement) { return placement.cpus || placement.memory; }

Mask CpuNodes(const NodeTables& tables, const Placement& placement) {
  Mask out;
  if (!placement.cpus) return out;
  for (std::size_t i = 0; i < tables.nodes.size(); ++i)
    if (tables.node_cpus[i].Intersects(*placement.cpus)) out.Add(i);
  return out;
}

Mask NodesOf(const NodeTables& tables, const Placement& placement) {
  return CpuNodes(tables, placement) | tables.nodes.ToMask(MemoryNodes(placement));
}

Bytes Booked(const Placement& placement) {
  Bytes out{};
  if (placement.memory)
    for (const MemoryBlock& block : *placement.memory) out += block.size;
  return out;
}

bool InUnit(const MoveUnit& unit, const Placement& placement) {
  return Holds(placement) && (unit.container.empty() || placement.container == unit.container);
}

/// Why nothing of the pod can be moved; "": it can.
std::string WhyFixed(const PodRecord& record) {
  if (record.partial) return "what it asked for is not known";
  if (!record.rule.empty()) return "it has wishes of its own";
  for (const Placement& placement : record.placements)
    if (placement.kind == ContainerKind::kInit && Holds(placement))
      return "its init container " + placement.container + " shares what it holds with others";
  return "";
}

std::string WhyFixed(const Placement& placement) {
  if (!placement.devices.empty()) return "container " + placement.container + " has devices, which stay where they are";
  if (!placement.pool.empty()) return "container " + placement.container + " runs in " + PoolText(placement.pool);
  return "";
}

std::string WhyFixed(const PodRecord& record, const MoveUnit& unit) {
  std::string why = WhyFixed(record);
  for (const Placement& placement : record.placements)
    if (why.empty() && (unit.container.empty() || placement.container == unit.container)) why = WhyFixed(placement);
  return why;
}

bool MovesWhole(const NodeTables& tables) {
  return tables.settings.scope == Scope::kPod && tables.settings.topology_policy != TopologyPolicy::kNone;
}

void AddUnit(const NodeTables& tables, const PodRecord& record, std::string container, std::vector<MoveUnit>& out) {
  MoveUnit unit{.uid = record.uid, .container = std::move(container), .nodes = {}, .booked = {}};
  bool holds = false;
  for (const Placement& placement : record.placements) {
    if (!InUnit(unit, placement)) continue;
    holds = true;
    unit.nodes |= NodesOf(tables, placement);
    unit.booked += Booked(placement);
  }
  if (holds && !unit.nodes.empty() && WhyFixed(record, unit).empty()) out.push_back(std::move(unit));
}

/// What the container asked for, as its placement says.
ContainerDemand DemandAsPlaced(const Placement& placement, const Container& named) {
  ContainerDemand out{.container = &named, .kind = placement.kind, .cpus = 0, .memory = {}, .devices = {}};
  if (placement.cpus) out.cpus = placement.cpus->Count();
  if (placement.memory)
    for (const MemoryBlock& block : *placement.memory) out.memory.push_back({block.type, block.size.v});
  return out;
}

void Lift(PodBooks& books, Placement& placement) {
  ReleaseCpus(books, PodRecord(), placement);
  ReleaseMemory(books, placement);
  placement.cpus.reset();
  placement.memory.reset();
  placement.promised.reset();  // of the place it leaves
}

/// An admission does not book a node alone that is in a group with others (rules/memory#hints); an allocation would.
bool SplitsGroup(const PodBooks& books, const Mask& mask) {
  return !books.tables->options.memory_groups_overlap && mask.Count() == 1 &&
         books.memory.Cells(mask.First()).Count() > 1;
}

int CachesOf(const NodeTables& tables, const Placement& placement) {
  int out = 0;
  if (!tables.settings.cpu.align_uncore || !placement.cpus) return out;
  for (const Unit& cache : tables.topology.units(Level::kUncore))
    if (cache.cpus.Intersects(*placement.cpus)) ++out;
  return out;
}

/// Why `to` is no place for what has `from`; "": it is one.
std::string Worse(const NodeTables& tables, const Mask& target, const Placement& from, const Placement& to) {
  if (!NodesOf(tables, to).Within(target)) return "it does not fit there";
  if (CpuNodes(tables, to).Count() > CpuNodes(tables, from).Count() ||
      MemoryNodes(to).Count() > MemoryNodes(from).Count())
    return "it would be on more NUMA nodes than now";
  if (CachesOf(tables, to) > CachesOf(tables, from)) return "its CPUs would share more L3 caches than now";
  return "";
}

Bytes Migrated(const Placement& from, const Placement& to) {
  Bytes out{};
  if (!from.memory || !to.memory) return out;
  for (std::size_t i = 0; i < from.memory->size() && i < to.memory->size(); ++i)
    if ((*from.memory)[i].nodes != (*to.memory)[i].nodes) out += (*from.memory)[i].size;
  return out;
}

/// Puts what was released into its new place; "": done.
std::string Place(PodBooks& books, const Mask& target, const Placement& from, Placement& to) {
  Container named;
  named.name = from.container;
  const ContainerDemand demand = DemandAsPlaced(from, named);
  const MaskHint hint{target, false, false};
  if (from.memory && SplitsGroup(books, target)) return "its memory is booked together with other nodes'";
  if (const auto reject = AllocateCpus(books, demand, hint, to, DecisionLog())) return reject->message;
  if (const auto reject = AllocateMemory(books, demand, hint, to, DecisionLog())) return reject->message;
  if (to.hint) to.hint->nodes = books.tables->nodes.ToNodes(target);
  return Worse(*books.tables, target, from, to);
}

}  // namespace

std::vector<MoveUnit> MovableUnits(const Node& node, const Ledger& ledger) {
  std::vector<MoveUnit> out;
  for (const PodEntry* const entry : InOrderOfAdmission(ledger)) {
    const PodRecord& record = entry->second;
    if (MovesWhole(node.tables())) {
      AddUnit(node.tables(), record, "", out);
      continue;
    }
    for (const Placement& placement : record.placements) AddUnit(node.tables(), record, placement.container, out);
  }
  return out;
}

LedgerDelta LiftOff(const Node& node, const Ledger& ledger, const MoveUnit& unit) {
  const Inputs no_inputs;
  PodBooks books(node.tables(), ledger, no_inputs);
  PodRecord record = ledger.pods.find(unit.uid)->second;
  for (Placement& placement : record.placements)
    if (InUnit(unit, placement)) Lift(books, placement);
  SettleOverlapping(books, record);
  LedgerDelta out;
  out.put = std::move(record);
  out.shared = std::move(books.shared);
  out.memory = books.memory.Changed();
  return out;
}

Result<MovedBooks> PlanMove(const Node& node, const Ledger& ledger, const MoveRequest& request) {
  const auto known = ledger.pods.find(request.uid);
  if (known == ledger.pods.end()) return Fail(Code::kNotFound, "no pod with uid " + request.uid + " has a place");
  const PodRecord& before = known->second;
  const std::string what = request.container.empty() ? FullName(before) : FullName(before) + "/" + request.container;
  const NodeTables& tables = node.tables();
  const Mask target = tables.nodes.ToMask(request.nodes);
  if (target.empty() || tables.nodes.ToNodes(target) != request.nodes)
    return Fail(Code::kInvalid, what + ": there are no NUMA nodes " + FormatIds(request.nodes));
  const MoveUnit unit{.uid = request.uid, .container = request.container, .nodes = {}, .booked = {}};
  if (MovesWhole(tables) && !request.container.empty())
    return Fail(Code::kInvalid, what + ": under topology scope pod a pod moves whole");
  if (std::ranges::none_of(before.placements, [&](const Placement& p) { return InUnit(unit, p); }))
    return Fail(Code::kNotFound, what + " has neither CPUs nor memory of its own");
  if (const std::string why = WhyFixed(before, unit); !why.empty())
    return Fail(Code::kInvalid, what + " cannot be moved: " + why);

  const Inputs no_inputs;
  PodBooks books(tables, ledger, no_inputs);
  MovedBooks out{.delta = {}, .move = {.request = request, .pod = FullName(before), .containers = {}, .bytes = {}}};
  books.record = before;
  std::vector<Placement>& placements = books.record.placements;
  for (Placement& placement : placements)
    if (InUnit(unit, placement)) Lift(books, placement);
  SettleOverlapping(books, books.record);
  for (std::size_t i = 0; i < placements.size(); ++i) {
    const Placement& from = before.placements[i];
    if (!InUnit(unit, from)) continue;
    if (const std::string why = Place(books, target, from, placements[i]); !why.empty())
      return Fail(Code::kExhausted, what + " cannot be moved to NUMA nodes " + FormatIds(request.nodes) + ": " + why);
    SettleOverlapping(books, books.record);
    out.move.bytes += Migrated(from, placements[i]);
    out.move.containers.push_back({.from = from, .to = placements[i]});
  }
  if (std::ranges::all_of(out.move.containers, [](const MovedContainer& c) {
        return c.from.cpus == c.to.cpus && c.from.memory == c.to.memory;
      }))
    return Fail(Code::kExhausted, what + " is there already");
  if (tables.StaticMemory()) SettleMemory(books, books.record);
  out.delta.put = std::move(books.record);
  out.delta.put->reusable = before.reusable;
  out.delta.shared = std::move(books.shared);
  out.delta.memory = books.memory.Changed();
  return out;
}

}  // namespace berth::allocator
