#include "runtime/cri/cri_watcher.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "host/os/clock.h"
#include "host/os/open_writers.h"
#include "runtime/cri/cri_specs.h"

namespace berth::cri {
namespace {

using runtime::ContainerState;

constexpr os::Millis kListenAgain{1'000};
constexpr os::Millis kBriefly{1'000};
constexpr std::chrono::seconds kUsualGrace{30};
constexpr int kMostRemovals = 3;
constexpr const char* kLogs = "logs";  // a key of the workers

}  // namespace

void Watcher::End() {
  if (watching_.joinable()) watching_.join();
  if (listening_.joinable()) listening_.join();
}

void Watcher::Begin() {
  watching_ = std::thread([this] { Watch(); });
  listening_ = std::thread([this] { Listen(); });
}

void Watcher::Watch() {
  while (const std::uint64_t number = WaitForTurn()) Look(number);
}

std::uint64_t Watcher::WaitForTurn() {
  const MutexLock lock(shared_.mutex);
  while (!shared_.stop && os::SystemClock().Now() < shared_.pace.next())
    shared_.changed.WaitUntil(shared_.mutex, shared_.pace.next());
  if (shared_.stop) return 0;
  shared_.pace.Begin();
  return shared_.containers.BeginLook();
}

void Watcher::Look(std::uint64_t number) {
  const os::MonoTime asked = os::SystemClock().Now();
  const Result<Answers> answers = Ask(number);
  if (!TakeOutcome(answers) || !answers) return;
  LookAtSandboxes(*answers);  // first: what ended starts in a sandbox that is there
  for (const runtime::ContainerStatus& end : answers->ends) shared_.Took(end, std::nullopt);
  for (const runtime::ContainerStatus& run : answers->runs) shared_.Took(run, std::nullopt);
  if (!answers->statuses) return;
  LookForLateContainers(answers->containers);
  RetryUnanswered(asked);
  TryAgain();
  CheckLogs();
}

/// All calls of a look, before anything comes of their answers: a runtime may stop answering between any two of them.
Result<Watcher::Answers> Watcher::Ask(std::uint64_t number) {
  Answers out;
  BERTH_TRY(out.containers, shared_.client.Containers(shared_.OwnLabels(), patience_));
  const Seen seen = Compare(out.containers, number);
  out.ends = seen.vanished;
  out.statuses = AskForEnds(seen.ended, out.ends);
  if (out.statuses) out.statuses = AskForRuns(seen.untold, out.runs);
  BERTH_RETURN_IF_ERROR(AskForSandboxes(out));
  return out;
}

/// False: the end has come. That the runtime stops answering and that it answers again is said once each.
bool Watcher::TakeOutcome(const Result<Answers>& answers) {
  const MutexLock lock(shared_.mutex);
  const bool failing = shared_.pace.failing();
  if (shared_.stop) return false;
  if (!answers || !answers->statuses) {
    const Error& error = answers ? answers->statuses.error() : answers.error();
    shared_.pace.Failed(os::SystemClock().Now(), error.code == Code::kUnreachable);
    patience_ = kLongestList;  // it may only be slow
    if (failing) return true;
    shared_.problem =
        error.message + (answers ? "; containers go on, one that has ended counts as running until its status is known"
                                 : "; containers go on, nothing is started or taken to have ended meanwhile");
    shared_.notices.push_back({.reason = "RuntimeNotReady", .pod_uid = "", .message = shared_.problem});
    shared_.WakeLoop();
    return true;
  }
  shared_.pace.Answered(os::SystemClock().Now());
  patience_ = kUsualList;
  if (!failing) return true;
  shared_.problem.clear();
  shared_.notices.push_back(
      {.reason = "RuntimeReady", .pod_uid = "", .message = "the container runtime answers again", .normal = true});
  shared_.sandboxes.DoubtAll();  // it may have been restarted
  shared_.changed.NotifyAll();
  shared_.WakeLoop();
  return true;
}

Seen Watcher::Compare(const std::vector<ContainerEntry>& list, std::uint64_t number) {
  const MutexLock lock(shared_.mutex);
  return shared_.containers.Compare(list, number);
}

/// Those whose status went unanswered come last, the newest of them after all others: they hold nobody up.
std::vector<std::string> Watcher::InTurn(std::vector<std::string> ended) {
  const auto over = [&](const auto& entry) { return std::ranges::find(ended, entry.first) == ended.end(); };
  std::erase_if(unanswered_, over);
  std::erase_if(open_logs_, over);
  std::ranges::stable_sort(ended, {}, [&](const std::string& id) {
    const auto found = unanswered_.find(id);
    return found == unanswered_.end() ? os::MonoTime::min() : found->second;
  });
  return ended;
}

/// Adds to `ends` how these ended. Errors: the runtime does not answer, and is asked no further.
Result<void> Watcher::AskForEnds(const std::vector<std::string>& ended, std::vector<runtime::ContainerStatus>& ends) {
  const os::MonoTime begin = os::SystemClock().Now();
  for (const std::string& id : InTurn(ended)) {
    if (os::SystemClock().Now() - begin > kUsualList) {  // many, of a slow runtime: those so far are told first
      shared_.LookSoon();
      if (!unanswered_.empty()) return Fail(Code::kTimeout, "ask for statuses of containers: not all were asked");
      break;
    }
    auto end = AskForEnd(id);
    if (!end) {
      unanswered_[id] = begin;
      return std::unexpected(std::move(end).error());
    }
    unanswered_.erase(id);
    if (*end) ends.push_back(**std::move(end));
  }
  return {};
}

/// A runtime says that a container has ended, and writes the end of its log then: containerd closes it a moment later.
/// The end is told when the log is whole, so that its last lines reach who follows it and who makes a message of them:
/// nullopt until then. Errors: the runtime does not answer.
Result<std::optional<runtime::ContainerStatus>> Watcher::AskForEnd(const std::string& id) {
  BERTH_TRY(const auto status, AskForStatus(id));
  if (!status || status->state == ContainerState::kRunning) return std::nullopt;
  const os::MonoTime now = os::SystemClock().Now();
  const auto [log, is_new] = open_logs_.try_emplace(id, now + shared_.options.log_lag);
  if (now < log->second && os::IsOpenForWriting(status->log_path)) {
    const MutexLock lock(shared_.mutex);
    shared_.pace.Await(is_new);
    return std::nullopt;
  }
  open_logs_.erase(log);
  return *status;
}

/// Adds to `runs` what the runtime says of these now; one that has ended meanwhile is left to the next look. Errors:
/// the runtime does not answer, and is asked no further.
Result<void> Watcher::AskForRuns(const std::vector<std::string>& untold, std::vector<runtime::ContainerStatus>& runs) {
  for (const std::string& id : untold) {
    BERTH_TRY(auto status, AskForStatus(id));
    if (status && status->state == ContainerState::kRunning) runs.push_back(*std::move(status));
  }
  return {};
}

/// nullopt: the runtime cannot show this one; it is looked at again. Errors: the runtime does not answer.
Result<std::optional<runtime::ContainerStatus>> Watcher::AskForStatus(const std::string& id) {
  const auto entry = shared_.client.Status(id, patience_);
  if (entry) return StatusOf(*entry);
  const Code code = entry.error().code;
  if (code == Code::kTimeout || code == Code::kUnreachable || code == Code::kUncertain)
    return std::unexpected(entry.error());
  return std::nullopt;
}

/// What failed in the background, and the record of CPUs: from looks only, so that what changes and changes back in
/// between costs no call.
void Watcher::TryAgain() {
  const MutexLock lock(shared_.mutex);
  for (const std::string& id : shared_.containers.UpdatesDue())
    workers_.Post("update/" + id, [this, id] { UpdateRecord(id); });
  for (const std::string& id : shared_.containers.doomed())
    if (const std::string key = "remove/" + id; !workers_.Busy(key))
      workers_.Post(key, [this, id] { ender_.RemoveContainer(id); });
  int removals = 0;  // a few at a time: each may hang, and others need the threads
  for (const std::string& uid : shared_.sandboxes.RemovalsDue(os::SystemClock().Now())) {
    if (++removals > kMostRemovals) break;
    if (!workers_.Busy(uid)) workers_.Post(uid, [this, uid] { ender_.RemovePod(uid); });
  }
}

/// Made and not started, while nobody is starting anything of that pod: the call was given up, by an earlier berthd
/// perhaps, before the runtime had done it.
void Watcher::LookForLateContainers(const std::vector<ContainerEntry>& list) {
  const MutexLock lock(shared_.mutex);
  for (const ContainerEntry& entry : list) {
    const std::string uid = LabelOf(entry, kPodUid);
    if (entry.state != ContainerEntry::State::kCreated || uid.empty()) continue;
    if (shared_.containers.Find(entry.id) != nullptr || workers_.Busy(uid)) continue;
    workers_.Post(uid, [this, id = entry.id, uid] { ender_.RemoveLateContainer(id, uid); });
  }
}

void Watcher::RetryUnanswered(os::MonoTime asked) {
  const MutexLock lock(shared_.mutex);
  if (shared_.unanswered.empty()) return;
  for (const std::string& uid : shared_.unanswered.TakeDue(asked, os::SystemClock().Now()))
    shared_.notices.push_back({.pod_uid = uid, .message = "", .normal = true, .try_again = true});
  shared_.WakeLoop();
}

/// With each look after an end, else when it is time again. After an error it stays time.
Result<void> Watcher::AskForSandboxes(Answers& answers) {
  const os::MonoTime now = os::SystemClock().Now();
  {
    const MutexLock lock(shared_.mutex);
    if (answers.ends.empty() && now < next_sandbox_look_ && now >= shared_.suspicious_until) return {};
    answers.before = shared_.sandboxes.Ready();
  }
  // After the first call without an answer briefly: that it is not ready is told without delay.
  const bool told = answers.statuses || patience_ == kLongestList;
  const os::Millis patience = told ? patience_ : std::min(patience_, kBriefly);
  BERTH_TRY(answers.sandboxes, shared_.client.Sandboxes(shared_.OwnLabels(), patience));
  next_sandbox_look_ = now + shared_.options.sandbox_look;
  return {};
}

/// Late ones, likewise; those of pods that nobody knows become known, and are ended as such. And those that somebody
/// else ended.
void Watcher::LookAtSandboxes(const Answers& answers) {
  if (!answers.sandboxes) return;
  TakeChangedSandboxes(answers.before, *answers.sandboxes);
  const MutexLock lock(shared_.mutex);
  for (const Sandbox& sandbox : *answers.sandboxes) {
    if (workers_.Busy(sandbox.uid) || !shared_.sandboxes.IsLate(sandbox)) continue;
    workers_.Post(sandbox.uid, [this, sandbox] { ender_.RemoveLateSandbox(sandbox); });
  }
}

/// The pod's containers end, and start in a new sandbox.
void Watcher::TakeChangedSandboxes(const std::map<std::string, std::string>& before,
                                   const std::vector<Sandbox>& found) {
  const MutexLock lock(shared_.mutex);
  const auto changed =
      shared_.sandboxes.TakeChanged(before, found, [&](const std::string& uid) { return workers_.Busy(uid); });
  for (const auto& [id, uid] : changed) {
    shared_.notices.push_back({.reason = "SandboxChanged",
                               .pod_uid = uid,
                               .message = "Pod sandbox changed, it will be killed and re-created.",
                               .normal = true,
                               .try_again = true,
                               .sandbox_ended = true});
    std::vector<runtime::StopRequest> stops;
    const auto grace = shared_.graces.find(uid);
    for (const runtime::ContainerStatus& status : shared_.containers.List())
      if (status.pod_uid == uid && status.state == ContainerState::kRunning)
        stops.push_back({.id = status.id, .grace = grace != shared_.graces.end() ? grace->second : kUsualGrace});
    if (!stops.empty()) workers_.Post(uid, [this, stops] { ender_.StopContainers(stops); });
  }
  if (!changed.empty()) shared_.WakeLoop();
}

void Watcher::CheckLogs() {
  const os::MonoTime now = os::SystemClock().Now();
  if (now < next_log_check_ || workers_.Busy(kLogs)) return;
  next_log_check_ = now + shared_.options.log_check;
  workers_.Post(kLogs, [this] { logs_.Check(); });
}

/// One call at a time for each container, always with the newest value: an older one never comes after a newer one.
void Watcher::UpdateRecord(const std::string& id) {
  Resources asked;
  {
    const MutexLock lock(shared_.mutex);
    auto wanted = shared_.containers.UpdateBegins(id);
    if (!wanted) return;
    asked = *std::move(wanted);
  }
  const auto done = shared_.client.Update(id, asked);
  std::optional<std::string> words;
  {
    const MutexLock lock(shared_.mutex);
    words = shared_.containers.UpdateEnded(id, asked, done);
  }
  if (words) shared_.Warn(*std::move(words));
  shared_.WakeLoop();  // the kernel's value is looked at again
}

void Watcher::Listen() {
  do {
    const auto heard = shared_.client.Events([this](const std::string&) {
      shared_.LookSoon();
      return true;
    });
    if (!heard && heard.error().code == Code::kUnsupported) return;  // looks do
  } while (PauseListening());
}

/// While the runtime does not answer, looks find out when it does again. False: the end has come.
bool Watcher::PauseListening() {
  const MutexLock lock(shared_.mutex);
  const os::MonoTime least = os::SystemClock().Now() + kListenAgain;
  while (!shared_.stop && os::SystemClock().Now() < least) shared_.changed.WaitUntil(shared_.mutex, least);
  while (!shared_.stop && shared_.pace.failing()) shared_.changed.Wait(shared_.mutex);
  return !shared_.stop;
}

}  // namespace berth::cri
