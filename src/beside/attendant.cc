#include "beside/attendant.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "beside/translate.h"
#include "beside/words.h"
#include "engine/engine.h"

namespace berth::beside {
namespace {

constexpr os::Millis kPatience{5'000};  // until it is told that no runtime has taken berthd in
constexpr os::Millis kBetweenLooksAtKubelet{10'000};

}  // namespace

Attendant::Attendant(const pods::Parts& parts, WatchedRuntime& runtime, AttendantOptions options, Helpers helpers)
    : parts_(parts),
      runtime_(runtime),
      options_(std::move(options)),
      helpers_(std::move(helpers)),
      begun_(parts.clock.Now()),
      contest_(options_.step_aside) {
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
  begun_ = parts_.clock.Now();
  parts_.events.Warning("RuntimeLeft", parts_.ObjectOfNode(),
                        why + "; containers that are made now are put in their place when it is back");
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
  managed.pod = std::move(seen);
  if (is_new) managed.stage = pods::Foreign{};
  if (!managed.lifecycle) managed.lifecycle.emplace(managed.pod);
  return managed;
}

Guest& Attendant::Know(const nri::Pod& pod, const nri::Container& container) {
  pods::ManagedPod& managed = Know(pod);
  const std::string uid = UidOf(pod);
  Guest& guest = guests_.Know(uid, container, AttemptOf(container));
  const Pod before = managed.pod;
  TakeContainer(managed.pod, ContainerOf(container, QosOf(managed.pod)), *guests_.Find(uid));
  if (managed.pod != before) {
    managed.lifecycle.emplace(managed.pod);
    parts_.Recover(managed, parts_.clock.Now());
  }
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

/// The pod's groups that the runtime has made by now: of its sandbox, and of its containers.
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
    if (!guest.ended && !table.IdsOf(uid).contains(guest.id)) table.KnowId(uid, name, guest.id);
  if (auto found = parts_.groups.runtime_groups().Find(uid, parts_.keeper.ledger());
      !found && found.error().code != Code::kNotFound)
    parts_.events.Warning("FailedCgroupUpdate", object, found.error().message);
}

void Attendant::PutInPlace(const std::string& uid, const std::string& name) {
  const enforce::GroupTable& table = parts_.groups.table();
  const auto pod = table.pods().find(uid);
  if (pod == table.pods().end()) return;
  const std::string below = pod->second + "/";
  for (auto it = table.containers().lower_bound(below); it != table.containers().end() && it->first.starts_with(below);
       ++it) {
    const auto& [path, group] = *it;
    if (group.uid != uid || group.container != name) continue;
    if (auto put = parts_.groups.cpusets().Put(path, parts_.keeper.ledger()); !put)
      parts_.events.Warning("FailedCgroupUpdate", "cgroup/" + path, put.error().message);
    return;
  }
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
  if (Waits([this, pod, container, answer] { Create(pod, container, answer); })) return;
  if (!IsSane(pod, container)) {
    TellOdd(container);
    Answered("CreateContainer", answer, answer.Give(nri::Creation()));
    return;
  }
  const std::string uid = UidOf(pod);
  Know(pod, container).placed = true;
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
    }
    if (!given && guest != nullptr) guest->placed = guest->runs;  // its start is the next time to look
    Answered("CreateContainer", answer, given && why_not.empty());
  });
}

void Attendant::Start(nri::Pod pod, nri::Container container, nri::Answer<nri::Ready> answer) {
  if (contest_.aside()) return Answered("StartContainer", answer, answer.Give(nri::Ready()));
  if (Waits([this, pod, container, answer] { Start(pod, container, answer); })) return;
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
  FindGroups(pod);
  if (guest.placed) return go("");
  guest.placed = true;
  Place(uid, name, [this, uid, name, go](const std::string& why_not) {
    if (why_not.empty()) TellLate({uid, name}, "was made without its place");
    go(why_not);
  });
}

/// Whatever somebody wants changed, it keeps its CPUs and memory nodes.
void Attendant::Update(nri::Pod pod, nri::Container container, nri::Resources wanted,
                       nri::Answer<std::vector<nri::Update>> answer) {
  if (contest_.aside()) return Answered("UpdateContainer", answer, answer.Give(std::vector<nri::Update>()));
  if (Waits([this, pod, container, wanted, answer] { Update(pod, container, wanted, answer); })) return;
  const std::string uid = UidOf(pod);
  Guest* const guest = guests_.Find(uid, container);
  std::vector<nri::Update> updates;
  if (guest != nullptr && guest->placed) {
    nri::Update& update = updates.emplace_back();
    update.container_id = container.id;
    update.resources = ResourcesOf(uid, container.name);
    const auto theirs = CpuSet::Parse(wanted.cpus);
    if (!wanted.cpus.empty() && (!theirs || *theirs != Wanted(uid, container.name))) {
      contest_.NoteWanted(fmt::format("container {} of {}/{} on CPUs {}", container.name, pod.name_space, pod.name,
                                      Printable(wanted.cpus, 80)),
                          parts_.clock.Now());
      parts_.events.Warning(
          "CpusetContested", "pod/" + pod.name_space + "/" + pod.name,
          fmt::format(
              "somebody wants container {} on CPUs {}, it keeps {}; one program alone may place containers: set "
              "the kubelet's cpuManagerPolicy to none, and look for other NRI plug-ins",
              container.name, Printable(wanted.cpus, 80), update.resources.cpus));
      helpers_.changed();
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
  guest->ended = true;
  guest->runs = false;
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

// ---- somebody else places containers ---

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
  looking_.reset();
  RunWaiting();
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
    Apply(next, engine::Release(parts_.keeper.node(), next, uid, nullptr));
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

// ---- now and then ---

void Attendant::Tick(os::MonoTime now) {
  if (!joined_ && !told_not_joined_ && now >= begun_ + kPatience) {
    told_not_joined_ = true;
    parts_.events.Warning(
        "RuntimeNotJoined", parts_.ObjectOfNode(),
        fmt::format("no runtime has taken berthd in as a plug-in at {}; is NRI switched on there?", options_.endpoint));
  }
  if (looking_ && !looking_->saving) GoOnLooking(now);
  LookAtKubelet(now);
  if (const auto repaired = parts_.events.counts().find("CgroupRepaired"); repaired != parts_.events.counts().end())
    contest_.NoteRepaired(repaired->second, now);
  if (all_back_) GiveAllBack();
  LookForLost(now);
  LookAtLeaving(now);
  TryUnplaced(now);
}

os::MonoTime Attendant::next_due() const {
  os::MonoTime out = next_look_for_lost_;
  if (!options_.kubelet_dir.empty()) out = std::min(out, next_look_at_kubelet_);
  if (all_back_) out = std::min(out, std::max(os::MonoTime() + os::Millis(1), parts_.keeper.next_try()));
  if (!joined_ && !told_not_joined_) out = std::min(out, begun_ + kPatience);
  if (!looking_ && !unplaced_.empty()) {
    if (freed_ != parts_.keeper.freed() || retry_unplaced_)
      out = std::min(out, std::max(os::MonoTime(), parts_.keeper.next_try()));
  }
  if (looking_ && !looking_->saving) return os::MonoTime();
  for (const std::string& uid : leaving_)
    if (const auto pod = guests_.all().find(uid); pod != guests_.all().end() && pod->second.leave_at)
      out = std::min(out, *pod->second.leave_at);
  return out;
}

}  // namespace berth::beside
