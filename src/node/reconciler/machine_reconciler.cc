#include "node/reconciler/machine_reconciler.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "model/machine_change.h"

namespace berth::reconciler {
namespace {

constexpr os::Millis kBetweenGlances{2'000};
constexpr os::Millis kLookAgain{30'000};  // at a machine that could not be followed

}  // namespace

void MachineReconciler::Check(os::MonoTime now) {
  if (busy_ || !options_.look) return;
  if (followed_) return Follow();  // saving failed, or others changed the books
  const ledger::Online& online = allocations_.online();
  CpuSet fresh = online ? *online - allocations_.node().all_cpus() : CpuSet();
  if (fresh != looked_for_) {
    looked_for_ = std::move(fresh);
    if (!looked_for_.empty()) return Look();
  }
  if (retry_ && now >= *retry_) return Look();
  if (options_.glance && now >= next_glance_) Glance(now);
}

void MachineReconciler::Glance(os::MonoTime now) {
  next_glance_ = now + kBetweenGlances;
  busy_ = true;
  event_loop::Submit<Machine>(executor_, "machine", options_.glance, [this](Result<Machine> seen) {
    busy_ = false;
    if (seen) TakeGlance(*std::move(seen));  // what cannot be read now is read in a moment
  });
}

void MachineReconciler::TakeGlance(Machine seen) {
  if (SameMemory(seen, allocations_.node().machine())) {
    glanced_.reset();
    settled_.reset();
    return;
  }
  if (settled_ && SameMemory(*settled_, seen)) return;
  const bool twice = glanced_ && SameMemory(*glanced_, seen);
  glanced_ = std::move(seen);
  if (twice) Look();
}

void MachineReconciler::Look() {
  busy_ = true;
  retry_.reset();
  settled_ = glanced_;
  event_loop::Submit<LookedAt>(
      executor_, "machine", [look = options_.look, known = allocations_.node()] { return look(known.machine()); },
      [this](Result<LookedAt> looked) {
        busy_ = false;
        Take(std::move(looked));
      });
}

void MachineReconciler::Take(Result<LookedAt> looked) {
  if (!looked) return Refuse(looked.error().message);
  failed_.clear();
  told_.clear();
  if (looked->fingerprint == allocations_.newest_fingerprint()) return;
  followed_ = *std::move(looked);
  Follow();
}

/// Files that change while they are read say nonsense: one look alone proves nothing.
void MachineReconciler::Refuse(const std::string& why) {
  const bool again = std::exchange(failed_, why) == why;
  retry_ = clock_.Now() + (again ? kLookAgain : kBetweenGlances);
  if (!again || std::exchange(told_, why) == why) return;
  events_.Warning(
      "MachineNotFollowed", allocations_.ObjectOfNode(),
      fmt::format("the machine has changed and cannot be followed: {}; decisions are made for the machine as "
                  "it was. If the settings do not fit it, change them and start berthd again",
                  why));
}

void MachineReconciler::Follow() {
  ledger::NodeProposal change = allocations_.ProposeNode(followed_->node, followed_->fingerprint);
  busy_ = allocations_.Commit(std::move(change.proposal), [this, before = allocations_.node(),
                                                           lost = std::move(change.notes)](const Result<void>& saved) {
    busy_ = false;
    if (saved) PutInForce(before, lost);
  });
}

void MachineReconciler::PutInForce(const allocator::Node& before, const std::vector<ledger::AdoptionNote>& lost) {
  LookedAt now = *std::exchange(followed_, std::nullopt);
  const std::string object = allocations_.ObjectOfNode();
  const MachineChange change = DescribeChange(before.machine(), now.node.machine());
  const std::string text = change.text.empty() ? "cores, caches or distances are others" : change.text;
  if (change.loses)
    events_.Warning("MachineChanged", object, text);
  else
    events_.Normal("MachineChanged", object, text);
  for (const std::string& note : now.fitted)
    if (std::ranges::find(fitted_, note) == fitted_.end()) events_.Warning("SettingsFitted", object, note);
  fitted_ = std::move(now.fitted);
  for (const ledger::AdoptionNote& note : lost) events_.Warning("LedgerAdapted", "pod/" + note.pod, note.text);
  if (auto set = groups_.site().SetNode(std::move(now.node)); !set)
    events_.Warning("FailedCgroupUpdate", object, set.error().message);
  values_.NodeChanged();
  allocations_.FollowOnline();
  pool_.Changed();
}

}  // namespace berth::reconciler
