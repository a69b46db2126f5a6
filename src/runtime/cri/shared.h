// Shared state of the parts of a CRI runtime: the client, and under one lock containers, sandboxes and notices.
#ifndef BERTH_RUNTIME_CRI_SHARED_H_
#define BERTH_RUNTIME_CRI_SHARED_H_

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "host/os/event_fd.h"
#include "runtime/cri/cri_client.h"
#include "runtime/cri/cri_options.h"
#include "runtime/cri/known_containers.h"
#include "runtime/cri/known_sandboxes.h"
#include "runtime/cri/look_pace.h"
#include "runtime/cri/unanswered_starts.h"
#include "runtime/lifecycle/runtime.h"

namespace berth::cri {

/// Thread: any; nobody calls the runtime with the lock held.
struct Shared {
  Shared(CriOptions options_, os::EventFd events_, os::EventFd cancel_)
      : options(std::move(options_)),
        events(std::move(events_)),
        cancel(std::move(cancel_)),
        client(options.socket, options.timeouts, cancel.get()),
        pace(options.look) {}

  /// A container's newest state, for List and for the loop.
  void Took(const runtime::ContainerStatus& status, const std::optional<std::string>& recorded) BERTH_EXCLUDES(mutex);
  /// Something for the loop that is no container's state any more (kNotStarted).
  void Tell(runtime::ContainerStatus status) BERTH_EXCLUDES(mutex);
  void Notify(runtime::Notice notice) BERTH_EXCLUDES(mutex);
  void Warn(std::string text) { Notify({.pod_uid = "", .message = std::move(text)}); }
  /// A job failed and is tried again. That the runtime does not answer is said once, by whoever looks.
  void WarnOf(const std::string& what, const Error& error) BERTH_EXCLUDES(mutex);
  /// Makes the loop ask: groups may have come or changed.
  void WakeLoop() const { events.Signal(); }
  /// Something is about to change, or has: look soon, and often for a while.
  void LookSoon() BERTH_EXCLUDES(mutex);
  /// A container did not start: its sandbox may have ended, and sandboxes are looked at with every look for a moment.
  void SuspectSandboxes() BERTH_EXCLUDES(mutex);
  /// Remembers that nobody knows what a call has done, when that is so.
  void DoubtAfter(const std::string& uid, const Error& error) BERTH_EXCLUDES(mutex);

  Labels OwnLabels() const;
  Labels LabelsOfPod(const std::string& uid) const;

  const CriOptions options;
  const os::EventFd events;  ///< readable: there is news
  const os::EventFd cancel;  ///< readable: all calls are given up
  const Client client;

  Mutex mutex;
  CondVar changed;  ///< pace or stop
  KnownContainers containers BERTH_GUARDED_BY(mutex);
  KnownSandboxes sandboxes BERTH_GUARDED_BY(mutex);
  LookPace pace BERTH_GUARDED_BY(mutex);
  os::MonoTime suspicious_until BERTH_GUARDED_BY(mutex){};
  UnansweredStarts unanswered BERTH_GUARDED_BY(mutex);
  std::map<std::string, std::chrono::seconds> graces BERTH_GUARDED_BY(mutex);  ///< of pods, by uid
  std::set<std::string> recursive_read_only BERTH_GUARDED_BY(mutex);           ///< handlers that can do that
  std::vector<runtime::ContainerStatus> news BERTH_GUARDED_BY(mutex);
  std::vector<runtime::Notice> notices BERTH_GUARDED_BY(mutex);
  std::string problem BERTH_GUARDED_BY(mutex);  ///< why the runtime did not answer last; "": it did
  bool stop BERTH_GUARDED_BY(mutex) = false;
};

}  // namespace berth::cri

#endif  // BERTH_RUNTIME_CRI_SHARED_H_
