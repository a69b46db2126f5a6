#include "allocator/memory_manager/memory_policy.h"

#include <algorithm>
#include <string>
#include <utility>

#include "allocator/memory_manager/memory_fit.h"
#include "allocator/reason/failure.h"

namespace berth::allocator {
namespace {

constexpr std::string_view kPrefix = "[memorymanager] ";

/// The set of nodes to book on, or why there is none (rules/memory#allocation).
struct Target {
  Mask mask;
  std::string error;
};

Target NoTarget(std::string_view error) { return {{}, std::string(kPrefix) + std::string(error)}; }

Target ChooseNodes(const PodBooks& books, const std::vector<MemoryNeed>& needs, const MaskHint& hint) {
  MaskHint best = hint;
  if (const Mask& only = books.rules.nodes; !hint.any && !only.empty()) {  // other resources may want others too
    best.mask = hint.mask & only;
    if (best.mask.empty()) best = {.mask = {}, .any = true, .preferred = false};
  }
  if (best.any || !MemoryFit::Free(books, needs, best.mask)) {
    const MemoryFit fit(books, needs);
    if (best.any) {
      const auto found = fit.Best({});
      if (!found)
        return NoTarget("failed to get the default NUMA affinity, no NUMA nodes with enough memory is available");
      if (best.preferred && !found->preferred) return NoTarget("failed to find the default preferred hint");
      best = *found;
    }
    if (!MemoryFit::Free(books, needs, best.mask)) {
      const auto wider = fit.Best(best.mask);
      if (!wider) return NoTarget("failed to find NUMA nodes to extend the current topology hint");
      if (best.preferred && !wider->preferred) return NoTarget("failed to find the extended preferred hint");
      best = *wider;
    }
  }
  if (MemoryFit::Violates(books, best.mask)) return NoTarget("preferred hint violates NUMA node allocation");
  return {best.mask, ""};
}

/// Init containers leave the most they had; later containers use it up, on exactly the same nodes
/// (rules/memory#init-reuse).
void UpdateReuse(PodBooks& books, ContainerKind kind, Mask mask, const MemoryNeed& need) {
  std::vector<ReusableMemory>& entries = books.reusable_memory;
  auto entry = std::find_if(entries.begin(), entries.end(),
                            [&](const ReusableMemory& e) { return e.nodes == mask && e.type == need.type; });
  if (entry == entries.end()) entry = entries.insert(entry, {mask, need.type, 0});
  if (kind == ContainerKind::kInit) {
    entry->bytes = std::max(entry->bytes, need.bytes);
  } else {
    entry->bytes = std::max<std::int64_t>(0, entry->bytes - need.bytes);
  }
}

/// What a later container takes over no longer counts as an init container's, so that the blocks of a pod add up to
/// what is booked (rules/memory#init-reuse).
void ShrinkInitBlocks(PodRecord& record, const NodeSet& nodes, const MemoryNeed& need) {
  std::int64_t left = need.bytes;
  for (Placement& earlier : record.placements) {
    if (left == 0) return;
    if (earlier.kind != ContainerKind::kInit || !earlier.memory) continue;
    for (MemoryBlock& block : *earlier.memory) {
      if (block.type != need.type || block.nodes != nodes) continue;
      const std::int64_t part = std::min(block.size.v, left);
      block.size -= Bytes{part};
      left -= part;
    }
  }
}

std::string BookedText(const NodeIndex& nodes, Mask mask, const MemoryNeed& need, std::int64_t reused) {
  std::string out = BytesText(need.bytes) + " booked on " + NodesText(nodes, mask);
  if (reused > 0) out += " (" + BytesText(reused) + " of it left by an init container)";
  return out;
}

}  // namespace

HintList MemoryHints(const PodBooks& books, const std::vector<MemoryNeed>& needs) {
  HintList out = MemoryFit(books, needs).All();
  out.resources.reserve(needs.size());
  for (const MemoryNeed& need : needs) out.resources.push_back(need.type);
  return out;
}

std::optional<Reject> AllocateMemory(PodBooks& books, const ContainerDemand& demand, const MaskHint& hint,
                                     Placement& placement, const DecisionLog& log) {
  if (demand.memory.empty()) return std::nullopt;
  const std::string& name = demand.container->name;
  const Target target = ChooseNodes(books, demand.memory, hint);
  if (!target.error.empty()) return Unexpected(name, target.error);
  const NodeIndex& nodes = books.tables->nodes;
  const NodeSet group = nodes.ToNodes(target.mask);
  placement.memory.emplace();
  for (const MemoryNeed& need : demand.memory) {
    const std::int64_t reused = std::min(need.bytes, books.ReusableBytes(target.mask, need.type));
    books.memory.Book(target.mask, books.memory.layout().Find(need.type), need.bytes - reused);
    UpdateReuse(books, demand.kind, target.mask, need);
    ShrinkInitBlocks(books.record, group, need);
    placement.memory->push_back({group, need.type, {need.bytes}});
    if (log) log.Add("allocate", name, need.type, BookedText(nodes, target.mask, need, reused));
  }
  return std::nullopt;
}

void ReleaseMemory(PodBooks& books, const Placement& placement) {
  if (!placement.memory) return;
  for (const MemoryBlock& block : *placement.memory)
    books.memory.Release(books.tables->nodes.ToMask(block.nodes), books.memory.layout().Find(block.type), block.size.v);
}

void SettleMemory(PodBooks& books, const PodRecord& record) {
  const std::vector<std::vector<HeldMemory>> held = AllHeldMemory(books, record);
  for (std::size_t type = 0; type < held.size(); ++type) books.memory.Settle(type, held[type]);
}

void SettleOverlapping(PodBooks& books, const PodRecord& record) {
  if (books.tables->options.memory_groups_overlap && books.tables->StaticMemory()) SettleMemory(books, record);
}

}  // namespace berth::allocator
