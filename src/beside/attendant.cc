#include "beside/attendant.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "beside/placement_texts.h"
#include "beside/translate.h"
#include "engine/engine.h"
#include "model/resources.h"

namespace berth::beside {
namespace {

constexpr os::Millis kPatience{5'000};  // until it is told that no runtime has taken berthd in

}  // namespace

Attendant::Attendant(const pods::Parts& parts, WatchedRuntime& runtime, AttendantOptions options, Helpers helpers)
    : parts_(parts),
      runtime_(runtime),
      options_(std::move(options)),
      helpers_(std::move(helpers)),
      begun_(parts.clock.Now()),
      contest_(options_.step_aside),
      device_reports_(parts_.executor, parts_.clock, options_.devices,
                      [this](bool warning, const std::string& message) {
                        if (warning)
                          parts_.events.Warning("DevicesUnknown", parts_.ObjectOfNode(), message);
                        else
                          parts_.events.Normal("DevicesKnown", parts_.ObjectOfNode(), message);
                        helpers_.changed();
                      }) {
  TakeKubelet(ReadKubeletPlaces(options_.kubelet_dir));
  next_look_at_kubelet_ = begun_ + kBetweenLooksAtKubelet;
}

/// While it is looked at what a runtime has, what it asks waits.
bool Attendant::Waits(Call call) {
  if (!looking_) return false;
  waiting_.push_back(std::move(call));
  return true;
}

// ---- the runtime comes and goes ---

void Attendant::Joined(const nri::Runtime& runtime) {
  joined_ = true;
  told_not_joined_ = false;
  parts_.events.Normal("RuntimeJoined", parts_.ObjectOfNode(),
                       fmt::format("{} {} asks where containers go, by NRI {}", runtime.name, runtime.version,
                                   runtime.nri_version.empty() ? "older than 0.12" : runtime.nri_version));
}

void Attendant::Left(const std::string& why) {
  joined_ = false;
  KeepNewcomers();
  begun_ = parts_.clock.Now();
  parts_.events.Warning("RuntimeLeft", parts_.ObjectOfNode(),
                        why + "; containers that are made now are put in their place when it is back");
}

void Attendant::KeepNewcomers() {
  if (contest_.aside()) return;
  keeps_newcomers_ = true;
  helpers_.watch_newcomers(knows_all_ && !looking_);
}

void Attendant::ForgetNewcomers() {
  keeps_newcomers_ = false;
  helpers_.forget_newcomers();
}

/// Off what is just being given away too. Whoever made it may write its CPUs once more, and is followed then.
void Attendant::Confine(const std::string& path) {
  if (contest_.aside()) return;
  const auto most_of = [this](const enforce::ContainerGroup& who) {
    const enforce::Planner& planner = parts_.groups.planner();
    CpuSet now = planner.CpusNow(who, parts_.keeper.ledger(), parts_.keeper.online());
    CpuSet soon = now & planner.CpusNow(who, parts_.keeper.newest(), parts_.keeper.online());
    return soon.empty() ? now : soon;
  };
  CpuSet most = most_of({});
  const std::string_view group = std::string_view(path).substr(path.rfind('/') + 1);
  for (const auto& [uid, pod] : guests_.all())
    for (const auto& [name, guest] : pod.guests)
      if (!guest.id.empty() && guest.placed && group.find(guest.id) != group.npos)
        if (CpuSet own = most_of({uid, name}); !own.empty()) most = std::move(own);
  const auto now = parts_.tree.ReadCpus(path);
  if (!now || (!now->empty() && now->IsSubsetOf(most))) return;
  CgroupValues values;
  values.cpus = most;
  if (auto written = parts_.groups.site().WriteUnlessGone(path, values); !written)
    parts_.events.Warning("FailedCgroupUpdate", "cgroup/" + path, written.error().message);
}

// ---- pods and containers ---

pods::ManagedPod& Attendant::Know(const nri::Pod& pod) {
  const std::string uid = UidOf(pod);
  GuestPod& guest = guests_.Know(uid);
  guest.sandboxes.insert(pod.id);
  guest.leave_at.reset();
  leaving_.erase(uid);
  const auto [entry, is_new] = parts_.pods.try_emplace(uid);
  pods::ManagedPod& managed = entry->second;
  Pod seen = PodOf(pod);
  seen.containers = std::move(managed.pod.containers);
  seen.init_containers = std::move(managed.pod.init_containers);
  seen.overhead = std::move(managed.pod.overhead);
  seen.resources = std::move(managed.pod.resources);
  managed.pod = std::move(seen);
  if (looking_) looking_->there.insert(uid);
  if (is_new) {
    const pods::Life* const life = parts_.lives.Find(uid);  // an earlier berthd refused it
    managed.stage = pods::Foreign{life != nullptr ? life->evicted.value_or(pods::Why()) : pods::Why()};
  }
  if (!managed.lifecycle) managed.lifecycle.emplace(managed.pod);
  return managed;
}

Guest& Attendant::Know(const nri::Pod& pod, const nri::Container& container) {
  pods::ManagedPod& managed = Know(pod);
  const std::string uid = UidOf(pod);
  Guest& guest = guests_.Know(uid, container, AttemptOf(container));
  const Pod before = managed.pod;
  if (const Pod* const spec = specs_.Find(uid)) {
    TakeSpec(managed.pod, *spec);
    managed.reported.spec = true;
  }
  if (!managed.reported.spec)
    TakeContainer(managed.pod, ContainerOf(container, QosOf(managed.pod)), guests_.Know(uid));
  else if (pods::FindContainer(managed.pod, container.name).container == nullptr)
    managed.pod.containers.push_back(ContainerOf(container, QosOf(managed.pod)));  // an ephemeral one
  TakeChanged(managed, before);
  return guest;
}

runtime::ContainerStatus Attendant::StatusOf(const nri::Pod& pod, const nri::Container& container,
                                             runtime::ContainerState state) {
  const Guest* const guest = guests_.Find(UidOf(pod), container);
  runtime::ContainerStatus status{.id = container.id,
                                  .pod_uid = UidOf(pod),
                                  .container = container.name,
                                  .attempt = guest == nullptr ? 0 : guest->attempt,
                                  .state = state,
                                  .pid = static_cast<int>(container.pid)};
  if (const auto known = parts_.records.all().find(status.pod_uid); known != parts_.records.all().end())
    if (const auto before = known->second.find(status.container);
        before != known->second.end() && before->second.id == status.id) {
      status.started_at = before->second.started_at;
      if (status.pid == 0) status.pid = before->second.pid;
    }
  const std::string now = os::FormatTime(parts_.clock.Wall());
  if (status.started_at.empty()) status.started_at = now;
  if (state == runtime::ContainerState::kExited) status.finished_at = now;
  return status;
}

void Attendant::Tell(const nri::Pod& pod, const nri::Container& container, runtime::ContainerState state) {
  if (guests_.Find(UidOf(pod), container) == nullptr) return;
  runtime_.Put(StatusOf(pod, container, state));
  helpers_.changed();
}

/// The pod's groups that the runtime has made by now: of its sandbox, and of containers that have been started. Before
/// that a runtime is at work on a container's group, also one that was killed and left it to a program of its own; what
/// it holds meanwhile is nobody's mistake, and nothing runs there.
void Attendant::FindGroups(const nri::Pod& pod) {
  const std::string uid = UidOf(pod);
  enforce::GroupTable& table = parts_.groups.table();
  const std::string object = pods::ObjectOf(parts_.pods[uid].pod);
  if (!table.pods().contains(uid)) {
    const auto path = GroupOf(pod, parts_.groups.site().names().root());
    if (!path) {
      parts_.events.Warning("UnknownGroup", object,
                            fmt::format("its group is not below {}, where pods are looked for: {}; what others get is "
                                        "not kept free of it",
                                        parts_.groups.site().names().root(), Printable(pod.cgroup_parent, 200)));
      return;
    }
    table.KnowPod(uid, *path);
  }
  if (!table.IdsOf(uid).contains(pod.id)) table.KnowId(uid, "", pod.id);
  for (const auto& [name, guest] : guests_.Know(uid).guests)
    if (guest.runs && !guest.ended && !table.IdsOf(uid).contains(guest.id)) table.KnowId(uid, name, guest.id);
  if (auto found = parts_.groups.runtime_groups().Find(uid, parts_.keeper.ledger());
      !found && found.error().code != Code::kNotFound)
    parts_.events.Warning("FailedCgroupUpdate", object, found.error().message);
}

/// nullptr: its group is not known.
const std::string* Attendant::PathOf(const std::string& uid, const std::string& name) const {
  const enforce::GroupTable& table = parts_.groups.table();
  const auto pod = table.pods().find(uid);
  return pod == table.pods().end() ? nullptr : table.FindContainer(pod->second, uid, name);
}

void Attendant::PutInPlace(const std::string& uid, const std::string& name) {
  const std::string* const path = PathOf(uid, name);
  if (path == nullptr) return;
  if (auto put = parts_.groups.cpusets().Put(*path, parts_.keeper.ledger()); !put)
    parts_.events.Warning("FailedCgroupUpdate", "cgroup/" + *path, put.error().message);
}

bool Attendant::HasOwn(const std::string& uid, const std::string& name) const {
  const auto record = parts_.keeper.ledger().pods.find(uid);
  return record != parts_.keeper.ledger().pods.end() && IsOwn(FindPlacement(record->second, name));
}

CpuSet Attendant::Wanted(const std::string& uid, const std::string& name) const {
  return parts_.groups.planner().CpusNow({uid, name}, parts_.keeper.ledger(), parts_.keeper.online());
}

nri::Resources Attendant::ResourcesOf(const std::string& uid, const std::string& name) const {
  nri::Resources out;
  if (const CpuSet cpus = Wanted(uid, name); !cpus.empty()) out.cpus = FormatIds(cpus);
  if (const auto mems = parts_.groups.planner().NodesOf({uid, name}, parts_.keeper.ledger()))
    out.mems = FormatIds(*mems);
  return out;
}

// ---- what the runtime asks ---

void Attendant::TellOdd(const nri::Container& container) {
  parts_.events.Warning(
      "UnknownContainer", parts_.ObjectOfNode(),
      fmt::format("the runtime makes container {} with names that are none of Kubernetes'; it is left "
                  "alone, on whatever CPUs it has",
                  Printable(container.name, 80)));
}

void Attendant::Create(nri::Pod pod, nri::Container container, nri::Answer<nri::Creation> answer) {
  if (contest_.aside()) return Answered("CreateContainer", answer, answer.Give(nri::Creation()));
  if (!PassesLook(pod, container) && Waits([this, pod, container, answer] { Create(pod, container, answer); })) return;
  if (!IsSane(pod, container)) {
    TellOdd(container);
    Answered("CreateContainer", answer, answer.Give(nri::Creation()));
    return;
  }
  const std::string uid = UidOf(pod);
  const auto again = [this, pod, container, answer] { Create(pod, container, answer); };
  Guest& newest = Know(pod, container);
  if (AwaitsSpec(uid, again) || AwaitsDevices(pod, container, again)) return;
  newest.placed = true;
  TellIgnored(parts_.pods[uid].pod, container.name);
  helpers_.changed();
  const std::string name = container.name;
  Place(uid, name, [this, uid, container = std::move(container), answer](const std::string& why_not) {
    Guest* guest = guests_.Find(uid, container);
    bool given = false;
    if (!why_not.empty()) {
      given = answer.Give(Fail(Code::kExhausted, "berth: " + why_not));
      guests_.Forget(uid, container);
      guest = nullptr;
    } else {
      nri::Creation creation;
      creation.adjustment.resources = ResourcesOf(uid, container.name);
      given = answer.Give(std::move(creation));
      if (guest != nullptr) guest->told = given;
    }
    if (!given && guest != nullptr) guest->placed = guest->runs;  // its start is the next time to look
    Answered("CreateContainer", answer, given && why_not.empty());
  });
}

void Attendant::Start(nri::Pod pod, nri::Container container, nri::Answer<nri::Ready> answer) {
  if (contest_.aside()) return Answered("StartContainer", answer, answer.Give(nri::Ready()));
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
      helpers_.apply_pool(parts_.clock.Now());
      if (!helpers_.pool_in_force()) why_not = NotInForce();
    }
    if (why_not.empty()) PutInPlace(uid, name);
    const bool given =
        why_not.empty() ? answer.Give(nri::Ready()) : answer.Give(Fail(Code::kExhausted, "berth: " + why_not));
    Answered("StartContainer", answer, given && why_not.empty());
  };
  Guest& guest = Know(pod, container);
  guest.runs = true;
  guest.ended = false;  // a runtime that was killed may not have listed it
  guest.told = false;
  FindGroups(pod);
  if (guest.placed) return go("");
  if (AwaitsDevices(pod, container, [this, pod, container, answer] { Start(pod, container, answer); })) return;
  guest.placed = true;
  Place(uid, name, [this, uid, name, go](const std::string& why_not) {
    if (why_not.empty()) TellLate({uid, name}, "was made without its place");
    go(why_not);
  });
}

/// A container with CPUs of its own has as many as it was made with.
std::string Attendant::WhyNotResized(const std::string& uid, const nri::Container& container,
                                     const nri::Resources& wanted) const {
  const auto record = parts_.keeper.newest().pods.find(uid);
  if (record == parts_.keeper.newest().pods.end() || record->second.qos != QosClass::kGuaranteed) return "";
  const Placement* const placement = FindPlacement(record->second, container.name);
  const auto pod = parts_.pods.find(uid);
  if (placement == nullptr || !placement->cpus || placement->cpus->empty() || placement->mixed ||
      pod == parts_.pods.end() || HasWish(pod->second.pod, container.name))
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
void Attendant::Update(nri::Pod pod, nri::Container container, nri::Resources wanted,
                       nri::Answer<std::vector<nri::Update>> answer) {
  if (contest_.aside()) return Answered("UpdateContainer", answer, answer.Give(std::vector<nri::Update>()));
  if (Waits([this, pod, container, wanted, answer] { Update(pod, container, wanted, answer); })) return;
  const std::string uid = UidOf(pod);
  Guest* const guest = guests_.Find(uid, container);
  if (const std::string why_not = WhyNotResized(uid, container, wanted); !why_not.empty()) {
    parts_.events.Warning("ResizeRefused", "pod/" + pod.name_space + "/" + pod.name, why_not);
    answer.Give(Fail(Code::kUnsupported, "berth: " + why_not));
    return Answered("UpdateContainer", answer, false);
  }
  std::vector<nri::Update> updates;
  if (guest != nullptr && guest->placed) {
    nri::Update& update = updates.emplace_back();
    update.container_id = container.id;
    update.resources = ResourcesOf(uid, container.name);
    const auto theirs = CpuSet::Parse(wanted.cpus);
    if (!wanted.cpus.empty() && (!theirs || *theirs != Wanted(uid, container.name))) {
      const std::string where = Printable(wanted.cpus, 80);
      TellContested(
          Contested::kWanted, pod,
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

void Attendant::Stop(nri::Pod pod, nri::Container container) {
  if (Waits([this, pod, container] { Stop(pod, container); })) return;
  runtime_.Count("StopContainer", false);
  HasEnded(pod, container);
}

void Attendant::HasEnded(const nri::Pod& pod, const nri::Container& container) {
  Guest* const guest = guests_.Find(UidOf(pod), container);
  if (guest == nullptr || guest->ended) return;
  const bool ran = guest->runs;
  if (std::exchange(guest->told, false)) TellNotMade(pod, container);
  guest->ended = true;
  guest->runs = false;
  unplaced_.erase({UidOf(pod), container.name});
  ended_[UidOf(pod)] = {parts_.clock.Now(), os::Millis(0)};
  if (ran) Tell(pod, container, runtime::ContainerState::kExited);
}

void Attendant::Happened(nri::Event event, nri::Pod pod, std::optional<nri::Container> container) {
  if (contest_.aside()) return;
  if (Waits([this, event, pod, container] { Happened(event, pod, container); })) return;
  if (!IsSane(pod) || (container && !IsSane(pod, *container))) return;
  if (event == nri::Event::kRunPod) {
    Know(pod);
    FindGroups(pod);
    helpers_.changed();
  } else if (event == nri::Event::kStopPod || event == nri::Event::kRemovePod) {
    TakeSandboxGone(pod);
  } else if (event == nri::Event::kPostStartContainer && container) {
    Tell(pod, *container, runtime::ContainerState::kRunning);
  } else if (event == nri::Event::kRemoveContainer && container) {
    HasEnded(pod, *container);
    parts_.groups.table().ForgetId(UidOf(pod), container->id);
    if (parts_.groups.table().pods().contains(UidOf(pod))) FindGroups(pod);
  }
}

// ---- now and then ---

std::string Attendant::NotJoined() const {
  return fmt::format("no runtime has taken berthd in as a plug-in at {}; is NRI switched on there?", options_.endpoint);
}

std::vector<std::string> Attendant::Warnings() const {
  std::vector<std::string> out = contest_.Warnings(parts_.clock.Now());
  if (!contest_.aside() && !device_reports_.problem().empty()) out.push_back(device_reports_.problem());
  return out;
}

std::vector<std::string> Attendant::NotReady() const {
  std::vector<std::string> out;
  if (!joined_) out.push_back(NotJoined());
  if (looking_) out.push_back("it is still looked at what the runtime had when it took berthd in");
  return out;
}

void Attendant::Tick(os::MonoTime now) {
  if (!joined_ && !told_not_joined_ && now >= begun_ + kPatience) {
    told_not_joined_ = true;
    parts_.events.Warning("RuntimeNotJoined", parts_.ObjectOfNode(), NotJoined());
  }
  EndAwaitingInVain(now);
  if (!contest_.aside() && now >= device_reports_.next_try()) AskForAllDevices();
  if (looking_ && !looking_->saving && now >= looking_->not_before()) GoOnLooking(now);
  LookAtKubelet(now);
  if (const auto repaired = parts_.events.counts().find("CgroupRepaired"); repaired != parts_.events.counts().end())
    contest_.NoteRepaired(repaired->second, now);
  if (all_back_) GiveAllBack();
  LookForLost(now);
  LookAtEnded(now);
  LookAtLeaving(now);
  TryUnplaced(now);
}

os::MonoTime Attendant::next_due() const {
  os::MonoTime out = next_look_for_lost_;
  if (!contest_.aside()) out = std::min(out, device_reports_.next_try());
  if (!options_.kubelet_dir.empty()) out = std::min(out, next_look_at_kubelet_);
  if (all_back_) out = std::min(out, std::max(os::MonoTime() + os::Millis(1), parts_.keeper.next_try()));
  if (!joined_ && !told_not_joined_) out = std::min(out, begun_ + kPatience);
  if (!looking_ && !keeps_newcomers_ && !unplaced_.empty()) {
    if (freed_ != parts_.keeper.freed() || retry_unplaced_)
      out = std::min(out, std::max(os::MonoTime(), parts_.keeper.next_try()));
  }
  for (const Awaiting& each : awaiting_) out = std::min(out, each.until);
  for (const auto& [uid, look] : ended_) out = std::min(out, look.first);
  if (looking_ && !looking_->saving) return std::min(out, looking_->not_before());
  for (const std::string& uid : leaving_)
    if (const auto pod = guests_.all().find(uid); pod != guests_.all().end() && pod->second.leave_at)
      out = std::min(out, *pod->second.leave_at);
  return out;
}

}  // namespace berth::beside
