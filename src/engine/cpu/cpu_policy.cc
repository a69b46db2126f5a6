#include "engine/cpu/cpu_policy.h"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "base/words.h"
#include "engine/reason/failure.h"
#include "engine/take/take.h"

namespace berth::engine {
namespace {

/// align-by-socket also prefers wider sets, as long as they touch no more sockets than the narrowest needs
/// (rules/cpu#hints).
std::optional<TouchRule> FewSockets(const NodeTables& tables, int narrowest) {
  const CpuTopology& topology = tables.topology;
  const int per_socket = topology.num_sockets() == 0 ? 0 : topology.num_numa() / topology.num_sockets();
  if (!tables.settings.cpu.align_by_socket || per_socket == 0) return std::nullopt;
  TouchRule out;
  out.wanted = (narrowest + per_socket - 1) / per_socket;
  for (const Unit& socket : topology.units(Level::kSocket)) {
    Mask& nodes = out.groups.emplace_back();
    tables.cpu_nodes.ForEach([&](std::size_t node) {
      if (tables.node_cpus[node].Intersects(socket.cpus)) nodes.Add(node);
    });
  }
  return out;
}

TakeRequest RequestFor(const NodeTables& tables, CpuSet available, int num) {
  const CpuOptions& options = tables.settings.cpu;
  TakeRequest out;
  out.available = std::move(available);
  out.num = num;
  out.distributed = options.distribute_numa;
  out.group = options.full_pcpus_only ? tables.topology.cpus_per_core() : 1;
  out.uncore = options.align_uncore;
  out.spread = options.distribute_cores;
  return out;
}

/// Free CPUs in the hinted nodes; with align-by-socket in all sockets these nodes have CPUs of.
CpuSet AlignedCpus(const NodeTables& tables, const CpuSet& allocatable, const Mask& mask) {
  CpuSet near;
  mask.ForEach([&](std::size_t node) { near |= tables.node_cpus[node]; });
  if (!tables.settings.cpu.align_by_socket) return near & allocatable;
  CpuSet sockets;
  for (const Unit& socket : tables.topology.units(Level::kSocket))
    if (socket.cpus.Intersects(near)) sockets |= socket.cpus;
  return sockets & allocatable;
}

/// All of them among the CPUs local to the container's devices, on hinted nodes; nullopt: these are not enough, or
/// would be parts of cores (rules/devices#closeness).
std::optional<CpuSet> ChooseNear(const PodBooks& books, int num, const MaskHint& hint, const CpuSet& allocatable) {
  const NodeTables& tables = *books.tables;
  if (books.near_cpus.empty()) return std::nullopt;
  CpuSet near = allocatable & books.near_cpus;
  if (!hint.any) near = AlignedCpus(tables, near, hint.mask);
  if (near.Count() < num) return std::nullopt;
  TakeRequest request = RequestFor(tables, std::move(near), num);
  request.also_free = books.may_complete_cores;
  auto out = TakeCpus(tables.topology, request);
  if (!out || (tables.settings.cpu.full_pcpus_only && tables.topology.Whole(*out, Level::kCore) != *out))
    return std::nullopt;
  return *std::move(out);
}

/// Hinted nodes first, anywhere for the rest: a hint is a wish, not a fence (rules/cpu#allocation).
Result<CpuSet> ChooseAny(const PodBooks& books, int num, const MaskHint& hint) {
  const NodeTables& tables = *books.tables;
  const CpuSet allocatable = GivableCpus(books);
  if (std::optional<CpuSet> near = ChooseNear(books, num, hint, allocatable)) return *std::move(near);
  CpuSet result;
  if (!hint.any) {
    CpuSet aligned = AlignedCpus(tables, allocatable, hint.mask);
    const int part = std::min(num, aligned.Count());
    TakeRequest request = RequestFor(tables, std::move(aligned), part);
    request.also_free = allocatable | books.may_complete_cores;
    BERTH_TRY(result, TakeCpus(tables.topology, request));
    if (part == num) return result;
  }
  TakeRequest request = RequestFor(tables, allocatable - result, num - result.Count());
  request.also_free = books.may_complete_cores - result;
  BERTH_TRY(const CpuSet rest, TakeCpus(tables.topology, request));
  return result | rest;
}

/// Whole cores of `from`, lowest first, that have exactly `num` CPUs together; nullopt: there are none.
std::optional<CpuSet> CoresThatMake(const CpuTopology& topology, const CpuSet& from, int num) {
  const std::vector<Unit>& cores = topology.units(Level::kCore);
  const auto sum = static_cast<std::size_t>(num);
  constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::vector<std::size_t> last(sum + 1, kNone);  // by number of CPUs: the core that made it up first
  for (std::size_t i = 0; i < cores.size() && last[sum] == kNone; ++i) {
    const auto size = static_cast<std::size_t>(cores[i].cpus.Count());
    if (size == 0 || !cores[i].cpus.IsSubsetOf(from)) continue;
    for (std::size_t n = sum; n >= size; --n)
      if (last[n] == kNone && (n == size || last[n - size] != kNone)) last[n] = i;
  }
  if (last[sum] == kNone) return std::nullopt;
  CpuSet out;
  for (std::size_t n = sum; n > 0; n -= static_cast<std::size_t>(cores[last[n]].cpus.Count()))
    out |= cores[last[n]].cpus;
  return out;
}

/// ChooseAny, and under NodeTables::WholeCoresOnly whole cores of the hinted nodes, else (where the policy does not
/// insist on these) of all.
Result<CpuSet> Choose(const PodBooks& books, int num, const MaskHint& hint) {
  const NodeTables& tables = *books.tables;
  Result<CpuSet> any = ChooseAny(books, num, hint);
  if (!tables.WholeCoresOnly() || !any || tables.topology.Whole(*any, Level::kCore) == *any) return any;
  const CpuSet givable = GivableCpus(books);
  const TopologyPolicy policy = tables.settings.topology_policy;
  std::optional<CpuSet> out;
  if (!hint.any) out = CoresThatMake(tables.topology, AlignedCpus(tables, givable, hint.mask), num);
  const bool fence = policy == TopologyPolicy::kRestricted || policy == TopologyPolicy::kSingleNumaNode;
  if (!out && (hint.any || !fence)) out = CoresThatMake(tables.topology, givable, num);
  if (out) return *std::move(out);
  return Fail(Code::kExhausted, "no free whole cores make up exactly " + std::to_string(num) + " CPUs");
}

std::optional<std::string> SmtError(const PodBooks& books, int cpus) {
  const NodeTables& tables = *books.tables;
  if (!tables.settings.cpu.full_pcpus_only) return std::nullopt;
  const int per_core = tables.topology.cpus_per_core();
  const std::string start = "SMT Alignment Error: ";
  if (per_core > 0 && cpus % per_core != 0)
    return start + "requested " + std::to_string(cpus) +
           " cpus not multiple cpus per core = " + std::to_string(per_core);
  const int free = FreeForSmtCheck(books);
  if (cpus <= free) return std::nullopt;
  return start + "not enough free physical CPUs: available physical CPUs = " + std::to_string(free) +
         ", requested CPUs = " + std::to_string(cpus) + ", CPUs per core = " + std::to_string(per_core);
}

Reject SmtReject(const PodBooks& books, const ContainerDemand& demand, std::string message) {
  Reject out;
  out.reason = kSmtAlignment;
  out.message = std::move(message);
  out.container = demand.container->name;
  const int per_core = books.tables->topology.cpus_per_core();
  if (per_core > 0 && demand.cpus % per_core != 0)
    out.details.push_back("cpu: " + std::to_string(demand.cpus) +
                          " CPUs are no whole number of cores; ask for a multiple of " + std::to_string(per_core));
  return out;
}

/// What init containers leave, later containers may take over; app containers and sidecars keep theirs
/// (rules/cpu#init-reuse).
void UpdateReuse(PodBooks& books, ContainerKind kind, const CpuSet& cpus) {
  if (kind == ContainerKind::kInit) {
    books.record.reusable.cpus |= cpus;
  } else {
    books.record.reusable.cpus -= cpus;
  }
}

}  // namespace

CpuSet AvailableCpus(const PodBooks& books) { return books.shared - books.tables->settings.reserved_cpus; }

CpuSet GivableCpus(const PodBooks& books) {
  CpuSet out = AvailableCpus(books) | books.record.reusable.cpus;
  return books.tables->WholeCoresOnly() ? books.tables->topology.Whole(out, Level::kCore) : out;
}

// Oddity: counts CPUs, not cores, and not what init containers left (rules/cpu#whole-cores).
int FreeForSmtCheck(const PodBooks& books) {
  if (books.tables->WholeCoresOnly()) return GivableCpus(books).Count();
  return (books.shared - books.tables->reserved_cores).Count();
}

int NarrowestCpuNodes(const NodeTables& tables, int cpus) {
  std::vector<int> sizes;
  tables.cpu_nodes.ForEach([&](std::size_t node) { sizes.push_back(tables.node_cpus[node].Count()); });
  std::sort(sizes.begin(), sizes.end(), std::greater<>());
  int sum = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    if ((sum += sizes[i]) >= cpus) return static_cast<int>(i) + 1;
  return static_cast<int>(sizes.size());
}

HintList CpuHints(const PodBooks& books, int cpus) {
  HintList out;
  out.resources = {"cpu"};
  if (cpus == 0) return out;
  out.kind = HintList::Kind::kHints;
  const NodeTables& tables = *books.tables;
  const CpuSet& reuse = books.record.reusable.cpus;
  const CpuSet available = tables.WholeCoresOnly() ? GivableCpus(books) - reuse : AvailableCpus(books);
  const int narrowest = NarrowestCpuNodes(tables, cpus);
  HintFamily hints{.family = {.universe = tables.cpu_nodes, .must = {}, .needs = {}},
                   .preferred_count = narrowest,
                   .preferred_touch = FewSockets(tables, narrowest)};
  // Reusable CPUs are counted apart from the free ones; one that is both counts twice (rules/cpu#hints).
  Need free{.amount = cpus - reuse.Count(), .on = std::vector<std::int64_t>(tables.nodes.size())};
  tables.cpu_nodes.ForEach([&](std::size_t node) {
    free.on[node] = tables.node_cpus[node].CountCommon(available);
    if (tables.node_cpus[node].Intersects(reuse)) hints.family.must.Add(node);
  });
  if (free.amount > 0) hints.family.needs.push_back(std::move(free));
  if (!hints.family.Impossible()) out.family = std::move(hints);
  return out;
}

std::optional<Reject> AllocateCpus(PodBooks& books, const ContainerDemand& demand, const MaskHint& hint,
                                   Placement& placement, const DecisionLog& log) {
  if (demand.cpus == 0) return std::nullopt;
  const std::string& name = demand.container->name;
  const NodeTables& tables = *books.tables;
  if (auto smt = SmtError(books, demand.cpus)) return SmtReject(books, demand, *std::move(smt));
  auto cpus = Choose(books, demand.cpus, hint);
  if (!cpus && tables.WholeCoresOnly() && GivableCpus(books).Count() >= demand.cpus)
    return SmtReject(books, demand, "SMT Alignment Error: " + cpus.error().message);
  if (!cpus) return Unexpected(name, cpus.error().message);
  const CpuSet reused = *cpus & books.record.reusable.cpus;
  books.shared -= *cpus;
  UpdateReuse(books, demand.kind, *cpus);
  if (log) {
    std::string text = Counted(demand.cpus, "exclusive CPU") + " taken: " + FormatIds(*cpus);
    if (!reused.empty()) text += " (" + FormatIds(reused) + " left by an init container)";
    if (!books.near_cpus.empty() && cpus->IsSubsetOf(books.near_cpus)) text += ", local to its devices";
    text += "; the shared pool is " + FormatIds(books.shared);
    log.Add("allocate", name, "cpu", std::move(text));
  }
  placement.cpus = *std::move(cpus);
  return std::nullopt;
}

void ReleaseCpus(PodBooks& books, const PodRecord& record, const Placement& placement) {
  if (!placement.cpus) return;
  CpuSet back = *placement.cpus;
  for (const Placement& other : record.placements)
    if (&other != &placement && other.cpus) back -= *other.cpus;
  books.shared |= back & books.tables->all_cpus;
}

}  // namespace berth::engine
