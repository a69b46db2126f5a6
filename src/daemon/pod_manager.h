// All pods of this node, from manifest to removal: the loop's logic without the loop. Design: docs/design/daemon.md.
//
// Level-triggered: whatever happened, Sync compares what is wanted, what the ledger holds and what runs, and does the
// next steps. Everything that fails is tried again by a later Sync, so that the order below holds through any failure:
//
//   admit    decide -> ledger saved -> shared pool shrunk -> cgroups made and checked -> containers started
//   release  containers ended -> their cgroups seen empty, removed -> ledger saved -> shared pool grown
#ifndef BERTH_DAEMON_POD_MANAGER_H_
#define BERTH_DAEMON_POD_MANAGER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "daemon/events.h"
#include "daemon/eviction.h"
#include "daemon/node_cgroups.h"
#include "daemon/pod_notes.h"
#include "daemon/pod_volumes.h"
#include "engine/engine.h"
#include "model/decision.h"
#include "model/ledger.h"
#include "model/node_conditions.h"
#include "model/pod.h"
#include "model/trace.h"
#include "os/clock.h"
#include "runtime/env.h"
#include "runtime/pod_lifecycle.h"
#include "runtime/runtime.h"
#include "source/source.h"
#include "state/store.h"

namespace berth::daemon {

struct ManagerOptions {
  std::string node_name;
  VolumeFolders volumes;
  std::string log_dir;  ///< containers log to <log_dir>/<namespace>_<name>_<uid>/<container>/<attempt>.log
  std::uint64_t log_max_bytes = 10U << 20;
  int log_max_files = 5;
  std::string notes;  ///< folder of daemon/pod_notes.h; "": nothing is noted, and nothing of earlier pods removed
  os::Millis reconcile_period{10'000};
  /// Keep groups of pods that Berth did not make in the shared pool, instead of reporting them only.
  bool adopt_unknown = false;
  /// Looks at the machine again, for CPUs that did not exist at the start; null: they wait for a restart.
  std::function<Result<engine::Node>()> look_at_node;
  std::string boot_id;
  std::string machine_fingerprint;
  cgroup::Names cgroup_names;          ///< of the tree's root
  std::string cpu_partition = "none";  ///< of containers with exclusive CPUs: none, root, isolated
  /// Groups of the host to show beside the tree, by setting: path from the top of the hierarchy.
  std::vector<std::pair<std::string, std::string>> host_groups;
};

/// The parts a manager works with; all outlive it.
struct ManagerParts {
  state::Store& store;
  cgroup::Tree& tree;
  runtime::Runtime& runtime;
  EventLog& events;
  const os::Clock& clock;
};

/// What is known about one pod.
struct ManagedPod {
  enum class Stage {
    kWaiting,   ///< not decided yet, or its decision could not be saved
    kRejected,  ///< the engine said no; stays so until the manifest changes
    kAdmitted,  ///< holds its place in the ledger
    kDone,      ///< all containers ended for good, place given back
    kForeign,   ///< holds its place in the ledger for containers another program started; only watched
  };
  Pod pod;
  /// False: no manifest is known (yet) for what ledger or runtime hold; `pod` is made up from these. Nothing of it is
  /// started.
  bool claimed = false;
  Stage stage = Stage::kWaiting;
  std::string file;    ///< manifest
  std::string reason;  ///< of kWaiting and kRejected
  std::string message;
  std::vector<std::string> details;                ///< in an operator's words
  Trace trace;                                     ///< of the last decision
  std::string admitted_at;                         ///< RFC 3339
  std::optional<runtime::PodLifecycle> lifecycle;  ///< from admission on
  bool ending = false;                             ///< has to go: no manifest wants it any more
  std::optional<os::MonoTime> retry_at;            ///< of the removal of its groups
  os::Millis retry_delay{0};                       ///< from the last try to that; zero before the first
};

/// Thread: the loop's only. Times given must not go backwards.
class PodManager {
 public:
  PodManager(const ManagerParts& parts, const engine::Node& node, ManagerOptions options);

  /// Takes over `saved` (nullopt: no ledger, made from what runs) and what runs: adopts the ledger, finds groups and
  /// containers again, makes the tiers and brings the shared pool in force. Nothing is started or removed before the
  /// first snapshot. Errors: only what makes running pods impossible (no cgroups, no runtime).
  Result<void> Start(const std::optional<state::Saved>& saved, os::MonoTime now);

  /// The source has something new.
  void OnSnapshot(source::Snapshot snapshot, os::MonoTime now);
  /// The runtime has something new (asks Poll).
  void OnRuntime(os::MonoTime now);
  /// Somebody else wrote to a file of this cpuset directory; `who` describes him, "" when he is not known.
  void OnForeignWrite(std::string_view cpuset_dir, std::string who, os::MonoTime now);
  /// Somebody wrote somewhere: all cpusets are looked at soon.
  /// systemd wrote to the group with this cpuset directory: not on our behalf, perhaps, and whatever somebody told it,
  /// it writes all values it knows. The group's are looked at soon.
  void OnSystemdWrite(std::string_view cpuset_dir, os::MonoTime now);
  void CheckSoon(os::MonoTime now);
  /// Does what is due at `now`; cheap when that is only a look at the kernel's cpusets.
  void Tick(os::MonoTime now);
  /// The kernel says that memory runs short.
  void OnMemoryPressure(os::MonoTime now);
  /// Does all there is to do.
  void Sync(os::MonoTime now);
  /// When Tick has to be called even if nothing happens.
  os::MonoTime next_due() const { return std::min(next_due_, next_check_); }

  /// Ends every pod, as if all manifests were gone. idle() tells when it is done.
  void StopAll(os::MonoTime now);
  /// No pod holds anything and nothing runs.
  bool idle() const;
  /// `sign` is called between pods, so that a supervisor sees life while many are worked on.
  void set_sign_of_life(std::function<void()> sign) { sign_of_life_ = std::move(sign); }
  void SetReconcilePeriod(os::Millis period) { options_.reconcile_period = period; }
  void SetAdoptUnknown(bool adopt) { options_.adopt_unknown = adopt; }

  const engine::Node& node() const { return node_; }
  const Ledger& ledger() const { return ledger_; }
  const std::map<std::string, ManagedPod>& pods() const { return pods_; }     ///< by uid
  const std::map<std::string, std::string>& files() const { return files_; }  ///< full name -> manifest file
  const NodeCgroups& groups() const { return groups_; }
  NodeCgroups& groups() { return groups_; }
  const cgroup::Tree& tree() const { return parts_.tree; }
  const ManagerOptions& options() const { return options_; }
  const runtime::Runtime& runtime() const { return parts_.runtime; }
  /// What every group holds, and should hold for the pods of now.
  std::vector<GroupState> InspectGroups() const;
  /// What keeps pods from being admitted or started beside a lack of room.
  NodeConditions Conditions() const;
  /// Changes whenever pods, conditions or warnings may have.
  std::uint64_t turns() const { return turns_; }
  /// Things an operator should know now (ledger not saved, cgroups not written), a sentence each.
  std::vector<std::string> Warnings() const;

 private:
  using ReportedProblems = std::set<std::pair<std::string, std::string>>;         // file, message
  using Statuses = std::map<std::string, runtime::ContainerStatus, std::less<>>;  // by container name, newest attempt

  // pod_manager.cc: start, sources, sync
  void TakeRunning(std::vector<runtime::ContainerStatus> statuses, os::MonoTime now);
  ManagedPod& AddUnclaimed(Pod pod);
  void ReportProblems(const source::Snapshot& snapshot);
  void Claim(ManagedPod& managed, const Pod& pod, os::MonoTime now);
  void MatchWithManifests(os::MonoTime now);
  void End(ManagedPod& managed, os::MonoTime now);
  void AdmitNew(os::MonoTime now);
  void ComputeNextDue(os::MonoTime now);
  void WakeAt(os::MonoTime when);

  // pod_takeover.cc: what a start finds
  void TakeLedger(const std::optional<state::Saved>& saved, const std::vector<runtime::ContainerStatus>& statuses);
  void MakeLedgerAnew(const std::vector<runtime::ContainerStatus>& statuses);
  bool IsForeign(const PodRecord& record);
  void AddRecorded(const PodRecord& record, os::MonoTime now);
  void EndForeign(os::MonoTime now);
  void CompleteAndClaim(ManagedPod& managed, const Pod& pod, os::MonoTime now);

  // pod_admission.cc: decisions and the ledger
  void Admit(ManagedPod& managed, os::MonoTime now);
  void Reject(ManagedPod& managed, const berth::Reject& reject);
  bool FinishedEarlier(ManagedPod& managed, os::MonoTime now);
  Result<void> SaveAndTake(Ledger next);
  bool ReleasePlace(ManagedPod& managed, os::MonoTime now);
  bool SaveAdopted(os::MonoTime now);
  void ApplyPool(os::MonoTime now);
  void LedgerNotSaved(const Error& error, const std::string& object, os::MonoTime now);

  // pod_repair.cc: what the world did meanwhile
  void Check(os::MonoTime now);
  void RepairCpusets(os::MonoTime now);
  CpuSet PoolOf(const Ledger& ledger) const;
  void FollowCpus(os::MonoTime now);
  void TakeNewCpus();
  void ReportCpus(const CpuSet& before);
  void Reconcile(os::MonoTime now);
  void CompareWithRuntime(os::MonoTime now);
  void LookForForeignGroups();
  void LookForForeignContainers();
  void LimitAllPods();
  void RemoveUnusedGroups();
  void RemoveOrphan(const std::set<std::string>& uids);
  Result<void> RemoveFolders(const NotedPod& pod);
  void RepairValues(os::MonoTime now);
  void UsePartitions();
  void ReportPartitions();
  void ReportStrays();
  void RepairValuesOf(const std::set<std::string>& only);

  // pod_eviction.cc: pressure
  void CheckPressure(os::MonoTime now);
  void ReportPressure(std::string_view what, bool before, bool now);
  void Evict(const EvictionLook& look, os::MonoTime now);

  // pod_running.cc: containers
  void Drive(ManagedPod& managed, os::MonoTime now);
  void Perform(ManagedPod& managed, const runtime::Action& action, os::MonoTime now);
  void TakeBackInitMemory(const Pod& pod, const std::string& container, os::MonoTime now);
  void StartContainer(ManagedPod& managed, const runtime::Action& action, os::MonoTime now);
  Result<runtime::ContainerStatus> TryStart(const ManagedPod& managed, const Container& container, ContainerKind kind,
                                            int attempt);
  Result<void> FillPlace(const Pod& pod, const Container& container, runtime::StartRequest& request);
  void Take(const runtime::ContainerStatus& status, os::MonoTime now);
  void TakeStart(ManagedPod& managed, const runtime::ContainerStatus& status);
  void StartCameToNothing(ManagedPod& managed, const runtime::ContainerStatus& status, os::MonoTime now);
  void StopContainer(ManagedPod& managed, const runtime::Action& action, os::MonoTime now);
  void ReportEnd(const ManagedPod& managed, const runtime::ContainerStatus& status);
  bool RunsSomething(const std::string& uid) const;
  bool RemoveGroups(ManagedPod& managed);
  bool Finish(ManagedPod& managed, os::MonoTime now);
  void ForgetRecords(const std::string& uid);
  void RecoverStatuses(ManagedPod& managed, os::MonoTime now);

  static std::string ObjectOf(const Pod& pod);
  std::string LogFolder(const Pod& pod) const;
  void RemoveOldLogs(const std::string& folder, int attempt) const;

  ManagerParts parts_;
  engine::Node node_;
  ManagerOptions options_;
  NodeCgroups groups_;

  std::optional<Eviction> eviction_;  // from Start on

  Ledger ledger_;
  std::map<std::string, ManagedPod> pods_;                      // by uid
  std::map<std::string, Statuses> statuses_;                    // by uid; all records the runtime has
  std::map<std::string, std::vector<std::string>> record_ids_;  // uid -> runtime ids

  std::uint64_t turns_ = 0;
  bool source_ready_ = false;
  bool source_complete_ = false;
  bool stopping_ = false;
  std::map<std::string, Pod> wanted_;         // by full name
  std::map<std::string, std::string> files_;  // full name -> path
  ReportedProblems problems_;
  ReportedProblems manifest_warnings_;
  std::set<std::string> reported_groups_;  // paths of unused groups that cannot be removed
  std::function<void()> sign_of_life_ = [] {};

  bool adopted_ = false;       // the ledger was changed to fit the node and not saved since
  bool pool_dirty_ = true;     // the kernel's shared pool may differ from the ledger's
  std::string pool_problem_;   // why, when the last attempt failed
  std::string limit_problem_;  // why the memory limit of all pods is not what the settings say
  std::string save_problem_;   // why the ledger could not be saved last
  std::optional<os::MonoTime> pool_retry_;
  std::optional<os::MonoTime> save_retry_;
  os::Millis save_delay_{0};
  std::optional<CpuSet> online_;                    // CPUs seen online last; nullopt: not looked at, or not known
  std::set<std::string> retold_;                    // groups that systemd wrote to since the last look
  std::map<std::string, std::string> writers_;      // group -> who wrote there since the last look
  std::set<std::string> no_partition_;              // paths of containers that were reported to have none
  std::set<std::string> has_strays_;                // likewise, to have processes out of their cpuset
  std::set<std::string> foreign_groups_;            // paths that were reported
  std::map<std::string, bool> foreign_containers_;  // paths seen at the last look -> reported
  os::MonoTime last_check_{};
  os::MonoTime next_check_{};
  os::MonoTime next_look_{};
  os::MonoTime next_reconcile_{};
  os::MonoTime next_eviction_{};
  os::MonoTime next_value_repair_{};
  os::MonoTime next_due_{};
};

/// A pod as far as its ledger record tells: names of containers, QoS class, no commands.
Pod PodFromRecord(const PodRecord& record);
/// True when the record was made for a pod of this shape: name, QoS class, containers, requests.
bool RecordFits(const PodRecord& record, const Pod& pod);

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_POD_MANAGER_H_
