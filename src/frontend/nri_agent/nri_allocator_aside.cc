// NriAllocator: somebody else places containers.
#include <fmt/core.h>

#include <string>
#include <utility>
#include <vector>

#include "frontend/nri_agent/nri_allocator.h"
#include "node/ledger/placement_batch.h"

namespace berth::nri_agent {

/// For the warnings, and as the pod's event.
void NriAllocator::TellConflict(PlacementConflict how, const nri::Pod& pod, std::string what,
                                const std::string& message) {
  conflicts_.Note(how, std::move(what), node_.clock().Now());
  node_.events().Warning(how == PlacementConflict::kWanted ? "CpusetContested" : "ContainerNotMade",
                         "pod/" + pod.name_space + "/" + pod.name, message);
  node_.Changed();
}

/// A runtime drops a container when a plug-in refuses it, or two of them say where it goes, and tells only who asked.
void NriAllocator::TellNotMade(const nri::Pod& pod, const nri::Container& container) {
  TellConflict(
      PlacementConflict::kNotMade, pod, fmt::format("container {} of {}/{}", container.name, pod.name_space, pod.name),
      fmt::format(
          "container {} was told its place, and the runtime dropped it before its start; if the pod's events in "
          "Kubernetes name two plug-ins that tried to set cpus or mems, take one of them off this node",
          container.name));
}

void NriAllocator::LookAtKubelet(os::MonoTime now) {
  if (options_.kubelet_dir.empty() || now < next_look_at_kubelet_) return;
  next_look_at_kubelet_ = now + kBetweenLooksAtKubelet;
  tasks_.Submit<KubeletPlaces>(
      "the kubelet's state",
      [folder = options_.kubelet_dir]() -> Result<KubeletPlaces> { return ReadKubeletPlaces(folder); },
      [this](Result<KubeletPlaces> found) {
        if (found) TakeKubelet(*std::move(found));
      });
}

/// Decisions follow at the next start: a version in use is never exchanged under pods that were placed by it.
void NriAllocator::TakeKubeletVersion(std::optional<KubeletVersion> now) {
  if (!now) return;
  const KubeletVersion decides_as = node_.allocations().node().options().kubelet_version;
  if (files_version_ && *files_version_ != *now && *now != decides_as)
    node_.events().Normal(
        "KubeletVersionChanged", node_.ObjectOfNode(),
        fmt::format("the kubelet's state files are those of {} now; berthd decides as {} until it is restarted, and "
                    "after that too where kubeletVersion says so",
                    Name(*now), Name(decides_as)));
  files_version_ = now;
}

void NriAllocator::TakeKubelet(KubeletPlaces now) {
  TakeKubeletVersion(now.version);
  const bool placed = conflicts_.kubelet_places();
  const bool was_aside = aside();
  if (!conflicts_.Take(std::move(now))) return;
  if (conflicts_.kubelet_places())
    node_.events().Warning("KubeletPlaces", node_.ObjectOfNode(), conflicts_.Problem());
  else if (placed)
    node_.events().Normal("KubeletPlacesNoMore", node_.ObjectOfNode(), "the kubelet no longer places containers");
  if (conflicts_.aside() && !was_aside) StepAside();
  if (!conflicts_.aside() && was_aside) {
    session_.StepBack();
    join_anew_();
  }
  node_.Changed();
}

/// From now on nothing is known of any container, so nothing is written to any. Those that were narrowed stay so until
/// the kubelet gives them something else, which it does at once.
void NriAllocator::StepAside() {
  if (new_groups_ != nullptr) new_groups_->End();
  session_.StepAside();
  RunWaiting();
  EndAwaiting([](const Awaiting&) { return true; });
  for (const auto& [uid, managed] : node_.pods()) node_.groups().table().Forget(uid);
  unplaced_.clear();
  leaving_.clear();
}

void NriAllocator::GiveAllBack() {
  if (node_.clock().Now() < node_.allocations().next_try()) return;
  std::vector<std::string> uids;
  for (const auto& [uid, managed] : node_.pods()) uids.push_back(uid);
  ledger::PlacementBatch none(node_.allocations());
  for (const auto& [uid, record] : node_.allocations().newest().pods) {
    none.Release(uid);
    uids.push_back(uid);
  }
  session_.As<Aside>()->holds_places = false;
  for (const std::string& uid : uids) Forget(uid);
  auto proposal = std::move(none).Propose(node_.ObjectOfNode());
  if (!proposal) return;
  const auto again = [this] {
    if (Aside* const state = session_.As<Aside>()) state->holds_places = true;
  };
  const bool committed = node_.Commit(*std::move(proposal), tasks_.Scoped([again](const Result<void>& saved) {
    if (!saved) again();
  }));
  if (!committed) again();
}

}  // namespace berth::nri_agent
