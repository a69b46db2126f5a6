#include "daemon/pod_manager.h"

#include <set>
#include <utility>

#include "base/text.h"
#include "pods/restart.h"

namespace berth::daemon {
namespace {

/// In one move: the kernel migrates before a write returns, and the loop does nothing else meanwhile.
constexpr Bytes kMostMigrated = GiB(1);

pods::Helpers HelpersOfPods(guard::Guard& guard, takeover::Takeover& takeover) {
  return {
      .pressure = [&](const Pod& pod) { return guard.pressure().WhyNotAdmit(pod); },
      .apply_pool = [&](os::MonoTime now, const os::Slice& slice) { return guard.pool().Apply(now, slice); },
      .pool_in_force = [&] { return guard.pool().in_force(); },
      .pool_due = [&] { return guard.pool().due(); },
      .complete = [&](ManagedPod& managed, const Pod& pod, os::MonoTime now) { takeover.Complete(managed, pod, now); }};
}

}  // namespace

PodManager::PodManager(const ManagerParts& parts, const engine::Node& node, ManagerOptions options)
    : options_(std::move(options)),
      keeper_({.store = parts.store, .executor = parts.executor, .events = parts.events, .clock = parts.clock}, node,
              {.node_name = options_.pods.node_name,
               .boot_id = options_.boot.boot_id,
               .machine_fingerprint = options_.boot.machine_fingerprint}),
      groups_(parts.tree, node, options_.cgroup_names),
      records_(parts.runtime, parts.clock),
      lives_(options_.pods.lives, options_.boot.boot_id),
      devices_(parts.plugins),
      shared_{.keeper = keeper_,
              .groups = groups_,
              .tree = parts.tree,
              .runtime = parts.runtime,
              .events = parts.events,
              .clock = parts.clock,
              .executor = parts.executor,
              .options = options_.pods,
              .agenda = agenda_,
              .pods = pods_,
              .records = records_,
              .lives = lives_,
              .documents = documents_,
              .devices = devices_},
      held_devices_(shared_),
      takeover_(shared_),
      guard_(shared_, options_.cpus, options_.machine, options_.adopt_unknown),
      rounds_(shared_, parts.probes != nullptr ? *parts.probes : parts.executor,
              parts.hooks != nullptr ? *parts.hooks : parts.executor,
              parts.plugin_calls != nullptr ? *parts.plugin_calls : parts.executor, HelpersOfPods(guard_, takeover_)),
      reconciler_(shared_, rounds_, takeover_, guard_) {
  keeper_.set_on_change([this] { guard_.pool().Changed(); });
  takeover_.set_on_complete(
      [this](ManagedPod& managed, const Pod& pod, os::MonoTime now) { rounds_.manifests().Claim(managed, pod, now); });
}

Result<void> PodManager::Start(const std::optional<state::Saved>& saved, os::MonoTime now) {
  runtime::Runtime& runtime = shared_.runtime;
  auto statuses = runtime.List();
  if (!statuses) return Wrap(std::move(statuses).error(), "look for containers that run");
  if (runtime.makes_groups()) groups_.site().set_runtime_makes_groups();
  if (options_.beside_kubelet) groups_.site().set_beside_kubelet();
  for (std::string& problem : lives_.Load())
    shared_.events.Warning("PodTimesNotKept", shared_.ObjectOfNode(), std::move(problem));
  takeover_.TakeLedger(saved, options_.boot, *statuses);
  std::set<std::string> known;
  for (const runtime::ContainerStatus& status : *statuses) {
    known.insert(status.pod_uid);
    groups_.table().KnowId(status.pod_uid, status.container, status.id);
  }
  for (const auto& [id, uid] : runtime.Sandboxes()) groups_.table().KnowId(uid, "", id);
  if (auto prepared = groups_.Prepare(keeper_.ledger(), known); !prepared)
    return Wrap(std::move(prepared).error(), "prepare Berth's cgroups");
  BERTH_RETURN_IF_ERROR(guard_.Begin(now));
  takeover_.TakeRunning(*statuses, now);
  if (devices_.plugins() != nullptr) held_devices_.Look();  // those that need no plug-in are known by now
  reconciler_.Begin(now, options_.reconcile_period);
  guard_.pool().Apply(now, {});
  agenda_.Clear(now);
  agenda_.WakeAt(now);
  return {};
}

void PodManager::OnSnapshot(source::Snapshot snapshot) {
  rounds_.manifests().Take(std::move(snapshot));
  Sync();
}

void PodManager::OnRuntime(os::MonoTime now) {
  rounds_.intake().Poll();
  if (shared_.runtime.makes_groups())
    guard_.cpus().CheckSoon(now);  // it may have written to groups: the kernel has the last word
  Sync();
}

void PodManager::OnGroupsAnswered(os::MonoTime now) {
  guard_.pool().Again();
  guard_.cpus().CheckSoon(now);
  Sync();
}

Result<Move> PodManager::MakeMove(const MoveRequest& request) {
  const auto pod = pods_.find(request.uid);
  if (pod == pods_.end()) return Fail(Code::kNotFound, "no pod with uid " + Printable(request.uid) + " is here");
  ManagedPod& managed = pod->second;
  if (!managed.Is<pods::Admitted>() || managed.saving)
    return Fail(Code::kConflict, "pod " + FullName(managed.pod) + " does not run, or something about it is under way");
  BERTH_TRY(auto proposed, keeper_.ProposeMove(request));
  Move& move = proposed.second;
  if (move.bytes > kMostMigrated)
    return Fail(Code::kUnsupported, "pod " + FullName(managed.pod) + " has more memory to migrate than " +
                                        std::to_string(kMostMigrated.v >> 30) +
                                        " GiB, for which berthd would have to wait");
  pods::CommitFor(shared_, managed, std::move(proposed.first),
                  [this, text = MoveText(move)](ManagedPod& moved, const Result<void>& saved) {
                    if (!saved) return;
                    groups_.cpusets().MoveMemory(moved.pod.uid);
                    shared_.events.Normal("Moved", pods::ObjectOf(moved.pod), text);
                  });
  if (!managed.saving) return Fail(Code::kBusy, "the ledger cannot be saved now: " + keeper_.problem());
  return std::move(move);
}

/// Pods that were rejected or wait may get in now.
void PodManager::OnDevices() {
  if (devices_.plugins() == nullptr) return;
  for (plugin::Note& note : devices_.plugins()->TakeNotes()) {
    if (note.warning)
      shared_.events.Warning(std::move(note.reason), shared_.ObjectOfNode(), std::move(note.message));
    else
      shared_.events.Normal(std::move(note.reason), shared_.ObjectOfNode(), std::move(note.message));
  }
  if (!devices_.Refresh()) return;
  held_devices_.Look();
  ++turns_;
  keeper_.NoteFreed();
  Sync();
}

os::MonoTime PodManager::next_forgetting() const {
  return devices_.plugins() != nullptr ? devices_.plugins()->next_due() : os::MonoTime::max();
}

void PodManager::ForgetPlugins(os::MonoTime now) {
  if (devices_.plugins() != nullptr) devices_.plugins()->Forget(now);
}

void PodManager::OnMemoryPressure(os::MonoTime now) {
  guard_.pressure().LookSoon(now);
  Sync();
}

void PodManager::Reload(os::Millis reconcile_period, bool adopt_unknown) {
  options_.reconcile_period = reconcile_period;
  reconciler_.set_period(reconcile_period);
  guard_.groups().SetAdoptUnknown(adopt_unknown);
}

Result<std::vector<std::string>> PodManager::Restart(const std::string& uid, os::MonoTime now) {
  auto restarted = pods::RestartContainers(shared_, uid, now);
  if (restarted) Sync();
  return restarted;
}

void PodManager::StopAll() {
  rounds_.manifests().StopAll();
  Sync();
}

bool PodManager::idle() const {
  return !keeper_.saving() && std::ranges::all_of(pods_, [](const auto& entry) {
    const ManagedPod& pod = entry.second;
    if (pod.Is<pods::Ending>() || pod.Is<pods::Admitted>()) return false;
    return pod.Is<pods::Done>() || !pod.lifecycle;
  });
}

os::MonoTime PodManager::next_due() const {
  if (rounds_.working() || guard_.working() || rounds_.intake().working()) return {};
  return std::min(agenda_.next(), guard_.next_check());
}

void PodManager::Tick(os::MonoTime now) {
  // A kubelet's runtime that waits for an answer waits for what is under way, too.
  const os::Millis most = options_.beside_kubelet ? options_.slice / 5 : options_.slice;
  const os::Slice slice(shared_.clock, shared_.clock.Now() + most);
  if (rounds_.intake().working()) ++turns_;
  const bool all_heard = rounds_.intake().Work(now, slice);
  guard_.Check(now, options_.reconcile_period, slice);
  if (now >= agenda_.next() || !guard_.pool().in_force()) rounds_.Begin();
  if (all_heard && rounds_.working()) Work(now, slice);
}

void PodManager::Work(os::MonoTime now, const os::Slice& slice) {
  ++turns_;
  if (!options_.beside_kubelet) guard_.pressure().Check(now);  // before anything is admitted
  if (!rounds_.Work(now, slice)) return;
  if (!reconciler_.Work(now, slice)) return agenda_.WakeNow();
  agenda_.WakeAt(std::max(now, reconciler_.next_due()));
  if (!options_.beside_kubelet) agenda_.WakeAt(std::max(now, guard_.pressure().next_due()));
  if (const auto pool = guard_.pool().next_due(now)) agenda_.WakeAt(*pool);
}

NodeConditions PodManager::Conditions() const {
  NodeConditions out{.memory_pressure = guard_.pressure().memory(),
                     .pid_pressure = guard_.pressure().pids(),
                     .ledger_problem = keeper_.problem(),
                     .pool_problem = guard_.pool().problem(),
                     .runtime_problem = shared_.runtime.Problem(),
                     .releasing = {}};
  for (const auto& [uid, managed] : pods_)
    if (managed.Is<pods::Ending>() && keeper_.ledger().pods.contains(uid))
      out.releasing.push_back(FullName(managed.pod));
  return out;
}

std::vector<std::string> PodManager::Warnings() const {
  std::vector<std::string> out;
  if (!keeper_.problem().empty()) out.push_back(keeper_.problem());
  if (std::string problem = shared_.runtime.Problem(); !problem.empty())
    out.push_back("RuntimeNotReady: " + std::move(problem));
  for (std::string& warning : guard_.Warnings()) out.push_back(std::move(warning));
  for (std::string& problem : rounds_.manifests().Problems()) out.push_back(std::move(problem));
  return out;
}

}  // namespace berth::daemon
