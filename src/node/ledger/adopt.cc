#include "node/ledger/adopt.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "model/promises.h"
#include "node/ledger/adopt_memory.h"
#include "node/ledger/shared_pool.h"

namespace berth::ledger {
namespace {

bool KeepsCpuPool(const Ledger& empty) { return !empty.shared.empty(); }

bool CpusFit(const allocator::Node& node, const Ledger& empty, const Ledger& saved) {
  if (saved.cpu_policy != empty.cpu_policy) return false;
  const CpuSet taken = TakenCpus(saved);
  if (!KeepsCpuPool(empty)) return taken.IsSubsetOf(node.all_cpus()) && saved.shared.empty();
  return saved.shared == empty.shared - taken && taken.IsSubsetOf(node.all_cpus());
}

/// The same nodes with the same totals; what is booked on them may differ.
bool MemoryFits(const Ledger& empty, const Ledger& saved) {
  if (saved.memory_policy != empty.memory_policy || saved.memory.size() != empty.memory.size()) return false;
  return std::ranges::equal(saved.memory, empty.memory, [](const auto& a, const auto& b) {
    const auto same_table = [](const auto& x, const auto& y) {
      return x.first == y.first && x.second.total == y.second.total && x.second.allocatable == y.second.allocatable &&
             x.second.system_reserved == y.second.system_reserved;
    };
    return a.first == b.first && std::ranges::equal(a.second.types, b.second.types, same_table);
  });
}

using UsedDevices = std::set<std::pair<std::string, std::string>>;  // resource, id

/// Builds the new ledger, pod by pod.
class Fitting {
 public:
  /// `empty`: node.EmptyLedger(). All must outlive it.
  Fitting(const allocator::Node& node, const Ledger& empty, const Ledger& saved, Since since)
      : node_(node), empty_(empty), saved_(saved), since_(since), memory_(empty_.memory, saved.memory) {}

  Adoption Run() {
    out_.ledger = empty_;
    out_.ledger.revision = saved_.revision;
    out_.ledger.next_sequence = std::max<std::uint64_t>(1, saved_.next_sequence);
    NotePolicies();
    free_ = node_.all_cpus();
    KeepPools();
    for (const PodEntry* entry : InOrderOfAdmission(saved_)) Keep(entry->first, entry->second);
    DropUnusedPools();
    if (KeepsCpuPool(empty_)) out_.ledger.shared = PoolOf(free_);
    out_.ledger.memory = memory_.Counters();
    NotePool();
    if (out_.notes.empty()) Note("", "reserved CPUs or memory changed; all placements were kept");
    return std::move(out_);
  }

 private:
  void Note(std::string pod, std::string text) { out_.notes.push_back({std::move(pod), std::move(text)}); }

  void NotePolicies() {
    if (saved_.cpu_policy != empty_.cpu_policy)
      Note("", fmt::format("CPU policy changed from {} to {}", saved_.cpu_policy, empty_.cpu_policy));
    if (saved_.memory_policy != empty_.memory_policy)
      Note("", fmt::format("memory policy changed from {} to {}", saved_.memory_policy, empty_.memory_policy));
    for (const std::string& problem : Contradictions(saved_)) Note("", "the ledger contradicted itself: " + problem);
  }

  void NotePool() {
    const CpuSet now = KeepsCpuPool(empty_) ? out_.ledger.shared : free_;
    const CpuSet before = saved_.shared.empty() ? node_.all_cpus() - TakenCpus(saved_) : saved_.shared;
    if (now != before) Note("", fmt::format("the shared pool is now {} (was {})", FormatIds(now), FormatIds(before)));
  }

  /// What of `free` is shared: under strict reservation not the reserved CPUs.
  CpuSet PoolOf(const CpuSet& free) const { return KeepsCpuPool(empty_) ? ledger::Shareable(node_, free) : free; }

  /// Named pools with what there is of their CPUs; those of a policy without pools, and without CPUs, are no more.
  void KeepPools() {
    for (const auto& [name, pool] : saved_.pools) {
      const CpuPool kept{.cpus = pool.cpus & free_, .idle = (pool.idle & free_) - pool.cpus};
      const bool stays = KeepsCpuPool(empty_) && !kept.cpus.empty() && !PoolOf(free_ - HeldCpus(kept)).empty();
      if (!stays)
        Note("", fmt::format("{} is no more: its containers move to the shared pool", PoolText(name)));
      else if (kept != pool)
        Note("", fmt::format("{} keeps only {} of its CPUs {}", PoolText(name), FormatIds(HeldCpus(kept)),
                             FormatIds(HeldCpus(pool))));
      if (!stays) continue;
      free_ -= HeldCpus(kept);
      out_.ledger.pools.emplace(name, kept);
    }
  }

  void KeepPlacesInPools(PodRecord& pod) {
    for (Placement& placement : pod.placements) {
      if (placement.pool.empty() || (out_.ledger.pools.contains(placement.pool) && !placement.cpus)) continue;
      if (!placement.cpus)
        Lose(pod, fmt::format("container {} moves from {} to the shared pool", placement.container,
                              PoolText(placement.pool)));
      placement.pool.clear();
      placement.pool_request = 0;
    }
  }

  /// Of pods that did not keep their places.
  void DropUnusedPools() {
    std::erase_if(out_.ledger.pools, [&](const auto& entry) {
      const bool used = std::ranges::any_of(
          out_.ledger.pods, [&](const PodEntry& pod) { return AskedOfPool(pod.second, entry.first).has_value(); });
      if (!used) free_ |= HeldCpus(entry.second);
      return !used;
    });
  }

  void Keep(const std::string& uid, PodRecord pod) {
    pod.uid = uid;
    const CpuSet free_before = free_;
    const auto devices_before = devices_;
    const std::size_t memory_before = memory_.Mark();
    const std::size_t notes_before = out_.notes.size();
    lost_.clear();
    PutInOrder(pod);
    KeepCpus(pod);
    KeepPlacesInPools(pod);
    KeepDevices(pod);
    KeepMemory(pod);
    if (since_ == Since::kSameBoot || lost_.empty()) {
      out_.ledger.pods.insert_or_assign(pod.uid, std::move(pod));
      return;
    }
    free_ = free_before;
    devices_ = devices_before;
    memory_.BackTo(memory_before);
    out_.notes.resize(notes_before);
    Note(FullName(pod), "does not run since the reboot and cannot keep all it had, so it is placed anew: " + lost_);
  }

  void Lose(const PodRecord& pod, const std::string& text) {
    Note(FullName(pod), text);
    lost_ += (lost_.empty() ? "" : "; ") + text;
  }

  /// Number and placements as a ledger promises them.
  void PutInOrder(PodRecord& pod) {
    if (pod.sequence >= out_.ledger.next_sequence || !numbers_.insert(pod.sequence).second) {
      pod.sequence = out_.ledger.next_sequence++;
      numbers_.insert(pod.sequence);
    }
    std::set<std::string> names;
    std::erase_if(pod.placements, [&](const Placement& p) { return !names.insert(p.container).second; });
    for (Placement& placement : pod.placements) {
      if (placement.cpus && placement.cpus->empty()) placement.cpus.reset();
      placement.mixed = placement.mixed && placement.cpus;
    }
  }

  void KeepCpus(PodRecord& pod) {
    const CpuSet before = free_;
    CpuSet beside;  // of containers of this pod that go on running when the next one starts
    for (Placement& placement : pod.placements) {
      if (!placement.cpus) continue;
      const CpuSet had = *placement.cpus;
      const CpuSet kept = (had & before) - beside;
      const bool all_of_pool = (PoolOf(free_) - kept).empty();
      if (kept == had && !all_of_pool) {
        free_ -= kept;
      } else if (kept.empty() || all_of_pool) {
        Lose(pod, fmt::format("container {} loses its exclusive CPUs {} and moves to the shared pool: {}",
                              placement.container, FormatIds(had), WhyNot(had, kept, before)));
        placement.cpus.reset();
        placement.mixed = false;
      } else {
        Lose(pod, fmt::format("container {} keeps only {} of its exclusive CPUs {}: {}", placement.container,
                              FormatIds(kept), FormatIds(had), WhyNot(had, kept, before)));
        placement.cpus = kept;
        free_ -= kept;
      }
      if (!placement.cpus) placement.promised.reset();
      if (placement.promised) *placement.promised &= kept;
      if (placement.promised && placement.promised->empty()) placement.promised.reset();
      if (placement.cpus && placement.kind != ContainerKind::kInit) beside |= *placement.cpus;
    }
    pod.reusable.cpus &= before - free_;
  }

  std::string WhyNot(const CpuSet& had, const CpuSet& kept, const CpuSet& before) const {
    if (const CpuSet gone = had - node_.all_cpus(); !gone.empty())
      return fmt::format("CPUs {} do not exist any more", FormatIds(gone));
    if (const CpuSet others = had - before; !others.empty())
      return fmt::format("CPUs {} are held by another pod", FormatIds(others));
    if (kept != had) return fmt::format("CPUs {} are held by another container of the pod", FormatIds(had - kept));
    return "the shared pool would be empty";
  }

  void KeepDevices(PodRecord& pod) {
    UsedDevices own;
    UsedDevices beside;  // of containers of this pod that go on running when the next one starts
    for (Placement& placement : pod.placements) {
      UsedDevices kept;
      for (DeviceAssignment& given : placement.devices)
        std::erase_if(given.ids, [&](const std::string& id) {
          const bool others = devices_.contains({given.resource, id});
          if (!others && !beside.contains({given.resource, id})) return !kept.emplace(given.resource, id).second;
          Lose(pod, fmt::format("container {} loses {} {}: another {} holds it", placement.container, given.resource,
                                id, others ? "pod" : "container of the pod"));
          return true;
        });
      std::erase_if(placement.devices, [](const DeviceAssignment& given) { return given.ids.empty(); });
      own.insert(kept.begin(), kept.end());
      if (placement.kind != ContainerKind::kInit) beside.merge(kept);
    }
    devices_.merge(own);
  }

  void KeepMemory(PodRecord& pod) {
    const bool had = std::ranges::any_of(pod.placements, [](const Placement& p) { return p.memory.has_value(); });
    MemoryAdoption::Outcome outcome{false, "the memory policy was changed"};
    if (saved_.memory_policy == empty_.memory_policy) {
      outcome = memory_.Take(pod);
    } else {
      MemoryAdoption::Drop(pod);
    }
    if (!had || outcome.lost.empty()) return;
    Lose(pod, (outcome.kept ? "keeps its memory bookings on the nodes that are left only: "
                            : "keeps its memory nodes while it runs, but they are not booked any more: ") +
                  outcome.lost);
  }

  const allocator::Node& node_;
  const Ledger& empty_;
  const Ledger& saved_;
  const Since since_;
  MemoryAdoption memory_;
  Adoption out_;
  CpuSet free_;
  std::set<std::uint64_t> numbers_;
  UsedDevices devices_;
  std::string lost_;  // by the pod in hand
};

}  // namespace

Adoption Adopt(const allocator::Node& node, const Ledger& saved, Since since) {
  const Ledger empty = node.EmptyLedger();
  const bool fits = MemoryFits(empty, saved) && CpusFit(node, empty, saved) && Contradictions(saved).empty();
  Adoption out = fits ? Adoption{saved, {}} : Fitting(node, empty, saved, since).Run();
  for (const auto& [name, pool] : out.ledger.pools) {
    if (FindPool(node.options().own.pools, name) == nullptr)
      out.notes.push_back({"", fmt::format("{} is not in cpuPools any more: its containers stay in it until they end, "
                                           "and no others may use it",
                                           PoolText(name))});
    if (const CpuSet both = HeldCpus(pool) & node.reserved_cpus(); !both.empty())
      out.notes.push_back({"", fmt::format("{} keeps CPUs {} until it needs fewer, although they are reserved now",
                                           PoolText(name), FormatIds(both))});
  }
  for (const auto& [uid, pod] : out.ledger.pods)
    if (const CpuSet both = ExclusiveCpus(pod) & node.reserved_cpus(); !both.empty())
      out.notes.push_back(
          {FullName(pod), fmt::format("keeps CPUs {} until it ends, although they are reserved now", FormatIds(both))});
  return out;
}

}  // namespace berth::ledger
