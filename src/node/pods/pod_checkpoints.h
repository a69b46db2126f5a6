// Pod state files that outlive a killed berthd: how a pod's containers are to be stopped though its manifest is gone,
// how far its termination got, and times that count from a moment nobody can see again.
//
// One file per pod, DIR/<uid>, replaced as a whole and never waited for on a disk: times are of this boot, and after
// another one nothing of the pod runs. Form: docs/design/daemon.md.
#ifndef BERTH_NODE_PODS_POD_CHECKPOINTS_H_
#define BERTH_NODE_PODS_POD_CHECKPOINTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/pod.h"
#include "node/pods/managed_pod.h"
#include "runtime/lifecycle/pod_lifecycle.h"

namespace berth::pods {

/// What is done before a container is asked to end.
struct PreStop {
  std::vector<std::string> exec;
  std::optional<HttpCheck> http;  ///< its port is a number
  std::int64_t sleep_s = 0;
  friend bool operator==(const PreStop&, const PreStop&) = default;
};

struct PodCheckpoint {
  std::int64_t grace_s = 30;
  std::map<std::string, PreStop> pre_stops;  ///< by container; those that have one
  std::string admitted_at;                   ///< RFC 3339; "": it was not
  bool ending = false;                       ///< no manifest wanted it any more: it is not taken back
  std::optional<Why> evicted;                ///< or refused, of a kubelet's pod
  std::string identity;                      ///< ManagedPod::identity
  runtime::LifecycleTimes times;
  friend bool operator==(const PodCheckpoint&, const PodCheckpoint&) = default;
};

/// The checkpoint of a pod as it is now. What is named and not done yet (ManagedPod::due) was not asked for.
PodCheckpoint CheckpointOf(const ManagedPod& managed);
/// What no ledger knows of the pod, from its manifest as it was.
void Complete(Pod& pod, const PodCheckpoint& life);

/// Bytes <-> value, pure. A checkpoint of another boot: nullopt. Errors: kCorrupt, naming what is wrong.
std::string FormatCheckpoint(const PodCheckpoint& life, std::string_view boot_id);
Result<std::optional<PodCheckpoint>> ParseCheckpoint(std::string_view text, std::string_view boot_id);

/// Thread: the loop's only; files are small and on a file system in memory, as runDir is.
class PodCheckpoints {
 public:
  /// `dir` "": nothing outlives this object.
  PodCheckpoints(std::string dir, std::string boot_id) : dir_(std::move(dir)), boot_id_(std::move(boot_id)) {}

  /// What an earlier berthd kept. Returns what cannot be read, a sentence each; that is as if it was not there.
  std::vector<std::string> Load();
  /// nullptr: not known.
  const PodCheckpoint* Find(const std::string& uid) const;
  /// Of the pod of this identity; nullopt: none is known.
  std::optional<std::string> UidOf(const std::string& identity) const;
  /// Errors: as os::ReplaceVolatile; it is known all the same, until this berthd ends, and no more errors of this pod
  /// are returned until its file is written.
  Result<void> Keep(const std::string& uid, PodCheckpoint life);
  /// Writes the files that could not be written.
  void KeepAgain();
  void Forget(const std::string& uid);
  /// Forgets all but these.
  void Retain(const std::set<std::string>& uids);

 private:
  Result<void> Write(const std::string& uid) const;

  std::string dir_;
  std::string boot_id_;
  std::map<std::string, PodCheckpoint> checkpoints_;  // by uid
  std::set<std::string> unwritten_;                   // uids whose files hold something older, or are not there
};

}  // namespace berth::pods

#endif  // BERTH_NODE_PODS_POD_CHECKPOINTS_H_
