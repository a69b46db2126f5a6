#include "frontend/nri_agent/conflict_watch.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "node/ledger/placement_batch.h"

namespace berth::nri_agent {
namespace {

constexpr os::Millis kBetweenReads{10'000};  // of the kubelet's state files

}  // namespace

ConflictWatch::ConflictWatch(core::Node& node, NriSession& session, PodDepartures& departures,
                             ConflictWatchOptions options)
    : node_(node),
      session_(session),
      departures_(departures),
      options_(std::move(options)),
      conflicts_(options_.step_aside),
      tasks_(node.executor()) {
  TakeKubelet(ReadKubeletPlaces(options_.kubelet_dir));
  next_read_ = node_.clock().Now() + kBetweenReads;
}

void ConflictWatch::Report(PlacementConflict how, const nri::Pod& pod, std::string what, const std::string& message) {
  conflicts_.Note(how, std::move(what), node_.clock().Now());
  node_.events().Warning(how == PlacementConflict::kWanted ? "CpusetContested" : "ContainerNotMade",
                         "pod/" + pod.name_space + "/" + pod.name, message);
  node_.Changed();
}

void ConflictWatch::ReportNotMade(const nri::Pod& pod, const nri::Container& container) {
  Report(PlacementConflict::kNotMade, pod,
         fmt::format("container {} of {}/{}", container.name, pod.name_space, pod.name),
         fmt::format(
             "container {} was told its place, and the runtime dropped it before its start; if the pod's events in "
             "Kubernetes name two plug-ins that tried to set cpus or mems, take one of them off this node",
             container.name));
}

void ConflictWatch::Tick(os::MonoTime now) {
  ReadKubelet(now);
  if (const auto repaired = node_.events().counts().find("CgroupRepaired"); repaired != node_.events().counts().end())
    conflicts_.NoteRepaired(repaired->second, now);
  if (HoldsPlacesAside()) ReleaseAll();
}

os::MonoTime ConflictWatch::next_due() const {
  os::MonoTime out = options_.kubelet_dir.empty() ? os::MonoTime::max() : next_read_;
  if (HoldsPlacesAside()) out = std::min(out, std::max(os::MonoTime() + os::Millis(1), node_.allocations().next_try()));
  return out;
}

bool ConflictWatch::HoldsPlacesAside() const {
  const auto* const aside = session_.As<Aside>();
  return aside != nullptr && aside->holds_places;
}

void ConflictWatch::ReadKubelet(os::MonoTime now) {
  if (options_.kubelet_dir.empty() || now < next_read_) return;
  next_read_ = now + kBetweenReads;
  tasks_.Submit<KubeletPlaces>(
      "the kubelet's state",
      [folder = options_.kubelet_dir]() -> Result<KubeletPlaces> { return ReadKubeletPlaces(folder); },
      [this](Result<KubeletPlaces> found) {
        if (found) TakeKubelet(*std::move(found));
      });
}

/// Decisions follow at the next start: a version in use is never exchanged under pods that were placed by it.
void ConflictWatch::TakeKubeletVersion(std::optional<KubeletVersion> now) {
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

void ConflictWatch::TakeKubelet(KubeletPlaces now) {
  TakeKubeletVersion(now.version);
  const bool placed = conflicts_.kubelet_places();
  const bool was_aside = session_.As<Aside>() != nullptr;
  if (!conflicts_.Take(std::move(now))) return;
  if (conflicts_.kubelet_places())
    node_.events().Warning("KubeletPlaces", node_.ObjectOfNode(), conflicts_.Problem());
  else if (placed)
    node_.events().Normal("KubeletPlacesNoMore", node_.ObjectOfNode(), "the kubelet no longer places containers");
  if (conflicts_.aside() && !was_aside) options_.begin_aside();
  if (!conflicts_.aside() && was_aside) {
    session_.StepBack();
    options_.join_anew();
  }
  node_.Changed();
}

/// All places are free, as far as the ledger can be saved.
void ConflictWatch::ReleaseAll() {
  if (node_.clock().Now() < node_.allocations().next_try()) return;
  std::vector<std::string> uids;
  for (const auto& [uid, managed] : node_.pods()) uids.push_back(uid);
  ledger::PlacementBatch none(node_.allocations());
  for (const auto& [uid, record] : node_.allocations().newest().pods) {
    none.Release(uid);
    uids.push_back(uid);
  }
  session_.As<Aside>()->holds_places = false;
  for (const std::string& uid : uids) departures_.Forget(uid);
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
