#include "node/checkpoint/verify.h"

#include <algorithm>

#include "model/placement.h"
#include "node/checkpoint/ledger_import.h"

namespace berth::checkpoint {
namespace {

using Broken = std::vector<std::string>;

std::string PodName(const PodRecord& pod) { return pod.partial ? "pod " + pod.uid : FullName(pod); }

bool HoldsSomething(const PodRecord& pod) {
  return std::ranges::any_of(pod.placements,
                             [](const Placement& p) { return HasCpusApart(p) || p.memory || !p.devices.empty(); });
}

CpuSet Online(const CpuSet& cpus, const CpuSet& online) { return online.empty() ? cpus : cpus & online; }

void CheckPlace(const Ledger& ledger, const PodRecord& pod, const RunningGroup& group, const CpuSet& online,
                Broken& out) {
  if (group.cpus.empty()) return;  // no cpuset of its own here
  const Placement* placement = PlacementOf(pod, group.name, group.cpus);
  const bool exclusive = placement != nullptr && placement->cpus.has_value();
  if (!exclusive && ledger.shared.empty()) return;
  const CpuPool* const pool = placement == nullptr ? nullptr : FindPool(ledger, *placement);
  const CpuSet place = placement == nullptr ? ledger.shared : CpusOf(ledger, *placement, ledger.shared);
  const CpuSet wanted = Online(place, online);
  if (group.cpus == wanted || wanted.empty()) return;
  // A part of a pod's own CPUs is in order: the pod divides them itself.
  if (exclusive && placement->container == kWholePod && group.cpus.IsSubsetOf(wanted)) return;
  out.push_back(group.path + " of " + PodName(pod) + " may run on CPUs " + FormatIds(group.cpus) +
                ", the ledger gives it " +
                (exclusive         ? "CPUs "
                 : pool != nullptr ? "CPU pool " + placement->pool + ", "
                                   : "the shared pool ") +
                FormatIds(wanted));
}

/// Who may run on CPUs that somebody else has for itself.
void CheckIntruders(const Ledger& ledger, const RunningGroup& group, Broken& out) {
  const auto own = ledger.pods.find(group.uid);
  const CpuSet pooled = own == ledger.pods.end() ? CpuSet() : PooledCpus(ledger, own->second);
  for (const auto& [name, pool] : ledger.pools)
    if (const CpuSet both = HeldCpus(pool) & (group.cpus - pooled); !both.empty())
      out.push_back(group.path + " may run on CPUs " + FormatIds(both) + ", which are for CPU pool " + name);
  for (const auto& [uid, pod] : ledger.pods) {
    if (uid == group.uid) continue;
    if (const CpuSet both = ExclusiveCpus(pod) & group.cpus; !both.empty())
      out.push_back(group.path + " may run on CPUs " + FormatIds(both) + ", which " + PodName(pod) + " has for itself");
  }
}

void CheckSurvivors(const Ledger& ledger, const RunningGroup& group, Broken& out) {
  const auto pod = ledger.pods.find(group.uid);
  const std::string whose = group.path + (pod == ledger.pods.end() ? "" : " of " + PodName(pod->second));
  for (const std::string& process : group.survivors)
    out.push_back(whose + ": process " + process +
                  " survives SIGKILL; it waits in the kernel or is frozen, and keeps what the pod holds until it ends");
}

void CheckLeaks(const PodRecord& pod, const std::vector<RunningGroup>& running,
                const std::optional<std::set<std::string>>& known, Broken& out) {
  if (!HoldsSomething(pod)) return;
  std::string what = FormatIds(ExclusiveCpus(pod));
  what = what.empty() ? "memory, devices or a place in a CPU pool" : "CPUs " + what;
  if (known && !known->contains(pod.uid)) {
    out.push_back(PodName(pod) + " holds " + what + " although it is gone");
  } else if (std::ranges::none_of(running, [&](const RunningGroup& g) { return g.uid == pod.uid; })) {
    out.push_back(PodName(pod) + " holds " + what + " although nothing of it exists on the node");
  }
}

}  // namespace

std::vector<std::string> VerifyRunning(const Ledger& ledger, const CpuSet& online,
                                       const std::vector<RunningGroup>& running,
                                       const std::optional<std::set<std::string>>& known) {
  Broken out;
  for (const RunningGroup& group : running) {
    if (!group.busy) continue;
    const auto pod = ledger.pods.find(group.uid);
    if (pod == ledger.pods.end()) {
      out.push_back(group.path + " runs without a place in the ledger");
    } else {
      CheckPlace(ledger, pod->second, group, online, out);
    }
    CheckIntruders(ledger, group, out);
    CheckSurvivors(ledger, group, out);
  }
  for (const auto& [uid, pod] : ledger.pods) CheckLeaks(pod, running, known, out);
  return out;
}

}  // namespace berth::checkpoint
