#include "frontend/nri_agent/pod_departures.h"

#include <algorithm>
#include <iterator>

#include "frontend/nri_agent/translate.h"

namespace berth::nri_agent {
namespace {

constexpr os::Millis kCheckAgain{20};  // the groups of a pod that leaves; doubled each time
constexpr os::Millis kLongestDelay{1'000};
constexpr os::Millis kBetweenSearches{10'000};

bool AllEnded(const TrackedPod& pod) {
  return std::ranges::all_of(pod.containers, [](const auto& entry) { return entry.second.ended; });
}

}  // namespace

void PodDepartures::OnSandboxGone(const nri::Pod& pod) {
  TrackedPod* const known = tracked_.Find(UidOf(pod));
  if (known == nullptr) return;
  known->sandboxes.erase(pod.id);
  if (!known->sandboxes.empty() || known->leave_at) return;
  Begin(UidOf(pod));
}

void PodDepartures::OnContainerEnded(const std::string& uid) { ended_[uid] = {node_.clock().Now(), os::Millis(0)}; }

void PodDepartures::Begin(const std::string& uid) {
  TrackedPod& pod = tracked_.Know(uid);
  pod.sandboxes.clear();
  pod.leave_at = node_.clock().Now();
  pod.leave_delay = kCheckAgain;
  leaving_.insert(uid);
}

void PodDepartures::Cancel(const std::string& uid) {
  tracked_.Know(uid).leave_at.reset();
  leaving_.erase(uid);
}

bool PodDepartures::HasLeft(const std::string& uid) const {
  const auto pod = node_.groups().table().pods().find(uid);
  if (pod == node_.groups().table().pods().end()) return true;
  const auto runs = node_.groups().site().tree().HasProcesses(pod->second);
  return runs ? !*runs : runs.error().code == Code::kNotFound;
}

/// Pods of which nothing runs any more though no word of it came.
void PodDepartures::FindLost(os::MonoTime now) {
  if (now < next_search_) return;
  next_search_ = now + kBetweenSearches;
  for (const auto& [uid, pod] : tracked_.all())
    if (HasLostAll(uid, pod)) Begin(uid);
}

bool PodDepartures::HasLostAll(const std::string& uid, const TrackedPod& pod) const {
  return AllEnded(pod) && !pod.leave_at && node_.groups().table().pods().contains(uid) && HasLeft(uid);
}

/// A runtime that was killed says nothing of the end of a sandbox that it had before. After the last of these checks
/// FindLost finds it. While a container is left there is nothing to look for: its end puts the pod in anew.
void PodDepartures::CheckEnded(os::MonoTime now) {
  for (auto at = ended_.begin(); at != ended_.end();) {
    auto& [when, delay] = at->second;
    const TrackedPod* const pod = tracked_.Find(at->first);
    bool over = pod == nullptr;
    if (pod != nullptr && when <= now) {
      const bool lost = HasLostAll(at->first, *pod);
      if (lost) Begin(at->first);
      delay = std::max(delay * 2, kCheckAgain);
      when = now + delay;
      over = lost || pod->leave_at || !AllEnded(*pod) || delay > kLongestDelay * 5;
    }
    at = over ? ended_.erase(at) : std::next(at);
  }
}

void PodDepartures::CheckLeaving(os::MonoTime now) {
  for (const std::string& uid : std::set<std::string>(leaving_)) {
    TrackedPod& pod = tracked_.Know(uid);
    if (*pod.leave_at > now) continue;
    if (HasLeft(uid) && now >= node_.allocations().next_try()) {
      pod.leave_at = os::MonoTime::max();  // until that is saved
      Release(uid);
      continue;
    }
    pod.leave_at = now + pod.leave_delay;
    pod.leave_delay = std::min(pod.leave_delay * 2, kLongestDelay);
  }
}

void PodDepartures::Release(const std::string& uid) {
  auto proposal = node_.allocations().ProposeRelease(uid);
  if (!proposal) {
    if (!node_.allocations().ledger().pods.contains(uid)) return Forget(uid);
    tracked_.Know(uid).leave_at = node_.clock().Now() + kCheckAgain;  // that is being saved, and may fail
    return;
  }
  const bool committed = node_.Commit(*std::move(proposal), [this, uid](const Result<void>& saved) {
    TrackedPod* const pod = tracked_.Find(uid);
    if (pod == nullptr || !pod->leave_at) return;  // it is back, and has asked for a place anew
    if (saved) return Forget(uid);
    pod->leave_at = node_.clock().Now() + kLongestDelay;
  });
  if (!committed) tracked_.Know(uid).leave_at = node_.clock().Now() + kLongestDelay;
}

void PodDepartures::Forget(const std::string& uid) {
  if (const auto pod = node_.pods().find(uid); pod != node_.pods().end()) {
    node_.events().Normal("Released", pods::ObjectOf(pod->second.pod),
                          "its place is free, the shared pool is " + FormatIds(node_.allocations().SharedCpus()));
    node_.pods().erase(pod);
  }
  static_cast<void>(node_.statuses().ForgetPod(uid));
  node_.checkpoints().Forget(uid);
  node_.groups().table().Forget(uid);
  tracked_.Forget(uid);
  leaving_.erase(uid);
  node_.Changed();
}

void PodDepartures::Tick(os::MonoTime now) {
  FindLost(now);
  CheckEnded(now);
  CheckLeaving(now);
}

os::MonoTime PodDepartures::next_due() const {
  os::MonoTime out = next_search_;
  for (const auto& [uid, check] : ended_) out = std::min(out, check.first);
  for (const std::string& uid : leaving_)
    if (const auto pod = tracked_.all().find(uid); pod != tracked_.all().end() && pod->second.leave_at)
      out = std::min(out, *pod->second.leave_at);
  return out;
}

}  // namespace berth::nri_agent
