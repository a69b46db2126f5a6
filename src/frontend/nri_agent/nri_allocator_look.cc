// NriAllocator: all that a runtime has, when it has taken berthd in.
#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "allocator/engine.h"
#include "frontend/nri_agent/annotations.h"
#include "frontend/nri_agent/nri_allocator.h"
#include "frontend/nri_agent/placement_texts.h"
#include "frontend/nri_agent/translate.h"

namespace berth::nri_agent {
namespace {

constexpr os::Millis kSlice{10};              // of the loop, for what a runtime has
constexpr os::Millis kLongestSlice{500};      // of what was decided: a runtime waits two seconds for an answer
constexpr os::Millis kPatienceForSpecs{500};  // of pods that were there before berthd was
constexpr int kMostBegunAgain = 3;            // then nobody is let through, so that it ends

bool Runs(const nri::Container& container) {
  return container.state == nri::ContainerState::kRunning || container.state == nri::ContainerState::kPaused;
}

}  // namespace

void NriAllocator::Synchronize(nri::Inventory inventory) {
  Synchronizing* const begun = session_.Begin(std::move(inventory));
  if (begun == nullptr) return;
  waiting_.clear();  // of an earlier connection: nobody waits for it, and what happened is in the inventory
  awaiting_.clear();
  if (options_.spec_patience != os::Millis(0) && !heard_of_specs_)
    begun->specs_until = node_.clock().Now() + kPatienceForSpecs;
  for (const nri::Pod& pod : begun->inventory.pods)
    if (TrackedPod* const known = tracked_.Find(UidOf(pod)); known != nullptr) known->sandboxes.clear();
  for (const nri::Container& container : begun->inventory.containers)
    begun->containers_of[container.pod_id].push_back(&container);
  AskForAllDevices();
  node_.Changed();
}

/// A container that is asked for meanwhile does not wait where the books, which have all that others were given before,
/// have a place for it: who came while berthd was away gets CPUs of his own, if any, after it. One with CPUs of its own
/// waits until all groups are known that are to leave these.
bool NriAllocator::PassesLook(const nri::Pod& pod, const nri::Container& container) {
  if (!deciding() || !IsSane(pod, container)) return false;
  const std::string uid = UidOf(pod);
  bool& passes = looking()->asked[{uid, container.name}];
  passes = false;
  if (looking()->begun_again >= kMostBegunAgain) return false;
  if (options_.spec_patience != os::Millis(0) && specs_.Find(uid) == nullptr) return false;
  Know(pod, container);
  const allocator::Node& node = node_.allocations().newest_node();
  const Decision would = ledger::Decide(node, node_.allocations().newest(),
                                        RequestFor(node_.pods()[uid], container.name, node, nullptr), nullptr);
  const auto* const admit = std::get_if<Admit>(&would);
  passes = admit != nullptr && admit->delta.put &&
           (looking()->pods_known || !ledger::IsOwn(FindPlacement(*admit->delta.put, container.name)));
  return passes;
}

bool NriAllocator::PassedLook(const nri::Pod& pod, const nri::Container& container) const {
  if (!looking()) return false;
  const auto asked = looking()->asked.find({UidOf(pod), container.name});
  return asked != looking()->asked.end() && asked->second;
}

/// One walk for each pod: its sandbox, and the groups of all its containers that run.
void NriAllocator::LookAtPod(std::size_t index) {
  const nri::Pod& pod = looking()->inventory.pods[index];
  if (!IsSane(pod)) return;
  const auto path = GroupOf(pod, node_.groups().site().names().root());
  const auto groups = path ? node_.groups().site().tree().CpusetChildren(*path) : Result<std::vector<std::string>>();
  if (path && !SandboxLives(pod, *path, groups)) return;  // one that has stopped is listed until it is removed
  looking()->pod_of.emplace(pod.id, index);
  Know(pod);
  std::vector<const nri::Container*>& containers = looking()->containers_of[pod.id];
  std::erase_if(containers, [&](const nri::Container* const each) {
    return !IsName(each->name) || !IsName(each->id) || !Runs(*each) ||
           looking()->asked.contains({UidOf(pod), each->name});
  });
  for (const nri::Container* const container : containers) {
    TrackedContainer& tracked_container = tracked_.Know(UidOf(pod), *container, AttemptOf(*container));
    tracked_container.runs = true;
    tracked_container.ended = false;
  }
  FindGroups(pod, path && groups ? &*groups : nullptr);
  for (const nri::Container* const container : containers)
    if (LacksItsCpus(UidOf(pod), *container)) looking()->late.emplace(UidOf(pod), container->name);
}

/// It was made anew meanwhile, without what is its own. A runtime's record of one that was given it later never has it.
bool NriAllocator::LacksItsCpus(const std::string& uid, const nri::Container& container) const {
  const Ledger& ledger = node_.allocations().newest();
  const auto record = ledger.pods.find(uid);
  const Placement* const placement =
      record == ledger.pods.end() ? nullptr : FindPlacement(record->second, container.name);
  if (placement == nullptr || !placement->cpus) return false;
  const auto made_with = CpuSet::Parse(container.resources.cpus);
  if (made_with && (placement->mixed ? placement->cpus->IsSubsetOf(*made_with) : *made_with == *placement->cpus))
    return false;
  const std::string* const path = PathOf(uid, container.name);
  const auto now = path == nullptr ? Result<CpuSet>(CpuSet()) : node_.groups().site().tree().ReadCpus(*path);
  return !now || *now != node_.groups().planner().CpusNow({uid, container.name}, ledger, node_.allocations().online());
}

/// All pods that are there are known now: who has waited for that alone goes on.
void NriAllocator::EndOthers() {
  looking()->pods_known = true;
  if (looking()->devices) TakeAllDevices(*std::exchange(looking()->devices, std::nullopt));
  for (const auto& [uid, managed] : node_.pods())
    if (!looking()->there.contains(uid)) Leave(uid);
  for (const auto& [uid, record] : node_.allocations().newest().pods)
    if (!looking()->there.contains(uid)) Leave(uid);
  EndUnlisted(looking()->there);
  for (Call& call : std::exchange(waiting_, {})) call();
  BeginLooking();
  node_.Changed();
}

/// The kernel says so: runtimes do not all tell. Where `groups`, those below the pod's, are not known there is no
/// reason to doubt it.
bool NriAllocator::SandboxLives(const nri::Pod& pod, const std::string& path,
                                const Result<std::vector<std::string>>& groups) const {
  if (!groups) return groups.error().code != Code::kNotFound;
  const auto own = std::ranges::find_if(*groups, [&](const std::string& group) { return group.contains(pod.id); });
  if (own == groups->end()) return false;
  const auto runs = node_.groups().site().tree().HasProcesses(path + "/" + *own);
  return runs ? *runs : runs.error().code != Code::kNotFound;
}

/// Containers of pods that are there which the runtime does not list have ended. A pod may have gone since it was
/// looked at.
void NriAllocator::EndUnlisted(const std::set<std::string>& there) {
  std::set<ContainerKey> alive;
  for (const auto& [who, passes] : looking()->asked) alive.insert(who);
  for (const nri::Container& container : looking()->inventory.containers) {
    const auto pod = looking()->pod_of.find(container.pod_id);
    if (pod != looking()->pod_of.end() && container.state != nri::ContainerState::kStopped)
      alive.emplace(UidOf(looking()->inventory.pods[pod->second]), container.name);
  }
  for (const std::string& uid : there) {
    TrackedPod* const known = tracked_.Find(uid);
    const auto managed = node_.pods().find(uid);
    if (known == nullptr || managed == node_.pods().end()) continue;
    ForEachContainer(managed->second.pod, [&](const Container& container, ContainerKind) {
      if (alive.contains({uid, container.name})) return;
      TrackedContainer& tracked_container = known->containers[container.name];
      tracked_container.ended = true;
      tracked_container.runs = false;
      const auto records = node_.statuses().all().find(uid);
      if (records == node_.statuses().all().end()) return;
      const auto before = records->second.find(container.name);
      if (before == records->second.end() || before->second.state != runtime::ContainerState::kRunning) return;
      runtime::ContainerStatus status = before->second;
      status.state = runtime::ContainerState::kExited;
      status.finished_at = os::FormatTime(node_.clock().Wall());
      runtime_.Put(std::move(status));
    });
  }
}

/// What has gone meanwhile makes room first.
void NriAllocator::BeginLooking() {
  looking()->batch.emplace(node_.allocations());
  looking()->next = 0;
  looking()->gone.clear();
  for (const std::string& uid : leaving_) {
    if (!looking()->batch->ledger().pods.contains(uid) || !HasLeft(uid)) continue;
    looking()->batch->Release(uid);
    looking()->gone.push_back(uid);
  }
  node_.pool().Changed();
}

void NriAllocator::Recognize(const nri::Pod& pod, const nri::Container& container) {
  const runtime::ContainerStatus status = StatusOf(pod, container, runtime::ContainerState::kRunning);
  pods::ManagedPod& managed = node_.pods()[status.pod_uid];
  runtime_.Recognize(status);
  static_cast<void>(node_.statuses().Take(status));
  node_.RestoreLifecycle(managed, node_.clock().Now());
}

/// Its group is found, and it is decided where nothing was: whoever holds a place keeps it.
void NriAllocator::LookAt(const nri::Pod& pod, const nri::Container& container) {
  const std::string uid = UidOf(pod);
  const bool ended = container.state == nri::ContainerState::kStopped;
  const bool runs = Runs(container);
  const TrackedContainer* const before = tracked_.Find(uid, container);
  const bool was_placed = before != nullptr && before->placed;
  TrackedContainer& tracked_container = Know(pod, container);
  tracked_container.ended = ended;
  tracked_container.runs = runs;
  tracked_container.placed = true;
  if (ended) return;
  if (runs) Recognize(pod, container);
  ledger::PlacementBatch& batch = *looking()->batch;
  const auto record = batch.ledger().pods.find(uid);
  if (record != batch.ledger().pods.end() && FindPlacement(record->second, container.name) != nullptr)
    return ClearReason(uid, container.name);
  pods::ManagedPod& managed = node_.pods()[uid];
  managed.trace = Trace();
  ++managed.decisions;
  if (!was_placed) TellIgnored(managed.pod, container.name);
  const Decision decision =
      batch.Decide(RequestFor(managed, container.name, batch.node(), &managed.trace), &managed.trace);
  if (const auto* const reject = std::get_if<Reject>(&decision)) {
    managed.Move(
        pods::pod_event::Watch{{.reason = reject->reason, .message = reject->message, .details = reject->details}});
    if (unplaced_.emplace(uid, container.name).second)
      node_.events().Warning(
          reject->reason, pods::ObjectOf(managed.pod),
          fmt::format("container {}: {}; it runs already, in the shared pool", container.name, TextOf(*reject)));
    return;
  }
  ClearReason(uid, container.name);
  if (!was_placed) looking()->late.emplace(uid, container.name);
}

void NriAllocator::GoOnLooking(os::MonoTime now) {
  const os::Slice slice(node_.clock(), now + kSlice);
  if (looking()->saved)  // slices grow with the time it takes, so that it ends however many containers come meanwhile
    return PutDecidedInForce(
        os::Slice(node_.clock(), now + std::clamp((now - looking()->saved_at) / 10, os::MonoTime::duration(kSlice),
                                                  os::MonoTime::duration(kLongestSlice))));
  while (looking()->next_pod < looking()->inventory.pods.size()) {
    LookAtPod(looking()->next_pod++);
    if (slice.over()) return;
  }
  if (!looking()->pods_known) EndOthers();
  const std::vector<nri::Container>& all = looking()->inventory.containers;
  while (looking()->next < all.size()) {
    const nri::Container& container = all[looking()->next++];
    const auto pod = looking()->pod_of.find(container.pod_id);
    if (pod != looking()->pod_of.end() && IsName(container.name) && IsName(container.id) &&
        !looking()->asked.contains({UidOf(looking()->inventory.pods[pod->second]), container.name}))
      LookAt(looking()->inventory.pods[pod->second], container);
    if (slice.over()) return;
  }
  EndLooking();
}

/// One that was let through has just been committed.
void NriAllocator::TakeIntoLook(const std::string& uid, const std::string& name) {
  if (!looking() || !looking()->batch) return;
  ledger::PlacementBatch& batch = *looking()->batch;
  batch.Follow(RequestFor(node_.pods()[uid], name, batch.node(), nullptr));
}

/// Others may have changed the books meanwhile, as CPUs that went offline do, or a pod may have come back to the place
/// that these still have for it: then all is decided once more.
void NriAllocator::EndLooking() {
  const bool came_back =
      std::ranges::any_of(looking()->gone, [this](const std::string& uid) { return !leaving_.contains(uid); });
  if (came_back || !looking()->batch->current()) {
    ++looking()->begun_again;
    return BeginLooking();
  }
  auto proposal = std::move(*looking()->batch).Propose(node_.ObjectOfNode());
  looking()->batch.reset();
  if (!proposal) return LookedAt({});
  const auto then = [this, number = looking()->number](const Result<void>& saved) {
    if (looking() && looking()->number == number) LookedAt(saved);
  };
  looking()->saving = node_.Commit(*std::move(proposal), then);
  if (!looking()->saving) LookedAt(Fail(Code::kIo, "the ledger cannot be saved now"));
}

void NriAllocator::LookedAt(const Result<void>& saved) {
  looking()->saving = false;
  looking()->saved = saved.has_value();
  looking()->saved_at = node_.clock().Now();
  if (saved) {
    for (const std::string& uid : looking()->gone)
      if (leaving_.contains(uid)) Forget(uid);  // else it has come back
  } else {  // each by itself then, when the ledger can be saved; who has gone is released as ever
    unplaced_.insert(looking()->late.begin(), looking()->late.end());
    looking()->late.clear();
    retry_unplaced_ = true;
  }
  RunWaiting();
  GoOnLooking(node_.clock().Now());
}

/// Who asks now waits for a slice at most: all groups are known, and what he gets is taken from others before he is
/// answered. The start of a container with CPUs of its own alone waits for all of it.
void NriAllocator::PutDecidedInForce(const os::Slice& slice) {
  if (!looking()->applied && !node_.pool().Apply(node_.clock().Now(), slice)) return;
  looking()->applied = looking()->applied || node_.pool().in_force();
  // Not in slices: a look at all cpusets in between would take nodes that are not written yet for somebody else's
  // doing.
  if (node_.pool().in_force() && !std::exchange(looking()->memory_put, true))
    for (const auto& [uid, name] : looking()->late)
      if (node_.groups().planner().NodesOf({uid, name}, node_.allocations().ledger()))
        PutInPlace(uid, name, cgroup_manager::Runs::kAlready);
  for (std::set<ContainerKey>& late = looking()->late; !late.empty();) {
    TellLate(*late.begin(), "was made while berthd was away");
    late.erase(late.begin());
    if (slice.over()) return;
  }
  session_.End(*looking()->saved);
  RetainCheckpoints();
  if (session_.joined() && new_groups_ != nullptr) new_groups_->Settle();
  node_.Changed();
}

/// Of pods that were refused by an earlier berthd and have gone.
void NriAllocator::RetainCheckpoints() {
  std::set<std::string> uids;
  for (const auto& [uid, managed] : node_.pods()) uids.insert(uid);
  node_.checkpoints().Retain(uids);
}

void NriAllocator::RunWaiting() {
  while (!waiting_.empty() && !deciding()) {
    Call call = std::move(waiting_.front());
    waiting_.pop_front();
    call();
  }
}

}  // namespace berth::nri_agent
