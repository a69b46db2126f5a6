#include "frontend/nri_agent/nri_allocator.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "allocator/engine.h"
#include "base/text.h"
#include "frontend/nri_agent/placement_texts.h"
#include "frontend/nri_agent/translate.h"
#include "model/resources.h"

namespace berth::nri_agent {
namespace {

constexpr os::Millis kPatience{5'000};  // until it is told that no runtime has taken berthd in

}  // namespace

NriAllocator::NriAllocator(core::Node& node, WatchedRuntime& runtime, NriAllocatorOptions options,
                           std::function<void()> join_anew)
    : node_(node),
      runtime_(runtime),
      options_(std::move(options)),
      join_anew_(std::move(join_anew)),
      session_(node_.clock().Now()),
      conflicts_(options_.step_aside),
      device_reports_(
          node_.executor(), node_.clock(), options_.devices, [this](bool warning, const std::string& message) {
            node_.events().Tell(warning, warning ? "DevicesUnknown" : "DevicesKnown", node_.ObjectOfNode(), message);
            node_.Changed();
          }) {
  TakeKubelet(ReadKubeletPlaces(options_.kubelet_dir));
  next_look_at_kubelet_ = node_.clock().Now() + kBetweenLooksAtKubelet;
}

/// While it is decided on what a runtime has, what it asks waits.
bool NriAllocator::Waits(Call call) {
  if (!deciding()) return false;
  waiting_.push_back(std::move(call));
  return true;
}

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

void NriAllocator::KeepNewGroups() {
  if (aside() || new_groups_ == nullptr) return;
  const auto* const outdated = session_.As<Outdated>();
  new_groups_->Begin(outdated != nullptr && outdated->knew_all);
}

/// Off what is just being given away too. Whoever made it may write its CPUs once more, and is followed then.
void NriAllocator::Confine(const std::string& path) {
  if (aside()) return;
  const auto most_of = [this](const cgroup_manager::ContainerGroup& who) {
    const cgroup_manager::Planner& planner = node_.groups().planner();
    CpuSet now = planner.CpusNow(who, node_.allocations().ledger(), node_.allocations().online());
    CpuSet soon = now & planner.CpusNow(who, node_.allocations().newest(), node_.allocations().online());
    return soon.empty() ? now : soon;
  };
  CpuSet most = most_of({});
  const std::string_view group = std::string_view(path).substr(path.rfind('/') + 1);
  for (const auto& [uid, pod] : tracked_.all())
    for (const auto& [name, tracked_container] : pod.containers)
      if (!tracked_container.id.empty() && tracked_container.placed && group.find(tracked_container.id) != group.npos)
        if (CpuSet own = most_of({uid, name}); !own.empty()) most = std::move(own);
  const auto now = node_.groups().site().tree().ReadCpus(path);
  if (!now || (!now->empty() && now->IsSubsetOf(most))) return;
  CgroupValues values;
  values.cpus = most;
  if (auto written = node_.groups().site().WriteUnlessGone(path, values); !written)
    node_.events().Warning("FailedCgroupUpdate", "cgroup/" + path, written.error().message);
}

// ---- pods and containers ---

pods::ManagedPod& NriAllocator::Know(const nri::Pod& pod) {
  const std::string uid = UidOf(pod);
  TrackedPod& tracked_container = tracked_.Know(uid);
  tracked_container.sandboxes.insert(pod.id);
  tracked_container.leave_at.reset();
  leaving_.erase(uid);
  const auto [entry, is_new] = node_.pods().try_emplace(uid);
  pods::ManagedPod& managed = entry->second;
  Pod seen = PodOf(pod);
  seen.containers = std::move(managed.pod.containers);
  seen.init_containers = std::move(managed.pod.init_containers);
  seen.overhead = std::move(managed.pod.overhead);
  seen.resources = std::move(managed.pod.resources);
  managed.pod = std::move(seen);
  if (looking()) looking()->there.insert(uid);
  if (is_new) {
    const pods::PodCheckpoint* const life = node_.checkpoints().Find(uid);  // an earlier berthd refused it
    managed.stage = pods::Foreign{life != nullptr ? life->evicted.value_or(pods::Why()) : pods::Why()};
  }
  if (!managed.lifecycle) managed.lifecycle.emplace(managed.pod);
  return managed;
}

TrackedContainer& NriAllocator::Know(const nri::Pod& pod, const nri::Container& container) {
  pods::ManagedPod& managed = Know(pod);
  const std::string uid = UidOf(pod);
  TrackedContainer& tracked_container = tracked_.Know(uid, container, AttemptOf(container));
  const Pod before = managed.pod;
  if (const Pod* const spec = specs_.Find(uid)) {
    TakeSpec(managed.pod, *spec);
    managed.reported.spec = true;
  }
  if (!managed.reported.spec)
    TakeContainer(managed.pod, ContainerOf(container, QosOf(managed.pod)), tracked_.Know(uid));
  else if (pods::FindContainer(managed.pod, container.name).container == nullptr)
    managed.pod.containers.push_back(ContainerOf(container, QosOf(managed.pod)));  // an ephemeral one
  TakeChanged(managed, before);
  return tracked_container;
}

runtime::ContainerStatus NriAllocator::StatusOf(const nri::Pod& pod, const nri::Container& container,
                                                runtime::ContainerState state) {
  const TrackedContainer* const tracked_container = tracked_.Find(UidOf(pod), container);
  runtime::ContainerStatus status{.id = container.id,
                                  .pod_uid = UidOf(pod),
                                  .container = container.name,
                                  .attempt = tracked_container == nullptr ? 0 : tracked_container->attempt,
                                  .state = state,
                                  .pid = static_cast<int>(container.pid)};
  if (const auto known = node_.statuses().all().find(status.pod_uid); known != node_.statuses().all().end())
    if (const auto before = known->second.find(status.container);
        before != known->second.end() && before->second.id == status.id) {
      status.started_at = before->second.started_at;
      if (status.pid == 0) status.pid = before->second.pid;
    }
  const std::string now = os::FormatTime(node_.clock().Wall());
  if (status.started_at.empty()) status.started_at = now;
  if (state == runtime::ContainerState::kExited) status.finished_at = now;
  return status;
}

void NriAllocator::Tell(const nri::Pod& pod, const nri::Container& container, runtime::ContainerState state) {
  if (tracked_.Find(UidOf(pod), container) == nullptr) return;
  runtime_.Put(StatusOf(pod, container, state));
  node_.Changed();
}

/// The pod's groups that the runtime has made by now: of its sandbox, and of containers that have been started. Before
/// that a runtime is at work on a container's group, also one that was killed and left it to a program of its own; what
/// it holds meanwhile is nobody's mistake, and nothing runs there. `listed`: names of all groups below the pod's, where
/// they were just read.
void NriAllocator::FindGroups(const nri::Pod& pod, const std::vector<std::string>* listed) {
  const std::string uid = UidOf(pod);
  cgroup_manager::GroupTable& table = node_.groups().table();
  const std::string object = pods::ObjectOf(node_.pods()[uid].pod);
  if (!table.pods().contains(uid)) {
    const auto path = GroupOf(pod, node_.groups().site().names().root());
    if (!path) {
      node_.events().Warning("UnknownGroup", object,
                             fmt::format("its group is not below {}, where pods are looked for: {}; what others get is "
                                         "not kept free of it",
                                         node_.groups().site().names().root(), Printable(pod.cgroup_parent, 200)));
      return;
    }
    table.KnowPod(uid, *path);
  }
  if (!table.IdsOf(uid).contains(pod.id)) table.KnowId(uid, "", pod.id);
  for (const auto& [name, tracked_container] : tracked_.Know(uid).containers)
    if (tracked_container.runs && !tracked_container.ended && !table.IdsOf(uid).contains(tracked_container.id))
      table.KnowId(uid, name, tracked_container.id);
  cgroup_manager::RuntimeGroups& groups = node_.groups().runtime_groups();
  const Ledger& ledger = node_.allocations().ledger();
  if (auto found = listed == nullptr ? groups.Find(uid, ledger) : groups.FindAmong(uid, *listed, ledger);
      !found && found.error().code != Code::kNotFound)
    node_.events().Warning("FailedCgroupUpdate", object, found.error().message);
}

/// nullptr: its group is not known.
const std::string* NriAllocator::PathOf(const std::string& uid, const std::string& name) const {
  const cgroup_manager::GroupTable& table = node_.groups().table();
  const auto pod = table.pods().find(uid);
  return pod == table.pods().end() ? nullptr : table.FindContainer(pod->second, uid, name);
}

void NriAllocator::PutInPlace(const std::string& uid, const std::string& name, cgroup_manager::Runs runs) {
  const std::string* const path = PathOf(uid, name);
  if (path == nullptr) return;
  const auto put = node_.groups().cpusets().Put(*path, node_.allocations().ledger(), runs);
  if (!put && !node_.groups().site().IsUnderWay(put.error()))
    node_.events().Warning("FailedCgroupUpdate", "cgroup/" + *path, put.error().message);
}

bool NriAllocator::HasOwn(const std::string& uid, const std::string& name) const {
  const auto record = node_.allocations().ledger().pods.find(uid);
  return record != node_.allocations().ledger().pods.end() && ledger::IsOwn(FindPlacement(record->second, name));
}

CpuSet NriAllocator::Wanted(const std::string& uid, const std::string& name) const {
  return node_.groups().planner().CpusNow({uid, name}, node_.allocations().ledger(), node_.allocations().online());
}

nri::Resources NriAllocator::ResourcesOf(const std::string& uid, const std::string& name) const {
  nri::Resources out;
  if (const CpuSet cpus = Wanted(uid, name); !cpus.empty()) out.cpus = FormatIds(cpus);
  if (const auto mems = node_.groups().planner().NodesOf({uid, name}, node_.allocations().ledger()))
    out.mems = FormatIds(*mems);
  return out;
}

// ---- what the runtime asks ---

void NriAllocator::TellOdd(const nri::Container& container) {
  node_.events().Warning(
      "UnknownContainer", node_.ObjectOfNode(),
      fmt::format("the runtime makes container {} with names that are none of Kubernetes'; it is left "
                  "alone, on whatever CPUs it has",
                  Printable(container.name, 80)));
}

void NriAllocator::Create(nri::Pod pod, nri::Container container, nri::Answer<nri::Creation> answer) {
  if (aside()) return Answered("CreateContainer", answer, answer.Give(nri::Creation()));
  if (!PassesLook(pod, container) && Waits([this, pod, container, answer] { Create(pod, container, answer); })) return;
  if (!IsSane(pod, container)) {
    TellOdd(container);
    Answered("CreateContainer", answer, answer.Give(nri::Creation()));
    return;
  }
  const std::string uid = UidOf(pod);
  const auto again = [this, pod, container, answer] { Create(pod, container, answer); };
  TrackedContainer& newest = Know(pod, container);
  if (AwaitsSpec(uid, again) || AwaitsDevices(pod, container, again)) return;
  newest.placed = true;
  TellIgnored(node_.pods()[uid].pod, container.name);
  node_.Changed();
  const std::string name = container.name;
  Place(uid, name, [this, uid, container = std::move(container), answer](const std::string& why_not) {
    TrackedContainer* tracked_container = tracked_.Find(uid, container);
    bool given = false;
    if (!why_not.empty()) {
      given = answer.Give(Fail(Code::kExhausted, "berth: " + why_not));
      tracked_.Forget(uid, container);
      tracked_container = nullptr;
    } else {
      nri::Creation creation;
      creation.adjustment.resources = ResourcesOf(uid, container.name);
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
  if (!PassedLook(pod, container) && Waits([this, pod, container, answer] { Start(pod, container, answer); })) return;
  if (!IsSane(pod, container)) {
    TellOdd(container);
    Answered("StartContainer", answer, answer.Give(nri::Ready()));
    return;
  }
  const std::string uid = UidOf(pod);
  const std::string name = container.name;
  const auto go = [this, uid, name, answer](std::string why_not) {
    if (why_not.empty() && HasOwn(uid, name)) {
      node_.pool().Apply(node_.clock().Now(), {});
      if (!node_.pool().in_force()) why_not = NotInForce();
    }
    if (why_not.empty()) PutInPlace(uid, name, cgroup_manager::Runs::kNotYet);
    const bool given =
        why_not.empty() ? answer.Give(nri::Ready()) : answer.Give(Fail(Code::kExhausted, "berth: " + why_not));
    Answered("StartContainer", answer, given && why_not.empty());
  };
  TrackedContainer& tracked_container = Know(pod, container);
  tracked_container.runs = true;
  tracked_container.ended = false;  // a runtime that was killed may not have listed it
  tracked_container.told = false;
  FindGroups(pod);
  if (tracked_container.placed) return go("");
  if (AwaitsDevices(pod, container, [this, pod, container, answer] { Start(pod, container, answer); })) return;
  tracked_container.placed = true;
  Place(uid, name, [this, uid, name, go](const std::string& why_not) {
    if (why_not.empty()) TellLate({uid, name}, "was made without its place");
    go(why_not);
  });
}

/// A container with CPUs of its own has as many as it was made with.
std::string NriAllocator::WhyNotResized(const std::string& uid, const nri::Container& container,
                                        const nri::Resources& wanted) const {
  const auto record = node_.allocations().newest().pods.find(uid);
  if (record == node_.allocations().newest().pods.end() || record->second.qos != QosClass::kGuaranteed) return "";
  const Placement* const placement = FindPlacement(record->second, container.name);
  const auto pod = node_.pods().find(uid);
  if (placement == nullptr || !placement->cpus || placement->cpus->empty() || placement->mixed ||
      pod == node_.pods().end() || HasWish(pod->second.pod, container.name))
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

/// Whatever somebody wants changed, it keeps its CPUs and memory nodes.
void NriAllocator::Update(nri::Pod pod, nri::Container container, nri::Resources wanted,
                          nri::Answer<std::vector<nri::Update>> answer) {
  if (aside()) return Answered("UpdateContainer", answer, answer.Give(std::vector<nri::Update>()));
  if (Waits([this, pod, container, wanted, answer] { Update(pod, container, wanted, answer); })) return;
  const std::string uid = UidOf(pod);
  TrackedContainer* const tracked_container = tracked_.Find(uid, container);
  if (const std::string why_not = WhyNotResized(uid, container, wanted); !why_not.empty()) {
    node_.events().Warning("ResizeRefused", "pod/" + pod.name_space + "/" + pod.name, why_not);
    answer.Give(Fail(Code::kUnsupported, "berth: " + why_not));
    return Answered("UpdateContainer", answer, false);
  }
  std::vector<nri::Update> updates;
  if (tracked_container != nullptr && tracked_container->placed) {
    nri::Update& update = updates.emplace_back();
    update.container_id = container.id;
    update.resources = ResourcesOf(uid, container.name);
    const auto theirs = CpuSet::Parse(wanted.cpus);
    if (!wanted.cpus.empty() && (!theirs || *theirs != Wanted(uid, container.name))) {
      const std::string where = Printable(wanted.cpus, 80);
      TellConflict(
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
  if (Waits([this, pod, container] { Stop(pod, container); })) return;
  runtime_.Count("StopContainer", false);
  HasEnded(pod, container);
}

void NriAllocator::HasEnded(const nri::Pod& pod, const nri::Container& container) {
  TrackedContainer* const tracked_container = tracked_.Find(UidOf(pod), container);
  if (tracked_container == nullptr || tracked_container->ended) return;
  const bool ran = tracked_container->runs;
  if (std::exchange(tracked_container->told, false)) TellNotMade(pod, container);
  tracked_container->ended = true;
  tracked_container->runs = false;
  unplaced_.erase({UidOf(pod), container.name});
  ended_[UidOf(pod)] = {node_.clock().Now(), os::Millis(0)};
  if (ran) Tell(pod, container, runtime::ContainerState::kExited);
}

void NriAllocator::Happened(nri::Event event, nri::Pod pod, std::optional<nri::Container> container) {
  if (aside()) return;
  if (Waits([this, event, pod, container] { Happened(event, pod, container); })) return;
  if (!IsSane(pod) || (container && !IsSane(pod, *container))) return;
  if (event == nri::Event::kRunPod) {
    Know(pod);
    FindGroups(pod);
    node_.Changed();
  } else if (event == nri::Event::kStopPod || event == nri::Event::kRemovePod) {
    TakeSandboxGone(pod);
  } else if (event == nri::Event::kPostStartContainer && container) {
    Tell(pod, *container, runtime::ContainerState::kRunning);
  } else if (event == nri::Event::kRemoveContainer && container) {
    HasEnded(pod, *container);
    node_.groups().table().ForgetId(UidOf(pod), container->id);
    if (node_.groups().table().pods().contains(UidOf(pod))) FindGroups(pod);
  }
}

// ---- now and then ---

std::string NriAllocator::NotJoined() const {
  return fmt::format("no runtime has taken berthd in as a plug-in at {}; is NRI switched on there?", options_.endpoint);
}

std::vector<std::string> NriAllocator::Warnings() const {
  std::vector<std::string> out = conflicts_.Warnings(node_.clock().Now());
  if (!aside() && !device_reports_.problem().empty()) out.push_back(device_reports_.problem());
  return out;
}

std::vector<std::string> NriAllocator::NotReady() const {
  std::vector<std::string> out;
  if (!session_.joined()) out.push_back(NotJoined());
  if (looking()) out.push_back("it is still looked at what the runtime had when it took berthd in");
  return out;
}

void NriAllocator::Tick(os::MonoTime now) {
  if (const auto since = session_.untold_since(); since && now >= *since + kPatience) {
    session_.NoteTold();
    node_.events().Warning("RuntimeNotJoined", node_.ObjectOfNode(), NotJoined());
  }
  EndAwaitingInVain(now);
  if (!aside() && now >= device_reports_.next_try()) AskForAllDevices();
  if (looking() && !looking()->saving && now >= looking()->not_before()) GoOnLooking(now);
  LookAtKubelet(now);
  if (const auto repaired = node_.events().counts().find("CgroupRepaired"); repaired != node_.events().counts().end())
    conflicts_.NoteRepaired(repaired->second, now);
  if (const auto* const state = session_.As<Aside>(); state != nullptr && state->holds_places) GiveAllBack();
  LookForLost(now);
  LookAtEnded(now);
  LookAtLeaving(now);
  TryUnplaced(now);
}

os::MonoTime NriAllocator::next_due() const {
  os::MonoTime out = next_look_for_lost_;
  if (!aside()) out = std::min(out, device_reports_.next_try());
  if (!options_.kubelet_dir.empty()) out = std::min(out, next_look_at_kubelet_);
  if (const auto* const state = session_.As<Aside>(); state != nullptr && state->holds_places)
    out = std::min(out, std::max(os::MonoTime() + os::Millis(1), node_.allocations().next_try()));
  if (const auto since = session_.untold_since()) out = std::min(out, *since + kPatience);
  if (MayTryUnplaced()) {
    if (freed_ != node_.allocations().freed() || retry_unplaced_)
      out = std::min(out, std::max(os::MonoTime(), node_.allocations().next_try()));
  }
  for (const Awaiting& each : awaiting_) out = std::min(out, each.until);
  for (const auto& [uid, look] : ended_) out = std::min(out, look.first);
  if (looking() && !looking()->saving) return std::min(out, looking()->not_before());
  for (const std::string& uid : leaving_)
    if (const auto pod = tracked_.all().find(uid); pod != tracked_.all().end() && pod->second.leave_at)
      out = std::min(out, *pod->second.leave_at);
  return out;
}

}  // namespace berth::nri_agent
