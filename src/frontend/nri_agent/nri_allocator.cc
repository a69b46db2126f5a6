#include "frontend/nri_agent/nri_allocator.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/text.h"
#include "frontend/nri_agent/container_key.h"
#include "frontend/nri_agent/ignored_annotations.h"
#include "frontend/nri_agent/placement_texts.h"
#include "frontend/nri_agent/translate.h"
#include "model/pod_wishes.h"
#include "model/resources.h"

namespace berth::nri_agent {
namespace {

constexpr os::Millis kPatience{5'000};  // until it is told that no runtime has taken berthd in

void WarnOfUnknown(const core::Node& node, const nri::Container& container) {
  node.events().Warning(
      "UnknownContainer", node.ObjectOfNode(),
      fmt::format("the runtime makes container {} with names that are none of Kubernetes'; it is left "
                  "alone, on whatever CPUs it has",
                  Printable(container.name, 80)));
}

bool HasWish(const Pod& pod, const std::string& name) {
  std::vector<WishProblem> unclear;
  const PodWishes asked = ParsePodWishes(pod.annotations, unclear);
  return !asked.PoolOf(name).empty() || asked.Of(name) != nullptr;
}

/// A container with CPUs of its own has as many as it was made with.
std::string WhyNotResized(const core::Node& node, const std::string& uid, const nri::Container& container,
                          const nri::Resources& wanted) {
  const auto record = node.allocations().newest().pods.find(uid);
  if (record == node.allocations().newest().pods.end() || record->second.qos != QosClass::kGuaranteed) return "";
  const Placement* const placement = FindPlacement(record->second, container.name);
  const auto pod = node.pods().find(uid);
  if (placement == nullptr || !placement->cpus || placement->cpus->empty() || placement->mixed ||
      pod == node.pods().end() || HasWish(pod->second.pod, container.name))
    return "";
  nri::Container as_wanted;
  as_wanted.resources = wanted;
  const auto milli_of = [](const nri::Container& seen) {
    return AmountOf(ContainerOf(seen, QosClass::kGuaranteed).resources.requests, "cpu").MilliValue();
  };
  const std::int64_t milli = milli_of(as_wanted);
  if (milli == 0 || milli == std::int64_t{placement->cpus->Count()} * 1000 || milli == milli_of(container)) return "";
  return fmt::format(
      "container {} has CPUs {} for itself, and does not get {} thousandths of a CPU while it runs; delete the pod and "
      "have it made anew with that",
      container.name, FormatIds(*placement->cpus), milli);
}

}  // namespace

NriAllocator::NriAllocator(core::Node& node, WatchedRuntime& runtime, NriAllocatorOptions options,
                           std::function<void()> join_anew)
    : node_(node),
      runtime_(runtime),
      endpoint_(std::move(options.endpoint)),
      session_(node.clock().Now()),
      departures_(node, tracked_),
      pods_(node, runtime, tracked_, session_, departures_),
      groups_(node, tracked_),
      placer_(node, tracked_, session_, groups_, options.share_unplaced),
      specs_(node, tracked_, session_, pods_, options.spec_patience),
      devices_(node, tracked_, session_, std::move(options.devices)),
      gate_(node, session_, pods_, placer_, specs_),
      sync_({.node = node,
             .tracked = tracked_,
             .session = session_,
             .groups = groups_,
             .departures = departures_,
             .pods = pods_,
             .placer = placer_,
             .devices = devices_,
             .gate = gate_},
            [this] {
              if (session_.joined() && new_groups_ != nullptr) new_groups_->Settle();
            }),
      conflicts_(node, session_, departures_,
                 {.step_aside = options.step_aside,
                  .kubelet_dir = std::move(options.kubelet_dir),
                  .begin_aside = [this] { StepAside(); },
                  .join_anew = std::move(join_anew)}) {}

// ---- the runtime comes and goes ---

void NriAllocator::Joined(const nri::Runtime& runtime) {
  session_.Join();
  node_.events().Normal("RuntimeJoined", node_.ObjectOfNode(),
                        fmt::format("{} {} asks where containers go, by NRI {}", runtime.name, runtime.version,
                                    runtime.nri_version.empty() ? "older than 0.12" : runtime.nri_version));
}

void NriAllocator::Left(const std::string& why) {
  session_.Leave(node_.clock().Now());
  KeepNewGroups();
  node_.events().Warning("RuntimeLeft", node_.ObjectOfNode(),
                         why + "; containers that are made now are put in their place when it is back");
}

void NriAllocator::Synchronize(nri::Inventory inventory) {
  if (!sync_.Begin(std::move(inventory))) return;
  specs_.OnSynchronize();
  devices_.OnSynchronize();
  node_.Changed();
}

void NriAllocator::KeepNewGroups() {
  if (aside() || new_groups_ == nullptr) return;
  const auto* const outdated = session_.As<Outdated>();
  new_groups_->Begin(outdated != nullptr && outdated->knew_all);
}

void NriAllocator::Confine(const std::string& path) {
  if (!aside()) groups_.Confine(path);
}

/// From now on nothing is known of any container, so nothing is written to any. Those that were narrowed stay so until
/// the kubelet gives them something else, which it does at once.
void NriAllocator::StepAside() {
  if (new_groups_ != nullptr) new_groups_->End();
  session_.StepAside();
  gate_.Release();
  specs_.End();
  devices_.End();
  for (const auto& [uid, managed] : node_.pods()) node_.groups().table().Forget(uid);
  placer_.ForgetUnplaced();
  departures_.Cancel();
}

// ---- what the runtime asks and tells ---

void NriAllocator::Create(nri::Pod pod, nri::Container container, nri::Answer<nri::Creation> answer) {
  if (aside()) return Answered("CreateContainer", answer, answer.Give(nri::Creation()));
  const auto again = [this, pod, container, answer] { Create(pod, container, answer); };
  if (!gate_.LetsThrough(pod, container) && gate_.Holds(again)) return;
  if (!IsSane(pod, container)) {
    WarnOfUnknown(node_, container);
    return Answered("CreateContainer", answer, answer.Give(nri::Creation()));
  }
  const std::string uid = UidOf(pod);
  TrackedContainer& newest = pods_.Track(pod, container);
  if (specs_.Await(uid, again) || devices_.Await(pod, container, again)) return;
  newest.placed = true;
  WarnOfIgnoredAnnotations(node_, tracked_.Know(uid), node_.pods()[uid].pod, container.name);
  node_.Changed();
  const ContainerKey who(uid, container.name);
  placer_.Place(who, [this, who, container = std::move(container), answer](const std::string& why_not) {
    TrackedContainer* tracked_container = tracked_.Find(who.first, container);
    bool given = false;
    if (!why_not.empty()) {
      given = answer.Give(Fail(Code::kExhausted, "berth: " + why_not));
      tracked_.Forget(who.first, container);
      tracked_container = nullptr;
    } else {
      nri::Creation creation;
      creation.adjustment.resources = groups_.ResourcesOf(who);
      given = answer.Give(std::move(creation));
      if (tracked_container != nullptr) tracked_container->told = given;
    }
    if (!given && tracked_container != nullptr)
      tracked_container->placed = tracked_container->runs;  // its start is the next time to look
    Answered("CreateContainer", answer, given && why_not.empty());
  });
}

void NriAllocator::Start(nri::Pod pod, nri::Container container, nri::Answer<nri::Ready> answer) {
  if (aside()) return Answered("StartContainer", answer, answer.Give(nri::Ready()));
  const auto again = [this, pod, container, answer] { Start(pod, container, answer); };
  if (!gate_.HasLetThrough(pod, container) && gate_.Holds(again)) return;
  if (!IsSane(pod, container)) {
    WarnOfUnknown(node_, container);
    return Answered("StartContainer", answer, answer.Give(nri::Ready()));
  }
  const ContainerKey who(UidOf(pod), container.name);
  const auto go = [this, who, answer](std::string why_not) {
    if (why_not.empty()) why_not = placer_.WhyNotInForce(who);
    if (why_not.empty()) groups_.Apply(who, cgroup_manager::Runs::kNotYet);
    const bool given =
        why_not.empty() ? answer.Give(nri::Ready()) : answer.Give(Fail(Code::kExhausted, "berth: " + why_not));
    Answered("StartContainer", answer, given && why_not.empty());
  };
  TrackedContainer& tracked_container = pods_.Track(pod, container);
  tracked_container.runs = true;
  tracked_container.ended = false;  // a runtime that was killed may not have listed it
  tracked_container.told = false;
  groups_.Find(pod);
  if (tracked_container.placed) return go("");
  if (devices_.Await(pod, container, again)) return;
  tracked_container.placed = true;
  placer_.Place(who, [this, who, go](const std::string& why_not) {
    if (why_not.empty()) placer_.ApplyLate(who, "was made without its place");
    go(why_not);
  });
}

/// Whatever somebody wants changed, it keeps its CPUs and memory nodes.
void NriAllocator::Update(nri::Pod pod, nri::Container container, nri::Resources wanted,
                          nri::Answer<std::vector<nri::Update>> answer) {
  if (aside()) return Answered("UpdateContainer", answer, answer.Give(std::vector<nri::Update>()));
  if (gate_.Holds([this, pod, container, wanted, answer] { Update(pod, container, wanted, answer); })) return;
  const ContainerKey who(UidOf(pod), container.name);
  const TrackedContainer* const tracked_container = tracked_.Find(who.first, container);
  if (const std::string why_not = WhyNotResized(node_, who.first, container, wanted); !why_not.empty()) {
    node_.events().Warning("ResizeRefused", "pod/" + pod.name_space + "/" + pod.name, why_not);
    answer.Give(Fail(Code::kUnsupported, "berth: " + why_not));
    return Answered("UpdateContainer", answer, false);
  }
  std::vector<nri::Update> updates;
  if (tracked_container != nullptr && tracked_container->placed) {
    nri::Update& update = updates.emplace_back();
    update.container_id = container.id;
    update.resources = groups_.ResourcesOf(who);
    const auto theirs = CpuSet::Parse(wanted.cpus);
    if (!wanted.cpus.empty() && (!theirs || *theirs != groups_.CpusOf(who))) {
      const std::string where = Printable(wanted.cpus, 80);
      conflicts_.Report(
          PlacementConflict::kWanted, pod,
          fmt::format("container {} of {}/{} on CPUs {}", container.name, pod.name_space, pod.name, where),
          fmt::format(
              "somebody wants container {} on CPUs {}, it keeps {}; one program alone may place containers: set "
              "the kubelet's cpuManagerPolicy to none, and look for other NRI plug-ins",
              container.name, where, update.resources.cpus));
    }
  }
  const bool given = answer.Give(std::move(updates));
  Answered("UpdateContainer", answer, given);
}

void NriAllocator::Stop(nri::Pod pod, nri::Container container) {
  if (gate_.Holds([this, pod, container] { Stop(pod, container); })) return;
  runtime_.Count("StopContainer", false);
  EndContainer(pod, container);
}

void NriAllocator::EndContainer(const nri::Pod& pod, const nri::Container& container) {
  const std::string uid = UidOf(pod);
  TrackedContainer* const tracked_container = tracked_.Find(uid, container);
  if (tracked_container == nullptr || tracked_container->ended) return;
  if (std::exchange(tracked_container->told, false)) conflicts_.ReportNotMade(pod, container);
  tracked_container->ended = true;
  const bool ran = std::exchange(tracked_container->runs, false);
  placer_.ForgetUnplaced({uid, container.name});
  departures_.OnContainerEnded(uid);
  if (ran) pods_.SetState(pod, container, runtime::ContainerState::kExited);
}

void NriAllocator::Happened(nri::Event event, nri::Pod pod, std::optional<nri::Container> container) {
  if (aside()) return;
  if (gate_.Holds([this, event, pod, container] { Happened(event, pod, container); })) return;
  if (!IsSane(pod) || (container && !IsSane(pod, *container))) return;
  if (event == nri::Event::kRunPod) {
    pods_.Track(pod);
    groups_.Find(pod);
    node_.Changed();
  } else if (event == nri::Event::kStopPod || event == nri::Event::kRemovePod) {
    departures_.OnSandboxGone(pod);
  } else if (event == nri::Event::kPostStartContainer && container) {
    pods_.SetState(pod, *container, runtime::ContainerState::kRunning);
  } else if (event == nri::Event::kRemoveContainer && container) {
    EndContainer(pod, *container);
    node_.groups().table().ForgetId(UidOf(pod), container->id);
    if (node_.groups().table().pods().contains(UidOf(pod))) groups_.Find(pod);
  }
}

// ---- now and then ---

std::string NriAllocator::NotJoined() const {
  return fmt::format("no runtime has taken berthd in as a plug-in at {}; is NRI switched on there?", endpoint_);
}

std::vector<std::string> NriAllocator::Warnings() const {
  std::vector<std::string> out = conflicts_.Warnings();
  if (std::string problem = devices_.problem(); !problem.empty()) out.push_back(std::move(problem));
  return out;
}

std::vector<std::string> NriAllocator::NotReady() const {
  std::vector<std::string> out;
  if (!session_.joined()) out.push_back(NotJoined());
  if (session_.As<Synchronizing>() != nullptr)
    out.push_back("it is still looked at what the runtime had when it took berthd in");
  return out;
}

void NriAllocator::Tick(os::MonoTime now) {
  if (const auto since = session_.untold_since(); since && now >= *since + kPatience) {
    session_.NoteTold();
    node_.events().Warning("RuntimeNotJoined", node_.ObjectOfNode(), NotJoined());
  }
  specs_.Tick(now);
  devices_.Tick(now);
  sync_.Tick(now);
  conflicts_.Tick(now);
  departures_.Tick(now);
  placer_.Tick(now);
}

os::MonoTime NriAllocator::next_due() const {
  os::MonoTime out = std::min({specs_.next_due(), devices_.next_due(), sync_.next_due(), conflicts_.next_due(),
                               departures_.next_due(), placer_.next_due()});
  if (const auto since = session_.untold_since()) out = std::min(out, *since + kPatience);
  return out;
}

}  // namespace berth::nri_agent
