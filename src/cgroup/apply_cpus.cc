// Moves many cpusets from what they are to what they shall be, one write at a time, with no overlap on the way.
//
// Leaves (sets with none of the wanted ones below them) hold processes. A leaf is finished when it has its wanted set;
// it blocks others while it holds CPUs beyond that. The rules:
//   0. A leaf whose wanted set is free takes it at once.
//   1. Every leaf gives up what it may not keep, as long as something wanted remains.
//   2. A leaf takes its wanted set once nobody holds a part of it that he must give up; a leaf that has nothing wanted
//      yet already takes the free part, because that frees all it had.
//   3. When neither helps, leaves wait for each other in a circle. One of them is parked on a CPU nobody has, for which
//   a
//      leaf with several CPUs lends one if need be.
// Sets above leaves hold no processes: they grow before everything else and shrink after it.
#include <algorithm>
#include <map>
#include <string_view>

#include "cgroup/cgroup.h"

namespace berth::cgroup {
namespace {

struct Leaf {
  const std::string* path = nullptr;
  CpuSet want;
  CpuSet now;
  CpuSet Surplus() const { return now - want; }
  bool Done() const { return now == want; }
};

class Exchange {
 public:
  Exchange(Tree& tree, std::vector<Leaf> leaves) : tree_(tree), leaves_(std::move(leaves)) {
    for (const Leaf& leaf : leaves_) involved_ |= leaf.want | leaf.now;
  }

  Result<void> Run();
  int writes() const { return writes_; }

 private:
  Result<void> Set(Leaf& leaf, const CpuSet& cpus);
  Result<void> GiveUp();
  Result<bool> Take(bool also_parts);
  Result<bool> BreakCircle();
  CpuSet Held() const;
  /// All that leaves still have to give up.
  CpuSet Surplus() const;
  /// The CPU whose loan costs the fewest writes; nullopt when each CPU is somebody's only one.
  std::optional<CpuId> LendableCpu() const;

  Tree& tree_;
  std::vector<Leaf> leaves_;
  CpuSet involved_;
  int writes_ = 0;
};

Result<void> Exchange::Set(Leaf& leaf, const CpuSet& cpus) {
  if (leaf.now == cpus) return {};
  CgroupValues values;
  values.cpus = cpus;
  auto done = tree_.Write(*leaf.path, values);
  if (done) {
    writes_ += *done;
    leaf.now = cpus;
    return {};
  }
  if (done.error().code != Code::kNotFound) return std::unexpected(std::move(done).error());
  leaf.now = leaf.want = CpuSet();  // ended meanwhile
  return {};
}

Result<void> Exchange::GiveUp() {
  for (Leaf& leaf : leaves_) {
    const CpuSet keep = leaf.now & leaf.want;
    if (!keep.empty()) BERTH_RETURN_IF_ERROR(Set(leaf, keep));
  }
  return {};
}

CpuSet Exchange::Surplus() const {
  CpuSet surplus;
  for (const Leaf& leaf : leaves_) surplus |= leaf.Surplus();
  return surplus;
}

CpuSet Exchange::Held() const {
  CpuSet held;
  for (const Leaf& leaf : leaves_) held |= leaf.now;
  return held;
}

/// Whether any leaf moved. A leaf's own surplus is no part of what it wants, so one union serves all.
Result<bool> Exchange::Take(bool also_parts) {
  bool moved = false;
  CpuSet surplus = Surplus();
  for (Leaf& leaf : leaves_) {
    if (leaf.Done()) continue;
    const CpuSet free = leaf.want - surplus;
    const bool blocks = !leaf.Surplus().empty();
    if (free != leaf.want && (!also_parts || !blocks || free.empty())) continue;
    BERTH_RETURN_IF_ERROR(Set(leaf, free));
    moved = true;
    if (blocks) surplus = Surplus();
  }
  return moved;
}

std::optional<CpuId> Exchange::LendableCpu() const {
  std::optional<CpuId> best;
  std::size_t fewest = leaves_.size() + 1;
  for (const CpuId cpu : involved_) {
    std::size_t holders = 0;
    bool lendable = true;
    for (const Leaf& leaf : leaves_) {
      if (!leaf.now.Contains(cpu)) continue;
      ++holders;
      lendable = lendable && leaf.now.Count() > 1;
    }
    if (lendable && holders < fewest) best = cpu, fewest = holders;
  }
  return best;
}

/// false: no way without an overlap.
Result<bool> Exchange::BreakCircle() {
  const auto stuck = std::find_if(leaves_.begin(), leaves_.end(), [](const Leaf& l) { return !l.Surplus().empty(); });
  if (stuck == leaves_.end()) return false;
  std::optional<CpuId> spare = (involved_ - Held()).First();
  if (!spare) {
    spare = LendableCpu();
    if (!spare) return false;
    for (Leaf& leaf : leaves_) {
      if (!leaf.now.Contains(*spare)) continue;
      BERTH_RETURN_IF_ERROR(Set(leaf, leaf.now - CpuSet{*spare}));
    }
  }
  BERTH_RETURN_IF_ERROR(Set(*stuck, CpuSet{*spare}));
  return true;
}

Result<void> Exchange::Run() {
  BERTH_TRY([[maybe_unused]] const bool at_once, Take(false));
  BERTH_RETURN_IF_ERROR(GiveUp());
  for (std::size_t parked = 0;;) {
    BERTH_TRY(const bool moved, Take(true));
    if (moved) continue;
    const auto open = std::find_if(leaves_.begin(), leaves_.end(), [](const Leaf& l) { return !l.Done(); });
    if (open == leaves_.end()) return {};
    bool broken = false;
    if (parked++ <= leaves_.size()) {
      BERTH_TRY(broken, BreakCircle());
    }
    if (!broken) {
      return Fail(Code::kBusy, "cgroup " + *open->path + " cannot get CPUs " + FormatIds(open->want) +
                                   " without sharing them on the way with the cgroups that have them now");
    }
  }
}

using Wanted = std::map<std::string, CpuSet>;

Result<Wanted> CheckWanted(const std::vector<std::pair<std::string, CpuSet>>& wanted) {
  Wanted out;
  for (const auto& [path, cpus] : wanted) {
    if (cpus.empty()) return Fail(Code::kInvalid, "cgroup " + path + " cannot have an empty CPU set");
    const auto [it, added] = out.emplace(path, cpus);
    if (!added && it->second != cpus) return Fail(Code::kInvalid, "cgroup " + path + " is asked for two CPU sets");
  }
  return out;
}

}  // namespace

Result<int> ApplyCpus(Tree& tree, const std::vector<std::pair<std::string, CpuSet>>& wanted) {
  BERTH_TRY(const Wanted all, CheckWanted(wanted));
  std::vector<Leaf> leaves;
  std::vector<Leaf> uppers;  // a map's order: parents first
  for (const auto& [path, cpus] : all) {
    const std::string prefix = path.empty() ? "" : path + "/";
    bool upper = false;
    for (auto below = all.lower_bound(prefix); below != all.end() && below->first.starts_with(prefix); ++below) {
      if (below->first == path) continue;  // the root itself
      upper = true;
      if (below->second.IsSubsetOf(cpus)) continue;
      return Fail(Code::kInvalid, "cgroup " + below->first + " cannot have CPUs " + FormatIds(below->second) +
                                      " below " + path + " with " + FormatIds(cpus));
    }
    const auto now = tree.ReadCpus(path);
    if (!now) {
      if (now.error().code == Code::kNotFound) continue;
      return std::unexpected(now.error());
    }
    (upper ? uppers : leaves).push_back({.path = &path, .want = cpus, .now = *now});
  }

  int writes = 0;
  const auto set = [&](const Leaf& upper, const CpuSet& cpus) -> Result<void> {
    CgroupValues values;
    values.cpus = cpus;
    BERTH_TRY(const int n, tree.Write(*upper.path, values));
    writes += n;
    return {};
  };
  for (const Leaf& upper : uppers)
    if (!upper.want.IsSubsetOf(upper.now)) BERTH_RETURN_IF_ERROR(set(upper, upper.now | upper.want));
  Exchange exchange(tree, std::move(leaves));
  BERTH_RETURN_IF_ERROR(exchange.Run());
  for (auto upper = uppers.rbegin(); upper != uppers.rend(); ++upper) BERTH_RETURN_IF_ERROR(set(*upper, upper->want));
  return writes + exchange.writes();
}

}  // namespace berth::cgroup
