// NriAllocator: a place for a container, and for one that had to wait for it.
#include <fmt/core.h>

#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "allocator/engine.h"
#include "base/text.h"
#include "frontend/nri_agent/annotations.h"
#include "frontend/nri_agent/device_requests.h"
#include "frontend/nri_agent/nri_allocator.h"
#include "frontend/nri_agent/placement_texts.h"
#include "model/own_rules.h"
#include "model/pod_wishes.h"
#include "model/resources.h"

namespace berth::nri_agent {
namespace {

/// What is told of annotations without effect: the first of them, and how many more there are. A pod may have
/// thousands.
std::vector<std::string> FirstIgnored(std::vector<std::string> all) {
  constexpr std::size_t kMostIgnoredTold = 10;
  if (all.size() <= kMostIgnoredTold) return all;
  const std::size_t more = all.size() - kMostIgnoredTold;
  all.resize(kMostIgnoredTold);
  all.push_back(fmt::format("and {} more annotations have no effect", more));
  return all;
}

}  // namespace

std::string NriAllocator::NotInForce() const {
  const std::string why = node_.pool().problem();
  return "others may still run on its CPUs: " + (why.empty() ? "the shared pool is being changed" : why);
}

/// Nobody is on CPUs of somebody else's: all that an answer waits for.
bool NriAllocator::KeepApart() {
  if (node_.pool().Narrow()) return true;
  node_.pool().Apply(node_.clock().Now(), {});
  return node_.pool().in_force();
}

bool NriAllocator::HasWish(const Pod& pod, const std::string& name) {
  std::vector<WishProblem> unclear;
  const PodWishes asked = ParsePodWishes(pod.annotations, unclear);
  return !asked.PoolOf(name).empty() || asked.Of(name) != nullptr;
}

bool NriAllocator::ShallHaveOwn(const Pod& pod, const std::string& name) const {
  const OwnRules& own = node_.allocations().node().options().own;
  if (node_.allocations().node().config().cpu_manager_policy != "static") return false;
  std::vector<WishProblem> unclear;  // the engine refuses them
  const PodWishes asked = ParsePodWishes(pod.annotations, unclear);
  if (!asked.PoolOf(name).empty()) return true;
  if (asked.Of(name) != nullptr) return asked.Of(name)->kind != ContainerCpuWish::Kind::kShared;
  if (QosOf(AsWished(pod, name, own)) != QosClass::kGuaranteed) return false;
  const pods::FoundContainer found = pods::FindContainer(pod, name);
  if (found.container == nullptr) return false;
  const std::int64_t milli = AmountOf(found.container->resources.requests, "cpu").MilliValue();
  return milli >= 1000 && milli % 1000 == 0;
}

bool NriAllocator::HasPlacement(const std::string& uid, const std::string& name) const {
  const auto record = node_.allocations().newest().pods.find(uid);
  return record != node_.allocations().newest().pods.end() && FindPlacement(record->second, name) != nullptr;
}

/// Of one that is to have something of its own with the devices that the kubelet has given it.
ledger::PlacementRequest NriAllocator::RequestFor(const pods::ManagedPod& managed, const std::string& name,
                                                  const allocator::Node& node, Trace* trace) const {
  ledger::PlacementRequest out{.pod = AsWished(managed.pod, name, node.options().own),
                               .container = name,
                               .inputs = node_.devices().inputs(),
                               .kubelets = QosOf(managed.pod)};
  const auto given = managed.reported.devices.find(name);
  if (given == managed.reported.devices.end() || !allocator::AsksForOwn(node, out.pod, name)) return out;
  out.inputs = {.devices = given->second};
  RequestDevices(out.pod, name, given->second, trace);
  return out;
}

/// A kubelet tries a container that was refused again and again, and restarts those that end.
std::variant<ledger::Proposal, Reject> NriAllocator::Propose(const pods::ManagedPod& managed, const std::string& name,
                                                             Trace* trace) {
  const bool is_new =
      tracked_.Know(managed.pod.uid).decided.insert(name).second && !HasPlacement(managed.pod.uid, name);
  return node_.Admit(RequestFor(managed, name, node_.allocations().node(), trace), trace,
                     is_new ? ledger::Asked::kFirst : ledger::Asked::kAgain);
}

void NriAllocator::TellIgnored(const Pod& pod, const std::string& name) {
  if (!std::exchange(tracked_.Know(pod.uid).unknown_told, true)) {
    std::vector<std::string> all_unknown;
    for (const WishProblem& unknown : UnknownWishes(pod.annotations))
      all_unknown.push_back(fmt::format("{}: {}", Printable(unknown.annotation), unknown.text));
    for (std::string& unknown : FirstIgnored(std::move(all_unknown)))
      node_.events().Warning("AnnotationIgnored", pods::ObjectOf(pod), std::move(unknown));
  }
  std::vector<std::string> all = WishesOf(pod.annotations, name).ignored;
  if (std::string refused = IsolatedRefused(pod, name, node_.allocations().node().options().own); !refused.empty())
    all.insert(all.begin(), std::move(refused));
  for (const std::string& ignored : FirstIgnored(std::move(all)))
    node_.events().Warning("AnnotationIgnored", pods::ObjectOf(pod), fmt::format("container {}: {}", name, ignored));
}

/// For the next berthd: nobody asks for the pod's container before the kubelet tries again.
void NriAllocator::KeepReason(const std::string& uid, pods::Why why) {
  pods::PodCheckpoint life;
  life.evicted = std::move(why);
  if (auto kept = node_.checkpoints().Keep(uid, std::move(life)); !kept)
    node_.events().Warning("PodTimesNotKept", node_.ObjectOfNode(), kept.error().message);
}

/// One of its containers has its place: why it was refused is over, unless another is without.
void NriAllocator::ClearReason(const std::string& uid, const std::string& name) {
  for (auto at = unplaced_.lower_bound({uid, ""}); at != unplaced_.end() && at->first == uid; ++at)
    if (at->second != name) return;
  if (const auto pod = node_.pods().find(uid); pod != node_.pods().end()) pod->second.Move(pods::pod_event::Watch());
  node_.checkpoints().Forget(uid);
}

/// It cannot have what it should: "" if it runs in the shared pool all the same.
std::string NriAllocator::Unplaced(pods::ManagedPod& managed, const std::string& name, const Reject& reject) {
  const bool refused = ShallHaveOwn(managed.pod, name) && !options_.share_unplaced;
  const std::string text = fmt::format("container {}: {}", name, TextOf(reject));
  managed.Move(pods::pod_event::Watch{{.reason = reject.reason, .message = reject.message, .details = reject.details}});
  node_.CountRejection(reject.reason);
  if (!refused) unplaced_.emplace(managed.pod.uid, name);
  if (refused) KeepReason(managed.pod.uid, {.reason = reject.reason, .message = TextOf(reject)});
  node_.events().Warning(reject.reason, pods::ObjectOf(managed.pod),
                         text + (refused ? "; it is not made" : "; it runs in the shared pool"));
  return refused ? reject.reason + ": " + text : "";
}

/// `then` is called once it is known, at once where nothing has to be made durable first.
void NriAllocator::Place(const std::string& uid, const std::string& name, Placed then) {
  pods::ManagedPod& managed = node_.pods()[uid];
  managed.trace = Trace();
  ++managed.decisions;
  auto proposed = Propose(managed, name, &managed.trace);
  if (const auto* const reject = std::get_if<Reject>(&proposed)) return then(Unplaced(managed, name, *reject));
  unplaced_.erase({uid, name});
  ClearReason(uid, name);
  auto& proposal = std::get<ledger::Proposal>(proposed);
  const PodRecord& record = *std::get<LedgerDelta>(proposal.change).put;
  const bool own = ledger::IsOwn(FindPlacement(record, name));
  const auto known = node_.allocations().ledger().pods.find(uid);
  if (!node_.allocations().saving() && node_.allocations().durable() &&
      known != node_.allocations().ledger().pods.end() && known->second == record)
    return Saved(uid, name, own, {}, then);
  const bool committed =
      node_.Commit(std::move(proposal), [this, uid, name, own, then = own ? then : Placed()](
                                            const Result<void>& saved) { Saved(uid, name, own, saved, then); });
  if (!committed) {
    const std::string why = node_.allocations().problem();
    return Saved(uid, name, own, Fail(Code::kIo, why.empty() ? "the ledger cannot be saved now" : why), then);
  }
  if (own) return node_.pool().NarrowAhead();
  TakeIntoLook(uid, name);
  then("");
}

/// `then` is empty where it was called before.
void NriAllocator::Saved(const std::string& uid, const std::string& name, bool own, const Result<void>& saved,
                         const Placed& then) {
  node_.Changed();
  const auto pod = node_.pods().find(uid);
  if (!saved) {
    if (own) node_.pool().Changed();  // NarrowAhead was for nothing
    if (pod != node_.pods().end())
      pod->second.Move(pods::pod_event::Watch{{.reason = "LedgerNotSaved", .message = saved.error().message}});
    if (const TrackedPod* const known = tracked_.Find(uid); own && known != nullptr)
      if (const auto tracked_container = known->containers.find(name);
          tracked_container != known->containers.end() && tracked_container->second.runs)
        PlaceLater({uid, name});
    if (then) then(own ? "LedgerNotSaved: " + saved.error().message : "");
    return;
  }
  const bool apart = !own || KeepApart();
  const auto record = node_.allocations().ledger().pods.find(uid);
  if (const Placement* const placement =
          record == node_.allocations().ledger().pods.end() ? nullptr : FindPlacement(record->second, name);
      placement != nullptr && pod != node_.pods().end())
    node_.events().Normal(
        "Placed", pods::ObjectOf(pod->second.pod),
        fmt::format("container {} has {}", name,
                    DescribePlace(node_.allocations().ledger(), *placement, node_.allocations().SharedCpus())));
  if (then) then(apart ? "" : NotInForce());
}

/// A container that ran already has its place now.
void NriAllocator::TellLate(const ContainerKey& late, std::string_view how) {
  const auto& [uid, name] = late;
  if (node_.pool().in_force()) PutInPlace(uid, name, cgroup_manager::Runs::kAlready);
  const auto record = node_.allocations().ledger().pods.find(uid);
  if (record == node_.allocations().ledger().pods.end()) return;
  if (const Placement* const placement = FindPlacement(record->second, name); placement != nullptr)
    node_.events().Normal(
        "PlacedLate", "pod/" + FullName(record->second),
        fmt::format("container {} {}; it has {} now", name, how,
                    DescribePlace(node_.allocations().ledger(), *placement, node_.allocations().SharedCpus())));
}

/// A group that came while no runtime asked would stay on the CPUs that are given now.
bool NriAllocator::MayTryUnplaced() const { return !unplaced_.empty() && session_.As<Synchronized>() != nullptr; }

/// Something was given back, or the ledger can be saved again: who runs in the shared pool for want of a place may have
/// it now. Not while groups that nobody asked about are kept to the shared pool as it was when they came.
void NriAllocator::TryUnplaced(os::MonoTime now) {
  const bool again = freed_ != node_.allocations().freed() || retry_unplaced_;
  if (!MayTryUnplaced() || !again || now < node_.allocations().next_try()) return;
  freed_ = node_.allocations().freed();
  retry_unplaced_ = false;
  for (const ContainerKey& who : std::set<ContainerKey>(unplaced_)) TryAgain(who);
}

void NriAllocator::TryAgain(const ContainerKey& who) {
  const auto& [uid, name] = who;
  const TrackedPod* const known = tracked_.Find(uid);
  const auto pod = node_.pods().find(uid);
  const bool runs = known != nullptr && !known->leave_at && known->containers.contains(name) &&
                    !known->containers.at(name).ended && pod != node_.pods().end();
  if (!runs) {
    unplaced_.erase(who);
    return;
  }
  Trace trace;
  auto proposed = Propose(pod->second, name, &trace);
  if (std::holds_alternative<Reject>(proposed)) return;
  unplaced_.erase(who);
  pod->second.trace = std::move(trace);
  ClearReason(uid, name);
  const auto placed = [this, who](const Result<void>& saved) {
    if (!saved) return PlaceLater(who);
    node_.pool().Apply(node_.clock().Now(), {});
    TellLate(who, "had to wait for its place");
  };
  if (!node_.Commit(std::get<ledger::Proposal>(std::move(proposed)), placed)) PlaceLater(who);
}

/// It runs in the shared pool until the ledger can be saved.
void NriAllocator::PlaceLater(const ContainerKey& who) {
  unplaced_.insert(who);
  retry_unplaced_ = true;
}

}  // namespace berth::nri_agent
