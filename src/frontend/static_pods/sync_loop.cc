#include "frontend/static_pods/sync_loop.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

namespace berth::pods {
namespace {

/// More than a chain of steps without waiting can have (admit, start, end at once, release, next pod).
constexpr int kMaxRounds = 1000;

/// Between two times that rejected pods are decided again: what is given back often must not keep the loop busy.
constexpr os::Millis kReconsiderPause{1'000};

}  // namespace

SyncLoop::SyncLoop(core::Node& node, StaticPodOptions options, const PodExecutors& executors)
    : context_(node, std::move(options)),
      node_(node),
      manifests_(context_),
      runtime_events_(context_),
      grants_(context_, executors.plugins),
      admission_(context_, grants_),
      health_(context_, executors.probes),
      driver_(context_, runtime_events_, health_, grants_, executors.hooks),
      resizer_(context_, admission_.queue()),
      cleanup_(context_),
      volumes_(context_) {}

bool SyncLoop::Work(os::MonoTime now, const os::Slice& slice) {
  while (working()) {
    if (phase_ == Phase::kNone) StartRound(now);
    if (phase_ == Phase::kApplying) {
      if (!node_.pool().Apply(now, slice)) return false;
      phase_ = Phase::kDriving;
    }
    if (phase_ == Phase::kDriving && !DriveAll(now, slice)) return false;
    if (phase_ == Phase::kTakingIn) {
      TakeIn();
      AddRejected(now);
      if (slice.over()) return false;
    }
    if (!AdmitAll(now, slice)) return false;
    EndRound();
  }
  return true;
}

void SyncLoop::StartRound(os::MonoTime now) {
  again_ = false;
  before_ = Count();
  node_.agenda().Clear(now);
  manifests_.Match(now);
  done_.clear();
  phase_ = Phase::kApplying;
}

bool SyncLoop::DriveAll(os::MonoTime now, const os::Slice& slice) {
  for (auto pod = node_.pods().upper_bound(done_); pod != node_.pods().end();) {
    resizer_.Look(pod->second, now);
    if (!driver_.Drive(pod->second, now, slice)) return false;
    done_ = pod->first;
    if (cleanup_.Finish(pod->second, now)) {
      driver_.Forget(done_);
      context_.Forget(done_);
      pod = node_.pods().erase(pod);
    } else {
      ++pod;
    }
    if (pod != node_.pods().end() && slice.over()) return false;
  }
  phase_ = Phase::kTakingIn;
  return true;
}

void SyncLoop::TakeIn() {
  const std::vector<std::string> waiting = manifests_.TakeIn();
  wait_.assign(waiting.begin(), waiting.end());
  phase_ = Phase::kAdmitting;
}

/// After those that wait: a new version of a pod has the place of the old one before others do. By priority, then in
/// the order of arrival.
void SyncLoop::AddRejected(os::MonoTime now) {
  std::vector<const ManagedPod*> again;
  for (const auto& [uid, managed] : node_.pods())
    if (admission_.MayReconsider(managed)) again.push_back(&managed);
  if (again.empty() || manifests_.stopping() || manifests_.OneFollows()) return;
  if (now < reconsider_at_) return node_.agenda().WakeAt(reconsider_at_);
  reconsider_at_ = now + kReconsiderPause;
  std::ranges::sort(again, {}, [](const auto* pod) { return allocator::OrderInLine(pod->pod, pod->arrival); });
  for (const ManagedPod* const pod : again) wait_.push_back(pod->pod.uid);
}

void SyncLoop::DecideOne(ManagedPod& managed, os::MonoTime now) {
  if (managed.saving || QuestionOf(managed.stage) != 0 || cleanup_.Removing(managed.pod.uid))
    return;  // looked at again when that is done
  if (managed.Is<Waiting>())
    admission_.Admit(managed, now);
  else if (admission_.MayReconsider(managed))
    admission_.Reconsider(managed, now);
}

bool SyncLoop::AdmitAll(os::MonoTime now, const os::Slice& slice) {
  while (!wait_.empty()) {
    const auto pod = node_.pods().find(wait_.front());
    wait_.pop_front();
    if (pod != node_.pods().end()) DecideOne(pod->second, now);
    if (!wait_.empty() && slice.over()) return false;
  }
  return true;
}

void SyncLoop::EndRound() {
  admission_.queue().Number();
  phase_ = Phase::kNone;
  const bool moved = Count() != before_ || node_.pool().due();
  rounds_ = moved ? rounds_ + 1 : 0;
  if (moved && rounds_ < kMaxRounds) again_ = true;
}

}  // namespace berth::pods
