#include "host/cgroup/cpu_move.h"

#include <algorithm>

namespace berth::cgroup {

// ---- the plan ------------------------------------------------------------------------------------------------------

Result<CpuMove> CpuMove::Plan(const std::vector<std::pair<std::string, CpuSet>>& wanted,
                              std::map<std::string, CpuSet> known) {
  std::map<std::string, CpuSet> all;
  for (const auto& [path, cpus] : wanted) {
    if (cpus.empty()) return Fail(Code::kInvalid, "cgroup " + path + " cannot have an empty CPU set");
    const auto [it, added] = all.emplace(path, cpus);
    if (!added && it->second != cpus) return Fail(Code::kInvalid, "cgroup " + path + " is asked for two CPU sets");
  }
  for (const auto& [path, cpus] : all) {
    const std::string prefix = path.empty() ? "" : path + "/";
    for (auto below = all.lower_bound(prefix); below != all.end() && below->first.starts_with(prefix); ++below)
      if (below->first != path && !below->second.IsSubsetOf(cpus))
        return Fail(Code::kInvalid, "cgroup " + below->first + " cannot have CPUs " + FormatIds(below->second) +
                                        " below " + path + " with " + FormatIds(cpus));
  }
  std::erase_if(known, [&](const auto& set) { return !all.contains(set.first); });
  return CpuMove(std::move(all), std::move(known));
}

bool CpuMove::IsUpper(const std::string& path) const {
  const std::string prefix = path.empty() ? "" : path + "/";
  const auto below = wanted_.upper_bound(path.empty() ? path : prefix);
  return below != wanted_.end() && below->first.starts_with(prefix);
}

// ---- the stages ----------------------------------------------------------------------------------------------------

Result<bool> CpuMove::Work(Tree& tree, const os::Slice& slice) {
  while (stage_ != Stage::kDone) {
    BERTH_TRY(const bool finished, Step(tree, slice));
    if (!finished) return false;
    stage_ = static_cast<Stage>(static_cast<int>(stage_) + 1);
    next_ = 0;
  }
  return true;
}

/// False: the slice is over, and the stage is not.
Result<bool> CpuMove::Step(Tree& tree, const os::Slice& slice) {
  switch (stage_) {
    case Stage::kRead: return Read(tree, slice);
    case Stage::kGrow:
    case Stage::kShrink: return SetUppers(tree, slice);
    case Stage::kTakeFree: {
      BERTH_TRY(const Pass pass, Take(tree, false, slice));
      return pass != Pass::kSliceOver;
    }
    case Stage::kGiveUp: {
      BERTH_TRY(const Pass pass, GiveUp(tree, slice));
      return pass != Pass::kSliceOver;
    }
    case Stage::kExchange: return Exchange(tree, slice);
    case Stage::kDone: return true;
  }
  return true;
}

Result<bool> CpuMove::Read(Tree& tree, const os::Slice& slice) {
  auto next = next_ == 0 ? wanted_.begin() : wanted_.upper_bound(read_to_);
  for (; next != wanted_.end(); ++next) {
    const auto known = known_.find(next->first);
    const auto now = known == known_.end() ? tree.ReadCpus(next->first) : Result<CpuSet>(known->second);
    if (!now && now.error().code != Code::kNotFound) return std::unexpected(now.error());
    if (now)
      (IsUpper(next->first) ? uppers_ : leaves_).push_back({.path = next->first, .want = next->second, .now = *now});
    read_to_ = next->first;
    ++next_;
    if (known == known_.end() && slice.over() && next_ < wanted_.size()) return false;
  }
  for (const Set& leaf : leaves_) involved_ |= leaf.want | leaf.now;
  return true;
}

void CpuMove::TellLeaves(std::map<std::string, CpuSet>& known) const {
  for (const Set& leaf : leaves_)
    if (!leaf.want.empty() && !leaf.unsure) known.emplace(leaf.path, leaf.now);
  known.insert(known_.begin(), known_.end());
}

/// They grow from the top and shrink from the bottom.
Result<bool> CpuMove::SetUppers(Tree& tree, const os::Slice& slice) {
  const bool grow = stage_ == Stage::kGrow;
  while (next_ < uppers_.size()) {
    Set& upper = grow ? uppers_[next_] : uppers_[uppers_.size() - 1 - next_];
    if (!grow || !upper.want.IsSubsetOf(upper.now)) {
      CgroupValues values;
      values.cpus = grow ? upper.now | upper.want : upper.want;
      BERTH_TRY(const int writes, tree.Write(upper.path, values));
      writes_ += writes;
    }
    ++next_;
    if (slice.over()) return next_ == uppers_.size();
  }
  return true;
}

// ---- leaves --------------------------------------------------------------------------------------------------------

Result<void> CpuMove::Write(Tree& tree, Set& set, const CpuSet& cpus) {
  if (set.now == cpus) return {};
  CgroupValues values;
  values.cpus = cpus;
  auto done = tree.Write(set.path, values);
  if (done) {
    writes_ += *done;
    set.now = cpus;
    set.unsure = false;
    return {};
  }
  if (done.error().code != Code::kNotFound) {
    set.unsure = true;
    known_.erase(set.path);
    return std::unexpected(std::move(done).error());
  }
  set.now = set.want = CpuSet();  // ended meanwhile
  return {};
}

Result<CpuMove::Pass> CpuMove::GiveUp(Tree& tree, const os::Slice& slice) {
  for (Set& leaf : leaves_) {
    const CpuSet keep = leaf.now & leaf.want;
    if (keep.empty() || keep == leaf.now) continue;
    BERTH_RETURN_IF_ERROR(Write(tree, leaf, keep));
    if (slice.over()) return Pass::kSliceOver;
  }
  return Pass::kNothing;
}

CpuSet CpuMove::Surplus() const {
  CpuSet surplus;
  for (const Set& leaf : leaves_) surplus |= leaf.Surplus();
  return surplus;
}

CpuSet CpuMove::Held() const {
  CpuSet held;
  for (const Set& leaf : leaves_) held |= leaf.now;
  return held;
}

/// Whether any leaf moved. A leaf's own surplus is no part of what it wants, so one union serves all. Begun anew after
/// a slice it comes to the same: leaves that are done are passed over.
Result<CpuMove::Pass> CpuMove::Take(Tree& tree, bool also_parts, const os::Slice& slice) {
  bool moved = false;
  CpuSet surplus = Surplus();
  for (Set& leaf : leaves_) {
    if (leaf.Done()) continue;
    const CpuSet free = leaf.want - surplus;
    const bool blocks = !leaf.Surplus().empty();
    if (free != leaf.want && (!also_parts || !blocks || free.empty())) continue;
    BERTH_RETURN_IF_ERROR(Write(tree, leaf, free));
    moved = true;
    if (slice.over()) return Pass::kSliceOver;
    if (blocks) surplus = Surplus();
  }
  return moved ? Pass::kMoved : Pass::kNothing;
}

Result<bool> CpuMove::Exchange(Tree& tree, const os::Slice& slice) {
  for (;;) {
    if (!spare_) {
      BERTH_TRY(const Pass pass, Take(tree, true, slice));
      if (pass == Pass::kSliceOver) return false;
      if (pass == Pass::kMoved) continue;
    }
    const auto open = std::ranges::find_if(leaves_, [](const Set& leaf) { return !leaf.Done(); });
    if (open == leaves_.end()) return true;
    bool broken = false;
    if (spare_ || parked_++ <= leaves_.size()) {
      BERTH_TRY(broken, BreakCircle(tree));
    }
    if (!broken)
      return Fail(Code::kBusy, "cgroup " + open->path + " cannot get CPUs " + FormatIds(open->want) +
                                   " without sharing them on the way with the cgroups that have them now");
  }
}

std::optional<CpuId> CpuMove::LendableCpu() const {
  std::optional<CpuId> best;
  std::size_t fewest = leaves_.size() + 1;
  for (const CpuId cpu : involved_) {
    std::size_t holders = 0;
    bool lendable = true;
    for (const Set& leaf : leaves_) {
      if (!leaf.now.Contains(cpu)) continue;
      ++holders;
      lendable = lendable && leaf.now.Count() > 1;
    }
    if (lendable && holders < fewest) best = cpu, fewest = holders;
  }
  return best;
}

/// Not interrupted by anything but an error, and gone on with after one: who has lent a CPU would take it back. false:
/// no way without an overlap.
Result<bool> CpuMove::BreakCircle(Tree& tree) {
  const auto stuck = std::ranges::find_if(leaves_, [](const Set& leaf) { return !leaf.Surplus().empty(); });
  if (stuck == leaves_.end()) return false;
  if (!spare_) spare_ = (involved_ - Held()).First();
  if (!spare_) spare_ = LendableCpu();
  if (!spare_) return false;
  const CpuSet spare{*spare_};
  for (Set& leaf : leaves_)
    if (leaf.now.Intersects(spare)) BERTH_RETURN_IF_ERROR(Write(tree, leaf, leaf.now - spare));
  BERTH_RETURN_IF_ERROR(Write(tree, *stuck, spare));
  spare_.reset();
  return true;
}

// ---- at once -------------------------------------------------------------------------------------------------------

Result<int> ApplyCpus(Tree& tree, const std::vector<std::pair<std::string, CpuSet>>& wanted) {
  BERTH_TRY(CpuMove move, CpuMove::Plan(wanted));
  BERTH_TRY([[maybe_unused]] const bool done, move.Work(tree, os::Slice()));
  return move.writes();
}

}  // namespace berth::cgroup
