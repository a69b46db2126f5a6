#include "engine/memory/memory_fit.h"

#include <algorithm>

#include "engine/align/cover.h"

namespace berth::engine {
namespace {

/// A type that a node (or the whole machine) does not have counts as none of it: the kubelet crashes there.
std::vector<Need> Gather(const PodBooks& books, const std::vector<MemoryNeed>& needs, Bytes MemoryTable::* field) {
  std::vector<Need> out;
  const std::size_t nodes = books.tables->nodes.size();
  out.reserve(needs.size());
  for (const MemoryNeed& need : needs) {
    Need& row = out.emplace_back(Need{.amount = need.bytes, .on = std::vector<std::int64_t>(nodes)});
    const auto type = books.memory.layout().Find(need.type);
    if (!type) continue;
    for (std::size_t node = 0; node < nodes; ++node) row.on[node] = (books.memory.Table(node, *type).*field).v;
  }
  return out;
}

}  // namespace

MemoryFit::MemoryFit(const PodBooks& books, const std::vector<MemoryNeed>& needs)
    : books_(books),
      needs_(needs),
      allocatable_(Gather(books, needs, &MemoryTable::allocatable)),
      free_(Gather(books, needs, &MemoryTable::free)),
      all_(books.tables->nodes.all()) {
  particular_.reserve(2 * books.tables->nodes.size() + books.reusable_memory.size());
  for (std::size_t node = 0; node < books.tables->nodes.size(); ++node) {
    particular_.push_back(Mask::Of(node));
    if (books.memory.Assignments(node) == 0) {
      unused_.Add(node);
    } else {
      particular_.push_back(books.memory.Cells(node));
    }
  }
  for (const ReusableMemory& entry : books.reusable_memory) particular_.push_back(entry.nodes);
  std::sort(particular_.begin(), particular_.end());
  particular_.erase(std::unique(particular_.begin(), particular_.end()), particular_.end());
  // Oddity: what would be enough is measured by allocatable memory, taken or not, so that on a full node no hint may be
  // preferred at all.
  const std::optional<Mask> mask = Narrowest(allocatable_, all_, {}, 1);
  narrowest_ = mask ? mask->Count() : all_.Count();
}

bool MemoryFit::Enough(const std::vector<Need>& needs, const Mask& mask) {
  return std::all_of(needs.begin(), needs.end(), [&](const Need& need) { return need.Of(mask) >= need.amount; });
}

std::optional<Mask> MemoryFit::Narrowest(const std::vector<Need>& needs, const Mask& allowed, const Mask& required,
                                         int least) const {
  if (!Enough(needs, allowed)) return std::nullopt;
  Steps steps = Steps::For(allowed);
  Cover::Request request{.allowed = allowed, .must = required};
  for (const Need& need : needs) request.needs.push_back(&need);
  Cover cover(request, steps);
  std::optional<Mask> out = cover.Fewest(std::max(least, required.Count()));
  if (!steps.Exceeded()) return out;
  exact_ = false;
  return cover.Shrunk(std::max(least, required.Count()));
}

bool MemoryFit::Free(const PodBooks& books, const std::vector<MemoryNeed>& needs, const Mask& mask) {
  return std::all_of(needs.begin(), needs.end(), [&](const MemoryNeed& need) {
    const auto type = books.memory.layout().Find(need.type);
    std::int64_t free = 0;
    if (type) mask.ForEach([&](std::size_t node) { free += books.memory.Table(node, *type).free.v; });
    return free >= need.bytes;
  });
}

bool MemoryFit::Violates(const PodBooks& books, const Mask& mask) {
  if (mask.Count() < 2) return false;
  bool violates = false;
  mask.ForEach([&](std::size_t node) {
    const Mask& cells = books.memory.Cells(node);
    if (books.memory.Assignments(node) > 0 && (cells.Count() == 1 || cells != mask)) violates = true;
  });
  return violates;
}

bool MemoryFit::FreeWithReuse(const Mask& mask) const {
  for (std::size_t i = 0; i < needs_.size(); ++i)
    if (books_.ReusableBytes(mask, needs_[i].type) + free_[i].Of(mask) < needs_[i].bytes) return false;
  return true;
}

bool MemoryFit::Admissible(const Mask& mask) const {
  if (mask.empty() || !Enough(allocatable_, mask) || Violates(books_, mask)) return false;
  if (mask.Count() == 1 && books_.memory.Cells(mask.First()).Count() > 1) return false;
  return FreeWithReuse(mask);
}

// A set of several nodes with a used one in it must be exactly that node's group; all others have unused nodes only.
// What is free on unused nodes is allocatable there, so one look is enough for those.
HintList MemoryFit::All() const {
  HintList out;
  for (const Mask& mask : particular_)
    if (Admissible(mask)) out.hints.push_back(ToHint(mask));
  HintFamily several{.family = {.universe = unused_, .must = {}, .needs = free_}, .preferred_count = narrowest_};
  several.family.needs.push_back({.amount = 2, .on = std::vector<std::int64_t>(books_.tables->nodes.size(), 1)});
  if (!several.family.Impossible()) out.family = std::move(several);
  if (out.family || !out.hints.empty()) out.kind = HintList::Kind::kHints;
  out.exact = exact_;
  return out;
}

// Preferred sets are the ones of the least possible size, so the narrowest set is the best one.
std::optional<MaskHint> MemoryFit::Best(const Mask& required) const {
  std::optional<Mask> best;
  for (const Mask& mask : particular_)
    if (required.Within(mask) && (!best || Narrower(mask, *best)) && Admissible(mask)) best = mask;
  const std::optional<Mask> unused = required.Within(unused_) ? Narrowest(free_, unused_, required, 2) : std::nullopt;
  if (unused && (!best || Narrower(*unused, *best))) best = unused;
  if (!best) return std::nullopt;
  return ToHint(*best);
}

}  // namespace berth::engine
