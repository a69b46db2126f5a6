#include "allocator/cpu_manager/choice.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

namespace berth::allocator {
namespace {

int HintedNodes(const MaskHint& hint) { return hint.any ? 0 : hint.mask.Count(); }

}  // namespace

CpuSet AvailableCpus(const PodBooks& books) {
  CpuSet out = (books.shared | books.apart) - books.tables->settings.reserved_cpus;
  return books.rules.nodes.empty() ? out : out & books.rules.node_cpus;
}

CpuSet GivableCpus(const PodBooks& books) {
  CpuSet out = AvailableCpus(books) | books.record.reusable.cpus;
  return books.WholeCoresOnly() ? books.tables->topology.Whole(out, Level::kCore) : out;
}

TakeRequest RequestFor(const PodBooks& books, CpuSet available, int num) {
  const CpuOptions& options = books.rules.cpu;
  TakeRequest out = RequestBy(options, books.tables->topology, books.tables->kubelet);
  out.available = std::move(available);
  out.num = num;
  if (options.OwnOrder())
    out.order = TakeOrder{.numa = options.numa.value_or(Fill::kPack),
                          .l3 = options.l3,
                          .cores = options.cores.value_or(Fill::kPack),
                          .end = options.end.value_or(CpuEnd::kLow)};
  if (out.order && !out.order->l3 && options.align_uncore) out.order->l3 = CachePlace::kPack;
  return out;
}

CpuSet AlignedCpus(const PodBooks& books, const CpuSet& allocatable, const Mask& mask) {
  const NodeTables& tables = *books.tables;
  CpuSet near;
  mask.ForEach([&](std::size_t node) { near |= tables.node_cpus[node]; });
  if (!books.rules.cpu.align_by_socket) return near & allocatable;
  CpuSet sockets;
  for (const Unit& socket : tables.topology.units(Level::kSocket))
    if (socket.cpus.Intersects(near)) sockets |= socket.cpus;
  return sockets & allocatable;
}

bool InOneL3(const PodBooks& books, int num) {
  return books.rules.cpu.l3 == CachePlace::kStrict && FitsOneL3(books.tables->topology, num);
}

std::vector<CpuSet> TiersOf(const PodBooks& books, CpuSet givable) {
  const CpuOptions& options = books.rules.cpu;
  const NodeTables& tables = *books.tables;
  std::vector<CpuSet> out;
  if (options.isolated == IsolatedCpus::kPrefer) out.push_back(givable & tables.isolated);
  if (options.isolated == IsolatedCpus::kAvoid) out.push_back(givable - tables.isolated);
  out.push_back(options.isolated == IsolatedCpus::kRequire ? givable & tables.isolated : std::move(givable));
  if (!options.kind) return out;
  const CpuSet& kind = *options.kind == CoreKind::kEfficiency ? tables.efficiency : tables.performance;
  std::vector<CpuSet> by_kind;
  for (CpuSet& tier : out) {
    by_kind.push_back(tier & kind);
    by_kind.push_back(std::move(tier));
  }
  return by_kind;
}

bool PrefersCpus(const CpuOptions& options) {
  return options.kind || options.isolated == IsolatedCpus::kPrefer || options.isolated == IsolatedCpus::kAvoid;
}

std::optional<CpuSet> ChooseWholly(const PodBooks& books, int num, const MaskHint& hint, CpuSet from) {
  const NodeTables& tables = *books.tables;
  if (!hint.any) from = AlignedCpus(books, from, hint.mask);
  if (from.Count() < num) return std::nullopt;
  TakeRequest request = RequestFor(books, std::move(from), num);
  request.hinted_nodes = HintedNodes(hint);
  request.also_free = books.may_complete_cores;
  auto out = TakeCpus(tables.topology, request);
  if (!out || (books.rules.cpu.full_pcpus_only && tables.topology.Whole(*out, Level::kCore) != *out))
    return std::nullopt;
  return *std::move(out);
}

namespace {

/// Hinted nodes first, anywhere for the rest: a hint is a wish, not a fence (rules/cpu#allocation).
Result<CpuSet> ChooseAny(const PodBooks& books, int num, const MaskHint& hint) {
  const NodeTables& tables = *books.tables;
  const std::vector<CpuSet> tiers = TiersOf(books, GivableCpus(books));
  for (const CpuSet& tier : tiers) {
    // Local to the container's devices, if there are enough (rules/devices#closeness).
    if (!books.near_cpus.empty())
      if (std::optional<CpuSet> near = ChooseWholly(books, num, hint, tier & books.near_cpus)) return *std::move(near);
    if (&tier != &tiers.back() || InOneL3(books, num))
      if (std::optional<CpuSet> all = ChooseWholly(books, num, hint, tier)) return *std::move(all);
  }
  const CpuSet& allocatable = tiers.back();
  CpuSet result;
  if (!hint.any && !InOneL3(books, num)) {
    CpuSet aligned = AlignedCpus(books, allocatable, hint.mask);
    const int part = std::min(num, aligned.Count());
    TakeRequest request = RequestFor(books, std::move(aligned), part);
    request.hinted_nodes = HintedNodes(hint);
    request.also_free = allocatable | books.may_complete_cores;
    BERTH_TRY(result, TakeCpus(tables.topology, request));
    if (part == num) return result;
  }
  TakeRequest request = RequestFor(books, allocatable - result, num - result.Count());
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

}  // namespace

Result<CpuSet> ChooseCpus(const PodBooks& books, int num, const MaskHint& hint) {
  const NodeTables& tables = *books.tables;
  Result<CpuSet> any = ChooseAny(books, num, hint);
  if (!books.WholeCoresOnly() || !any || tables.topology.Whole(*any, Level::kCore) == *any) return any;
  if (InOneL3(books, num))
    return Fail(Code::kExhausted,
                "no free whole cores of one L3 group make up exactly " + std::to_string(num) + " CPUs");
  const CpuSet givable = TiersOf(books, GivableCpus(books)).back();
  const TopologyPolicy policy = books.rules.topology_policy;
  std::optional<CpuSet> out;
  if (!hint.any) out = CoresThatMake(tables.topology, AlignedCpus(books, givable, hint.mask), num);
  const bool fence = policy == TopologyPolicy::kRestricted || policy == TopologyPolicy::kSingleNumaNode;
  if (!out && (hint.any || !fence)) out = CoresThatMake(tables.topology, givable, num);
  if (out) return *std::move(out);
  return Fail(Code::kExhausted, "no free whole cores make up exactly " + std::to_string(num) + " CPUs");
}

}  // namespace berth::allocator
