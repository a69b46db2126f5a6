// Changes between a watch's thread and who takes them: bounded, with a descriptor. Internal to the component.
#ifndef BERTH_KUBERNETES_KUBE_CLIENT_CHANGE_QUEUE_H_
#define BERTH_KUBERNETES_KUBE_CLIENT_CHANGE_QUEUE_H_

#include <cstddef>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "base/loop_thread.h"
#include "base/mutex.h"
#include "host/os/clock.h"
#include "host/os/event_fd.h"
#include "kubernetes/kube_client/answer.h"
#include "kubernetes/kube_client/change.h"

namespace berth::kube {

/// Thread: any.
class ChangeQueue {
 public:
  ChangeQueue(os::EventFd fd, std::size_t most_changes, std::size_t most_bytes)
      : fd_(std::move(fd)), most_changes_(most_changes), most_bytes_(most_bytes) {}

  int fd() const { return fd_.get(); }
  /// Waits for room. False: the end has come.
  bool Put(Change change) BERTH_EXCLUDES(mutex_, loop_thread);
  std::vector<Change> Take(std::size_t most) BERTH_EXCLUDES(mutex_);
  void SetTrouble(std::optional<CallError> trouble) BERTH_EXCLUDES(mutex_);
  std::optional<CallError> trouble() const BERTH_EXCLUDES(mutex_);

  void End() BERTH_EXCLUDES(mutex_);
  bool ended() const BERTH_EXCLUDES(mutex_);
  /// Returns after `time`, or when the end comes.
  void Wait(os::Millis time) BERTH_EXCLUDES(mutex_, loop_thread);

 private:
  static std::size_t BytesOf(const Change& change) { return change.object.json.size(); }

  os::EventFd fd_;
  std::size_t most_changes_;
  std::size_t most_bytes_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::deque<Change> changes_ BERTH_GUARDED_BY(mutex_);
  std::size_t bytes_ BERTH_GUARDED_BY(mutex_) = 0;
  std::optional<CallError> trouble_ BERTH_GUARDED_BY(mutex_);
  bool ended_ BERTH_GUARDED_BY(mutex_) = false;
};

}  // namespace berth::kube

#endif  // BERTH_KUBERNETES_KUBE_CLIENT_CHANGE_QUEUE_H_
