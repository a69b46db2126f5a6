#include "runtime/cri/known_sandboxes.h"

#include <algorithm>
#include <utility>

#include "runtime/lifecycle/backoff.h"

namespace berth::cri {
namespace {

constexpr runtime::BackoffOptions kStopAgain{.initial = os::Millis(500), .max = os::Millis(10'000)};
constexpr runtime::BackoffOptions kRemoveAgain{.initial = os::Millis(500), .max = os::Millis(60'000)};

}  // namespace

void KnownSandboxes::Recover(const std::vector<Sandbox>& found) {
  for (const Sandbox& sandbox : found) {
    State& pod = pods_[sandbox.uid];
    const bool newest = sandbox.attempt >= pod.attempts;
    pod.uncertain = true;
    pod.attempts = std::max(pod.attempts, sandbox.attempt + 1);
    if (pod.current.empty() || sandbox.ready || (!pod.ready && newest)) pod.current = sandbox.id;
    pod.ready = pod.ready || sandbox.ready;
  }
}

void KnownSandboxes::Want(const std::string& uid) { pods_.try_emplace(uid); }

std::optional<std::string> KnownSandboxes::Usable(const std::string& uid) {
  State& pod = pods_[uid];
  pod.stopping = false;
  if (!pod.ready || pod.uncertain) return std::nullopt;
  return pod.current;
}

SandboxPlan KnownSandboxes::Plan(std::string_view uid, const std::vector<Sandbox>& found) const {
  SandboxPlan out;
  if (const auto pod = pods_.find(uid); pod != pods_.end()) out.attempt = pod->second.attempts;
  for (const Sandbox& sandbox : found) {
    out.attempt = std::max(out.attempt, sandbox.attempt + 1);
    if (sandbox.ready && out.use.empty()) {
      out.use = sandbox.id;
    } else {
      out.remove.push_back(sandbox);
    }
  }
  return out;
}

void KnownSandboxes::Made(const std::string& uid, const std::string& id, std::uint32_t attempt) {
  State& pod = pods_[uid];
  if (pod.current != id) pod.addresses.clear();
  pod.current = id;
  pod.ready = true;
  pod.attempts = std::max(pod.attempts, attempt + 1);
}

void KnownSandboxes::SetAddresses(const std::string& uid, const std::string& id, std::vector<std::string> addresses) {
  const auto pod = pods_.find(uid);
  if (pod != pods_.end() && pod->second.current == id) pod->second.addresses = std::move(addresses);
}

std::vector<std::string> KnownSandboxes::Addresses(std::string_view uid) const {
  const auto pod = pods_.find(uid);
  return pod == pods_.end() ? std::vector<std::string>() : pod->second.addresses;
}

std::map<std::string, std::string> KnownSandboxes::TakeChanged(
    const std::map<std::string, std::string>& before, const std::vector<Sandbox>& found,
    const std::function<bool(const std::string& uid)>& busy) {
  std::map<std::string, std::string> out;
  for (auto& [uid, pod] : pods_) {
    if (!pod.ready || pod.stopping || !before.contains(pod.current) || busy(uid)) continue;
    const auto same = std::ranges::find(found, pod.current, &Sandbox::id);
    if (same != found.end() && same->ready) continue;
    pod.ready = false;
    pod.addresses.clear();
    out.emplace(pod.current, uid);
  }
  return out;
}

void KnownSandboxes::NotMade(const std::string& uid, std::uint32_t attempt) {
  State& pod = pods_[uid];
  pod.attempts = std::max(pod.attempts, attempt + 1);
}

void KnownSandboxes::DoubtAll() {
  for (auto& [uid, pod] : pods_) {
    pod.uncertain = true;
    pod.stop_failures = 0;
    pod.stop_again = {};
  }
  for (auto& [uid, doomed] : doomed_) doomed = {.refused = doomed.refused};
}

bool KnownSandboxes::doubtful(std::string_view uid) const {
  const auto pod = pods_.find(uid);
  return pod != pods_.end() && pod->second.uncertain;
}

StopStep KnownSandboxes::NextStop(std::string_view uid, bool busy, os::MonoTime now) {
  const auto it = pods_.find(uid);
  if (it == pods_.end() || (!it->second.ready && !it->second.uncertain)) return StopStep::kDone;
  State& pod = it->second;
  if (pod.stopping && (busy || now < pod.stop_again)) return StopStep::kWait;
  pod.stopping = true;
  return StopStep::kBegin;
}

void KnownSandboxes::Stopped(std::string_view uid) {
  const auto it = pods_.find(uid);
  if (it == pods_.end()) return;
  it->second.ready = false;
  it->second.uncertain = false;
  it->second.stop_failures = 0;
}

void KnownSandboxes::NotStopped(std::string_view uid, os::MonoTime now) {
  const auto it = pods_.find(uid);
  if (it == pods_.end()) return;
  it->second.stop_again = now + runtime::BackoffDelay(++it->second.stop_failures, kStopAgain);
}

std::string KnownSandboxes::Current(std::string_view uid) const {
  const auto pod = pods_.find(uid);
  return pod == pods_.end() ? std::string() : pod->second.current;
}

bool KnownSandboxes::IsLate(const Sandbox& found) {
  if (doomed_.contains(found.uid)) return false;  // its removal is tried again anyway
  const auto pod = pods_.find(found.uid);
  if (pod == pods_.end()) {
    Recover({found});
    pods_[found.uid].stopping = true;  // it may have been removed since it was listed: its absence is no news
    return false;
  }
  return !pod->second.current.empty() && pod->second.current != found.id;
}

std::map<std::string, std::string> KnownSandboxes::Ready() const {
  std::map<std::string, std::string> out;
  for (const auto& [uid, pod] : pods_)
    if (pod.ready) out.emplace(pod.current, uid);
  return out;
}

bool KnownSandboxes::Forget(std::string_view uid) {
  const auto it = pods_.find(uid);
  if (it == pods_.end()) return false;
  pods_.erase(it);
  return true;
}

std::vector<std::string> KnownSandboxes::AllBut(const std::set<std::string>& uids) const {
  std::vector<std::string> out;
  for (const auto& [uid, pod] : pods_)
    if (!uids.contains(uid)) out.push_back(uid);
  return out;
}

KnownSandboxes::Doomed& KnownSandboxes::FailRemoval(const std::string& uid, os::MonoTime now) {
  Doomed& doomed = doomed_[uid];
  doomed.again = now + runtime::BackoffDelay(++doomed.failures, kRemoveAgain);
  return doomed;
}

bool KnownSandboxes::Doom(const std::string& uid, os::MonoTime now) {
  const bool is_new = !doomed_.contains(uid);
  FailRemoval(uid, now);
  return is_new;
}

bool KnownSandboxes::Refuse(const std::string& uid, const std::string& pod, os::MonoTime now) {
  return std::exchange(FailRemoval(uid, now).refused, pod).empty();
}

std::vector<std::string> KnownSandboxes::RemovalsDue(os::MonoTime now) const {
  std::vector<std::string> out;
  for (const auto& [uid, doomed] : doomed_)
    if (doomed.again <= now) out.push_back(uid);
  return out;
}

std::string KnownSandboxes::Removed(const std::string& uid) {
  auto taken = doomed_.extract(uid);
  return taken.empty() ? std::string() : std::move(taken.mapped().refused);
}

}  // namespace berth::cri
