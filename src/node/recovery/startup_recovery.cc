#include "node/recovery/startup_recovery.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "host/os/clock.h"
#include "host/os/path.h"
#include "node/checkpoint/ledger_import.h"
#include "node/ledger/adopt.h"
#include "node/recovery/complete_record.h"

namespace berth::recovery {
namespace {

/// Namespace and name as they stand in the path of a container's log, <folder>/<namespace>_<name>_<uid>/...
void NameByLog(PodRecord& record, const runtime::ContainerStatus& status) {
  const std::string folder = os::FileNameOf(os::FolderOf(os::FolderOf(status.log_path)));
  const std::size_t first = folder.find('_');
  const std::string end = "_" + record.uid;
  if (first == std::string::npos || !folder.ends_with(end) || folder.size() < first + 1 + end.size()) return;
  record.namespace_ = folder.substr(0, first);
  record.name = folder.substr(first + 1, folder.size() - end.size() - first - 1);
}

/// Of pods that another program started.
constexpr const char* kForeign = "ForeignContainers";

}  // namespace

Pod PodFromRecord(const PodRecord& record) {
  Pod pod;
  pod.uid = record.uid;
  pod.namespace_ = record.namespace_;
  pod.name = record.name;
  pod.status_qos = record.qos;
  pod.restart_policy = RestartPolicy::kNever;
  for (const Placement& placement : record.placements) {
    Container container;
    container.name = placement.container;
    container.restartable_init = placement.kind == ContainerKind::kSidecar;
    (placement.kind == ContainerKind::kApp ? pod.containers : pod.init_containers).push_back(std::move(container));
  }
  return pod;
}

void StartupRecovery::TakeLedger(const std::optional<checkpoint::Saved>& saved, const ThisBoot& boot,
                                 const std::vector<runtime::ContainerStatus>& statuses) {
  if (!saved) return MakeLedgerAnew(statuses);
  const std::string object = allocations_.ObjectOfNode();
  const bool rebooted = !saved->boot_id.empty() && saved->boot_id != boot.boot_id;
  if (rebooted) events_.Normal("Rebooted", object, "the node was booted since berthd ran last; pods keep their places");
  if (!saved->machine_fingerprint.empty() && saved->machine_fingerprint != boot.machine_fingerprint)
    events_.Warning("MachineChanged", object, "CPUs, nodes or memory are not what they were when berthd ran last");
  ledger::Adoption adoption =
      ledger::Adopt(allocations_.node(), saved->ledger, rebooted ? ledger::Since::kReboot : ledger::Since::kSameBoot);
  for (ledger::AdoptionNote& note : adoption.notes)
    events_.Warning("LedgerAdapted", note.pod.empty() ? object : "pod/" + note.pod, std::move(note.text));
  const bool changed = adoption.ledger != saved->ledger;
  allocations_.Open(std::move(adoption.ledger), changed);
}

void StartupRecovery::MakeLedgerAnew(const std::vector<runtime::ContainerStatus>& statuses) {
  const std::string object = allocations_.ObjectOfNode();
  auto running = groups_.ownership().FindRunning(groups_.site(), statuses);
  if (!running) events_.Warning("LedgerRebuilt", object, "cannot see what runs: " + running.error().message);
  const auto own = groups_.site().tree().ReadCpus(groups_.site().names().Own());
  checkpoint::LedgerImport made =
      checkpoint::RebuildLedger(allocations_.node().EmptyLedger(), allocations_.node().reserved_cpus(),
                                own ? *own : CpuSet(), running ? *std::move(running) : std::vector<RunningGroup>());
  for (const runtime::ContainerStatus& status : statuses)
    if (const auto record = made.ledger.pods.find(status.pod_uid); record != made.ledger.pods.end())
      NameByLog(record->second, status);
  const std::size_t pods = made.ledger.pods.size();
  allocations_.Open(std::move(made.ledger), pods > 0);
  if (pods == 0) return;
  events_.Warning("LedgerRebuilt", object,
                  fmt::format("no ledger could be used; it was made anew from what runs ({} pods), and memory and "
                              "devices are not booked before the pods' manifests are read",
                              pods));
  for (std::string& note : made.notes) events_.Warning("LedgerRebuilt", object, std::move(note));
}

/// An ending that an earlier berthd began goes on: it is not taken back.
pods::ManagedPod& StartupRecovery::AddUnclaimed(Pod pod, os::MonoTime now) {
  pods::ManagedPod managed;
  const pods::PodCheckpoint* const life = pods_.checkpoints().Find(pod.uid);
  if (life != nullptr) pods::Complete(pod, *life);
  managed.lifecycle.emplace(pod);
  managed.stage = pods::Admitted{.at = life != nullptr ? life->admitted_at : ""};
  if (life != nullptr && life->evicted) managed.Move(pods::pod_event::Evict{*life->evicted});
  const std::string uid = pod.uid;
  managed.pod = std::move(pod);
  pods_.RestoreLifecycle(managed, now);
  if (life != nullptr && life->ending) pods::End(managed, now);
  return pods_.pods().insert_or_assign(uid, std::move(managed)).first->second;
}

/// As an earlier berthd kept it; 0: nothing is kept.
int StartupRecovery::LastAttempt(const std::string& uid, std::string_view container) const {
  const pods::PodCheckpoint* const life = pods_.checkpoints().Find(uid);
  if (life == nullptr) return 0;
  const auto found = std::ranges::find(life->times.containers, container, &runtime::LifecycleTimes::Of::container);
  return found == life->times.containers.end() ? 0 : std::max(found->attempt, 0);
}

/// Containers whose processes run although the runtime has no record of them any more: its run directory was emptied.
/// Their ends could not be told, so they are taken for ended, and their processes are ended before the next start,
/// which counts as a restart.
void StartupRecovery::TakeLost() {
  for (const auto& [uid, record] : allocations_.ledger().pods) {
    if (record.partial) continue;
    const Pod pod = PodFromRecord(record);
    for (const Placement& placement : record.placements) {
      const auto known = pods_.statuses().all().find(uid);
      if (known != pods_.statuses().all().end() && known->second.contains(placement.container)) continue;
      const auto home = groups_.table().HomeOf(pod, placement.container);
      const auto pids = home ? groups_.site().tree().Pids(*home) : Result<std::vector<int>>();
      if (!pids || pids->empty()) continue;
      runtime::ContainerStatus lost;
      lost.id = fmt::format("{}.{}.lost", uid, placement.container);
      lost.pod_uid = uid;
      lost.container = placement.container;
      lost.attempt = LastAttempt(uid, placement.container);
      lost.message = "its record in the run directory is gone";
      lost.finished_at = os::FormatTime(clock_.Wall());
      pods_.statuses().Take(lost);
      events_.Warning("ContainerLost", pods::ObjectOf(pod),
                      fmt::format("container {} runs, but {}: its processes are ended, and it starts anew if its "
                                  "restart policy says so",
                                  placement.container, lost.message));
    }
  }
}

void StartupRecovery::TakeRunning(const std::vector<runtime::ContainerStatus>& statuses, os::MonoTime now) {
  for (const runtime::ContainerStatus& status : statuses) pods_.statuses().Take(status);
  TakeLost();
  for (const auto& [uid, record] : allocations_.ledger().pods) AddRecorded(record, now);
  for (const auto& [uid, containers] : pods_.statuses().all()) {
    if (!pods_.statuses().RunsSomething(uid) || pods_.pods().contains(uid)) continue;
    Pod pod;  // runs although the ledger does not know it: taken in by its manifest, or ended
    pod.uid = uid;
    pod.name = uid;
    pod.namespace_ = "unknown";
    for (const auto& [name, status] : containers) pod.containers.emplace_back().name = name;
    AddUnclaimed(std::move(pod), now);
  }
}

/// True for a pod whose containers another program started: the runtime knows none, yet its groups have processes.
bool StartupRecovery::IsForeign(const PodRecord& record) {
  if (!record.partial || pods_.statuses().Knows(record.uid)) return false;
  const auto path = groups_.table().pods().find(record.uid);
  if (path == groups_.table().pods().end()) return false;
  const auto pids = groups_.site().tree().Pids(path->second);
  return !pids || !pids->empty();
}

/// Groups of the pod with processes, of containers that another runtime than this one has started. None while this
/// runtime runs something of the pod.
std::vector<std::string> StartupRecovery::GroupsOfOtherRuntime(const PodRecord& record) const {
  const auto pod = groups_.table().pods().find(record.uid);
  if (record.partial || pod == groups_.table().pods().end() || pods_.statuses().RunsSomething(record.uid)) return {};
  std::vector<std::string> out;
  for (const std::string& group : groups_.site().tree().Children(pod->second).value_or(std::vector<std::string>())) {
    if (groups_.ownership().IsOfThisRuntime(groups_.site(), record, group)) continue;
    const auto pids = groups_.site().tree().Pids(pod->second + "/" + group);
    if (!pids || !pids->empty()) out.push_back(group);
  }
  return out;
}

/// Such a pod cannot be gone on with, and nothing may be started beside what runs of it: it ends, keeps its place until
/// its groups are empty, and is then decided like a new one.
void StartupRecovery::EndIfOfOtherRuntime(pods::ManagedPod& managed, const PodRecord& record, os::MonoTime now) {
  const std::vector<std::string> groups = GroupsOfOtherRuntime(record);
  if (groups.empty()) return;
  events_.Warning("ContainerLost", pods::ObjectOf(managed.pod),
                  fmt::format("processes in its groups ({}) were started by another runtime than the one that "
                              "`runtime` names now: they are killed, and the pod is started anew when they ended",
                              Join(groups, ", ")));
  if (managed.Is<pods::Admitted>()) pods::End(managed, now);  // one that is evicted, or ends, does so already
}

void StartupRecovery::AddRecorded(const PodRecord& record, os::MonoTime now) {
  pods::ManagedPod& managed = AddUnclaimed(PodFromRecord(record), now);
  if (!IsForeign(record)) return EndIfOfOtherRuntime(managed, record, now);
  managed.Move(pods::pod_event::Watch{
      {.reason = kForeign,
       .message = "its containers were started by another program; it keeps its place until they end"}});
  managed.lifecycle.reset();
  events_.Normal(managed.why().reason, pods::ObjectOf(managed.pod), managed.why().message);
}

void StartupRecovery::WatchAll() {
  for (auto& [uid, managed] : pods_.pods()) managed.Move(pods::pod_event::Watch());
}

void StartupRecovery::EndForeign(os::MonoTime now) {
  for (auto& [uid, managed] : pods_.pods()) {
    if (!managed.Is<pods::Foreign>() || managed.why().reason != kForeign) continue;
    const auto record = allocations_.ledger().pods.find(uid);
    if (record != allocations_.ledger().pods.end() && IsForeign(record->second)) continue;
    managed.Move(pods::pod_event::Admit());
    managed.lifecycle.emplace(managed.pod);
    pods::End(managed, now);
    pods_.agenda().WakeAt(now);
  }
}

void StartupRecovery::Complete(pods::ManagedPod& managed, const Pod& pod, os::MonoTime now, Claim claim) {
  if (!pods_.statuses().RunsSomething(pod.uid)) return pods::End(managed, now);
  if (now < allocations_.next_try()) return pods_.agenda().WakeAt(allocations_.next_try());
  const auto mems = [&](const std::string& container) {
    const auto values = groups_.site().tree().Read(groups_.table().ContainerPathOf(managed.pod, container));
    return values ? values->mems.value_or(NodeSet()) : NodeSet();
  };
  Ledger next = allocations_.newest();
  const auto record = next.pods.find(pod.uid);
  if (record == next.pods.end()) return;
  Completion done = CompleteRecord(allocations_.newest_node(), record->second, pod, mems);
  record->second = std::move(done.record);
  ++next.revision;
  ledger::Adoption fitted = ledger::Adopt(allocations_.newest_node(), next);  // books the memory
  pods_.Commit(allocations_, managed, allocations_.ProposeLedger(pods::ObjectOf(pod), std::move(fitted.ledger)),
               [this, pod, notes = std::move(done.notes), claim = std::move(claim)](pods::ManagedPod& same,
                                                                                    const Result<void>& saved) {
                 if (!saved) return;  // tried again
                 for (const std::string& note : notes) events_.Warning("LedgerAdapted", pods::ObjectOf(pod), note);
                 if (!same.Is<pods::Ending>()) claim(same, pod, clock_.Now());
               });
}

}  // namespace berth::recovery
