// PodManager: what a start finds. The ledger as it was saved, fitted to the node, or made anew from what runs; pods
// that are known only in part because of that, or that another program started.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cgroup/observe.h"
#include "daemon/adopt.h"
#include "daemon/complete_record.h"
#include "daemon/pod_manager.h"
#include "os/path.h"
#include "state/takeover.h"

namespace berth::daemon {
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

/// Groups a runtime made are called after ids; those without a container of ours (sandboxes) are left out.
void NameByIds(std::vector<RunningGroup>& groups, const std::vector<runtime::ContainerStatus>& statuses) {
  std::erase_if(groups, [&](RunningGroup& group) {
    const std::string name = os::FileNameOf(group.path);
    for (const runtime::ContainerStatus& status : statuses) {
      if (status.pod_uid != group.uid || name.find(status.id) == std::string::npos) continue;
      group.name = status.container;
      return false;
    }
    return true;
  });
}

}  // namespace

void PodManager::TakeLedger(const std::optional<state::Saved>& saved,
                            const std::vector<runtime::ContainerStatus>& statuses) {
  if (!saved) return MakeLedgerAnew(statuses);
  const std::string object = "node/" + options_.node_name;
  const bool rebooted = !saved->boot_id.empty() && saved->boot_id != options_.boot_id;
  if (rebooted)
    parts_.events.Normal("Rebooted", object, "the node was booted since berthd ran last; pods keep their places");
  if (!saved->machine_fingerprint.empty() && saved->machine_fingerprint != options_.machine_fingerprint)
    parts_.events.Warning("MachineChanged", object,
                          "CPUs, nodes or memory are not what they were when berthd ran last");
  Adoption adoption = Adopt(node_, saved->ledger, rebooted ? Since::kReboot : Since::kSameBoot);
  for (AdoptionNote& note : adoption.notes)
    parts_.events.Warning("LedgerAdapted", note.pod.empty() ? object : "pod/" + note.pod, std::move(note.text));
  adopted_ = adoption.ledger != saved->ledger;
  ledger_ = std::move(adoption.ledger);
}

void PodManager::MakeLedgerAnew(const std::vector<runtime::ContainerStatus>& statuses) {
  const std::string object = "node/" + options_.node_name;
  auto running = cgroup::ObserveRunning(parts_.tree, options_.cgroup_names);
  if (!running) parts_.events.Warning("LedgerRebuilt", object, "cannot see what runs: " + running.error().message);
  if (running && parts_.runtime.makes_groups()) NameByIds(*running, statuses);
  const auto own = parts_.tree.ReadCpus(options_.cgroup_names.Own());
  state::Takeover made = state::RebuildLedger(node_.EmptyLedger(), node_.reserved_cpus(), own ? *own : CpuSet(),
                                              running ? *std::move(running) : std::vector<RunningGroup>());
  ledger_ = std::move(made.ledger);
  if (ledger_.pods.empty()) return;
  for (const runtime::ContainerStatus& status : statuses)
    if (const auto record = ledger_.pods.find(status.pod_uid); record != ledger_.pods.end())
      NameByLog(record->second, status);
  adopted_ = true;
  parts_.events.Warning(
      "LedgerRebuilt", object,
      fmt::format("no ledger could be used; it was made anew from what runs ({} pods), and memory and "
                  "devices are not booked before the pods' manifests are read",
                  ledger_.pods.size()));
  for (std::string& note : made.notes) parts_.events.Warning("LedgerRebuilt", object, std::move(note));
}

/// True for a pod whose containers another program started: the runtime knows none, yet its groups have processes.
bool PodManager::IsForeign(const PodRecord& record) {
  if (!record.partial || statuses_.contains(record.uid)) return false;
  const auto path = groups_.pods().find(record.uid);
  if (path == groups_.pods().end()) return false;
  const auto pids = parts_.tree.Pids(path->second);
  return !pids || !pids->empty();
}

void PodManager::AddRecorded(const PodRecord& record, os::MonoTime now) {
  ManagedPod& managed = AddUnclaimed(PodFromRecord(record));
  if (!IsForeign(record)) return RecoverStatuses(managed, now);
  managed.stage = ManagedPod::Stage::kForeign;
  managed.lifecycle.reset();
  managed.reason = "ForeignContainers";
  managed.message = "its containers were started by another program; it keeps its place until they end";
  parts_.events.Normal(managed.reason, ObjectOf(managed.pod), managed.message);
}

/// Foreign pods whose last process is gone give their place back, as pods that ended do.
void PodManager::EndForeign(os::MonoTime now) {
  for (auto& [uid, managed] : pods_) {
    if (managed.stage != ManagedPod::Stage::kForeign) continue;
    const auto record = ledger_.pods.find(uid);
    if (record != ledger_.pods.end() && IsForeign(record->second)) continue;
    managed.stage = ManagedPod::Stage::kAdmitted;
    managed.lifecycle.emplace(managed.pod);
    End(managed, now);
    WakeAt(now);
  }
}

/// A manifest stands behind a pod that is known only in part. What runs of it keeps what it has, with the rest of the
/// record from the manifest; when nothing runs any more, it is decided like a new pod.
void PodManager::CompleteAndClaim(ManagedPod& managed, const Pod& pod, os::MonoTime now) {
  if (!RunsSomething(pod.uid)) return End(managed, now);
  const auto mems = [&](const std::string& container) {
    const auto values = parts_.tree.Read(groups_.ContainerPathOf(managed.pod, container));
    return values ? values->mems.value_or(NodeSet()) : NodeSet();
  };
  Completion done = CompleteRecord(node_, ledger_.pods.find(pod.uid)->second, pod, mems);
  Ledger next = ledger_;
  next.pods.insert_or_assign(pod.uid, std::move(done.record));
  ++next.revision;
  Adoption fitted = Adopt(node_, next);  // books the memory
  if (auto saved = SaveAndTake(std::move(fitted.ledger)); !saved) {
    save_problem_ = saved.error().message + "; a pod that runs is known only in part";
    return;  // tried again with the next Sync
  }
  for (std::string& note : done.notes) parts_.events.Warning("LedgerAdapted", ObjectOf(pod), std::move(note));
  Claim(managed, pod, now);
}

}  // namespace berth::daemon
