#include "allocator/memory_manager/memory_fit.h"

#include <algorithm>
#include <utility>

#include "allocator/topology_manager/cover.h"

namespace berth::allocator {
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

/// Nodes up to which every set is looked at by its room; on more, those of several nodes by what is free.
constexpr int kNodesOfEverySet = 8;

bool Overlap(const PodBooks& books) { return books.tables->options.memory_groups_overlap; }

MemoryRoom RoomOf(const PodBooks& books, std::vector<std::vector<HeldMemory>> held, std::size_t type) {
  return MemoryRoom(std::move(held[type]), books.memory.Capacity(type));
}

/// Of a type that no node has: no room.
std::vector<MemoryRoom> RoomsFor(const PodBooks& books, const std::vector<MemoryNeed>& needs) {
  const std::vector<std::vector<HeldMemory>> held = AllHeldMemory(books, books.record);
  std::vector<MemoryRoom> out;
  for (const MemoryNeed& need : needs) {
    const auto type = books.memory.layout().Find(need.type);
    out.push_back(type ? RoomOf(books, held, *type)
                       : MemoryRoom({}, std::vector<std::int64_t>(books.tables->nodes.size())));
  }
  return out;
}

}  // namespace

std::vector<std::vector<HeldMemory>> AllHeldMemory(const PodBooks& books, const PodRecord& record) {
  const MemoryLayout& layout = books.memory.layout();
  std::vector<std::vector<HeldMemory>> out(layout.types().size());
  const auto add = [&](const PodRecord& pod) {
    for (const Placement& placement : pod.placements) {
      if (!placement.memory) continue;
      for (const MemoryBlock& block : *placement.memory) {
        const auto type = layout.Find(block.type);
        if (!type) continue;
        const Mask nodes = books.tables->nodes.ToMask(block.nodes);
        const auto known = std::ranges::find(out[*type], nodes, &HeldMemory::nodes);
        if (known == out[*type].end())
          out[*type].push_back({nodes, block.size.v});
        else
          known->bytes += block.size.v;
      }
    }
  };
  for (const auto& [uid, pod] : books.ledger->pods)
    if (uid != record.uid) add(pod);
  add(record);
  return out;
}

TypeRoom::TypeRoom(const PodBooks& books, std::string_view type)
    : books_(books), type_(books.memory.layout().Find(type)) {
  if (type_ && Overlap(books)) beside_ = RoomOf(books, AllHeldMemory(books, books.record), *type_);
}

std::int64_t TypeRoom::On(const Mask& mask) const {
  if (beside_) return beside_->On(mask);
  std::int64_t free = 0;
  if (type_) mask.ForEach([&](std::size_t node) { free += books_.memory.Table(node, *type_).free.v; });
  return free;
}

MemoryFit::MemoryFit(const PodBooks& books, const std::vector<MemoryNeed>& needs)
    : books_(books),
      needs_(needs),
      allocatable_(Gather(books, needs, &MemoryTable::allocatable)),
      free_(Gather(books, needs, &MemoryTable::free)),
      all_(books.rules.nodes.empty() ? books.tables->nodes.all() : books.rules.nodes) {
  if (Overlap(books)) {
    open_ = all_;
    rooms_ = RoomsFor(books, needs);
  }
  AddParticular();
  // Oddity: what would be enough is measured by allocatable memory, taken or not, so that on a full node no hint may be
  // preferred at all.
  const std::optional<Mask> mask = Narrowest(allocatable_, all_, {}, 1);
  narrowest_ = mask ? mask->Count() : all_.Count();
  if (!books.tables->options.judge_by_free_memory) return;
  if (const auto best = Best({})) narrowest_ = best->mask.Count();  // rules/memory#by-what-is-free
}

/// Singles, groups and sets with something to reuse; where groups may overlap and nodes are few, every set.
void MemoryFit::AddParticular() {
  if (Overlap(books_) && all_.Count() <= kNodesOfEverySet) {
    ForEachSubset(all_, [&](const Mask& mask) {
      particular_.push_back(mask);
      return true;
    });
    return;
  }
  particular_.reserve(2 * books_.tables->nodes.size() + books_.reusable_memory.size());
  all_.ForEach([&](std::size_t node) {
    particular_.push_back(Mask::Of(node));
    if (books_.memory.Assignments(node) > 0)
      particular_.push_back(books_.memory.Cells(node));
    else
      open_.Add(node);
  });
  for (const ReusableMemory& entry : books_.reusable_memory) particular_.push_back(entry.nodes);
  std::erase_if(particular_, [&](const Mask& mask) { return !mask.Within(all_); });
  std::sort(particular_.begin(), particular_.end());
  particular_.erase(std::unique(particular_.begin(), particular_.end()), particular_.end());
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
  return std::all_of(needs.begin(), needs.end(),
                     [&](const MemoryNeed& need) { return TypeRoom(books, need.type).On(mask) >= need.bytes; });
}

bool MemoryFit::Violates(const PodBooks& books, const Mask& mask) {
  if (mask.Count() < 2 || Overlap(books)) return false;
  bool violates = false;
  mask.ForEach([&](std::size_t node) {
    const Mask& cells = books.memory.Cells(node);
    if (books.memory.Assignments(node) > 0 && (cells.Count() == 1 || cells != mask)) violates = true;
  });
  return violates;
}

bool MemoryFit::FreeWithReuse(const Mask& mask) const {
  for (std::size_t i = 0; i < needs_.size(); ++i) {
    const std::int64_t missing = needs_[i].bytes - books_.ReusableBytes(mask, needs_[i].type) - free_[i].Of(mask);
    // What others can make room for is seldom asked: mostly enough is free.
    if (missing > 0 && (rooms_.empty() || rooms_[i].On(mask) < missing + free_[i].Of(mask))) return false;
  }
  return true;
}

bool MemoryFit::Admissible(const Mask& mask) const {
  if (mask.empty() || !Enough(allocatable_, mask) || Violates(books_, mask)) return false;
  if (rooms_.empty() && mask.Count() == 1 && books_.memory.Cells(mask.First()).Count() > 1) return false;
  return FreeWithReuse(mask);
}

/// What is free is allocatable there, so one look is enough for these.
HintFamily MemoryFit::Several() const {
  HintFamily out{.family = {.universe = open_, .must = {}, .needs = free_}, .preferred_count = narrowest_};
  out.family.needs.push_back({.amount = 2, .on = std::vector<std::int64_t>(books_.tables->nodes.size(), 1)});
  return out;
}

// By the kubelet's rule a set of several nodes with a used one in it must be exactly that node's group; all others have
// unused nodes only.
HintList MemoryFit::All() const {
  HintList out;
  HintFamily several = Several();
  for (const Mask& mask : particular_)
    if (Admissible(mask) && !several.Contains(mask)) out.hints.push_back(ToHint(mask));
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
  const std::optional<Mask> several = required.Within(open_) ? Narrowest(free_, open_, required, 2) : std::nullopt;
  if (several && (!best || Narrower(*several, *best))) best = several;
  if (!best) return std::nullopt;
  return ToHint(*best);
}

}  // namespace berth::allocator
