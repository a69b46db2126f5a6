#include "allocator/cpu_manager/pools.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "allocator/cpu_manager/choice.h"
#include "allocator/cpu_manager/other_size.h"
#include "allocator/node/pod_rules.h"
#include "allocator/reason/failure.h"
#include "base/words.h"

namespace berth::allocator {
namespace {

constexpr std::int64_t kMilliPerCpu = 1000;
constexpr std::int64_t kMostPoolCpus = 1'000'000;  // more than any machine has

/// What the containers of a pool ask for; nullopt: it has none.
using PoolAsk = std::optional<std::int64_t>;

/// A pool that a pod comes to, leaves, or asks for another amount.
struct PoolChange {
  std::string name;
  PoolRule rule;
  PoolRules rules;
  CpuPool now;
  PoolAsk before;
  PoolAsk after;
  bool AsksForMore() const { return after && *after > before.value_or(-1); }
};

void AddAsked(PoolAsk& sum, const PoolAsk& more) {
  if (more) sum = sum.value_or(0) + *more;
}

/// Of a pool that the settings do not have any more: what it has left as simple as can be.
PoolRule PoolRuleOf(const NodeTables& tables, std::string_view name) {
  if (const PoolRule* const rule = FindPool(tables.options.own.pools, name); rule != nullptr) return *rule;
  PoolRule out;
  out.name = name;
  return out;
}

PoolChange PoolChangeOf(const PodBooks& books, const PodRecord& before, const std::string& name) {
  PoolChange out{
      .name = name, .rule = PoolRuleOf(*books.tables, name), .rules = {}, .now = {}, .before = {}, .after = {}};
  auto rules = RulesOfPool(*books.tables, out.rule);
  BERTH_CHECK(rules.has_value());  // as when the node was made
  out.rules = *std::move(rules);
  if (const auto now = books.ledger->pools.find(name); now != books.ledger->pools.end()) out.now = now->second;
  for (const auto& [uid, pod] : books.ledger->pods)
    if (uid != books.record.uid) AddAsked(out.before, AskedOfPool(pod, name));
  out.after = out.before;
  AddAsked(out.before, AskedOfPool(before, name));
  AddAsked(out.after, AskedOfPool(books.record, name));
  return out;
}

/// What of `free` a pool's containers may get to run on.
CpuSet CpusForPool(const NodeTables& tables, const PoolRules& rules, CpuSet free) {
  free -= tables.settings.reserved_cpus | tables.apart;
  if (!rules.rules.nodes.empty()) free &= rules.rules.node_cpus;
  if (rules.threads == PoolThreads::kAny) return free;
  if (rules.rules.cpu.isolated == IsolatedCpus::kRequire) free &= tables.isolated;
  const CpuSet whole = tables.topology.Whole(free, Level::kCore);
  if (rules.threads == PoolThreads::kWholeCores) return whole;
  CpuSet out;
  for (const Unit& core : tables.topology.units(Level::kCore))
    if (core.cpus.Intersects(whole)) out.Insert(*core.cpus.First());
  return out;
}

/// The books as they are for a choice of CPUs for the pool.
PodBooks BooksForPool(const PodBooks& books, const PoolRules& rules) {
  PodBooks out = books;
  out.rules = rules.rules;
  out.shared = CpusForPool(*books.tables, rules, books.shared);
  out.apart = CpuSet();
  out.record.reusable.cpus = CpuSet();  // of CPUs that the pod has for itself
  out.near_cpus = CpuSet();
  out.may_complete_cores = CpuSet();
  return out;
}

/// `run`: what its containers run on, before the rule of the cores; `held`: all that the pool may hold.
CpuPool PoolOn(const CpuTopology& topology, PoolThreads threads, const CpuSet& run, const CpuSet& held) {
  if (threads == PoolThreads::kAny) return {.cpus = run};
  const CpuSet cores = topology.Around(run, Level::kCore) & held;
  if (threads == PoolThreads::kWholeCores) return {.cpus = cores};
  return {.cpus = run, .idle = cores - run};
}

Reject PoolRefused(std::string message) {
  Reject out;
  out.reason = kCpuPool;
  out.message = std::move(message);
  return out;
}

Reject AboveMaxCpus(const PoolChange& change, std::int64_t cpus) {
  return PoolRefused(PoolText(change.name) + " may have " + Counted(*change.rule.max_cpus, "CPU") +
                     " (maxCpus), and with this pod it would need " + std::to_string(cpus));
}

Reject TooFewForPool(const PodBooks& books, const PoolChange& change, int more, const std::string& why,
                     const DecisionLog& log) {
  const NodeTables& tables = *books.tables;
  const bool any_node = change.rules.rules.nodes.empty();
  Shortage shortage;
  shortage.resource = "cpu";
  shortage.scope = any_node ? Shortage::Scope::kMachine : Shortage::Scope::kNodes;
  shortage.nodes = tables.nodes.ToNodes(any_node ? tables.nodes.all() : change.rules.rules.nodes);
  shortage.requested = more;
  shortage.free = CpusForPool(tables, change.rules, books.shared).Count();
  shortage.capacity = CpusForPool(tables, change.rules, tables.all_cpus).Count();
  shortage.missing = more - shortage.free;
  Reject out = PoolRefused(PoolText(change.name) + " needs " + Counted(more, "CPU") + " more for its containers, and " +
                           Counted(shortage.free, "CPU") + (shortage.free == 1 ? " is" : " are") + " free for it");
  if (change.rules.threads != PoolThreads::kAny) out.message += " (whole cores only)";
  if (shortage.missing > 0) {
    out.details.push_back(ShortageText(shortage));
    log.AddShortage(shortage);
  } else {
    out.message += ", but not as its cpuOptions want them";
    out.details.push_back("cpu: " + why);
  }
  return out;
}

void SayPool(const PodBooks& books, const PoolChange& change, const CpuPool& then, const DecisionLog& log) {
  if (!log) return;
  std::string text = PoolText(change.name) + ": ";
  if (!change.after) {
    text += "its last container is gone; CPUs " + FormatIds(HeldCpus(change.now)) + " return to the shared pool";
  } else {
    text += "its containers ask for " + std::to_string(*change.after) + "m CPU and run on " + FormatIds(then.cpus);
    if (!change.now.cpus.empty())
      text += then == change.now ? ", as before" : " (was " + FormatIds(change.now.cpus) + ")";
    if (!then.idle.empty()) text += ", beside which " + FormatIds(then.idle) + " are left idle";
  }
  if (then != change.now) text += "; the shared pool is " + FormatIds(books.shared);
  log.Add("pool", "", "cpu", std::move(text));
}

void PutPool(PodBooks& books, const PoolChange& change, CpuPool then, const DecisionLog& log) {
  const CpuSet back = (HeldCpus(change.now) - HeldCpus(then)) & books.tables->all_cpus;
  books.shared |= back - books.tables->apart;
  books.apart |= back & books.tables->apart;
  books.shared -= HeldCpus(then);
  SayPool(books, change, then, log);
  if (then != change.now) books.pools.insert_or_assign(change.name, std::move(then));
}

std::int64_t CpusNeeded(const PoolChange& change) {
  if (!change.after) return 0;
  const std::int64_t needed = (*change.after + kMilliPerCpu - 1) / kMilliPerCpu;
  return std::min(kMostPoolCpus, std::max({std::int64_t{1}, change.rule.min_cpus, needed}));
}

std::optional<Reject> GrowPool(PodBooks& books, const PoolChange& change, const DecisionLog& log) {
  const std::int64_t cpus = CpusNeeded(change);
  const std::optional<std::int64_t>& most = change.rule.max_cpus;
  if (most && cpus > *most) return AboveMaxCpus(change, cpus);
  CpuPool then = change.now;
  if (const auto more = static_cast<int>(cpus - then.cpus.Count()); more > 0) {
    const PodBooks free = BooksForPool(books, change.rules);
    const auto chosen = ChooseMore(free, then.cpus, more, {{}, true, false});
    if (!chosen) return TooFewForPool(books, change, more, chosen.error().message, log);
    const CpuPool added = PoolOn(books.tables->topology, change.rules.threads, *chosen, books.shared);
    then.cpus |= added.cpus;
    then.idle |= added.idle;
  }
  if (most && then.cpus.Count() > *most && then != change.now) return AboveMaxCpus(change, then.cpus.Count());
  PutPool(books, change, std::move(then), log);
  if (books.shared.empty())
    return PoolRefused(PoolText(change.name) +
                       " would leave no CPU for the shared pool: reserved CPUs are not in it "
                       "(strict-cpu-reservation)");
  return std::nullopt;
}

/// `num` of the CPUs it runs on; those that lie together stay.
CpuSet CpusToKeep(const PodBooks& books, const PoolChange& change, int num) {
  PodBooks view = BooksForPool(books, change.rules);
  auto out = ChooseFewer(view, change.now.cpus, change.now.cpus, num);
  if (out) return *std::move(out);
  view.rules.cpu.l3 = CachePlace::kPack;  // no L3 group has as many of them
  out = ChooseFewer(view, change.now.cpus, change.now.cpus, num);
  return out ? *std::move(out) : change.now.cpus;
}

void ShrinkPool(PodBooks& books, const PoolChange& change, const DecisionLog& log) {
  const std::int64_t cpus = CpusNeeded(change);
  CpuPool then = change.now;
  if (cpus == 0) {
    then = CpuPool();
  } else if (cpus < then.cpus.Count()) {
    const CpuSet kept = CpusToKeep(books, change, static_cast<int>(cpus));
    then = PoolOn(books.tables->topology, change.rules.threads, kept, HeldCpus(change.now));
  }
  PutPool(books, change, std::move(then), log);
}

}  // namespace

std::optional<Reject> SettlePools(PodBooks& books, const DecisionLog& log) {
  const auto known = books.ledger->pods.find(books.record.uid);
  const PodRecord none;
  const PodRecord* const before = known == books.ledger->pods.end() ? &none : &known->second;
  std::set<std::string> names;
  for (const PodRecord* const record : {before, &std::as_const(books.record)})
    for (const Placement& placement : record->placements)
      if (!placement.pool.empty()) names.insert(placement.pool);
  if (names.empty() || !books.tables->StaticCpus()) return std::nullopt;
  std::vector<PoolChange> growing;
  for (const std::string& name : names) {
    PoolChange change = PoolChangeOf(books, *before, name);
    if (change.AsksForMore())
      growing.push_back(std::move(change));
    else
      ShrinkPool(books, change, log);
  }
  for (const PoolChange& change : growing)
    if (auto reject = GrowPool(books, change, log)) return reject;
  return std::nullopt;
}

}  // namespace berth::allocator
