#include "engine/memory/fit.h"

#include <algorithm>

namespace berth::engine {
namespace {

/// A type that a node (or the whole machine) does not have counts as none of it: the kubelet crashes there (W-M1).
Amounts Gather(const Books& books, const std::vector<MemoryNeed>& needs, Bytes MemoryTable::* field) {
  Amounts out;
  const std::size_t nodes = books.tables->nodes.size();
  for (const MemoryNeed& need : needs) {
    std::vector<std::int64_t>& row = out.amounts.emplace_back(nodes);
    out.needs.push_back(need.bytes);
    const auto type = books.memory.layout().Find(need.type);
    if (!type) continue;
    for (std::size_t node = 0; node < nodes; ++node) row[node] = (books.memory.Table(node, *type).*field).v;
  }
  return out;
}

}  // namespace

MemoryFit::MemoryFit(const Books& books, const std::vector<MemoryNeed>& needs)
    : books_(books),
      needs_(needs),
      allocatable_(Gather(books, needs, &MemoryTable::allocatable)),
      free_(Gather(books, needs, &MemoryTable::free)),
      all_(books.tables->nodes.all()) {
  for (std::size_t node = 0; node < books.tables->nodes.size(); ++node) {
    particular_.push_back(Mask{1} << node);
    if (books.memory.Assignments(node) == 0) {
      unused_ |= Mask{1} << node;
    } else {
      particular_.push_back(books.memory.Cells(node));
    }
  }
  for (const ReusableMemory& entry : books.reusable_memory) particular_.push_back(entry.nodes);
  std::sort(particular_.begin(), particular_.end());
  particular_.erase(std::unique(particular_.begin(), particular_.end()), particular_.end());
  // Oddity: what would be enough is measured by allocatable memory, taken or not, so that on a full node no hint may be
  // preferred at all.
  const std::optional<Mask> mask = NarrowestEnough(allocatable_, all_, 0, 1);
  narrowest_ = mask ? CountOf(*mask) : CountOf(all_);
}

bool MemoryFit::Violates(Mask mask) const {
  if (CountOf(mask) < 2) return false;
  bool violates = false;
  ForEachBit(mask, [&](std::size_t node) {
    const Mask cells = books_.memory.Cells(node);
    if (books_.memory.Assignments(node) > 0 && (CountOf(cells) == 1 || cells != mask)) violates = true;
  });
  return violates;
}

bool MemoryFit::FreeWithReuse(Mask mask) const {
  for (std::size_t i = 0; i < needs_.size(); ++i) {
    std::int64_t sum = books_.ReusableBytes(mask, needs_[i].type);
    ForEachBit(mask, [&](std::size_t node) { sum += free_.amounts[i][node]; });
    if (sum < needs_[i].bytes) return false;
  }
  return true;
}

bool MemoryFit::Admissible(Mask mask) const {
  if (mask == 0 || !allocatable_.Enough(mask) || Violates(mask)) return false;
  if (CountOf(mask) == 1 && CountOf(books_.memory.Cells(static_cast<std::size_t>(std::countr_zero(mask)))) > 1)
    return false;
  return FreeWithReuse(mask);
}

// A set of several nodes with a used one in it must be exactly that node's group; all others have unused nodes only.
std::vector<MaskHint> MemoryFit::All() const {
  std::vector<MaskHint> out;
  for (Mask mask : particular_)
    if (Admissible(mask)) out.push_back(ToHint(mask));
  for (Mask mask = unused_; mask != 0; mask = (mask - 1) & unused_)
    if (CountOf(mask) > 1 && !std::binary_search(particular_.begin(), particular_.end(), mask) && Admissible(mask))
      out.push_back(ToHint(mask));
  return out;
}

// Preferred sets are the ones of the least possible size, so the narrowest set is the best one.
std::optional<MaskHint> MemoryFit::Best(Mask required) const {
  std::optional<Mask> best;
  for (Mask mask : particular_)
    if ((required & ~mask) == 0 && (!best || Narrower(mask, *best)) && Admissible(mask)) best = mask;
  const std::optional<Mask> unused = NarrowestEnough(free_, unused_, required, 2);
  if (unused && (!best || Narrower(*unused, *best))) best = unused;
  if (!best) return std::nullopt;
  return ToHint(*best);
}

}  // namespace berth::engine
