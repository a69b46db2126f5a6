#include "frontend/nri_agent/inventory_sync.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "frontend/nri_agent/ignored_annotations.h"
#include "frontend/nri_agent/placement_texts.h"
#include "frontend/nri_agent/translate.h"

namespace berth::nri_agent {
namespace {

constexpr os::Millis kSlice{10};          // of the loop, for what a runtime has
constexpr os::Millis kLongestSlice{500};  // of what was decided: a runtime waits two seconds for an answer

bool Runs(const nri::Container& container) {
  return container.state == nri::ContainerState::kRunning || container.state == nri::ContainerState::kPaused;
}

/// The kernel says so: runtimes do not all tell. Where `groups`, those below the pod's at `path`, are not known there
/// is no reason to doubt it.
bool SandboxLives(cgroup::Tree& tree, const nri::Pod& pod, const std::string& path,
                  const Result<std::vector<std::string>>& groups) {
  if (!groups) return groups.error().code != Code::kNotFound;
  const auto own = std::ranges::find_if(*groups, [&](const std::string& group) { return group.contains(pod.id); });
  if (own == groups->end()) return false;
  const auto runs = tree.HasProcesses(path + "/" + *own);
  return runs ? *runs : runs.error().code != Code::kNotFound;
}

}  // namespace

bool InventorySync::Begin(nri::Inventory inventory) {
  Synchronizing* const begun = parts_.session.Begin(std::move(inventory));
  if (begun == nullptr) return false;
  parts_.gate.Drop();  // of an earlier connection: what happened is in the inventory
  for (const nri::Pod& pod : begun->inventory.pods)
    if (TrackedPod* const known = parts_.tracked.Find(UidOf(pod)); known != nullptr) known->sandboxes.clear();
  for (const nri::Container& container : begun->inventory.containers)
    begun->containers_of[container.pod_id].push_back(&container);
  return true;
}

void InventorySync::Tick(os::MonoTime now) {
  if (next_due() <= now) GoOn(now);
}

os::MonoTime InventorySync::next_due() const {
  const auto* const synchronizing = parts_.session.As<Synchronizing>();
  return synchronizing != nullptr && !synchronizing->saving ? synchronizing->not_before() : os::MonoTime::max();
}

void InventorySync::GoOn(os::MonoTime now) {
  const os::Slice slice(parts_.node.clock(), now + kSlice);
  if (state().saved)  // slices grow with the time it takes, so that it ends however many containers come meanwhile
    return PutInForce(
        os::Slice(parts_.node.clock(), now + std::clamp((now - state().saved_at) / 10, os::MonoTime::duration(kSlice),
                                                        os::MonoTime::duration(kLongestSlice))));
  while (state().next_pod < state().inventory.pods.size()) {
    FindPod(state().next_pod++);
    if (slice.over()) return;
  }
  if (!state().pods_known) OnPodsKnown();
  const std::vector<nri::Container>& all = state().inventory.containers;
  while (state().next < all.size()) {
    const nri::Container& container = all[state().next++];
    const auto pod = state().pod_of.find(container.pod_id);
    if (pod != state().pod_of.end() && IsName(container.name) && IsName(container.id) &&
        !state().asked.contains({UidOf(state().inventory.pods[pod->second]), container.name}))
      Decide(state().inventory.pods[pod->second], container);
    if (slice.over()) return;
  }
  CommitBatch();
}

// ---- who is there ----

/// One walk for each pod: its sandbox, and the groups of all its containers that run.
void InventorySync::FindPod(std::size_t index) {
  const nri::Pod& pod = state().inventory.pods[index];
  if (!IsSane(pod)) return;
  cgroup::Tree& tree = parts_.node.groups().site().tree();
  const auto path = GroupOf(pod, parts_.node.groups().site().names().root());
  const auto groups = path ? tree.CpusetChildren(*path) : Result<std::vector<std::string>>();
  if (path && !SandboxLives(tree, pod, *path, groups)) return;  // one that has stopped is listed until it is removed
  const std::string uid = UidOf(pod);
  state().pod_of.emplace(pod.id, index);
  parts_.pods.Track(pod);
  std::vector<const nri::Container*>& containers = state().containers_of[pod.id];
  std::erase_if(containers, [&](const nri::Container* const each) {
    return !IsName(each->name) || !IsName(each->id) || !Runs(*each) || state().asked.contains({uid, each->name});
  });
  for (const nri::Container* const container : containers) {
    TrackedContainer& tracked_container = parts_.tracked.Know(uid, *container, AttemptOf(*container));
    tracked_container.runs = true;
    tracked_container.ended = false;
  }
  parts_.groups.Find(pod, path && groups ? &*groups : nullptr);
  for (const nri::Container* const container : containers)
    if (LacksItsCpus({uid, container->name}, *container)) state().late.emplace(uid, container->name);
}

/// It was made anew meanwhile, without what is its own. A runtime's record of one that was given it later never has it.
bool InventorySync::LacksItsCpus(const ContainerKey& who, const nri::Container& container) const {
  const core::Node& node = parts_.node;
  const Ledger& ledger = node.allocations().newest();
  const Placement* const placement = PlacementOf(ledger, who);
  if (placement == nullptr || !placement->cpus) return false;
  const auto made_with = CpuSet::Parse(container.resources.cpus);
  if (made_with && (placement->mixed ? placement->cpus->IsSubsetOf(*made_with) : *made_with == *placement->cpus))
    return false;
  const std::string* const path = parts_.groups.PathOf(who);
  const auto now = path == nullptr ? Result<CpuSet>(CpuSet()) : node.groups().site().tree().ReadCpus(*path);
  return !now || *now != node.groups().planner().CpusNow({who.first, who.second}, ledger, node.allocations().online());
}

/// All pods that are there are known now: who has waited for that alone goes on.
void InventorySync::OnPodsKnown() {
  state().pods_known = true;
  parts_.devices.OnPodsKnown();
  for (const auto& [uid, managed] : parts_.node.pods())
    if (!state().there.contains(uid)) parts_.departures.Begin(uid);
  for (const auto& [uid, record] : parts_.node.allocations().newest().pods)
    if (!state().there.contains(uid)) parts_.departures.Begin(uid);
  EndUnlisted();
  parts_.gate.Release();
  BeginBatch();
  parts_.node.Changed();
}

/// Containers of pods that are there which the runtime does not list have ended. A pod may have gone since it was
/// found.
void InventorySync::EndUnlisted() {
  std::set<ContainerKey> alive;
  for (const auto& [who, passes] : state().asked) alive.insert(who);
  for (const nri::Container& container : state().inventory.containers) {
    const auto pod = state().pod_of.find(container.pod_id);
    if (pod != state().pod_of.end() && container.state != nri::ContainerState::kStopped)
      alive.emplace(UidOf(state().inventory.pods[pod->second]), container.name);
  }
  for (const std::string& uid : state().there) {
    TrackedPod* const known = parts_.tracked.Find(uid);
    const auto managed = parts_.node.pods().find(uid);
    if (known == nullptr || managed == parts_.node.pods().end()) continue;
    ForEachContainer(managed->second.pod, [&](const Container& container, ContainerKind) {
      if (alive.contains({uid, container.name})) return;
      TrackedContainer& tracked_container = known->containers[container.name];
      tracked_container.ended = true;
      tracked_container.runs = false;
      parts_.pods.SetExited({uid, container.name});
    });
  }
}

// ---- where they go ----

/// What has gone meanwhile makes room first.
void InventorySync::BeginBatch() {
  state().batch.emplace(parts_.node.allocations());
  state().next = 0;
  state().gone.clear();
  for (const std::string& uid : parts_.departures.leaving()) {
    if (!state().batch->ledger().pods.contains(uid) || !parts_.departures.HasLeft(uid)) continue;
    state().batch->Release(uid);
    state().gone.push_back(uid);
  }
  parts_.node.pool().Changed();
}

/// Its group is found, and it is decided where nothing was: whoever holds a place keeps it.
void InventorySync::Decide(const nri::Pod& pod, const nri::Container& container) {
  const ContainerKey who(UidOf(pod), container.name);
  const bool ended = container.state == nri::ContainerState::kStopped;
  const bool runs = Runs(container);
  const TrackedContainer* const before = parts_.tracked.Find(who.first, container);
  const bool was_placed = before != nullptr && before->placed;
  TrackedContainer& tracked_container = parts_.pods.Track(pod, container);
  tracked_container.ended = ended;
  tracked_container.runs = runs;
  tracked_container.placed = true;
  if (ended) return;
  if (runs) parts_.pods.Recognize(pod, container);
  ledger::PlacementBatch& batch = *state().batch;
  if (PlacementOf(batch.ledger(), who) != nullptr) return parts_.placer.ClearReason(who);
  pods::ManagedPod& managed = parts_.node.pods()[who.first];
  managed.trace = Trace();
  ++managed.decisions;
  if (!was_placed) WarnOfIgnoredAnnotations(parts_.node, parts_.tracked.Know(who.first), managed.pod, container.name);
  const Decision decision =
      batch.Decide(parts_.placer.RequestFor(managed, container.name, batch.node(), &managed.trace), &managed.trace);
  if (const auto* const reject = std::get_if<Reject>(&decision)) {
    managed.Move(
        pods::pod_event::Watch{{.reason = reject->reason, .message = reject->message, .details = reject->details}});
    if (parts_.placer.AddUnplaced(who))
      parts_.node.events().Warning(
          reject->reason, pods::ObjectOf(managed.pod),
          fmt::format("container {}: {}; it runs already, in the shared pool", container.name, TextOf(*reject)));
    return;
  }
  parts_.placer.ClearReason(who);
  if (!was_placed) state().late.insert(who);
}

/// Others may have changed the books meanwhile, as CPUs that went offline do, or a pod may have come back to the place
/// that these still have for it: then all is decided once more.
void InventorySync::CommitBatch() {
  const bool came_back = std::ranges::any_of(
      state().gone, [this](const std::string& uid) { return !parts_.departures.leaving().contains(uid); });
  if (came_back || !state().batch->current()) {
    ++state().begun_again;
    return BeginBatch();
  }
  auto proposal = std::move(*state().batch).Propose(parts_.node.ObjectOfNode());
  state().batch.reset();
  if (!proposal) return OnSaved({});
  const auto then = [this, number = state().number](const Result<void>& saved) {
    const auto* const synchronizing = parts_.session.As<Synchronizing>();
    if (synchronizing != nullptr && synchronizing->number == number) OnSaved(saved);
  };
  state().saving = parts_.node.Commit(*std::move(proposal), then);
  if (!state().saving) OnSaved(Fail(Code::kIo, "the ledger cannot be saved now"));
}

void InventorySync::OnSaved(const Result<void>& saved) {
  state().saving = false;
  state().saved = saved.has_value();
  state().saved_at = parts_.node.clock().Now();
  if (saved) {
    for (const std::string& uid : state().gone)
      if (parts_.departures.leaving().contains(uid)) parts_.departures.Forget(uid);  // else it has come back
  } else {  // each by itself then, when the ledger can be saved; who has gone is released as ever
    parts_.placer.PlaceLater(std::exchange(state().late, {}));
  }
  parts_.gate.Release();
  GoOn(parts_.node.clock().Now());
}

// ---- in the kernel ----

/// Who asks now waits for a slice at most: all groups are known, and what he gets is taken from others before he is
/// answered. The start of a container with CPUs of its own alone waits for all of it.
void InventorySync::PutInForce(const os::Slice& slice) {
  core::Node& node = parts_.node;
  if (!state().applied && !node.pool().Apply(node.clock().Now(), slice)) return;
  state().applied = state().applied || node.pool().in_force();
  // Not in slices: a look at all cpusets in between would take nodes that are not written yet for somebody else's
  // doing.
  if (node.pool().in_force() && !std::exchange(state().memory_put, true))
    for (const auto& [uid, name] : state().late)
      if (node.groups().planner().NodesOf({uid, name}, node.allocations().ledger()))
        parts_.groups.Apply({uid, name}, cgroup_manager::Runs::kAlready);
  for (std::set<ContainerKey>& late = state().late; !late.empty();) {
    parts_.placer.ApplyLate(*late.begin(), "was made while berthd was away");
    late.erase(late.begin());
    if (slice.over()) return;
  }
  parts_.session.End(*state().saved);
  RetainCheckpoints();
  synchronized_();
  node.Changed();
}

/// Of pods that were refused by an earlier berthd and have gone.
void InventorySync::RetainCheckpoints() {
  std::set<std::string> uids;
  for (const auto& [uid, managed] : parts_.node.pods()) uids.insert(uid);
  parts_.node.checkpoints().Retain(uids);
}

}  // namespace berth::nri_agent
