// Attendant: somebody else places containers.
#include <fmt/core.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "beside/attendant.h"
#include "engine/engine.h"

namespace berth::beside {

/// For the warnings, and as the pod's event.
void Attendant::TellContested(Contested how, const nri::Pod& pod, std::string what, const std::string& message) {
  contest_.Note(how, std::move(what), parts_.clock.Now());
  parts_.events.Warning(how == Contested::kWanted ? "CpusetContested" : "ContainerNotMade",
                        "pod/" + pod.name_space + "/" + pod.name, message);
  helpers_.changed();
}

/// A runtime drops a container when a plug-in refuses it, or two of them say where it goes, and tells only who asked.
void Attendant::TellNotMade(const nri::Pod& pod, const nri::Container& container) {
  TellContested(
      Contested::kNotMade, pod, fmt::format("container {} of {}/{}", container.name, pod.name_space, pod.name),
      fmt::format(
          "container {} was told its place, and the runtime dropped it before its start; if the pod's events in "
          "Kubernetes name two plug-ins that tried to set cpus or mems, take one of them off this node",
          container.name));
}

void Attendant::LookAtKubelet(os::MonoTime now) {
  if (options_.kubelet_dir.empty() || now < next_look_at_kubelet_) return;
  next_look_at_kubelet_ = now + kBetweenLooksAtKubelet;
  const auto found = std::make_shared<KubeletPlaces>();
  parts_.executor.Run(
      "the kubelet's state", [found, folder = options_.kubelet_dir] { *found = ReadKubeletPlaces(folder); },
      [this, alive = std::weak_ptr(alive_), found] {
        if (alive.lock()) TakeKubelet(std::move(*found));
      });
}

void Attendant::TakeKubelet(KubeletPlaces now) {
  const bool placed = contest_.kubelet_places();
  const bool was_aside = contest_.aside();
  if (!contest_.Take(std::move(now))) return;
  if (contest_.kubelet_places())
    parts_.events.Warning("KubeletPlaces", parts_.ObjectOfNode(), contest_.Problem());
  else if (placed)
    parts_.events.Normal("KubeletPlacesNoMore", parts_.ObjectOfNode(), "the kubelet no longer places containers");
  if (contest_.aside() && !was_aside) StepAside();
  if (!contest_.aside() && was_aside) helpers_.join_anew();
  helpers_.changed();
}

/// From now on nothing is known of any container, so nothing is written to any. Those that were narrowed stay so until
/// the kubelet gives them something else, which it does at once.
void Attendant::StepAside() {
  ForgetNewcomers();
  knows_all_ = false;
  looking_.reset();
  RunWaiting();
  EndAwaiting([](const Awaiting&) { return true; });
  for (const auto& [uid, managed] : parts_.pods) parts_.groups.table().Forget(uid);
  unplaced_.clear();
  leaving_.clear();
  all_back_ = true;
}

void Attendant::GiveAllBack() {
  if (parts_.clock.Now() < parts_.keeper.next_try()) return;
  std::vector<std::string> uids;
  for (const auto& [uid, managed] : parts_.pods) uids.push_back(uid);
  Ledger next = parts_.keeper.newest();
  for (const auto& [uid, record] : parts_.keeper.newest().pods) {
    Apply(next, engine::Release(parts_.keeper.newest_node(), next, uid, nullptr));
    uids.push_back(uid);
  }
  all_back_ = false;
  for (const std::string& uid : uids) Forget(uid);
  if (next.pods == parts_.keeper.newest().pods) return;
  next.revision = parts_.keeper.newest().revision + 1;
  all_back_ = !parts_.keeper.Commit(parts_.keeper.ProposeLedger(parts_.ObjectOfNode(), std::move(next)),
                                    [this, alive = std::weak_ptr(alive_)](const Result<void>& saved) {
                                      if (alive.lock() && !saved) all_back_ = true;
                                    });
}

}  // namespace berth::beside
