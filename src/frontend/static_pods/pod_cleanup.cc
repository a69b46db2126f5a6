#include "frontend/static_pods/pod_cleanup.h"

#include <algorithm>
#include <utility>

#include "frontend/static_pods/volumes.h"
#include "host/os/remove_tree.h"

namespace berth::pods {
namespace {

constexpr os::Millis kAskAgain{200};
constexpr os::Millis kLookAfterKill{20};  // after a kill; doubled each time
constexpr os::Millis kLongestLook{10'000};
constexpr os::Millis kNoticeable{1'000};  // what dies more slowly than that is reported

/// Logs and volumes; the note of what could not be removed stays.
Result<void> RemoveAllOf(const NotedPod& pod, const VolumeFolders& volumes, const std::string& notes) {
  auto logs = os::RemoveTree(pod.log_folder);
  BERTH_RETURN_IF_ERROR(RemoveVolumes(pod.uid, volumes));
  if (logs && !notes.empty()) ForgetNote(notes, pod.uid);
  return logs;
}

void SetPlaceFree(ManagedPod& managed) {
  managed.Move(pod_event::GiveBack());
  if (managed.Is<Rejected>()) managed.lifecycle.reset();
}

}  // namespace

bool PodCleanup::Finish(ManagedPod& managed, os::MonoTime now) {
  if (managed.saving || managed.Is<Foreign>()) return false;
  if (managed.lifecycle && !managed.PlaceIsFree()) {
    if (!managed.lifecycle->finished()) return false;
    if (managed.remove_at && now < *managed.remove_at) {
      node_.agenda().WakeAt(*managed.remove_at);
      return false;
    }
    if (!RemoveGroups(managed)) return false;
    ReleasePlace(managed, now);
  }
  const auto* const ending = std::get_if<Ending>(&managed.stage);
  if (ending == nullptr || managed.saving || context_.Mounts(managed.pod.uid) ||
      (managed.lifecycle && !ending->place_free))
    return false;
  if (ending->folders == Ending::Folders::kThere) RemoveFolders(managed);
  return std::get<Ending>(managed.stage).folders == Ending::Folders::kGone;
}

/// Kills what is left in the pod's groups and removes them; false: has to be tried again at remove_at.
bool PodCleanup::RemoveGroups(ManagedPod& managed) {
  const auto try_again = [&](os::Millis delay) {
    managed.remove_at = node_.clock().Now() + delay;  // what went before may have taken long
    node_.agenda().WakeAt(*managed.remove_at);
    return false;
  };
  const auto stopped = node_.runtime().StopPod(managed.pod.uid);
  if (stopped && !*stopped) return try_again(kAskAgain);  // the runtime tells when it is done; asked again in any case
  cgroup_manager::PodGroups& groups = node_.groups().pod_groups();
  auto removed = groups.Remove(managed.pod);
  std::string left = removed ? "" : removed.error().message;
  if (removed && !*removed) {  // something was left, or is dying: a kill that was sent takes a moment
    if (auto killed = groups.KillPod(managed.pod); !killed) left = killed.error().message;
    removed = groups.Remove(managed.pod);
  }
  if (removed && *removed) return true;
  const bool dying = removed || removed.error().code == Code::kBusy;
  if (!dying || managed.remove_delay >= kNoticeable)
    node_.events().Warning("FailedKillPod", ObjectOf(managed.pod), dying ? left : removed.error().message);
  managed.remove_delay = std::clamp(managed.remove_delay * 2, kLookAfterKill, kLongestLook);
  return try_again(managed.remove_delay);
}

void PodCleanup::ReleasePlace(ManagedPod& managed, os::MonoTime now) {
  if (!node_.allocations().newest().pods.contains(managed.pod.uid)) return SetPlaceFree(managed);
  if (now < node_.allocations().next_try()) return node_.agenda().WakeAt(node_.allocations().next_try());
  const auto released = [this](ManagedPod& pod, const Result<void>& saved) {
    if (!saved) return;  // tried again
    node_.events().Normal("Released", ObjectOf(pod.pod),
                          "its place is free, the shared pool is " + FormatIds(node_.allocations().SharedCpus()));
    SetPlaceFree(pod);
  };
  node_.Release(managed, released);
}

void PodCleanup::ForgetRecords(const std::string& uid) {
  for (std::string& problem : node_.statuses().ForgetPod(uid))
    node_.events().Warning("ContainerWarning", node_.ObjectOfNode(), std::move(problem));
}

// ---- folders -----------------------------------------------------------------------------------------------------

template <class Then>
void PodCleanup::SubmitRemoval(const NotedPod& pod, Then then) {
  const auto job = [pod, volumes = context_.options().volumes, notes = context_.options().notes] {
    return RemoveAllOf(pod, volumes, notes);
  };
  event_loop::Submit<void>(node_.executor(), "folders", job, std::move(then));
}

void PodCleanup::RemoveFolders(ManagedPod& managed) {
  const std::string& uid = managed.pod.uid;
  ForgetRecords(uid);
  managed.Move(pod_event::RemoveFolders());
  SubmitRemoval({.uid = uid, .log_folder = context_.LogFolder(managed.pod)},
                [this, uid](const Result<void>& removed) { FoldersRemoved(uid, removed); });
}

void PodCleanup::FoldersRemoved(const std::string& uid, const Result<void>& removed) {
  node_.agenda().WakeNow();
  const auto pod = node_.pods().find(uid);
  if (pod == node_.pods().end()) return;
  node_.checkpoints().Forget(uid);
  if (!removed) node_.events().Warning("FailedRemovePodFolders", ObjectOf(pod->second.pod), removed.error().message);
  pod->second.Move(pod_event::FoldersGone());
}

void PodCleanup::RemoveOrphan() {
  if (looking_ || !orphan_.empty() || context_.options().notes.empty()) return;
  looking_ = true;
  const auto look = [notes = context_.options().notes] { return Result<std::vector<NotedPod>>(NotedPods(notes)); };
  event_loop::Submit<std::vector<NotedPod>>(node_.executor(), "folders", look,
                                            [this](Result<std::vector<NotedPod>> noted) {
                                              looking_ = false;
                                              if (noted) RemoveOneOf(*std::move(noted));
                                            });
}

void PodCleanup::RemoveOneOf(std::vector<NotedPod> orphans) {
  std::erase_if(orphans, [&](const NotedPod& noted) { return node_.pods().contains(noted.uid); });
  if (orphans.empty()) return stuck_.clear();
  auto next = std::ranges::find_if(orphans, [&](const NotedPod& noted) { return !stuck_.contains(noted.uid); });
  if (next == orphans.end()) {  // once more from the first
    stuck_.clear();
    next = orphans.begin();
  }
  orphan_ = next->uid;
  SubmitRemoval(*next, [this](const Result<void>& removed) {
    if (!removed) stuck_.insert(orphan_);
    orphan_.clear();
    node_.agenda().WakeNow();
  });
}

}  // namespace berth::pods
