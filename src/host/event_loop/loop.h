// One thread that waits for everything at once and never for anything alone: descriptors, points in time, signals, and
// what other threads ask.
#ifndef BERTH_HOST_EVENT_LOOP_LOOP_H_
#define BERTH_HOST_EVENT_LOOP_LOOP_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/loop_thread.h"
#include "base/mutex.h"
#include "base/result.h"
#include "host/event_loop/away_time.h"
#include "host/os/clock.h"
#include "host/os/event_fd.h"
#include "host/os/unique_fd.h"

namespace berth::event_loop {

/// Blocks these signals for the calling thread and those it starts, for a loop to take them. Call before any thread is
/// started.
void BlockSignals(const std::vector<int>& signals);

/// Callbacks are called on the loop's thread, one at a time, and must not wait for anything: what may wait is an
/// Executor's. Each is named (`what`) for the figures. They may call everything here but Turn and Run.
///
/// Thread: Post, Ask, Close and figures from any; all else from the thread that made the loop, which is the loop's.
class Loop {
 public:
  using Callback = std::function<void(os::MonoTime now)>;
  using Job = std::move_only_function<void()>;
  enum class Ready {
    kReadable,  ///< EPOLLIN
    kUrgent,    ///< EPOLLPRI
  };

  /// `clock` outlives the loop. Errors: as epoll_create1(2) and eventfd(2).
  static Result<std::unique_ptr<Loop>> Open(const os::Clock& clock) BERTH_ASSERTS(loop_thread);
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  ~Loop();

  /// Calls `callback` again and again while `fd` is ready, or broken. The descriptor stays the caller's, who calls
  /// Forget before it is closed. Errors: as epoll_ctl(2); nothing is watched then. A descriptor that is watched
  /// already: kInvalid.
  Result<void> Watch(int fd, std::string what, Callback callback, Ready ready = Ready::kReadable)
      BERTH_REQUIRES(loop_thread);
  /// No call comes any more. Nothing happens when it is not watched.
  void Forget(int fd) BERTH_REQUIRES(loop_thread);

  /// For what knows by itself when it wants to be called: `due` is asked before each wait, and `callback` called once
  /// that time has come, at most once a turn.
  void Keep(std::string what, std::function<os::MonoTime()> due, Callback callback) BERTH_REQUIRES(loop_thread);
  /// Called at the end of each turn, for what rests on everything that turn did.
  void EachTurn(std::string what, Callback callback) BERTH_REQUIRES(loop_thread);
  /// Called with the number of each signal that comes. Requires: BlockSignals of these; called once.
  /// Errors: as signalfd(2).
  Result<void> TakeSignals(const std::vector<int>& signals, std::function<void(int signal)> callback)
      BERTH_REQUIRES(loop_thread);

  /// Runs `job` on the loop's thread, after all that was posted before. False: the loop is closed, and `job` is gone.
  bool Post(std::string what, Job job) BERTH_EXCLUDES(mutex_);

  /// Runs `work` on the loop's thread and returns what it returned. When the loop does not come to it `within` this
  /// time, it is never run; once begun it is waited for, so it may refer to what the caller holds.
  /// Errors: kTimeout: the loop did not come to it, the message says what it is at; kCancelled: it is closed, berthd is
  /// stopping; else those of `work`.
  template <class T>
  Result<T> Ask(std::string what, os::Millis within, std::function<Result<T>()> work)
      BERTH_EXCLUDES(mutex_, loop_thread) {
    Result<T> answer = Fail(Code::kInternal, "the loop has not answered");
    BERTH_RETURN_IF_ERROR(RunForAsker(std::move(what), within, [&] { answer = work(); }));
    return answer;
  }

  /// Waits for something and does what is to be done, a slice of it when there is much. `may_wait` false: only what
  /// there is now. Errors: as epoll_wait(2).
  Result<void> Turn(bool may_wait) BERTH_REQUIRES(loop_thread);
  /// Turns until Stop. Errors: as Turn.
  Result<void> Run() BERTH_REQUIRES(loop_thread);
  /// Run returns after this turn.
  void Stop() BERTH_REQUIRES(loop_thread) { stopped_ = true; }
  /// From now on nothing is posted and nobody is answered; who waits for an answer gets the error at once.
  void Close() BERTH_EXCLUDES(mutex_);

  AwayFigures figures() const { return away_.Read(clock_.Now()); }

 private:
  struct Watched {
    int fd;
    std::string what;
    Callback callback;
  };
  struct Kept {
    std::string what;
    std::function<os::MonoTime()> due;
    Callback callback;
  };
  struct Posted {
    std::string what;
    Job job;
  };
  struct AtEnd {
    std::string what;
    Callback callback;
  };
  struct Letter;

  Loop(const os::Clock& clock, os::UniqueFd epoll, os::EventFd posted_fd);
  Result<void> RunForAsker(std::string what, os::Millis within, std::function<void()> work)
      BERTH_EXCLUDES(mutex_, loop_thread);
  Error NoAnswer(const std::string& what, os::Millis within) const;
  int TimeToWait() const BERTH_REQUIRES(loop_thread);
  void Call(std::string_view what, const Callback& callback) BERTH_REQUIRES(loop_thread);
  void CallReady(std::uint64_t key) BERTH_REQUIRES(loop_thread);
  void CallDue() BERTH_REQUIRES(loop_thread);
  void RunPosted() BERTH_REQUIRES(loop_thread) BERTH_EXCLUDES(mutex_);
  void ReadSignals() BERTH_REQUIRES(loop_thread);

  const os::Clock& clock_;
  const std::thread::id thread_ = std::this_thread::get_id();
  os::UniqueFd epoll_;
  os::EventFd posted_fd_;
  os::UniqueFd signals_ BERTH_GUARDED_BY(loop_thread);
  std::function<void(int)> on_signal_ BERTH_GUARDED_BY(loop_thread);
  // By a key that is never used again: an event may be of a descriptor that was forgotten, and its number opened anew.
  std::map<std::uint64_t, std::shared_ptr<Watched>> watched_ BERTH_GUARDED_BY(loop_thread);
  std::map<int, std::uint64_t> keys_ BERTH_GUARDED_BY(loop_thread);  // of watched descriptors
  std::uint64_t last_key_ BERTH_GUARDED_BY(loop_thread) = 0;
  std::list<Kept> kept_ BERTH_GUARDED_BY(loop_thread);  // callbacks may add to it
  std::list<AtEnd> each_turn_ BERTH_GUARDED_BY(loop_thread);
  bool stopped_ BERTH_GUARDED_BY(loop_thread) = false;
  AwayTime away_;

  Mutex mutex_;
  CondVar answered_;
  std::deque<Posted> posted_ BERTH_GUARDED_BY(mutex_);
  bool closed_ BERTH_GUARDED_BY(mutex_) = false;
};

}  // namespace berth::event_loop

#endif  // BERTH_HOST_EVENT_LOOP_LOOP_H_
