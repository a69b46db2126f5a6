// NRI event handler: the interface between an NRI plug-in and the rest of Berth; it decides what a runtime is told.
#ifndef BERTH_RPC_NRI_HANDLER_H_
#define BERTH_RPC_NRI_HANDLER_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "host/os/clock.h"
#include "rpc/nri/nri_values.h"

namespace berth::nri {

/// An answer that a runtime waits for. Copies are one answer. Thread: any.
template <class T>
class Answer {
 public:
  explicit Answer(os::MonoTime due) : state_(std::make_shared<State>()), due_(due) {}

  os::MonoTime asked() const { return asked_; }
  /// When it counts no more.
  os::MonoTime due() const { return due_; }
  /// An Error refuses what was asked, in its words. False: it is too late, or not the first one; the runtime was told
  /// something else, and this is not in force.
  bool Give(Result<T> value) const {
    const MutexLock lock(state_->mutex);
    if (state_->closed || state_->value) return false;
    state_->value = std::move(value);
    state_->changed.NotifyAll();
    return true;
  }
  /// Waits until it is given or due; what is given later is too late. For the plug-in.
  std::optional<Result<T>> Wait() const {
    const MutexLock lock(state_->mutex);
    while (!state_->value && !state_->closed && os::SystemClock().Now() < due_)
      state_->changed.WaitUntil(state_->mutex, std::chrono::time_point_cast<Tick>(due_));
    state_->closed = true;
    return std::exchange(state_->value, std::nullopt);
  }
  /// Nobody waits any more. For the plug-in.
  void Close() const {
    const MutexLock lock(state_->mutex);
    state_->closed = true;
    state_->changed.NotifyAll();
  }

 private:
  using Tick = std::chrono::steady_clock::duration;
  struct State {
    Mutex mutex;
    CondVar changed;
    std::optional<Result<T>> value BERTH_GUARDED_BY(mutex);
    bool closed BERTH_GUARDED_BY(mutex) = false;
  };
  std::shared_ptr<State> state_;
  os::MonoTime asked_ = os::SystemClock().Now();
  os::MonoTime due_;
};

/// Thread: one call at a time, in the order in which the runtime asked, on a thread of the plug-in. A call may return
/// before its answer is given. One that lasts holds up those after it; the runtime waits for none longer than until
/// due().
class Handler {
 public:
  virtual ~Handler() = default;

  /// A runtime has taken the plug-in in: Synchronize is next.
  virtual void Joined(const Runtime& runtime) = 0;
  /// All that is there. Whatever was known of before is old: a plug-in that was away has missed what happened
  /// meanwhile.
  virtual void Synchronize(Inventory inventory, Answer<std::vector<Update>> answer) = 0;
  /// The runtime has gone, or has cut the plug-in off. Containers are made without it until it has joined again.
  virtual void Left(const std::string& why) = 0;

  virtual void CreateContainer(Pod pod, Container container, Answer<Creation> answer) = 0;
  /// `wanted`: what somebody asked the runtime to change. An update of this container in the answer takes its place.
  virtual void UpdateContainer(Pod pod, Container container, Resources wanted, Answer<std::vector<Update>> answer) = 0;
  /// It was made and is about to run: its group is there, and nothing of its own runs before the answer. An Error keeps
  /// it from running. Only asked where the plug-in asks for kStartContainer.
  virtual void StartContainer(Pod pod, Container container, Answer<Ready> answer) = 0;
  /// Once a container, also when it has ended by itself.
  virtual void StopContainer(Pod pod, Container container, Answer<std::vector<Update>> answer) = 0;
  /// The pod's resources are about to change. (NRI 0.10.)
  virtual void UpdatePod(Pod pod, Resources overhead, Resources wanted) = 0;
  /// Something that the runtime only tells; `container`: nullopt for events of a pod.
  virtual void Happened(Event event, Pod pod, std::optional<Container> container) = 0;
};

}  // namespace berth::nri

#endif  // BERTH_RPC_NRI_HANDLER_H_
