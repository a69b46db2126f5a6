#include "daemon/pod_manager.h"

#include <set>
#include <utility>

#include "base/text.h"
#include "frontend/static_pods/restart.h"

namespace berth::daemon {
namespace {

/// In one move: the kernel migrates before a write returns, and the loop does nothing else meanwhile.
constexpr Bytes kMostMigrated = GiB(1);

pods::Helpers HelpersOfPods(reconciler::Reconciler& reconciler, recovery::StartupRecovery& recovery) {
  return {
      .pressure = [&](const Pod& pod) { return reconciler.pressure().WhyNotAdmit(pod); },
      .apply_pool = [&](os::MonoTime now, const os::Slice& slice) { return reconciler.pool().Apply(now, slice); },
      .pool_in_force = [&] { return reconciler.pool().in_force(); },
      .pool_due = [&] { return reconciler.pool().due(); },
      .complete = [&](ManagedPod& managed, const Pod& pod, os::MonoTime now) { recovery.Complete(managed, pod, now); }};
}

}  // namespace

PodManager::PodManager(const ManagerParts& parts, const allocator::Node& node, ManagerOptions options)
    : options_(std::move(options)),
      allocations_({.store = parts.store, .executor = parts.executor, .events = parts.events, .clock = parts.clock},
                   node,
                   {.node_name = options_.pods.node_name,
                    .boot_id = options_.boot.boot_id,
                    .machine_fingerprint = options_.boot.machine_fingerprint}),
      groups_(parts.tree, node, options_.cgroup_names),
      records_(parts.runtime, parts.clock),
      checkpoints_(options_.pods.checkpoints, options_.boot.boot_id),
      devices_(parts.plugins),
      shared_{.allocations = allocations_,
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
              .checkpoints = checkpoints_,
              .documents = documents_,
              .devices = devices_},
      held_devices_(shared_),
      recovery_(shared_),
      reconciler_(shared_, options_.cpus, options_.machine, options_.adopt_unknown),
      sync_loop_(shared_, parts.probes != nullptr ? *parts.probes : parts.executor,
                 parts.hooks != nullptr ? *parts.hooks : parts.executor,
                 parts.plugin_calls != nullptr ? *parts.plugin_calls : parts.executor,
                 HelpersOfPods(reconciler_, recovery_)),
      periodic_checks_(shared_, sync_loop_, recovery_, reconciler_) {
  allocations_.set_on_change([this] { reconciler_.pool().Changed(); });
  recovery_.set_on_complete([this](ManagedPod& managed, const Pod& pod, os::MonoTime now) {
    sync_loop_.manifests().Claim(managed, pod, now);
  });
}

Result<void> PodManager::Start(const std::optional<checkpoint::Saved>& saved, os::MonoTime now) {
  runtime::Runtime& runtime = shared_.runtime;
  auto statuses = runtime.List();
  if (!statuses) return Wrap(std::move(statuses).error(), "look for containers that run");
  if (runtime.makes_groups()) groups_.site().set_runtime_makes_groups();
  if (options_.beside_kubelet) groups_.site().set_beside_kubelet();
  for (std::string& problem : checkpoints_.Load())
    shared_.events.Warning("PodTimesNotKept", shared_.ObjectOfNode(), std::move(problem));
  recovery_.TakeLedger(saved, options_.boot, *statuses);
  std::set<std::string> known;
  for (const runtime::ContainerStatus& status : *statuses) {
    known.insert(status.pod_uid);
    groups_.table().KnowId(status.pod_uid, status.container, status.id);
  }
  for (const auto& [id, uid] : runtime.Sandboxes()) groups_.table().KnowId(uid, "", id);
  if (auto prepared = groups_.Prepare(allocations_.ledger(), known); !prepared)
    return Wrap(std::move(prepared).error(), "prepare Berth's cgroups");
  BERTH_RETURN_IF_ERROR(reconciler_.Begin(now));
  recovery_.TakeRunning(*statuses, now);
  if (devices_.plugins() != nullptr) held_devices_.Look();  // those that need no plug-in are known by now
  periodic_checks_.Begin(now, options_.reconcile_period);
  reconciler_.pool().Apply(now, {});
  agenda_.Clear(now);
  agenda_.WakeAt(now);
  return {};
}

void PodManager::OnSnapshot(pod_sources::Snapshot snapshot) {
  sync_loop_.manifests().Take(std::move(snapshot));
  Sync();
}

void PodManager::OnRuntime(os::MonoTime now) {
  sync_loop_.runtime_events().Poll();
  if (shared_.runtime.makes_groups())
    reconciler_.cpus().CheckSoon(now);  // it may have written to groups: the kernel has the last word
  Sync();
}

void PodManager::OnGroupsAnswered(os::MonoTime now) {
  reconciler_.pool().Again();
  reconciler_.cpus().CheckSoon(now);
  Sync();
}

Result<Move> PodManager::MakeMove(const MoveRequest& request) {
  const auto pod = pods_.find(request.uid);
  if (pod == pods_.end()) return Fail(Code::kNotFound, "no pod with uid " + Printable(request.uid) + " is here");
  ManagedPod& managed = pod->second;
  if (!managed.Is<pods::Admitted>() || managed.saving)
    return Fail(Code::kConflict, "pod " + FullName(managed.pod) + " does not run, or something about it is under way");
  BERTH_TRY(auto proposed, allocations_.ProposeMove(request));
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
  if (!managed.saving) return Fail(Code::kBusy, "the ledger cannot be saved now: " + allocations_.problem());
  return std::move(move);
}

/// Pods that were rejected or wait may get in now.
void PodManager::OnDevices() {
  if (devices_.plugins() == nullptr) return;
  for (device_manager::Note& note : devices_.plugins()->TakeNotes()) {
    if (note.warning)
      shared_.events.Warning(std::move(note.reason), shared_.ObjectOfNode(), std::move(note.message));
    else
      shared_.events.Normal(std::move(note.reason), shared_.ObjectOfNode(), std::move(note.message));
  }
  if (!devices_.Refresh()) return;
  held_devices_.Look();
  ++turns_;
  allocations_.NoteFreed();
  Sync();
}

os::MonoTime PodManager::next_forgetting() const {
  return devices_.plugins() != nullptr ? devices_.plugins()->next_due() : os::MonoTime::max();
}

void PodManager::ForgetPlugins(os::MonoTime now) {
  if (devices_.plugins() != nullptr) devices_.plugins()->Forget(now);
}

void PodManager::OnMemoryPressure(os::MonoTime now) {
  reconciler_.pressure().LookSoon(now);
  Sync();
}

void PodManager::Reload(os::Millis reconcile_period, bool adopt_unknown) {
  options_.reconcile_period = reconcile_period;
  periodic_checks_.SetPeriod(reconcile_period);
  agenda_.WakeAt(periodic_checks_.next_due());
  reconciler_.cpus().CheckSoon(shared_.clock.Now());
  reconciler_.groups().SetAdoptUnknown(adopt_unknown);
}

Result<std::vector<std::string>> PodManager::Restart(const std::string& uid, os::MonoTime now) {
  auto restarted = pods::RestartContainers(shared_, uid, now);
  if (restarted) Sync();
  return restarted;
}

void PodManager::StopAll() {
  sync_loop_.manifests().StopAll();
  Sync();
}

bool PodManager::idle() const {
  return !allocations_.saving() && std::ranges::all_of(pods_, [](const auto& entry) {
    const ManagedPod& pod = entry.second;
    if (pod.Is<pods::Ending>() || pod.Is<pods::Admitted>()) return false;
    return pod.Is<pods::Done>() || !pod.lifecycle;
  });
}

os::MonoTime PodManager::next_due() const {
  if (sync_loop_.working() || reconciler_.working() || sync_loop_.runtime_events().working()) return {};
  return std::min(agenda_.next(), reconciler_.next_check());
}

void PodManager::Tick(os::MonoTime now) {
  // A kubelet's runtime that waits for an answer waits for what is under way, too.
  const os::Millis most = options_.beside_kubelet ? options_.slice / 5 : options_.slice;
  const os::Slice slice(shared_.clock, shared_.clock.Now() + most);
  if (sync_loop_.runtime_events().working()) ++turns_;
  const bool all_heard = sync_loop_.runtime_events().Work(now, slice);
  reconciler_.Check(now, options_.reconcile_period, slice);
  if (now >= agenda_.next() || !reconciler_.pool().in_force()) sync_loop_.Begin();
  if (all_heard && sync_loop_.working()) Work(now, slice);
}

void PodManager::Work(os::MonoTime now, const os::Slice& slice) {
  ++turns_;
  if (!options_.beside_kubelet) reconciler_.pressure().Check(now);  // before anything is admitted
  if (!sync_loop_.Work(now, slice)) return;
  if (!periodic_checks_.Work(now, slice)) return agenda_.WakeNow();
  agenda_.WakeAt(std::max(now, periodic_checks_.next_due()));
  if (!options_.beside_kubelet) agenda_.WakeAt(std::max(now, reconciler_.pressure().next_due()));
  if (const auto pool = reconciler_.pool().next_due(now)) agenda_.WakeAt(*pool);
}

NodeConditions PodManager::Conditions() const {
  NodeConditions out{.memory_pressure = reconciler_.pressure().memory(),
                     .pid_pressure = reconciler_.pressure().pids(),
                     .ledger_problem = allocations_.problem(),
                     .pool_problem = reconciler_.pool().problem(),
                     .runtime_problem = shared_.runtime.Problem(),
                     .releasing = {}};
  for (const auto& [uid, managed] : pods_)
    if (managed.Is<pods::Ending>() && allocations_.ledger().pods.contains(uid))
      out.releasing.push_back(FullName(managed.pod));
  return out;
}

std::vector<std::string> PodManager::Warnings() const {
  std::vector<std::string> out;
  if (!allocations_.problem().empty()) out.push_back(allocations_.problem());
  if (std::string problem = shared_.runtime.Problem(); !problem.empty())
    out.push_back("RuntimeNotReady: " + std::move(problem));
  for (std::string& warning : reconciler_.Warnings()) out.push_back(std::move(warning));
  for (std::string& problem : sync_loop_.manifests().Problems()) out.push_back(std::move(problem));
  return out;
}

}  // namespace berth::daemon
