// Pod cleanup after termination: cgroups emptied and removed, resources released, records and folders removed; also the
// folders of orphaned pods.
#ifndef BERTH_FRONTEND_STATIC_PODS_POD_CLEANUP_H_
#define BERTH_FRONTEND_STATIC_PODS_POD_CLEANUP_H_

#include <set>
#include <string>
#include <vector>

#include "frontend/static_pods/pod_folder_index.h"
#include "frontend/static_pods/static_pod_context.h"

namespace berth::pods {

/// Thread: the loop's only.
class PodCleanup {
 public:
  /// `context` outlives this.
  explicit PodCleanup(const StaticPodContext& context) : context_(context), node_(context.node()) {}

  /// Gives back what a pod held once nothing of it runs, and removes what it left once it has to go. True when nothing
  /// is left to know about it.
  bool Finish(ManagedPod& managed, os::MonoTime now);
  void ForgetRecords(const std::string& uid);
  /// What a pod that is not there any more has left on disk: whoever was to remove it was killed before. One at a time.
  /// Requires: all manifests are known.
  void RemoveOrphan();
  /// Folders of a pod with this uid are being removed: none may be started.
  bool Removing(const std::string& uid) const { return uid == orphan_; }

 private:
  bool RemoveGroups(ManagedPod& managed);
  void ReleasePlace(ManagedPod& managed, os::MonoTime now);
  void RemoveFolders(ManagedPod& managed);
  void FoldersRemoved(const std::string& uid, const Result<void>& removed);
  void RemoveOneOf(std::vector<NotedPod> orphans);
  template <class Then>
  void SubmitRemoval(const NotedPod& pod, Then then);

  const StaticPodContext& context_;
  core::Node& node_;
  bool looking_ = false;         // for orphans
  std::string orphan_;           // being removed; "": none is
  std::set<std::string> stuck_;  // orphans that could not be removed; after all others
};

}  // namespace berth::pods

#endif  // BERTH_FRONTEND_STATIC_PODS_POD_CLEANUP_H_
