#include "enforce/cpusets.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace berth::enforce {
namespace {

constexpr int kLooks = 10;  // at groups somebody is making

}  // namespace

Result<WantedCpus> Cpusets::Wanted(const Ledger& ledger) const {
  BERTH_TRY(const Online online, site_.tree().OnlineCpus());
  return planner_.Cpus(ledger, online);
}

Result<int> Cpusets::Apply(const Ledger& ledger) {
  for (int look = 1;; ++look) {
    auto writes = TryApply(ledger);
    if (writes || writes.error().code != Code::kBusy || site_.IsUnderWay(writes.error()) || look == kLooks)
      return writes;
    // Somebody's group holds up the pod's it is in: the runtime may be making it, and then it is known soon.
    BERTH_TRY(const int narrowed, NarrowForeignGroups(ledger));
    BERTH_TRY(const bool found, FindMore(ledger));
    if (narrowed == 0 && !found) return writes;
  }
}

Result<int> Cpusets::TryApply(const Ledger& ledger) {
  BERTH_TRY(const WantedCpus wanted, Wanted(ledger));
  BERTH_RETURN_IF_ERROR(partitions_.End(ledger));
  BERTH_TRY(const int writes, cgroup::ApplyCpus(site_.tree(), wanted.first));
  BERTH_TRY(const int more, cgroup::ApplyCpus(site_.tree(), wanted.inherited));
  BERTH_TRY([[maybe_unused]] const auto changed, partitions_.Settle(ledger));
  ReturnStrays();
  return writes + more;
}

/// Whether the runtime has made groups that were not known.
Result<bool> Cpusets::FindMore(const Ledger& ledger) {
  if (!site_.runtime_makes_groups()) return false;
  const std::size_t before = table_.containers().size();
  for (const auto& [uid, path] : std::map(table_.pods())) BERTH_RETURN_IF_ERROR(runtime_groups_.Find(uid, ledger));
  return table_.containers().size() != before;
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
    if (site_.tree().Write(path, values)) ++narrowed;
  }
  return narrowed;
}

Result<std::vector<Repaired>> Cpusets::Repair(const Ledger& ledger) {
  std::vector<Repaired> out;
  BERTH_TRY(const WantedCpus wanted, Wanted(ledger));
  BERTH_TRY(const cgroup::Cpuset root, site_.tree().ReadCpuset(""));
  BERTH_RETURN_IF_ERROR(RepairSets(wanted.first, root.mems, ledger, out));
  BERTH_RETURN_IF_ERROR(RepairSets(wanted.inherited, root.mems, ledger, out));
  for (const auto& [path, count] : ReturnStrays())
    out.push_back(
        {path, fmt::format("{} of its processes {} in the cpuset above", count, count == 1 ? "was" : "were")});
  BERTH_TRY(const std::vector<std::string> partitions, partitions_.Settle(ledger));
  for (const std::string& path : partitions)
    out.push_back({path, "it was no partition with CPUs of its own any more, must be " + partitions_.kind()});
  return out;
}

Result<void> Cpusets::RepairSets(const WantedSets& wanted, const NodeSet& all_mems, const Ledger& ledger,
                                 std::vector<Repaired>& out) {
  WantedSets cpus_differ;
  std::vector<std::pair<std::string, NodeSet>> mems_differ;
  for (const auto& [path, cpus] : wanted) {
    auto now = site_.tree().ReadCpuset(path);
    if (!now) {
      if (now.error().code == Code::kNotFound) continue;  // its end is noticed elsewhere
      return std::unexpected(std::move(now).error());
    }
    if (now->cpus != cpus) BERTH_RETURN_IF_ERROR(partitions_.Add(path, cpus, now->cpus));
    // On v1 a set is empty when all its CPUs went offline, and stays so when they are back.
    const bool to_be_filled = now->cpus.empty() && site_.v1();
    if (now->cpus != cpus && (!now->cpus.empty() || to_be_filled)) {
      out.push_back({path, fmt::format("CPUs were {}, must be {}", now->cpus.empty() ? "none" : FormatIds(now->cpus),
                                       FormatIds(cpus))});
      cpus_differ.emplace_back(path, cpus);
    }
    const auto group = table_.containers().find(path);
    if (group != table_.containers().end() && Planner::KeepsItsNodes(group->second, ledger)) continue;
    const NodeSet mems = (group == table_.containers().end() ? std::nullopt : planner_.NodesOf(group->second, ledger))
                             .value_or(all_mems);
    if (!now->mems.empty() && !mems.empty() && now->mems != mems) {
      out.push_back({path, fmt::format("memory nodes were {}, must be {}", FormatIds(now->mems), FormatIds(mems))});
      mems_differ.emplace_back(path, mems);
    }
  }
  if (!cpus_differ.empty()) {
    BERTH_TRY([[maybe_unused]] const int writes, cgroup::ApplyCpus(site_.tree(), cpus_differ));
  }
  for (const auto& [path, mems] : mems_differ) {
    CgroupValues values;
    values.mems = mems;
    BERTH_RETURN_IF_ERROR(site_.WriteUnlessGone(path, values));
  }
  return {};
}

/// v1; path -> how many processes. No reason to stop anything: where they are, they are among their pod's CPUs.
std::map<std::string, int> Cpusets::ReturnStrays() {
  std::map<std::string, int> out;
  stray_problems_.clear();
  if (!site_.v1()) return out;
  std::vector<int> above;
  const auto add = [&](const std::string& path, std::vector<int>& to) {
    const auto pids = site_.tree().CpusetPids(path);
    if (pids) to.insert(to.end(), pids->begin(), pids->end());
  };
  if (site_.names().per_qos())
    for (const QosClass qos : site_.names().Tiers()) add(site_.names().Qos(qos), above);
  std::map<std::string, std::vector<int>> strays;  // by uid
  for (const auto& [uid, path] : table_.pods()) {
    std::vector<int> pids = above;
    add(path, pids);
    if (!pids.empty()) strays.emplace(uid, std::move(pids));
  }
  for (const auto& [path, group] : table_.containers()) {
    const auto pids = strays.find(group.uid);
    if (pids == strays.end()) continue;
    const auto returned = site_.tree().ReturnToCpuset(path, pids->second);
    if (!returned) stray_problems_.emplace(path, returned.error().message);
    if (returned && *returned > 0) out.emplace(path, *returned);
  }
  return out;
}

}  // namespace berth::enforce
