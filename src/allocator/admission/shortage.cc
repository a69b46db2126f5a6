#include "allocator/admission/shortage.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

#include "allocator/cpu_manager/choice.h"
#include "allocator/cpu_manager/cpu_policy.h"
#include "allocator/memory_manager/memory_fit.h"
#include "allocator/reason/decision_log.h"
#include "model/resources.h"

namespace berth::allocator {
namespace {

/// The policy refuses what is not as narrow as it could be.
bool Aligned(const PodBooks& books) {
  const TopologyPolicy policy = books.rules.topology_policy;
  return policy == TopologyPolicy::kRestricted || policy == TopologyPolicy::kSingleNumaNode;
}

/// The policy refuses what no single node has.
bool OnOneNode(const PodBooks& books) { return books.rules.topology_policy == TopologyPolicy::kSingleNumaNode; }

/// One resource, node by node.
struct Stock {
  std::string_view resource;
  std::int64_t requested = 0;
  std::vector<std::int64_t> free;      // by position of the node
  std::vector<std::int64_t> capacity;  // if nothing ran
  std::int64_t free_in_all = 0;        // differs from the sum where something belongs to several nodes or to none
  std::int64_t capacity_in_all = 0;
  bool on_asked_nodes = false;  // the pod is kept to nodes, and nothing of others is counted
};

Shortage On(const Stock& stock, Shortage::Scope scope, NodeSet nodes, std::int64_t free, std::int64_t capacity) {
  Shortage out;
  out.resource = stock.resource;
  out.scope = scope;
  out.nodes = std::move(nodes);
  out.requested = stock.requested;
  out.free = free;
  out.capacity = capacity;
  out.missing = stock.requested - free;
  return out;
}

/// Positions of the `count` nodes with the most of `by`, lowest first among equals.
std::vector<std::size_t> Fullest(const std::vector<std::int64_t>& by, std::size_t count) {
  std::vector<std::size_t> order(by.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return by[a] != by[b] ? by[a] > by[b] : a < b; });
  order.resize(std::min(count, order.size()));
  return order;
}

/// Fewest nodes that would be enough if nothing ran; nullopt: all of them are not.
std::optional<std::size_t> Fewest(const Stock& stock) {
  std::vector<std::int64_t> sizes = stock.capacity;
  std::sort(sizes.begin(), sizes.end(), std::greater<>());
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    if ((sum += sizes[i]) >= stock.requested) return i + 1;
  return std::nullopt;
}

/// What `width` nodes lack: every single node, or the fullest-stocked ones. Empty if some have it.
std::vector<Shortage> OnNodes(const PodBooks& books, const Stock& stock, std::size_t width) {
  const NodeIndex& nodes = books.tables->nodes;
  std::vector<Shortage> out;
  if (width == 1) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (stock.capacity[i] == 0) continue;
      if (stock.free[i] >= stock.requested) return {};
      out.push_back(On(stock, Shortage::Scope::kNodes, {nodes.id(i)}, stock.free[i], stock.capacity[i]));
    }
    return out;
  }
  NodeSet best;
  std::int64_t free = 0;
  std::int64_t capacity = 0;
  for (std::size_t i : Fullest(stock.free, width)) {
    best.Insert(nodes.id(i));
    free += stock.free[i];
    capacity += stock.capacity[i];
  }
  if (free >= stock.requested) return {};
  return {On(stock, Shortage::Scope::kNodes, std::move(best), free, capacity)};
}

std::vector<Shortage> ShortOf(const PodBooks& books, const Stock& stock) {
  const NodeIndex& nodes = books.tables->nodes;
  if (stock.requested > stock.free_in_all) {
    if (stock.on_asked_nodes)
      return {
          On(stock, Shortage::Scope::kNodes, books.rules.wishes.numa_nodes, stock.free_in_all, stock.capacity_in_all)};
    return {On(stock, Shortage::Scope::kMachine, nodes.nodes(), stock.free_in_all, stock.capacity_in_all)};
  }
  const std::optional<std::size_t> fewest = Fewest(stock);
  if (!fewest || !Aligned(books)) return {};
  return OnNodes(books, stock, OnOneNode(books) ? 1 : *fewest);
}

/// container: the request is one container's, which the SMT check looks at.
Stock CpuStock(const PodBooks& books, int cpus, bool container) {
  const NodeTables& tables = *books.tables;
  Stock out;
  out.resource = "cpu";
  out.requested = cpus;
  const CpuSet free = GivableCpus(books);
  out.on_asked_nodes = !books.rules.nodes.empty();
  CpuSet all = tables.all_cpus - tables.settings.reserved_cpus;
  if (out.on_asked_nodes) all &= books.rules.node_cpus;
  out.free.reserve(tables.node_cpus.size());
  out.capacity.reserve(tables.node_cpus.size());
  for (const CpuSet& node : tables.node_cpus) {
    out.free.push_back(node.CountCommon(free));
    out.capacity.push_back(node.CountCommon(all));
  }
  out.free_in_all = free.Count();
  out.capacity_in_all = all.Count();
  // The SMT check comes first; where it says no, its number is the one that counts.
  if (const int smt = FreeForSmtCheck(books);
      books.rules.cpu.full_pcpus_only && !books.WholeCoresOnly() && container && cpus > smt) {
    out.free_in_all = smt;
    out.capacity_in_all = (all - tables.reserved_cores).Count();
  }
  return out;
}

std::vector<Mask> BookableSets(const PodBooks& books, bool single) {
  std::vector<Mask> out;
  Mask unused;
  for (std::size_t node = 0; node < books.tables->nodes.size(); ++node) {
    const Mask alone = Mask::Of(node);
    if (!books.rules.nodes.empty() && !books.rules.nodes.Has(node)) continue;
    const bool used = !books.tables->options.memory_groups_overlap && books.memory.Assignments(node) > 0;
    const Mask set = used ? books.memory.Cells(node) : alone;
    if (!used && !single) unused |= alone;
    if ((used || single) && std::find(out.begin(), out.end(), set) == out.end()) out.push_back(set);
  }
  if (!unused.empty()) out.push_back(unused);
  return out;
}

Stock StockOf(const PodBooks& books, const MemoryNeed& need) {
  Stock out;
  out.resource = need.type;
  out.requested = need.bytes;
  out.on_asked_nodes = !books.rules.nodes.empty();
  const auto type = books.memory.layout().Find(need.type);
  const TypeRoom room(books, need.type);
  out.free.reserve(books.tables->nodes.size());
  out.capacity.reserve(books.tables->nodes.size());
  for (std::size_t node = 0; node < books.tables->nodes.size(); ++node) {
    const bool counts = type && (books.rules.nodes.empty() || books.rules.nodes.Has(node));
    const MemoryTable table = counts ? books.memory.Table(node, *type) : MemoryTable{};
    const Mask alone = Mask::Of(node);
    const std::int64_t reusable = counts ? books.ReusableBytes(alone, need.type) : 0;
    out.free.push_back(reusable + (counts ? room.On(alone) : 0));
    out.capacity.push_back(table.allocatable.v);
    out.free_in_all += table.free.v + reusable;
    out.capacity_in_all += out.capacity.back();
  }
  return out;
}

/// nullopt: the type alone fits on as few nodes as it ever could. What init containers left counts only on exactly
/// their nodes, so sums over nodes cannot tell.
std::optional<Stock> MemoryStock(const PodBooks& books, const MemoryNeed& need) {
  const std::vector<MemoryNeed> alone{need};
  const std::optional<MaskHint> fits = MemoryFit(books, alone).Best({});
  const bool spread = fits && !fits->any && fits->mask.Count() > 1 && OnOneNode(books);
  if (fits && !spread && (fits->preferred || !Aligned(books))) return std::nullopt;
  Stock out = StockOf(books, need);
  if (fits) out.free_in_all = std::max(out.free_in_all, need.bytes);
  return out;
}

/// Amounts of several types that no one set of nodes has, though each type alone would find one, or nodes that are
/// enough together but may not be tied together: the sets of nodes that may be booked (a group in use, a node in use
/// alone, the unused nodes together; single nodes where one could do), with what is short on each.
std::vector<Shortage> ShortTogether(const PodBooks& books, const std::vector<MemoryNeed>& needs) {
  const MemoryFit fit(books, needs);
  const std::optional<MaskHint> best = fit.Best({});
  if (needs.empty() || (best && (best->preferred || !Aligned(books)))) return {};
  const NodeIndex& nodes = books.tables->nodes;
  const MemoryLayout& layout = books.memory.layout();
  std::vector<TypeRoom> rooms;
  for (const MemoryNeed& need : needs) rooms.emplace_back(books, need.type);
  std::vector<Shortage> out;
  for (const Mask& set : BookableSets(books, fit.narrowest() == 1)) {
    for (std::size_t i = 0; i < needs.size(); ++i) {
      const MemoryNeed& need = needs[i];
      Stock stock{.resource = need.type, .requested = need.bytes};
      const auto type = layout.Find(need.type);
      const std::int64_t free = books.ReusableBytes(set, need.type) + rooms[i].On(set);
      std::int64_t capacity = 0;
      set.ForEach([&](std::size_t node) { capacity += type ? books.memory.Table(node, *type).allocatable.v : 0; });
      if (free < need.bytes) out.push_back(On(stock, Shortage::Scope::kNodes, nodes.ToNodes(set), free, capacity));
    }
  }
  return out;
}

Stock DeviceStock(const PodBooks& books, const DevicePool& pool, const DeviceNeed& need) {
  Stock out;
  out.resource = need.resource;
  out.requested = need.count;
  out.free.resize(books.tables->nodes.size());
  out.capacity.resize(out.free.size());
  for (std::size_t i = 0; i < pool.devices.size(); ++i) {
    const bool free = pool.Available(i) || pool.reusable[i] != 0;
    out.free_in_all += free ? 1 : 0;
    out.capacity_in_all += 1;
    pool.nodes[i].ForEach([&](std::size_t node) {
      out.free[node] += free ? 1 : 0;
      out.capacity[node] += 1;
    });
  }
  return out;
}

}  // namespace

std::vector<Shortage> TooWide(PodBooks& books, const Request& request, int width) {
  std::vector<Stock> stocks;
  if (request.cpus > 0) stocks.push_back(CpuStock(books, request.cpus, !request.container.empty()));
  for (const MemoryNeed& need : *request.memory)  // what init containers left counts on exactly their nodes only
    if (books.reusable_memory.empty()) stocks.push_back(StockOf(books, need));
  for (const DeviceNeed& need : *request.devices)
    if (const DevicePool* pool = books.devices.Find(need.resource)) stocks.push_back(DeviceStock(books, *pool, need));
  std::vector<Shortage> out;
  for (const Stock& stock : stocks) {
    const std::optional<std::size_t> fewest = Fewest(stock);
    if (!fewest || *fewest <= static_cast<std::size_t>(width)) continue;
    for (Shortage& shortage : OnNodes(books, stock, static_cast<std::size_t>(width)))
      out.push_back(std::move(shortage));
  }
  for (Shortage& shortage : out) shortage.container = request.container;
  return out;
}

std::vector<Shortage> ShortagesOf(PodBooks& books, const Request& request) {
  std::vector<Stock> stocks;
  stocks.reserve(1 + request.memory->size() + request.devices->size());
  if (request.cpus > 0) stocks.push_back(CpuStock(books, request.cpus, !request.container.empty()));
  bool types_fit = true;  // each type of memory alone
  for (const MemoryNeed& need : *request.memory)
    if (auto stock = MemoryStock(books, need)) stocks.push_back(*std::move(stock)), types_fit = false;
  for (const DeviceNeed& need : *request.devices)
    if (const DevicePool* pool = books.devices.Find(need.resource)) stocks.push_back(DeviceStock(books, *pool, need));
  std::vector<Shortage> out;
  bool memory_is_short = false;
  for (const Stock& stock : stocks) {
    for (Shortage& shortage : ShortOf(books, stock)) {
      memory_is_short = memory_is_short || IsMemoryType(stock.resource);
      out.push_back(std::move(shortage));
    }
  }
  const bool fits = types_fit && request.memory->size() == 1;
  if (!memory_is_short && !fits)
    for (Shortage& shortage : ShortTogether(books, *request.memory)) out.push_back(std::move(shortage));
  for (Shortage& shortage : out) shortage.container = request.container;
  return out;
}

}  // namespace berth::allocator
