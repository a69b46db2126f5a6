#include "beside/attendant.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/text.h"
#include "beside/translate.h"
#include "engine/engine.h"
#include "model/resources.h"

namespace berth::beside {
namespace {

constexpr os::Millis kPatience{5'000};  // until it is told that no runtime has taken berthd in
constexpr os::Millis kLookAgain{20};    // at groups of a pod that leaves; doubled each time
constexpr os::Millis kLongestLook{1'000};
constexpr os::Millis kBetweenLooksForLost{10'000};
constexpr os::Millis kSlice{10};           // of the loop, for what a runtime has
constexpr std::size_t kLongestName = 253;  // of Kubernetes

bool IsName(std::string_view text) {
  return !text.empty() && text.size() <= kLongestName &&
         std::ranges::all_of(text, [](unsigned char c) { return c > ' ' && c < 0x7f && c != '/'; });
}

/// What a runtime shows comes from elsewhere: names go into events, the ledger and what people are shown.
bool IsSane(const nri::Pod& pod) { return IsName(UidOf(pod)) && IsName(pod.name) && IsName(pod.name_space); }
bool IsSane(const nri::Pod& pod, const nri::Container& container) {
  return IsSane(pod) && IsName(container.name) && IsName(container.id);
}

std::string TextOf(const Reject& reject) {
  return reject.details.empty() ? reject.message : reject.message + "; " + Join(reject.details, "; ");
}

bool IsOwn(const Placement* placement) {
  return placement != nullptr && ((placement->cpus && !placement->cpus->empty()) || placement->memory);
}

std::string DescribePlace(const Placement& placement, const CpuSet& shared) {
  std::string out =
      placement.cpus ? "CPUs " + FormatIds(*placement.cpus) + " for itself" : "the shared pool " + FormatIds(shared);
  if (const NodeSet nodes = MemoryNodes(placement); !nodes.empty()) out += ", memory of nodes " + FormatIds(nodes);
  return out;
}

}  // namespace

Attendant::Attendant(const pods::Parts& parts, WatchedRuntime& runtime, AttendantOptions options, Helpers helpers)
    : parts_(parts),
      runtime_(runtime),
      options_(std::move(options)),
      helpers_(std::move(helpers)),
      begun_(parts.clock.Now()) {}

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
  for (const auto& [path, group] : parts_.groups.table().containers()) {
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
  if (Waits([this, pod, container, answer] { Create(pod, container, answer); })) return;
  if (!IsSane(pod, container)) {
    TellOdd(container);
    Answered("CreateContainer", answer, answer.Give(nri::Creation()));
    return;
  }
  const std::string uid = UidOf(pod);
  Know(pod, container).placed = true;
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
  if (Waits([this, pod, container, wanted, answer] { Update(pod, container, wanted, answer); })) return;
  const std::string uid = UidOf(pod);
  Guest* const guest = guests_.Find(uid, container);
  std::vector<nri::Update> updates;
  if (guest != nullptr && guest->placed) {
    nri::Update& update = updates.emplace_back();
    update.container_id = container.id;
    update.resources = ResourcesOf(uid, container.name);
    const auto theirs = CpuSet::Parse(wanted.cpus);
    if (!wanted.cpus.empty() && (!theirs || *theirs != Wanted(uid, container.name)))
      parts_.events.Warning(
          "CpusetContested", "pod/" + pod.name_space + "/" + pod.name,
          fmt::format(
              "somebody wants container {} on CPUs {}, it keeps {}; one program alone may place containers: set "
              "the kubelet's cpuManagerPolicy to none, and look for other NRI plug-ins",
              container.name, Printable(wanted.cpus, 80), update.resources.cpus));
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

// ---- a place for a container ---

std::string Attendant::NotInForce() const {
  const std::string why = helpers_.pool_problem();
  return "others may still run on its CPUs: " + (why.empty() ? "the shared pool is being changed" : why);
}

bool Attendant::ShallHaveOwn(const Pod& pod, const std::string& name) const {
  if (QosOf(pod) != QosClass::kGuaranteed || parts_.keeper.node().config().cpu_manager_policy != "static") return false;
  const pods::FoundContainer found = pods::FindContainer(pod, name);
  if (found.container == nullptr) return false;
  const std::int64_t milli = AmountOf(found.container->resources.requests, "cpu").MilliValue();
  return milli >= 1000 && milli % 1000 == 0;
}

/// It cannot have what it should: "" if it runs in the shared pool all the same.
std::string Attendant::Unplaced(pods::ManagedPod& managed, const std::string& name, const Reject& reject) {
  const bool refused = ShallHaveOwn(managed.pod, name) && !options_.share_unplaced;
  const std::string text = fmt::format("container {}: {}", name, TextOf(reject));
  managed.stage = pods::Foreign{{.reason = reject.reason, .message = reject.message, .details = reject.details}};
  parts_.keeper.CountRejection(reject.reason);
  if (!refused) unplaced_.emplace(managed.pod.uid, name);
  parts_.events.Warning(reject.reason, pods::ObjectOf(managed.pod),
                        text + (refused ? "; it is not made" : "; it runs in the shared pool"));
  return refused ? reject.reason + ": " + text : "";
}

/// `then` is called once it is known, at once where nothing has to be made durable first.
void Attendant::Place(const std::string& uid, const std::string& name, Placed then) {
  pods::ManagedPod& managed = parts_.pods[uid];
  managed.trace = Trace();
  ++managed.decisions;
  auto proposed = parts_.keeper.ProposeContainer(managed.pod, name, parts_.devices.inputs(), &managed.trace);
  if (const auto* const reject = std::get_if<Reject>(&proposed)) return then(Unplaced(managed, name, *reject));
  managed.stage = pods::Foreign{};
  unplaced_.erase({uid, name});
  auto& proposal = std::get<keeper::Proposal>(proposed);
  const PodRecord& record = *std::get<LedgerDelta>(proposal.change).put;
  const bool own = IsOwn(FindPlacement(record, name));
  const auto known = parts_.keeper.ledger().pods.find(uid);
  if (!parts_.keeper.saving() && parts_.keeper.durable() && known != parts_.keeper.ledger().pods.end() &&
      known->second == record)
    return Saved(uid, name, own, {}, then);
  const bool committed =
      parts_.keeper.Commit(std::move(proposal), [this, uid, name, own, then = own ? then : Placed()](
                                                    const Result<void>& saved) { Saved(uid, name, own, saved, then); });
  if (!committed) {
    const std::string why = parts_.keeper.problem();
    return Saved(uid, name, own, Fail(Code::kIo, why.empty() ? "the ledger cannot be saved now" : why), then);
  }
  if (!own) then("");
}

/// `then` is empty where it was called before.
void Attendant::Saved(const std::string& uid, const std::string& name, bool own, const Result<void>& saved,
                      const Placed& then) {
  helpers_.changed();
  const auto pod = parts_.pods.find(uid);
  if (!saved) {
    if (pod != parts_.pods.end())
      pod->second.stage = pods::Foreign{{.reason = "LedgerNotSaved", .message = saved.error().message}};
    if (const GuestPod* const known = guests_.Find(uid); own && known != nullptr)
      if (const auto guest = known->guests.find(name); guest != known->guests.end() && guest->second.runs)
        PlaceLater({uid, name});
    if (then) then(own ? "LedgerNotSaved: " + saved.error().message : "");
    return;
  }
  if (own) helpers_.apply_pool(parts_.clock.Now());
  const auto record = parts_.keeper.ledger().pods.find(uid);
  if (const Placement* const placement =
          record == parts_.keeper.ledger().pods.end() ? nullptr : FindPlacement(record->second, name);
      placement != nullptr && pod != parts_.pods.end())
    parts_.events.Normal(
        "Placed", pods::ObjectOf(pod->second.pod),
        fmt::format("container {} has {}", name, DescribePlace(*placement, parts_.keeper.SharedCpus())));
  if (!then) return;
  if (own && !helpers_.pool_in_force()) return then(NotInForce());
  then("");
}

// ---- pods that leave ---

void Attendant::TakeSandboxGone(const nri::Pod& pod) {
  GuestPod* const known = guests_.Find(UidOf(pod));
  if (known == nullptr) return;
  known->sandboxes.erase(pod.id);
  if (!known->sandboxes.empty() || known->leave_at) return;
  Leave(UidOf(pod));
}

void Attendant::Leave(const std::string& uid) {
  GuestPod& pod = guests_.Know(uid);
  pod.sandboxes.clear();
  pod.leave_at = parts_.clock.Now();
  pod.leave_delay = kLookAgain;
  leaving_.insert(uid);
}

/// No process is left in the groups below the pod's, whosever they are.
bool Attendant::HasLeft(const std::string& uid) const {
  const auto pod = parts_.groups.table().pods().find(uid);
  if (pod == parts_.groups.table().pods().end()) return true;
  const auto groups = parts_.tree.Children(pod->second);
  if (!groups) return groups.error().code == Code::kNotFound;
  return std::ranges::all_of(*groups, [&](const std::string& group) {
    const auto pids = parts_.tree.Pids(pod->second + "/" + group);
    return pids ? pids->empty() : pids.error().code == Code::kNotFound;
  });
}

/// Pods of which nothing runs any more though no word of it came.
void Attendant::LookForLost(os::MonoTime now) {
  if (now < next_look_for_lost_) return;
  next_look_for_lost_ = now + kBetweenLooksForLost;
  for (const auto& [uid, pod] : guests_.all()) {
    const bool over = std::ranges::all_of(pod.guests, [](const auto& entry) { return entry.second.ended; });
    if (over && !pod.leave_at && parts_.groups.table().pods().contains(uid) && HasLeft(uid)) Leave(uid);
  }
}

void Attendant::LookAtLeaving(os::MonoTime now) {
  for (const std::string& uid : std::set<std::string>(leaving_)) {
    GuestPod& pod = guests_.Know(uid);
    if (*pod.leave_at > now) continue;
    if (HasLeft(uid) && now >= parts_.keeper.next_try()) {
      pod.leave_at = os::MonoTime::max();  // until that is saved
      Release(uid);
      continue;
    }
    pod.leave_at = now + pod.leave_delay;
    pod.leave_delay = std::min(pod.leave_delay * 2, kLongestLook);
  }
}

void Attendant::Release(const std::string& uid) {
  auto proposal = parts_.keeper.ProposeRelease(uid);
  if (!proposal) return Forget(uid);
  const bool committed = parts_.keeper.Commit(*std::move(proposal), [this, uid](const Result<void>& saved) {
    GuestPod* const pod = guests_.Find(uid);
    if (pod == nullptr || !pod->leave_at) return;  // it is back, and has asked for a place anew
    if (saved) return Forget(uid);
    pod->leave_at = parts_.clock.Now() + kLongestLook;
  });
  if (!committed) guests_.Know(uid).leave_at = parts_.clock.Now() + kLongestLook;
}

void Attendant::Forget(const std::string& uid) {
  if (const auto pod = parts_.pods.find(uid); pod != parts_.pods.end()) {
    parts_.events.Normal("Released", pods::ObjectOf(pod->second.pod),
                         "its place is free, the shared pool is " + FormatIds(parts_.keeper.SharedCpus()));
    parts_.pods.erase(pod);
  }
  static_cast<void>(parts_.records.ForgetPod(uid));
  parts_.groups.table().Forget(uid);
  guests_.Forget(uid);
  leaving_.erase(uid);
  helpers_.changed();
}

// ---- all that a runtime has ---

void Attendant::Synchronize(nri::Inventory inventory) {
  waiting_.clear();  // of an earlier connection: nobody waits for it, and what happened is in the inventory
  looking_.emplace();
  looking_->number = ++looks_;
  looking_->inventory = std::move(inventory);
  std::set<std::string> there;
  for (std::size_t i = 0; i < looking_->inventory.pods.size(); ++i) {
    const nri::Pod& pod = looking_->inventory.pods[i];
    if (!IsSane(pod) || !SandboxLives(pod)) continue;  // one that has stopped is listed until it is removed
    looking_->pod_of.emplace(pod.id, i);
    there.insert(UidOf(pod));
    guests_.Know(UidOf(pod)).sandboxes.clear();
  }
  for (const auto& [id, i] : looking_->pod_of) {
    Know(looking_->inventory.pods[i]);
    FindGroups(looking_->inventory.pods[i]);
  }
  for (const auto& [uid, managed] : parts_.pods)
    if (!there.contains(uid)) Leave(uid);
  for (const auto& [uid, record] : parts_.keeper.newest().pods)
    if (!there.contains(uid)) Leave(uid);
  EndUnlisted(there);
  BeginLooking();
  helpers_.changed();
}

/// The kernel says so: runtimes do not all tell. Where its group is not known there is no reason to doubt it.
bool Attendant::SandboxLives(const nri::Pod& pod) const {
  const auto path = GroupOf(pod, parts_.groups.site().names().root());
  if (!path) return true;
  const auto groups = parts_.tree.Children(*path);
  if (!groups) return groups.error().code != Code::kNotFound;
  const auto own = std::ranges::find_if(*groups, [&](const std::string& group) { return group.contains(pod.id); });
  if (own == groups->end()) return false;
  const auto pids = parts_.tree.Pids(*path + "/" + *own);
  return pids ? !pids->empty() : pids.error().code != Code::kNotFound;
}

/// Containers of pods that are there which the runtime does not list have ended.
void Attendant::EndUnlisted(const std::set<std::string>& there) {
  std::set<GuestName> alive;
  for (const nri::Container& container : looking_->inventory.containers) {
    const auto pod = looking_->pod_of.find(container.pod_id);
    if (pod != looking_->pod_of.end() && container.state != nri::ContainerState::kStopped)
      alive.emplace(UidOf(looking_->inventory.pods[pod->second]), container.name);
  }
  for (const std::string& uid : there) {
    GuestPod& known = guests_.Know(uid);
    ForEachContainer(parts_.pods[uid].pod, [&](const Container& container, ContainerKind) {
      if (alive.contains({uid, container.name})) return;
      Guest& guest = known.guests[container.name];
      guest.ended = true;
      guest.runs = false;
      const auto records = parts_.records.all().find(uid);
      if (records == parts_.records.all().end()) return;
      const auto before = records->second.find(container.name);
      if (before == records->second.end() || before->second.state != runtime::ContainerState::kRunning) return;
      runtime::ContainerStatus status = before->second;
      status.state = runtime::ContainerState::kExited;
      status.finished_at = os::FormatTime(parts_.clock.Wall());
      runtime_.Put(std::move(status));
    });
  }
}

/// What has gone meanwhile makes room first.
void Attendant::BeginLooking() {
  looking_->ledger = parts_.keeper.newest();
  looking_->base = looking_->ledger->revision;
  looking_->next = 0;
  looking_->gone.clear();
  for (const std::string& uid : leaving_) {
    if (!HasLeft(uid)) continue;
    Apply(*looking_->ledger, engine::Release(parts_.keeper.node(), *looking_->ledger, uid, nullptr));
    looking_->gone.push_back(uid);
  }
  helpers_.pool_changed();
}

void Attendant::Recognize(const nri::Pod& pod, const nri::Container& container) {
  const runtime::ContainerStatus status = StatusOf(pod, container, runtime::ContainerState::kRunning);
  pods::ManagedPod& managed = parts_.pods[status.pod_uid];
  runtime_.Recognize(status);
  static_cast<void>(parts_.records.Take(status));
  parts_.Recover(managed, parts_.clock.Now());
}

/// Its group is found, and it is decided where nothing was: whoever holds a place keeps it.
void Attendant::LookAt(const nri::Pod& pod, const nri::Container& container) {
  const std::string uid = UidOf(pod);
  const bool ended = container.state == nri::ContainerState::kStopped;
  const bool runs = container.state == nri::ContainerState::kRunning || container.state == nri::ContainerState::kPaused;
  const Guest* const before = guests_.Find(uid, container);
  const bool was_placed = before != nullptr && before->placed;
  Guest& guest = Know(pod, container);
  guest.ended = ended;
  guest.runs = runs;
  guest.placed = true;
  if (ended) return;
  if (runs) {
    FindGroups(pod);
    Recognize(pod, container);
  }
  const auto record = looking_->ledger->pods.find(uid);
  if (record != looking_->ledger->pods.end())
    if (const Placement* const placement = FindPlacement(record->second, container.name); placement != nullptr) {
      // It was made anew meanwhile, without what is its own.
      const auto made_with = CpuSet::Parse(container.resources.cpus);
      if (runs && placement->cpus && (!made_with || *made_with != *placement->cpus))
        looking_->late.emplace(uid, container.name);
      return;
    }
  pods::ManagedPod& managed = parts_.pods[uid];
  managed.trace = Trace();
  ++managed.decisions;
  Decision decision = engine::DecideContainer(parts_.keeper.node(), *looking_->ledger, managed.pod, container.name,
                                              parts_.devices.inputs(), &managed.trace);
  if (const auto* const reject = std::get_if<Reject>(&decision)) {
    managed.stage = pods::Foreign{{.reason = reject->reason, .message = reject->message, .details = reject->details}};
    parts_.events.Warning(
        reject->reason, pods::ObjectOf(managed.pod),
        fmt::format("container {}: {}; it runs already, in the shared pool", container.name, TextOf(*reject)));
    unplaced_.emplace(uid, container.name);
    return;
  }
  Apply(*looking_->ledger, std::get<Admit>(decision).delta);
  if (!was_placed) looking_->late.emplace(uid, container.name);
}

void Attendant::GoOnLooking(os::MonoTime now) {
  const os::Slice slice(parts_.clock, now + kSlice);
  const std::vector<nri::Container>& all = looking_->inventory.containers;
  while (looking_->next < all.size()) {
    const nri::Container& container = all[looking_->next++];
    const auto pod = looking_->pod_of.find(container.pod_id);
    if (pod != looking_->pod_of.end() && IsName(container.name) && IsName(container.id))
      LookAt(looking_->inventory.pods[pod->second], container);
    if (slice.over()) return;
  }
  EndLooking();
}

/// Others may have changed the books meanwhile, as CPUs that went offline do: then all is decided once more.
void Attendant::EndLooking() {
  if (looking_->base != parts_.keeper.newest().revision) return BeginLooking();
  if (looking_->ledger->pods == parts_.keeper.newest().pods) return LookedAt({});
  Ledger next = *looking_->ledger;
  next.revision = looking_->base + 1;
  const auto then = [this, number = looking_->number](const Result<void>& saved) {
    if (looking_ && looking_->number == number) LookedAt(saved);
  };
  looking_->saving = parts_.keeper.Commit(parts_.keeper.ProposeLedger(parts_.ObjectOfNode(), std::move(next)), then);
  if (!looking_->saving) LookedAt(Fail(Code::kIo, "the ledger cannot be saved now"));
}

void Attendant::LookedAt(const Result<void>& saved) {
  if (saved) {
    for (const std::string& uid : looking_->gone) Forget(uid);
  } else {  // each by itself then, when the ledger can be saved; who has gone is released as ever
    unplaced_.insert(looking_->late.begin(), looking_->late.end());
    retry_unplaced_ = true;
  }
  helpers_.apply_pool(parts_.clock.Now());
  if (saved)
    for (const GuestName& late : looking_->late) TellLate(late, "was made while berthd was away");
  looking_.reset();
  helpers_.changed();
  RunWaiting();
}

void Attendant::RunWaiting() {
  while (!waiting_.empty() && !looking_) {
    Call call = std::move(waiting_.front());
    waiting_.pop_front();
    call();
  }
}

/// A container that ran already has its place now.
void Attendant::TellLate(const GuestName& late, std::string_view how) {
  const auto& [uid, name] = late;
  if (helpers_.pool_in_force()) PutInPlace(uid, name);
  const auto record = parts_.keeper.ledger().pods.find(uid);
  if (record == parts_.keeper.ledger().pods.end()) return;
  if (const Placement* const placement = FindPlacement(record->second, name); placement != nullptr)
    parts_.events.Normal("PlacedLate", "pod/" + FullName(record->second),
                         fmt::format("container {} {}; it has {} now", name, how,
                                     DescribePlace(*placement, parts_.keeper.SharedCpus())));
}

/// Something was given back, or the ledger can be saved again: who runs in the shared pool for want of a place may have
/// it now.
void Attendant::TryUnplaced(os::MonoTime now) {
  const bool again = freed_ != parts_.keeper.freed() || retry_unplaced_;
  if (looking_ || unplaced_.empty() || !again || now < parts_.keeper.next_try()) return;
  freed_ = parts_.keeper.freed();
  retry_unplaced_ = false;
  for (const GuestName& who : std::set<GuestName>(unplaced_)) TryAgain(who);
}

void Attendant::TryAgain(const GuestName& who) {
  const auto& [uid, name] = who;
  const GuestPod* const known = guests_.Find(uid);
  const auto pod = parts_.pods.find(uid);
  const bool runs = known != nullptr && !known->leave_at && known->guests.contains(name) &&
                    !known->guests.at(name).ended && pod != parts_.pods.end();
  if (!runs) {
    unplaced_.erase(who);
    return;
  }
  Trace trace;
  auto proposed = parts_.keeper.ProposeContainer(pod->second.pod, name, parts_.devices.inputs(), &trace);
  if (std::holds_alternative<Reject>(proposed)) return;
  unplaced_.erase(who);
  pod->second.trace = std::move(trace);
  pod->second.stage = pods::Foreign{};
  const auto placed = [this, who](const Result<void>& saved) {
    if (!saved) return PlaceLater(who);
    helpers_.apply_pool(parts_.clock.Now());
    TellLate(who, "had to wait for its place");
  };
  if (!parts_.keeper.Commit(std::get<keeper::Proposal>(std::move(proposed)), placed)) PlaceLater(who);
}

/// It runs in the shared pool until the ledger can be saved.
void Attendant::PlaceLater(const GuestName& who) {
  unplaced_.insert(who);
  retry_unplaced_ = true;
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
  LookForLost(now);
  LookAtLeaving(now);
  TryUnplaced(now);
}

os::MonoTime Attendant::next_due() const {
  os::MonoTime out = next_look_for_lost_;
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
