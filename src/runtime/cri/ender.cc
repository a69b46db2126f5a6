#include "runtime/cri/ender.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/text.h"
#include "host/os/clock.h"
#include "host/os/pidfd.h"
#include "host/os/unique_fd.h"
#include "runtime/cri/cri_client.h"

namespace berth::cri {
namespace {

constexpr std::chrono::seconds kLeastGrace{2};
constexpr int kLooksAfterStop = 10;
constexpr os::Millis kBetweenLooks{200};

/// Whether the runtime said no. Else nobody knows what it did, or it heard nothing.
bool WasAnswered(const Error& error) { return !MayBeDone(error.code) && error.code != Code::kUnreachable; }

/// A handle of the container's first process. Errors: kUnsupported when the runtime does not say which it is, or it is
/// none of this host's (a virtual machine's); as Client::Status.
Result<os::UniqueFd> MainProcess(const Client& client, const std::string& id) {
  BERTH_TRY(const ContainerEntry entry, client.Status(id));
  if (entry.state == ContainerEntry::State::kExited) return Fail(Code::kNotFound, "it has ended");
  if (entry.pid <= 0) return Fail(Code::kUnsupported, "the runtime does not say which process is its first");
  BERTH_TRY(const std::uint64_t ticks, os::StartTicksOf(entry.pid));
  BERTH_TRY(os::UniqueFd out, os::OpenPidfd(entry.pid, ticks));
  BERTH_TRY(const std::vector<std::string> groups, os::CgroupLinesOf(entry.pid));
  if (std::ranges::any_of(groups, [&](const std::string& line) { return line.contains(id); })) return out;
  return Fail(Code::kUnsupported, "process " + std::to_string(entry.pid) + " is in no group of the container's");
}

}  // namespace

/// Nobody was there to be asked. False: it is not worth asking once more.
bool Ender::PauseBefore(os::MonoTime end) {
  const os::MonoTime now = os::SystemClock().Now();
  const MutexLock lock(shared_.mutex);
  if (!shared_.stop) shared_.changed.WaitUntil(shared_.mutex, now + kBetweenLooks);
  return !shared_.stop && now < end;
}

bool Ender::Stopping() {
  const MutexLock lock(shared_.mutex);
  return shared_.stop;
}

/// The interface has no word for a signal of the manifest's: it is sent to the container's first process from here.
/// True: the container has ended, or nobody waits for it any more.
bool Ender::EndsBySignal(const runtime::StopRequest& request, os::MonoTime end) {
  auto process = MainProcess(shared_.client, request.id);
  while (!process && process.error().code == Code::kUnreachable && PauseBefore(end))
    process = MainProcess(shared_.client, request.id);
  if (!process && process.error().code == Code::kNotFound) return false;  // the runtime knows more
  if (!process) {
    shared_.Warn("container " + request.id.substr(0, 12) + ": its stopSignal cannot be sent (" +
                 process.error().message + "): the runtime sends its own");
    return false;
  }
  if (!request.asked_before)
    if (const auto sent = os::SendSignal(process->get(), request.signal); !sent) shared_.Warn(sent.error().message);
  while (os::SystemClock().Now() < end)
    if (os::WaitEnd(process->get(), kBetweenLooks) || Stopping()) return true;
  return false;
}

void Ender::StopContainer(const runtime::StopRequest& request) {
  const os::MonoTime begin = os::SystemClock().Now();
  shared_.LookSoon();
  std::chrono::seconds grace = request.grace;
  if (request.signal_is_its_own && request.grace.count() > 0) {
    if (EndsBySignal(request, begin + request.grace)) return shared_.LookSoon();
    if (os::SystemClock().Now() >= begin + grace) grace = std::chrono::seconds(0);
  }
  Result<void> done;
  do {
    const auto taken = std::chrono::floor<std::chrono::seconds>(os::SystemClock().Now() - begin);
    const std::chrono::seconds left = std::max(grace - taken, kLeastGrace);
    done = shared_.client.Stop(request.id, grace.count() == 0 ? grace : left);
  } while (!done && done.error().code == Code::kUnreachable && PauseBefore(begin + request.grace));
  if (!done && !EndsSoon(request.id)) shared_.WarnOf("container " + request.id.substr(0, 12), done.error());
  shared_.LookSoon();
}

/// The runtime fails to stop what ends at the same moment, and learns of the end a little later.
bool Ender::EndsSoon(const std::string& id) const {
  for (int look = 0; look < kLooksAfterStop; ++look) {
    const auto now = shared_.client.Status(id);
    if (now && now->state == ContainerEntry::State::kExited) return true;
    if (!now) return now.error().code == Code::kNotFound;
    os::SleepFor(kBetweenLooks);
  }
  return false;
}

/// As the runtime sees it. Containers that never started are removed on the way: they would be started by a late call.
Result<bool> Ender::NothingRunsOf(const Sandbox& sandbox) const {
  const Labels pod = shared_.LabelsOfPod(sandbox.uid);
  BERTH_TRY(const std::vector<Sandbox> sandboxes, shared_.client.Sandboxes(pod));
  if (std::ranges::any_of(sandboxes, [&](const Sandbox& s) { return s.id == sandbox.id && s.ready; })) return false;
  BERTH_TRY(const std::vector<ContainerEntry> containers, shared_.client.Containers(pod));
  for (const ContainerEntry& entry : containers) {
    if (entry.sandbox_id != sandbox.id || entry.state == ContainerEntry::State::kExited) continue;
    if (entry.state != ContainerEntry::State::kCreated) return false;
    BERTH_RETURN_IF_ERROR(shared_.client.Remove(entry.id));
  }
  return true;
}

/// As RemoveSandbox. A runtime ends what runs before it gives back the rest: when it fails, that may be about the
/// sandbox's network only.
Result<std::string> Ender::StopSandbox(const Sandbox& sandbox) {
  const auto stopped = shared_.client.StopSandbox(sandbox.id);
  if (stopped) return std::string();
  BERTH_TRY(const bool over, NothingRunsOf(sandbox));
  if (!over) return std::unexpected(stopped.error());
  return WasAnswered(stopped.error()) ? stopped.error().message : std::string();
}

Result<std::string> Ender::RemoveSandbox(const Sandbox& sandbox) {
  BERTH_TRY(std::string words, StopSandbox(sandbox));
  if (!words.empty()) return words;
  const auto removed = shared_.client.RemoveSandbox(sandbox.id);
  if (removed) return std::string();
  if (!WasAnswered(removed.error())) return std::unexpected(removed.error());
  return removed.error().message;
}

void Ender::TakeRefusals(const std::vector<Refusal>& of_pod) {
  if (of_pod.empty()) return;
  const auto& [sandbox, words] = of_pod.front();
  {
    const MutexLock lock(shared_.mutex);
    if (!shared_.sandboxes.Refuse(sandbox.uid, sandbox.pod, os::SystemClock().Now())) return;
  }
  shared_.Notify({.reason = "FailedRemovePodSandBox",
                  .pod_uid = sandbox.uid,
                  .message = "pod " + sandbox.pod + ": " + words +
                             "; nothing of that sandbox runs; where the words name the network, mend the "
                             "runtime's CNI configuration or plug-in; tried again until the runtime does it"});
}

void Ender::StopContainers(const std::vector<runtime::StopRequest>& requests) {
  std::vector<std::thread> threads;
  threads.reserve(requests.size());
  for (const runtime::StopRequest& request : requests)
    threads.emplace_back([this, &request] { StopContainer(request); });
  for (std::thread& thread : threads) thread.join();
}

Result<void> Ender::TryStopPod(const std::string& uid) {
  BERTH_TRY(const std::vector<ContainerEntry> containers, shared_.client.Containers(shared_.LabelsOfPod(uid)));
  for (const ContainerEntry& entry : containers)
    if (entry.state == ContainerEntry::State::kCreated) BERTH_RETURN_IF_ERROR(shared_.client.Remove(entry.id));
  BERTH_TRY(const std::vector<Sandbox> sandboxes, shared_.client.Sandboxes(shared_.LabelsOfPod(uid)));
  std::vector<Refusal> refused;
  for (const Sandbox& sandbox : sandboxes) {
    if (!sandbox.ready) {  // what the runtime has left of it is removed later: asking now may take long
      BERTH_TRY(const bool over, NothingRunsOf(sandbox));
      if (over) continue;
    }
    BERTH_TRY(std::string words, StopSandbox(sandbox));
    if (!words.empty()) refused.push_back({sandbox, std::move(words)});
  }
  TakeRefusals(refused);
  return {};
}

void Ender::StopPod(const std::string& uid) {
  const auto done = TryStopPod(uid);
  if (!done) shared_.WarnOf("pod " + uid, done.error());
  const MutexLock lock(shared_.mutex);
  if (done) {
    shared_.sandboxes.Stopped(uid);
  } else {
    shared_.sandboxes.NotStopped(uid, os::SystemClock().Now());
  }
  shared_.WakeLoop();
}

void Ender::RemoveContainer(const std::string& id) {
  const auto done = shared_.client.Remove(id);
  bool is_new = false;
  {
    const MutexLock lock(shared_.mutex);
    if (done) {
      shared_.containers.Removed(id);
    } else {
      is_new = shared_.containers.Doom(id);
    }
  }
  if (is_new) shared_.WarnOf("container " + id.substr(0, 12), done.error());
}

void Ender::RemoveLateContainer(const std::string& id, const std::string& uid) {
  {
    const MutexLock lock(shared_.mutex);
    if (shared_.containers.Find(id) != nullptr) return;
  }
  const auto now = shared_.client.Status(id);
  if (!now || now->state != ContainerEntry::State::kCreated) return;
  if (const auto removed = shared_.client.Remove(id); !removed) return;  // it is seen again
  shared_.Notify({.reason = "LateContainerRemoved",
                  .pod_uid = uid,
                  .message = "container " + now->name +
                             ": the runtime made one after the call for it had been given "
                             "up; it never started, and is removed",
                  .normal = true,
                  .try_again = true});
}

void Ender::RemoveLateSandbox(const Sandbox& sandbox) {
  {
    const MutexLock lock(shared_.mutex);
    const std::string current = shared_.sandboxes.Current(sandbox.uid);
    if (current.empty() || current == sandbox.id) return;
  }
  const auto words = RemoveSandbox(sandbox);
  if (!words) return;  // it is seen again
  if (!words->empty()) return TakeRefusals({{sandbox, *words}});
  shared_.Notify({.reason = "RemovedPodSandBox",
                  .pod_uid = sandbox.uid,
                  .message = "pod " + sandbox.pod +
                             ": the runtime made a sandbox after the call for it had been given up; it is removed",
                  .normal = true});
}

/// False: the runtime refuses something, which is noted.
Result<bool> Ender::TryRemovePod(const std::string& uid) {
  bool wanted = false;
  std::string current;
  {
    const MutexLock lock(shared_.mutex);
    wanted = shared_.sandboxes.Wanted(uid);
    current = shared_.sandboxes.Current(uid);
  }
  BERTH_TRY(const std::vector<Sandbox> sandboxes, shared_.client.Sandboxes(shared_.LabelsOfPod(uid)));
  std::vector<Refusal> refused;
  for (const Sandbox& sandbox : sandboxes) {
    if (wanted && sandbox.ready) continue;
    const bool kept = wanted && sandbox.id == current;  // with the ended containers it has
    BERTH_TRY(std::string words, kept ? StopSandbox(sandbox) : RemoveSandbox(sandbox));
    if (!words.empty()) refused.push_back({sandbox, std::move(words)});
  }
  TakeRefusals(refused);
  return refused.empty();
}

void Ender::RemovePod(const std::string& uid) {
  const auto done = TryRemovePod(uid);
  bool is_new = false;
  std::string told;
  {
    const MutexLock lock(shared_.mutex);
    if (!done) {
      is_new = shared_.sandboxes.Doom(uid, os::SystemClock().Now());
    } else if (*done) {
      told = shared_.sandboxes.Removed(uid);
    }
  }
  if (is_new) shared_.WarnOf("pod " + uid, done.error());
  if (told.empty()) return;
  shared_.Notify({.reason = "RemovedPodSandBox",
                  .pod_uid = uid,
                  .message = "pod " + told + ": the runtime gave back what it had left of its sandboxes",
                  .normal = true});
}

}  // namespace berth::cri
