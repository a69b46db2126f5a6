#include "model/machine_change.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/quantity.h"
#include "base/text.h"

namespace berth {
namespace {

/// Huge pages by their size; sizes without a page are left out.
using PagesBySize = std::map<Bytes, std::int64_t>;

PagesBySize PagesOf(const std::vector<HugePages>& list) {
  PagesBySize out;
  for (const HugePages& pages : list)
    if (pages.count != 0) out[pages.page_size] += pages.count;
  return out;
}

struct NodeMemory {
  Bytes memory{};
  PagesBySize pages;
  friend bool operator==(const NodeMemory&, const NodeMemory&) = default;
};

std::map<NumaId, NodeMemory> MemoryOf(const Machine& machine) {
  std::map<NumaId, NodeMemory> out;
  for (const NumaNode& node : machine.nodes) {
    NodeMemory memory{node.memory, PagesOf(node.hugepages)};
    if (memory != NodeMemory()) out.emplace(node.id, std::move(memory));
  }
  return out;
}

const NumaNode* FindNode(const Machine& machine, NumaId id) {
  const auto found = std::ranges::find(machine.nodes, id, &NumaNode::id);
  return found == machine.nodes.end() ? nullptr : &*found;
}

/// Of a SLIT row: one entry per node of its machine, in ascending order. nullopt: not known.
std::optional<unsigned> DistanceTo(const Machine& machine, const NumaNode& from, NumaId to) {
  const NodeSet ids = NodeIds(machine);
  if (!ids.Contains(to) || from.distances.size() != static_cast<std::size_t>(ids.Count())) return std::nullopt;
  std::size_t at = 0;
  for (const NumaId id : ids) {
    if (id == to) break;
    ++at;
  }
  return from.distances[at];
}

/// Adds what `now` lacks of a node: whole cores, and threads of cores that are there.
void AddCores(NumaNode& now, const NumaNode& before, const CpuSet& missing) {
  for (const Core& core : before.cores) {
    std::vector<CpuId> lost;
    std::ranges::copy_if(core.threads, std::back_inserter(lost), [&](CpuId cpu) { return missing.Contains(cpu); });
    if (lost.empty()) continue;
    const auto same = std::ranges::find_if(now.cores, [&](const Core& other) {
      return std::ranges::any_of(other.threads, [&](CpuId cpu) { return std::ranges::count(core.threads, cpu) > 0; });
    });
    if (same != now.cores.end()) {
      same->threads.insert(same->threads.end(), lost.begin(), lost.end());
      same->uncore = core.uncore;
      continue;
    }
    Core kept = core;
    kept.threads = std::move(lost);
    now.cores.push_back(std::move(kept));
  }
}

CpuSet CpusOf(const NumaNode& node) {
  CpuSet out;
  for (const Core& core : node.cores)
    for (const CpuId cpu : core.threads) out.Insert(cpu);
  return out;
}

/// Rows for the nodes of `machine`, some of which only `before` had.
void JoinDistances(Machine& machine, const Machine& now, const Machine& before) {
  std::vector<std::vector<unsigned>> rows;
  for (const NumaNode& node : machine.nodes) {
    std::vector<unsigned>& row = rows.emplace_back();
    for (const NumaId to : NodeIds(machine)) {
      const NumaNode* const here = FindNode(now, node.id);
      const NumaNode* const there = FindNode(before, node.id);
      std::optional<unsigned> distance = here != nullptr ? DistanceTo(now, *here, to) : std::nullopt;
      if (!distance && there != nullptr) distance = DistanceTo(before, *there, to);
      row.push_back(distance.value_or(node.id == to ? 10 : 20));  // the kernel's own defaults
    }
  }
  for (std::size_t i = 0; i < rows.size(); ++i) machine.nodes[i].distances = std::move(rows[i]);
}

/// L3 groups keep the CPUs that are offline.
void JoinCaches(Machine& machine, const Machine& before, const CpuSet& missing) {
  for (const L3Group& group : before.l3) {
    const CpuSet lost = group.cpus & missing;
    if (lost.empty()) continue;
    const auto same =
        std::ranges::find_if(machine.l3, [&](const L3Group& other) { return other.cpus.Intersects(group.cpus); });
    if (same != machine.l3.end())
      same->cpus |= lost;
    else
      machine.l3.push_back({group.id, group.size, lost});
  }
  std::ranges::sort(machine.l3, {}, [](const L3Group& group) { return group.cpus.First(); });
}

std::string SizeText(Bytes size) { return Quantity::FromBytes(size).ToString(); }

/// Sentences about one node, or about one that came or went.
void DescribeNode(NumaId id, const NodeMemory* before, const NodeMemory* after, std::vector<std::string>& out,
                  bool& loses) {
  const std::string node = "node " + std::to_string(Raw(id));
  const NodeMemory none;
  const NodeMemory& was = before != nullptr ? *before : none;
  const NodeMemory& is = after != nullptr ? *after : none;
  if (was.memory != is.memory) {
    const std::string amount = is.memory == Bytes() ? "no" : SizeText(is.memory) + " of";
    out.push_back(node + " has " + amount + " memory (was " + SizeText(was.memory) + ")");
    loses = loses || is.memory < was.memory;
  }
  std::set<Bytes> sizes;
  for (const PagesBySize* pages : {&was.pages, &is.pages})
    for (const auto& [size, count] : *pages) sizes.insert(size);
  for (const Bytes size : sizes) {
    const auto count = [&](const PagesBySize& pages) { return pages.contains(size) ? pages.at(size) : 0; };
    if (count(was.pages) == count(is.pages)) continue;
    out.push_back(node + " has " + std::to_string(count(is.pages)) + " huge pages of " + SizeText(size) + " (was " +
                  std::to_string(count(was.pages)) + ")");
    loses = loses || count(is.pages) < count(was.pages);
  }
}

}  // namespace

bool SameMemory(const Machine& a, const Machine& b) { return a.memory == b.memory && MemoryOf(a) == MemoryOf(b); }

Machine WithCpusOf(Machine now, const Machine& before) {
  const CpuSet missing = UsableCpus(before) - UsableCpus(now);
  if (missing.empty()) return now;
  const Machine seen = now;
  for (const NumaNode& node : before.nodes) {
    if (!CpusOf(node).Intersects(missing)) continue;
    auto here = std::ranges::find(now.nodes, node.id, &NumaNode::id);
    if (here == now.nodes.end()) {
      NumaNode gone{.id = node.id};
      here = now.nodes.insert(
          std::ranges::find_if(
              now.nodes,
              [&](const NumaNode& other) { return std::to_string(Raw(other.id)) > std::to_string(Raw(node.id)); }),
          std::move(gone));
    }
    if (CpusOf(*here) == CpusOf(node) - missing)
      here->cores = node.cores;  // nothing came: everything is as it was, in the same order
    else
      AddCores(*here, node, missing);
  }
  if (now.nodes.size() != seen.nodes.size()) JoinDistances(now, seen, before);
  JoinCaches(now, before, missing);
  now.online |= missing;
  now.present |= missing;
  now.reported_cpus += missing.Count();
  now.reported_cores = 0;
  for (const NumaNode& node : now.nodes) now.reported_cores += static_cast<int>(node.cores.size());
  now.reported_sockets = std::max(now.reported_sockets, before.reported_sockets);
  return now;
}

MachineChange DescribeChange(const Machine& before, const Machine& after) {
  MachineChange out;
  std::vector<std::string> parts;
  if (const CpuSet came = UsableCpus(after) - UsableCpus(before); !came.empty())
    parts.push_back("CPUs " + FormatIds(came) + " joined");
  if (const CpuSet went = UsableCpus(before) - UsableCpus(after); !went.empty()) {
    parts.push_back("CPUs " + FormatIds(went) + " are gone");
    out.loses = true;
  }
  if (const NodeSet came = NodeIds(after) - NodeIds(before); !came.empty())
    parts.push_back("NUMA nodes " + FormatIds(came) + " joined");
  if (const NodeSet went = NodeIds(before) - NodeIds(after); !went.empty()) {
    parts.push_back("NUMA nodes " + FormatIds(went) + " are gone");
    out.loses = true;
  }
  const auto was = MemoryOf(before);
  const auto is = MemoryOf(after);
  for (const NumaId id : NodeIds(before) | NodeIds(after))
    DescribeNode(id, was.contains(id) ? &was.at(id) : nullptr, is.contains(id) ? &is.at(id) : nullptr, parts,
                 out.loses);
  if (parts.empty() && before.memory != after.memory) {
    parts.push_back("the machine has " + SizeText(after.memory) + " of memory (was " + SizeText(before.memory) + ")");
    out.loses = after.memory < before.memory;
  }
  out.text = Join(parts, "; ");
  return out;
}

}  // namespace berth
