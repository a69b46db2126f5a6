#include "allocator/cpu_manager/cpu_policy.h"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "allocator/cpu_manager/choice.h"
#include "allocator/reason/failure.h"
#include "base/words.h"

namespace berth::allocator {
namespace {

/// align-by-socket also prefers wider sets, as long as they touch no more sockets than the narrowest needs
/// (rules/cpu#hints).
std::optional<TouchRule> FewSockets(const PodBooks& books, int narrowest) {
  const NodeTables& tables = *books.tables;
  const CpuTopology& topology = tables.topology;
  const int per_socket = topology.num_sockets() == 0 ? 0 : topology.num_numa() / topology.num_sockets();
  if (!books.rules.cpu.align_by_socket || per_socket == 0) return std::nullopt;
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

constexpr const char* kSmtError = "SMT Alignment Error: ";

std::optional<std::string> SmtError(const PodBooks& books, int cpus) {
  const NodeTables& tables = *books.tables;
  if (!books.rules.cpu.full_pcpus_only) return std::nullopt;
  if (auto part = PartOfCore(books, cpus)) return part;
  const int per_core = tables.topology.cpus_per_core();
  const std::string start = kSmtError;
  const int free = FreeForSmtCheck(books);
  if (cpus <= free) return std::nullopt;
  return start + "not enough free physical CPUs: available physical CPUs = " + std::to_string(free) +
         ", requested CPUs = " + std::to_string(cpus) + ", CPUs per core = " + std::to_string(per_core);
}

bool HasL3With(const NodeTables& tables, const CpuSet& free, int cpus) {
  return std::ranges::any_of(tables.topology.units(Level::kUncore),
                             [&](const Unit& group) { return group.cpus.CountCommon(free) >= cpus; });
}

/// What a container asks for beyond the kubelet's and cannot have; nullopt: it can, or does not ask.
std::optional<Reject> OwnReject(const PodBooks& books, const ContainerDemand& demand) {
  Reject out;
  out.container = demand.container->name;
  if (std::string l3 = L3Shortage(books, demand.cpus); !l3.empty()) {
    out.reason = kL3Alignment;
    out.message = "L3 Alignment Error: no L3 group has " + Counted(demand.cpus, "free CPU");
    out.details.push_back(std::move(l3));
    return out;
  }
  if (books.rules.cpu.isolated != IsolatedCpus::kRequire) return std::nullopt;
  const int isolated = (GivableCpus(books) & books.tables->isolated).Count();
  if (isolated >= demand.cpus) return std::nullopt;
  out.reason = kIsolatedShort;
  out.message = Counted(demand.cpus, "isolated CPU") + " required, " + std::to_string(isolated) + " are free";
  return out;
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

std::optional<std::string> PartOfCore(const PodBooks& books, int cpus) {
  const int per_core = books.tables->topology.cpus_per_core();
  if (!books.rules.cpu.full_pcpus_only || per_core <= 0 || cpus % per_core == 0) return std::nullopt;
  return kSmtError + ("requested " + std::to_string(cpus)) +
         " cpus not multiple cpus per core = " + std::to_string(per_core);
}

// Oddity: counts CPUs, not cores, and not what init containers left (rules/cpu#whole-cores).
int FreeForSmtCheck(const PodBooks& books) {
  if (books.WholeCoresOnly()) return GivableCpus(books).Count();
  const CpuSet free = (books.shared | books.apart) - books.tables->reserved_cores;
  return books.rules.nodes.empty() ? free.Count() : free.CountCommon(books.rules.node_cpus);
}

int NarrowestCpuNodes(const NodeTables& tables, int cpus, const CpuSet* among) {
  std::vector<int> sizes;
  tables.cpu_nodes.ForEach([&](std::size_t node) {
    const CpuSet& all = tables.node_cpus[node];
    sizes.push_back(among == nullptr ? all.Count() : all.CountCommon(*among));
  });
  std::sort(sizes.begin(), sizes.end(), std::greater<>());
  int sum = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    if ((sum += sizes[i]) >= cpus) return static_cast<int>(i) + 1;
  return static_cast<int>(sizes.size());
}

std::string L3Shortage(const PodBooks& books, int cpus) {
  if (cpus == 0 || !InOneL3(books, cpus)) return "";
  const CpuSet free = TiersOf(books, GivableCpus(books)).back();
  int most = 0;
  for (const Unit& group : books.tables->topology.units(Level::kUncore))
    most = std::max(most, group.cpus.CountCommon(free));
  if (most >= cpus) return "";
  return "cpu: " + Counted(cpus, "CPU") + " of one L3 group asked, the most that are free in one are " +
         std::to_string(most);
}

HintList CpuHints(const PodBooks& books, int cpus, bool of_container) {
  HintList out;
  out.resources = {"cpu"};
  if (cpus == 0) return out;
  out.kind = HintList::Kind::kHints;
  const NodeTables& tables = *books.tables;
  const CpuSet& reuse = books.record.reusable.cpus;
  CpuSet available = books.WholeCoresOnly() ? GivableCpus(books) - reuse : AvailableCpus(books);
  const bool isolated = books.rules.cpu.isolated == IsolatedCpus::kRequire;
  if (isolated) available &= tables.isolated;
  const bool kept = !books.rules.nodes.empty();
  CpuSet among = kept ? books.rules.node_cpus : tables.isolated;
  if (kept && isolated) among &= tables.isolated;
  const int narrowest = NarrowestCpuNodes(tables, cpus, kept || isolated ? &among : nullptr);
  const bool one_l3 = of_container && InOneL3(books, cpus);
  HintFamily hints{.family = {.universe = tables.cpu_nodes, .must = {}, .needs = {}},
                   .preferred_count = narrowest,
                   .preferred_touch = FewSockets(books, narrowest)};
  // Reusable CPUs are counted apart from the free ones; one that is both counts twice (rules/cpu#hints).
  Need free{.amount = cpus - reuse.Count(), .on = std::vector<std::int64_t>(tables.nodes.size())};
  tables.cpu_nodes.ForEach([&](std::size_t node) {
    free.on[node] = tables.node_cpus[node].CountCommon(available);
    if (tables.node_cpus[node].Intersects(reuse)) hints.family.must.Add(node);
  });
  if (one_l3) {  // a node counts for all of them or for nothing
    free.amount = cpus;
    tables.cpu_nodes.ForEach([&](std::size_t node) {
      free.on[node] = HasL3With(tables, tables.node_cpus[node] & (available | reuse), cpus) ? cpus : 0;
    });
  }
  if (free.amount > 0) hints.family.needs.push_back(std::move(free));
  if (!hints.family.Impossible()) out.family = std::move(hints);
  return out;
}

std::optional<Reject> AllocateCpus(PodBooks& books, const ContainerDemand& demand, const MaskHint& hint,
                                   Placement& placement, const DecisionLog& log) {
  if (demand.cpus == 0) return std::nullopt;
  const std::string& name = demand.container->name;
  if (auto smt = SmtError(books, demand.cpus)) return SmtReject(books, demand, *std::move(smt));
  if (auto own = OwnReject(books, demand)) return own;
  auto cpus = ChooseCpus(books, demand.cpus, hint);
  if (!cpus && books.WholeCoresOnly() && GivableCpus(books).Count() >= demand.cpus)
    return SmtReject(books, demand, "SMT Alignment Error: " + cpus.error().message);
  if (!cpus) return Unexpected(name, cpus.error().message);
  const CpuSet reused = *cpus & books.record.reusable.cpus;
  books.shared -= *cpus;
  books.apart -= *cpus;
  UpdateReuse(books, demand.kind, *cpus);
  if (log) {
    std::string text = Counted(demand.cpus, "exclusive CPU") + " taken: " + FormatIds(*cpus);
    if (demand.mixed) text += ", with the shared pool beside";
    if (!reused.empty()) text += " (" + FormatIds(reused) + " left by an init container)";
    if (!books.near_cpus.empty() && cpus->IsSubsetOf(books.near_cpus)) text += ", local to its devices";
    text += "; the shared pool is " + FormatIds(books.shared);
    log.Add("allocate", name, "cpu", std::move(text));
  }
  placement.cpus = *std::move(cpus);
  placement.mixed = demand.mixed;
  return std::nullopt;
}

void ReleaseCpus(PodBooks& books, const PodRecord& record, const Placement& placement) {
  if (!placement.cpus) return;
  CpuSet back = *placement.cpus;
  for (const Placement& other : record.placements)
    if (&other != &placement && other.cpus) back -= *other.cpus;
  back &= books.tables->all_cpus;
  books.shared |= back - books.tables->apart;
  books.apart |= back & books.tables->apart;
}

}  // namespace berth::allocator
