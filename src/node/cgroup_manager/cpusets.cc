#include "node/cgroup_manager/cpusets.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace berth::cgroup_manager {
namespace {

constexpr int kLooks = 10;  // at groups somebody is making

}  // namespace

void Cpusets::Restart() {
  if (applying_) {
    const std::map<std::string, CpuSet> put = std::exchange(left_, {});  // beside the move, which did not see it
    for (const cgroup::CpuMove* const move : {&applying_->first, &applying_->inherited}) move->TellLeaves(left_);
    for (const auto& [path, cpus] : put) left_.erase(path);
    cut_off_ = std::move(applying_->online);
  }
  applying_.reset();
  looks_ = 0;
  looking_.reset();
  if (!cut_off_) displaced_.Restart();
}

// ---- in force ------------------------------------------------------------------------------------------------------

Result<bool> Cpusets::Apply(const Ledger& ledger, const os::Slice& slice) {
  auto done = GoOnApplying(ledger, slice);
  if (done && !*done) return false;
  if (!done && site_.IsUnderWay(done.error())) return done;
  if (done) {
    in_force_ = std::move(applying_->online);
    NoteLeft(applying_->wanted);
  }
  applying_.reset();
  displaced_.Restart();
  const bool again = !done && done.error().code == Code::kBusy && looks_ < kLooks;
  looks_ = again ? looks_ + 1 : 0;
  if (!again) return done;
  // Somebody's group holds up the pod's it is in: the runtime may be making it, and then it is known soon.
  BERTH_TRY(const int narrowed, NarrowForeignGroups(ledger));
  BERTH_TRY(const bool found, site_.ownership().FindMore(runtime_groups_, ledger));
  if (narrowed > 0 || found) return false;
  looks_ = 0;
  return done;
}

Result<bool> Cpusets::GoOnApplying(const Ledger& ledger, const os::Slice& slice) {
  if (applying_ && applying_->carried && !slice.bounded()) applying_.reset();  // somebody waits for it: all is read
  if (!applying_) {
    BERTH_TRY(Online online, site_.tree().OnlineCpus());
    // CPUs that go off- or online change sets without a write.
    const auto before = std::exchange(cut_off_, std::nullopt);
    const bool carried = before && *before == online && slice.bounded();
    if (!carried) {
      left_.clear();
      displaced_.Restart();
    }
    WantedCpus wanted = planner_.Cpus(ledger, online);
    BERTH_RETURN_IF_ERROR(GiveOwnSets(wanted));
    BERTH_TRY(cgroup::CpuMove first, cgroup::CpuMove::Plan(wanted.first, left_));
    BERTH_TRY(cgroup::CpuMove inherited, cgroup::CpuMove::Plan(wanted.inherited, std::exchange(left_, {})));
    BERTH_RETURN_IF_ERROR(partitions_.End(ledger));
    applying_ = Applying{.online = std::move(online),
                         .wanted = std::move(wanted),
                         .first = std::move(first),
                         .inherited = std::move(inherited),
                         .carried = carried};
  }
  if (!applying_->moved) {
    for (cgroup::CpuMove* const move : {&applying_->first, &applying_->inherited}) {
      BERTH_TRY(const bool done, move->Work(site_.tree(), slice));
      if (!done) return false;
    }
    BERTH_TRY([[maybe_unused]] const auto changed, partitions_.Settle(ledger));
    BERTH_RETURN_IF_ERROR(MoveMemories(ledger));
    applying_->moved = true;
  }
  if (in_force_ == applying_->online) return true;  // no CPU went off- or online: nobody was displaced since Repair
  return displaced_.Return(slice);
}

/// Who inherited the pool and may not any longer has a set of its own before anything moves: what it has now.
Result<void> Cpusets::GiveOwnSets(const WantedCpus& wanted) {
  if (wanted.may_inherit) {
    own_sets_ = false;
    return {};
  }
  if (!own_sets_ && to_own_.empty())
    for (const auto& [path, group] : table_.containers())
      if (site_.BelowPoolTier(path)) to_own_.insert(path);
  for (; !to_own_.empty(); to_own_.erase(to_own_.begin())) {
    const auto now = site_.tree().ReadCpus(*to_own_.begin());
    if (!now && now.error().code == Code::kNotFound) continue;
    if (!now) return std::unexpected(now.error());
    CgroupValues values;
    values.cpus = *now;
    BERTH_RETURN_IF_ERROR(site_.WriteUnlessGone(*to_own_.begin(), values));
  }
  own_sets_ = true;
  return {};
}

/// The kernel migrates what the containers use, one after the other.
Result<void> Cpusets::MoveMemories(const Ledger& ledger) {
  for (; !memory_moves_.empty(); memory_moves_.erase(memory_moves_.begin())) {
    for (const auto& [path, group] : table_.containers()) {
      const auto mems = planner_.NodesOf(group, ledger);
      if (group.uid == *memory_moves_.begin() && mems) BERTH_RETURN_IF_ERROR(MoveMemory(path, *mems));
    }
  }
  return {};
}

Result<void> Cpusets::MoveMemory(const std::string& path, const NodeSet& mems) {
  const auto migrates = site_.tree().MigrateMemory(path);
  if (!migrates) return migrates.error().code == Code::kNotFound ? Result<void>() : migrates;
  CgroupValues values;
  values.mems = mems;
  return site_.WriteUnlessGone(path, values);
}

/// Groups a runtime is making, or left half made, or somebody else's, also below containers: whatever they are, they
/// get nothing that the pod or container above does not have. Returns how many had more.
Result<int> Cpusets::NarrowForeignGroups(const Ledger& ledger) {
  BERTH_TRY(const Online online, site_.tree().OnlineCpus());
  int narrowed = 0;
  for (const auto& [path, group] : table_.containers())
    narrowed += NarrowBelow(path, planner_.CpusNow(group, ledger, online));
  for (const auto& [uid, path] : table_.pods())
    if (site_.KeepsPodToItsCpus(path)) narrowed += NarrowBelow(path, planner_.CpusOfPod(uid, ledger, online));
  return narrowed;
}

/// From the bottom: a group that is to have less must not be above one with more. What cannot be read or written is
/// left; the kernel says again who is in the way.
int Cpusets::NarrowBelow(const std::string& above, const CpuSet& most) {
  const auto groups = site_.tree().Children(above);
  if (!groups || most.empty()) return 0;
  int narrowed = 0;
  for (const std::string& group : *groups) {
    const std::string path = fmt::format("{}/{}", above, group);
    if (table_.containers().contains(path)) continue;
    narrowed += NarrowBelow(path, most);
    const auto now = site_.tree().ReadCpus(path);
    if (!now || now->IsSubsetOf(most)) continue;
    CgroupValues values;
    values.cpus = now->Intersects(most) ? *now & most : most;
    if (const auto written = site_.tree().Write(path, values); written || site_.IsUnderWay(written.error())) ++narrowed;
  }
  return narrowed;
}

Result<void> Cpusets::Put(const std::string& path, const Ledger& ledger, Runs runs) {
  const auto group = table_.containers().find(path);
  if (group == table_.containers().end()) return {};
  BERTH_TRY(const Online online, site_.tree().OnlineCpus());
  const auto now = site_.tree().ReadCpuset(path);
  if (!now) return now.error().code == Code::kNotFound ? Result<void>() : std::unexpected(now.error());
  CgroupValues values;
  const CpuSet cpus = planner_.CpusNow(group->second, ledger, online);
  if (!cpus.empty() && now->cpus != cpus) values.cpus = cpus;
  if (const auto mems = planner_.NodesOf(group->second, ledger); mems && now->mems != *mems) values.mems = mems;
  left_.erase(path);
  if (values != CgroupValues()) {
    const auto written =
        runs == Runs::kAlready ? site_.tree().Write(path, values) : site_.tree().WriteBeforeRun(path, values);
    if (!written && written.error().code != Code::kNotFound) return std::unexpected(written.error());
  }
  left_.emplace(path, values.cpus.value_or(now->cpus));
  return {};
}

// ---- at once ----------------------------------------------------------------------------------------------------

void Cpusets::NoteLeft(const WantedCpus& wanted) {
  for (const WantedSets* const sets : {&wanted.first, &wanted.inherited}) left_.insert(sets->begin(), sets->end());
}

/// nullopt: it is gone.
Result<std::optional<CpuSet>> Cpusets::HeldBy(const std::string& path) const {
  if (const auto left = left_.find(path); left != left_.end()) return left->second;
  auto now = site_.tree().ReadCpus(path);
  if (!now && now.error().code == Code::kNotFound) return std::nullopt;
  if (!now) return std::unexpected(std::move(now).error());
  return *std::move(now);
}

Result<bool> Cpusets::Narrow(const Ledger& ledger) {
  Restart();
  BERTH_TRY(const Online online, site_.tree().OnlineCpus());
  for (const auto& [path, group] : table_.containers()) {
    if (group.container.empty()) continue;  // a sandbox's
    BERTH_TRY(const std::optional<CpuSet> now, HeldBy(path));
    const CpuSet most = planner_.CpusNow(group, ledger, online);
    if (!now || now->IsSubsetOf(most)) continue;
    const CpuSet kept = *now & most;
    if (kept.empty()) return false;
    const auto narrowed = site_.tree().NarrowCpus(path, kept);
    if (!narrowed && narrowed.error().code != Code::kNotFound) return false;
    left_.insert_or_assign(path, kept);
  }
  return true;
}

// ---- put right -----------------------------------------------------------------------------------------------------

Result<std::optional<std::vector<Repaired>>> Cpusets::Repair(const Ledger& ledger, const os::Slice& slice) {
  auto done = GoOnRepairing(ledger, slice);
  if (done && !*done) return std::nullopt;
  if (!done && site_.IsUnderWay(done.error())) return std::unexpected(std::move(done).error());
  std::vector<Repaired> out = looking_ ? std::move(looking_->out) : std::vector<Repaired>();
  looking_.reset();
  displaced_.Restart();
  if (!done) return std::unexpected(std::move(done).error());
  return out;
}

Result<bool> Cpusets::GoOnRepairing(const Ledger& ledger, const os::Slice& slice) {
  if (!looking_) {
    BERTH_TRY(Online online, site_.tree().OnlineCpus());
    if (in_force_ && online != in_force_) return true;
    WantedCpus wanted = planner_.Cpus(ledger, online);
    BERTH_TRY(const cgroup::Cpuset root, site_.tree().ReadCpuset(""));
    displaced_.Restart();
    looking_ = Looking{.online = std::move(online), .wanted = std::move(wanted), .all_mems = root.mems};
  }
  for (;;) {
    BERTH_TRY(const bool done, RepairList(ledger, slice));
    if (!done) return false;
    if (std::exchange(looking_->at_inherited, true)) break;
    looking_->next = 0;
  }
  mems_in_force_ = looking_->all_mems;
  if (!displaced_.Return(slice)) return false;
  for (const auto& [path, count] : displaced_.returned())
    looking_->out.push_back(
        {path, fmt::format("{} of its processes {} in the cpuset above", count, count == 1 ? "was" : "were")});
  BERTH_TRY(const std::vector<std::string> partitions, partitions_.Settle(ledger));
  for (const std::string& path : partitions)
    looking_->out.push_back({path, "it was no partition with CPUs of its own any more, must be " + partitions_.kind()});
  return true;
}

/// On v1 the kernel itself takes CPUs that go offline out of every cpuset: what differs when that happened during the
/// look is left to the next one.
Result<void> Cpusets::PlanRepair() {
  std::vector<Repaired> differences = std::exchange(looking_->differences, {});
  if (differences.empty()) return {};
  BERTH_TRY(const Online online, site_.tree().OnlineCpus());
  if (online != looking_->online) {
    looking_->cpus_differ.clear();
    looking_->mems_differ.clear();
    return {};
  }
  std::ranges::move(differences, std::back_inserter(looking_->out));
  if (looking_->cpus_differ.empty()) return {};
  BERTH_TRY(looking_->move, cgroup::CpuMove::Plan(looking_->cpus_differ));
  return {};
}

/// Looks at all of the list, then writes what differs. A container's memory goes with it: what differs may be a move
/// that an earlier berthd did not live to finish.
Result<bool> Cpusets::RepairList(const Ledger& ledger, const os::Slice& slice) {
  while (looking_->next < looking_->list().size()) {
    const auto& [path, cpus] = looking_->list()[looking_->next];
    BERTH_RETURN_IF_ERROR(LookAt(path, cpus, ledger));
    ++looking_->next;
    if (slice.over()) return false;
  }
  if (!looking_->move) BERTH_RETURN_IF_ERROR(PlanRepair());
  if (looking_->move) {
    BERTH_TRY(const bool done, looking_->move->Work(site_.tree(), slice));
    if (!done) return false;
  }
  looking_->move.reset();
  looking_->cpus_differ.clear();
  for (; !looking_->mems_differ.empty(); looking_->mems_differ.pop_back()) {
    const auto& [path, mems] = looking_->mems_differ.back();
    const auto group = table_.containers().find(path);
    if (group != table_.containers().end() && planner_.NodesOf(group->second, ledger)) {
      BERTH_RETURN_IF_ERROR(MoveMemory(path, mems));
      continue;
    }
    CgroupValues values;
    values.mems = mems;
    BERTH_RETURN_IF_ERROR(site_.WriteUnlessGone(path, values));
  }
  return true;
}

/// Notes what differs at one group.
Result<void> Cpusets::LookAt(const std::string& path, const CpuSet& cpus, const Ledger& ledger) {
  if (table_.IsUnfinished(path)) return {};
  auto now = site_.tree().ReadCpuset(path);
  if (!now) {
    if (now.error().code == Code::kNotFound) return {};  // its end is noticed elsewhere
    return std::unexpected(std::move(now).error());
  }
  if (now->cpus != cpus) BERTH_RETURN_IF_ERROR(partitions_.Add(path, cpus, now->cpus));
  // On v1 a set is empty when all its CPUs went offline, and stays so when they are back.
  const bool to_be_filled = now->cpus.empty() && site_.has_v1_cpusets();
  if (now->cpus != cpus && (!now->cpus.empty() || to_be_filled)) {
    looking_->differences.push_back(
        {path,
         fmt::format("CPUs were {}, must be {}", now->cpus.empty() ? "none" : FormatIds(now->cpus), FormatIds(cpus))});
    looking_->cpus_differ.emplace_back(path, cpus);
  }
  const auto group = table_.containers().find(path);
  if (group != table_.containers().end() && Planner::KeepsItsNodes(group->second, ledger)) return {};
  // Nodes without memory now are left out, as CPUs that are offline are: the kernel refuses them.
  const NodeSet mems = (group == table_.containers().end() ? std::nullopt : planner_.NodesOf(group->second, ledger))
                           .value_or(looking_->all_mems) &
                       looking_->all_mems;
  if (now->mems.empty() || mems.empty() || now->mems == mems) return {};
  looking_->mems_differ.emplace_back(path, mems);
  if (now->mems == (mems & mems_in_force_)) return {};  // v1 hands down no node that came: nobody wrote
  looking_->differences.push_back(
      {path, fmt::format("memory nodes were {}, must be {}", FormatIds(now->mems), FormatIds(mems))});
  return {};
}

}  // namespace berth::cgroup_manager
