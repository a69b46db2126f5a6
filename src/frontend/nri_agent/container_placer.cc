#include "frontend/nri_agent/container_placer.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "allocator/engine.h"
#include "frontend/nri_agent/annotations.h"
#include "frontend/nri_agent/device_requests.h"
#include "frontend/nri_agent/placement_texts.h"
#include "model/own_rules.h"
#include "model/pod_wishes.h"
#include "model/resources.h"

namespace berth::nri_agent {
namespace {

/// CPUs of its own, or those of a named pool.
bool ShallHaveOwn(const allocator::Node& node, const Pod& pod, const std::string& name) {
  if (node.config().cpu_manager_policy != "static") return false;
  std::vector<WishProblem> unclear;  // the engine refuses them
  const PodWishes asked = ParsePodWishes(pod.annotations, unclear);
  if (!asked.PoolOf(name).empty()) return true;
  if (asked.Of(name) != nullptr) return asked.Of(name)->kind != ContainerCpuWish::Kind::kShared;
  if (QosOf(AsWished(pod, name, node.options().own)) != QosClass::kGuaranteed) return false;
  const pods::FoundContainer found = pods::FindContainer(pod, name);
  if (found.container == nullptr) return false;
  const std::int64_t milli = AmountOf(found.container->resources.requests, "cpu").MilliValue();
  return milli >= 1000 && milli % 1000 == 0;
}

}  // namespace

ledger::PlacementRequest ContainerPlacer::RequestFor(const pods::ManagedPod& managed, const std::string& name,
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
std::variant<ledger::Proposal, Reject> ContainerPlacer::Propose(const pods::ManagedPod& managed,
                                                                const std::string& name, Trace* trace) {
  const std::string& uid = managed.pod.uid;
  const bool is_new = tracked_.Know(uid).decided.insert(name).second &&
                      PlacementOf(node_.allocations().newest(), {uid, name}) == nullptr;
  return node_.Admit(RequestFor(managed, name, node_.allocations().node(), trace), trace,
                     is_new ? ledger::Asked::kFirst : ledger::Asked::kAgain);
}

/// For the next berthd: nobody asks for the pod's container before the kubelet tries again.
void ContainerPlacer::KeepReason(const std::string& uid, pods::Why why) {
  pods::PodCheckpoint life;
  life.evicted = std::move(why);
  if (auto kept = node_.checkpoints().Keep(uid, std::move(life)); !kept)
    node_.events().Warning("PodTimesNotKept", node_.ObjectOfNode(), kept.error().message);
}

void ContainerPlacer::ClearReason(const ContainerKey& who) {
  const auto& [uid, name] = who;
  for (auto at = unplaced_.lower_bound({uid, ""}); at != unplaced_.end() && at->first == uid; ++at)
    if (at->second != name) return;
  if (const auto pod = node_.pods().find(uid); pod != node_.pods().end()) pod->second.Move(pods::pod_event::Watch());
  node_.checkpoints().Forget(uid);
}

/// It cannot have what it should: "" if it runs in the shared pool all the same.
std::string ContainerPlacer::TakeReject(pods::ManagedPod& managed, const std::string& name, const Reject& reject) {
  const bool refused = ShallHaveOwn(node_.allocations().node(), managed.pod, name) && !share_unplaced_;
  const std::string text = fmt::format("container {}: {}", name, TextOf(reject));
  managed.Move(pods::pod_event::Watch{{.reason = reject.reason, .message = reject.message, .details = reject.details}});
  node_.CountRejection(reject.reason);
  if (!refused) unplaced_.emplace(managed.pod.uid, name);
  if (refused) KeepReason(managed.pod.uid, {.reason = reject.reason, .message = TextOf(reject)});
  node_.events().Warning(reject.reason, pods::ObjectOf(managed.pod),
                         text + (refused ? "; it is not made" : "; it runs in the shared pool"));
  return refused ? reject.reason + ": " + text : "";
}

void ContainerPlacer::Place(const ContainerKey& who, Placed then) {
  const auto& [uid, name] = who;
  pods::ManagedPod& managed = node_.pods()[uid];
  managed.trace = Trace();
  ++managed.decisions;
  auto proposed = Propose(managed, name, &managed.trace);
  if (const auto* const reject = std::get_if<Reject>(&proposed)) return then(TakeReject(managed, name, *reject));
  unplaced_.erase(who);
  ClearReason(who);
  auto& proposal = std::get<ledger::Proposal>(proposed);
  const PodRecord& record = *std::get<LedgerDelta>(proposal.change).put;
  const bool own = ledger::IsOwn(FindPlacement(record, name));
  const auto known = node_.allocations().ledger().pods.find(uid);
  if (!node_.allocations().saving() && node_.allocations().durable() &&
      known != node_.allocations().ledger().pods.end() && known->second == record)
    return OnSaved(who, own, {}, then);
  const bool committed = node_.Commit(
      std::move(proposal),
      [this, who, own, then = own ? then : Placed()](const Result<void>& saved) { OnSaved(who, own, saved, then); });
  if (!committed) {
    const std::string why = node_.allocations().problem();
    return OnSaved(who, own, Fail(Code::kIo, why.empty() ? "the ledger cannot be saved now" : why), then);
  }
  if (own) return node_.pool().NarrowAhead();
  FollowInBatch(who);
  then("");
}

/// What the runtime had may be being decided on: one that was let through meanwhile has just been committed.
void ContainerPlacer::FollowInBatch(const ContainerKey& who) {
  auto* const synchronizing = session_.As<Synchronizing>();
  if (synchronizing == nullptr || !synchronizing->batch) return;
  ledger::PlacementBatch& batch = *synchronizing->batch;
  batch.Follow(RequestFor(node_.pods()[who.first], who.second, batch.node(), nullptr));
}

/// `then` is empty where it was called before.
void ContainerPlacer::OnSaved(const ContainerKey& who, bool own, const Result<void>& saved, const Placed& then) {
  const auto& [uid, name] = who;
  node_.Changed();
  const auto pod = node_.pods().find(uid);
  if (!saved) {
    if (own) node_.pool().Changed();  // NarrowAhead was for nothing
    if (pod != node_.pods().end())
      pod->second.Move(pods::pod_event::Watch{{.reason = "LedgerNotSaved", .message = saved.error().message}});
    if (const TrackedPod* const known = tracked_.Find(uid); own && known != nullptr)
      if (const auto tracked_container = known->containers.find(name);
          tracked_container != known->containers.end() && tracked_container->second.runs)
        PlaceLater({who});
    if (then) then(own ? "LedgerNotSaved: " + saved.error().message : "");
    return;
  }
  const bool apart = !own || KeepApart();
  const Ledger& ledger = node_.allocations().ledger();
  if (const Placement* const placement = PlacementOf(ledger, who); placement != nullptr && pod != node_.pods().end())
    node_.events().Normal(
        "Placed", pods::ObjectOf(pod->second.pod),
        fmt::format("container {} has {}", name, DescribePlace(ledger, *placement, node_.allocations().SharedCpus())));
  if (then) then(apart ? "" : NotInForce());
}

/// Nobody is on CPUs of somebody else's: all that an answer waits for.
bool ContainerPlacer::KeepApart() {
  if (node_.pool().Narrow()) return true;
  node_.pool().Apply(node_.clock().Now(), {});
  return node_.pool().in_force();
}

std::string ContainerPlacer::NotInForce() const {
  const std::string why = node_.pool().problem();
  return "others may still run on its CPUs: " + (why.empty() ? "the shared pool is being changed" : why);
}

std::string ContainerPlacer::WhyNotInForce(const ContainerKey& who) {
  if (!ledger::IsOwn(PlacementOf(node_.allocations().ledger(), who))) return "";
  node_.pool().Apply(node_.clock().Now(), {});
  return node_.pool().in_force() ? "" : NotInForce();
}

void ContainerPlacer::ApplyLate(const ContainerKey& who, std::string_view how) {
  if (node_.pool().in_force()) groups_.Apply(who, cgroup_manager::Runs::kAlready);
  const Ledger& ledger = node_.allocations().ledger();
  if (const Placement* const placement = PlacementOf(ledger, who))
    node_.events().Normal("PlacedLate", "pod/" + FullName(ledger.pods.find(who.first)->second),
                          fmt::format("container {} {}; it has {} now", who.second, how,
                                      DescribePlace(ledger, *placement, node_.allocations().SharedCpus())));
}

/// A group that came while no runtime asked would stay on the CPUs that are given now.
bool ContainerPlacer::MayTryUnplaced() const {
  return !unplaced_.empty() && session_.As<Synchronized>() != nullptr &&
         (freed_ != node_.allocations().freed() || retry_unplaced_);
}

/// Something was given back, or the ledger can be saved again: who runs in the shared pool for want of a place may have
/// it now. Not while groups that nobody asked about are kept to the shared pool as it was when they came.
void ContainerPlacer::Tick(os::MonoTime now) {
  if (!MayTryUnplaced() || now < node_.allocations().next_try()) return;
  freed_ = node_.allocations().freed();
  retry_unplaced_ = false;
  for (const ContainerKey& who : std::set<ContainerKey>(unplaced_)) TryAgain(who);
}

os::MonoTime ContainerPlacer::next_due() const {
  return MayTryUnplaced() ? std::max(os::MonoTime(), node_.allocations().next_try()) : os::MonoTime::max();
}

void ContainerPlacer::TryAgain(const ContainerKey& who) {
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
  ClearReason(who);
  const auto placed = [this, who](const Result<void>& saved) {
    if (!saved) return PlaceLater({who});
    node_.pool().Apply(node_.clock().Now(), {});
    ApplyLate(who, "had to wait for its place");
  };
  if (!node_.Commit(std::get<ledger::Proposal>(std::move(proposed)), placed)) PlaceLater({who});
}

void ContainerPlacer::PlaceLater(std::set<ContainerKey> unsaved) {
  unplaced_.merge(unsaved);
  retry_unplaced_ = true;
}

}  // namespace berth::nri_agent
