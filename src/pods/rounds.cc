#include "pods/rounds.h"

#include <iterator>
#include <vector>

namespace berth::pods {
namespace {

/// More than a chain of steps without waiting can have (admit, start, end at once, release, next pod).
constexpr int kMaxRounds = 1000;

}  // namespace

Rounds::Rounds(const Parts& parts, Helpers helpers)
    : parts_(parts),
      helpers_(std::move(helpers)),
      manifests_(parts, helpers_.complete),
      intake_(parts),
      admission_(parts, helpers_.pressure),
      driver_(parts, intake_, helpers_.pool_in_force),
      leaving_(parts) {}

bool Rounds::Work(os::MonoTime now, const os::Slice& slice) {
  while (working()) {
    if (phase_ == Phase::kNone) StartRound(now);
    if (phase_ == Phase::kApplying) {
      if (!helpers_.apply_pool(now, slice)) return false;
      phase_ = Phase::kDriving;
    }
    if (phase_ == Phase::kDriving && !DriveAll(now, slice)) return false;
    if (phase_ == Phase::kTakingIn) {
      TakeIn();
      if (slice.over()) return false;
    }
    if (!AdmitAll(now, slice)) return false;
    EndRound();
  }
  return true;
}

void Rounds::StartRound(os::MonoTime now) {
  again_ = false;
  before_ = Count();
  parts_.agenda.Clear(now);
  manifests_.Match(now);
  done_.clear();
  phase_ = Phase::kApplying;
}

bool Rounds::DriveAll(os::MonoTime now, const os::Slice& slice) {
  for (auto pod = parts_.pods.upper_bound(done_); pod != parts_.pods.end();) {
    if (!driver_.Drive(pod->second, now, slice)) return false;
    done_ = pod->first;
    pod = leaving_.Finish(pod->second, now) ? parts_.pods.erase(pod) : std::next(pod);
    if (pod != parts_.pods.end() && slice.over()) return false;
  }
  phase_ = Phase::kTakingIn;
  return true;
}

void Rounds::TakeIn() {
  const std::vector<std::string> waiting = manifests_.TakeIn();
  wait_.assign(waiting.begin(), waiting.end());
  phase_ = Phase::kAdmitting;
}

bool Rounds::AdmitAll(os::MonoTime now, const os::Slice& slice) {
  while (!wait_.empty()) {
    const auto pod = parts_.pods.find(wait_.front());
    wait_.pop_front();
    if (pod == parts_.pods.end() || !pod->second.Is<Waiting>() || pod->second.saving) continue;
    if (leaving_.Removing(pod->first)) continue;  // looked at again when that is done
    admission_.Admit(pod->second, now);
    if (!wait_.empty() && slice.over()) return false;
  }
  return true;
}

void Rounds::EndRound() {
  phase_ = Phase::kNone;
  const bool moved = Count() != before_ || helpers_.pool_due();
  rounds_ = moved ? rounds_ + 1 : 0;
  if (moved && rounds_ < kMaxRounds) again_ = true;
}

}  // namespace berth::pods
