#include "node/reconciler/eviction_look.h"

#include <algorithm>
#include <utility>

#include "model/node_conditions.h"

namespace berth::reconciler {
namespace {

constexpr os::Millis kHardGrace{1'000};

/// Figures of two moments, or of two sources: never below 0.
Bytes Less(Bytes all, Bytes part) { return {std::max<std::int64_t>(0, all.v - part.v)}; }

}  // namespace

Eviction::Eviction(const KubeletConfiguration& config, cgroup_manager::Enforcer& groups, bool ignores_cache,
                   std::vector<eviction::Threshold> thresholds)
    : groups_(groups),
      ignores_cache_(ignores_cache),
      pressure_(std::move(thresholds), config.eviction_pressure_transition_period),
      max_grace_(std::chrono::seconds(config.eviction_max_pod_grace_period)) {}

Result<Eviction> Eviction::Make(const KubeletConfiguration& config, cgroup_manager::Enforcer& groups,
                                bool ignores_cache) {
  BERTH_TRY(auto thresholds, eviction::ReadThresholds(config));
  return Eviction(config, groups, ignores_cache, std::move(thresholds));
}

/// nullopt: not known.
std::optional<Bytes> Eviction::UsedBy(const std::string& path) const {
  cgroup::Tree& tree = groups_.site().tree();
  const auto used = tree.WorkingSet(path);
  if (!used || !*used) return std::nullopt;
  if (!ignores_cache_) return **used;
  const auto cache = tree.ActiveFile(path);
  return Less(**used, cache ? cache->value_or(Bytes()) : Bytes());
}

eviction::Observations Eviction::Observe() const {
  eviction::Observations out;
  cgroup::Tree& tree = groups_.site().tree();
  if (const auto figures = tree.Figures(); figures && *figures) {
    cgroup::HostFigures host = **figures;
    const allocator::Node& node = groups_.site().node();
    switch (eviction::HugePageCountingOf(node.config(), node.kubelet())) {
      case eviction::HugePageCounting::kInUse: host.working_set += host.huge_pages; break;
      case eviction::HugePageCounting::kAvailable: break;
      case eviction::HugePageCounting::kApart: host.memory = Less(host.memory, host.huge_pages); break;
    }
    const Bytes used = Less(host.working_set, ignores_cache_ ? host.active_file : Bytes());
    out[eviction::Signal::kMemory] = {Less(host.memory, used).v, host.memory.v};
    if (host.most_processes > 0)
      out[eviction::Signal::kPids] = {host.most_processes - host.processes, host.most_processes};
  }
  if (!groups_.site().names().per_qos()) return out;
  const std::string all = groups_.site().names().Qos(QosClass::kGuaranteed);
  const auto values = tree.Read(all);
  const auto used = UsedBy(all);
  if (values && values->memory_max && values->memory_max->v > 0 && used)
    out[eviction::Signal::kAllocatableMemory] = {(*values->memory_max - *used).v, values->memory_max->v};
  return out;
}

eviction::Candidate Eviction::CandidateOf(const Pod& pod) const {
  const std::string path = groups_.table().PodPathOf(pod);
  const ResourceList requests = PodRequests(pod);
  const auto memory = requests.find("memory");
  eviction::Candidate out{.uid = pod.uid, .priority = PriorityOf(pod), .critical = IsCritical(pod)};
  if (memory != requests.end()) out.request = memory->second.Value();
  if (const auto used = UsedBy(path)) out.usage = used->v;
  if (const auto pids = groups_.site().tree().Pids(path)) out.processes = static_cast<std::int64_t>(pids->size());
  return out;
}

EvictionLook Eviction::Look(const std::vector<const Pod*>& pods, os::MonoTime now) {
  EvictionLook out;
  if (pressure_.thresholds().empty()) return out;
  out.met = pressure_.Look(Observe(), now.time_since_epoch());
  if (!out.met) return out;
  std::vector<eviction::Candidate> candidates;
  for (const Pod* pod : pods) candidates.push_back(CandidateOf(*pod));
  const eviction::Signal signal = out.met->threshold.signal;
  const std::vector<eviction::Candidate> ranked = eviction::Rank(signal, std::move(candidates));
  if (ranked.empty()) return out;
  out.victim = Victim{.uid = ranked.front().uid,
                      .message = eviction::Message(*out.met, ranked.front()),
                      .grace = out.met->threshold.hard ? kHardGrace : max_grace_};
  return out;
}

std::optional<os::MonoTime> Eviction::next_act() const {
  if (!pressure_.next_act()) return std::nullopt;
  return os::MonoTime(std::chrono::duration_cast<os::MonoTime::duration>(*pressure_.next_act()));
}

std::string Eviction::WhyNotAdmit(const Pod& pod) const {
  const auto wait = PressureWait(memory_pressure(), pid_pressure(), pod);
  return wait ? wait->message : "";
}

}  // namespace berth::reconciler
