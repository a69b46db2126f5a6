#include "host/event_loop/loop.h"

#include <sys/epoll.h>
#include <sys/signalfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <optional>

namespace berth::event_loop {
namespace {

constexpr std::uint64_t kPostedKey = 0;  // in place of a descriptor's key
constexpr os::Millis kSlice{5};          // after it, what was posted waits for the next turn

sigset_t SetOf(const std::vector<int>& signals) {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : signals) ::sigaddset(&set, signal);
  return set;
}

Result<void> AddTo(int epoll, int fd, std::uint64_t key, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = key;
  if (::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0) return FailErrno("watch a descriptor", "", errno);
  return {};
}

}  // namespace

/// What one asker waits for. Guarded by the loop's mutex.
struct Loop::Letter {
  enum class State { kWaiting, kBegun, kDone, kGivenUp } state = State::kWaiting;
};

void BlockSignals(const std::vector<int>& signals) {
  const sigset_t set = SetOf(signals);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

Result<std::unique_ptr<Loop>> Loop::Open(const os::Clock& clock) {
  loop_thread.Claim();
  os::UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.valid()) return FailErrno("create an epoll descriptor", "", errno);
  BERTH_TRY(os::EventFd posted, os::EventFd::Open());
  BERTH_RETURN_IF_ERROR(AddTo(epoll.get(), posted.get(), kPostedKey, EPOLLIN));
  return std::unique_ptr<Loop>(new Loop(clock, std::move(epoll), std::move(posted)));
}

Loop::Loop(const os::Clock& clock, os::UniqueFd epoll, os::EventFd posted_fd)
    : clock_(clock), epoll_(std::move(epoll)), posted_fd_(std::move(posted_fd)) {}

Loop::~Loop() { Close(); }

Result<void> Loop::Watch(int fd, std::string what, Callback callback, Ready ready) {
  if (keys_.contains(fd)) return Fail(Code::kInvalid, "descriptor " + std::to_string(fd) + " is watched already");
  const std::uint64_t key = ++last_key_;
  BERTH_RETURN_IF_ERROR(AddTo(epoll_.get(), fd, key, ready == Ready::kUrgent ? EPOLLPRI : EPOLLIN));
  keys_[fd] = key;
  watched_[key] = std::make_shared<Watched>(fd, std::move(what), std::move(callback));
  return {};
}

void Loop::Forget(int fd) {
  const auto found = keys_.find(fd);
  if (found == keys_.end()) return;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
  watched_.erase(found->second);
  keys_.erase(found);
}

void Loop::Keep(std::string what, std::function<os::MonoTime()> due, Callback callback) {
  kept_.push_back({.what = std::move(what), .due = std::move(due), .callback = std::move(callback)});
}

void Loop::EachTurn(std::string what, Callback callback) {
  each_turn_.push_back({.what = std::move(what), .callback = std::move(callback)});
}

Result<void> Loop::TakeSignals(const std::vector<int>& signals, std::function<void(int signal)> callback) {
  const sigset_t set = SetOf(signals);
  os::UniqueFd fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd.valid()) return FailErrno("create a signalfd", "", errno);
  BERTH_RETURN_IF_ERROR(Watch(fd.get(), "signal", [this](os::MonoTime) BERTH_REQUIRES(loop_thread) { ReadSignals(); }));
  signals_ = std::move(fd);
  on_signal_ = std::move(callback);
  return {};
}

void Loop::ReadSignals() {
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info))
    on_signal_(static_cast<int>(info.ssi_signo));
}

bool Loop::Post(std::string what, Job job) {
  const MutexLock lock(mutex_);
  if (closed_) return false;
  posted_.push_back({.what = std::move(what), .job = std::move(job)});
  posted_fd_.Signal();
  return true;
}

Result<void> Loop::RunForAsker(std::string what, os::Millis within, std::function<void()> work) {
  BERTH_CHECK(std::this_thread::get_id() != thread_);  // it would wait for itself, where clang does not see it
  const auto letter = std::make_shared<Letter>();
  const bool posted = Post(what, [this, letter, work = std::move(work)] {
    {
      const MutexLock lock(mutex_);
      if (letter->state == Letter::State::kGivenUp) return;
      letter->state = Letter::State::kBegun;
    }
    work();  // the asker waits, so what it refers to is alive
    const MutexLock lock(mutex_);
    letter->state = Letter::State::kDone;
    answered_.NotifyAll();
  });
  const os::MonoTime deadline = std::chrono::steady_clock::now() + within;
  {
    const MutexLock lock(mutex_);
    while (posted && !closed_ && letter->state == Letter::State::kWaiting &&
           std::chrono::steady_clock::now() < deadline)
      answered_.WaitUntil(mutex_, deadline);
    while (letter->state == Letter::State::kBegun) answered_.Wait(mutex_);
    if (letter->state == Letter::State::kDone) return {};
    letter->state = Letter::State::kGivenUp;
    if (closed_) return Fail(Code::kCancelled, "berthd is stopping");
  }
  return std::unexpected(NoAnswer(what, within));
}

Error Loop::NoAnswer(const std::string& what, os::Millis within) const {
  const Absence now = figures().now;
  std::string message = what + ": berthd did not come to it within " + std::to_string(within.count()) + " ms";
  if (!now.what.empty()) message += "; it is held up by '" + now.what + "'";
  return {.code = Code::kTimeout, .sys = 0, .message = message + "; try again"};
}

void Loop::Close() {
  std::deque<Posted> dropped;
  const MutexLock lock(mutex_);
  closed_ = true;
  dropped.swap(posted_);
  answered_.NotifyAll();
}

void Loop::Call(std::string_view what, const Callback& callback) {
  const os::MonoTime now = clock_.Now();
  away_.Call(now, what);
  callback(now);
}

void Loop::CallReady(std::uint64_t key) {
  if (key == kPostedKey) {
    RunPosted();
  } else if (const auto found = watched_.find(key); found != watched_.end()) {
    const std::shared_ptr<Watched> watched = found->second;  // it may forget itself
    Call(watched->what, watched->callback);
  }
}

/// In the order of posting, for a slice at least one.
void Loop::RunPosted() {
  posted_fd_.Clear();
  const os::MonoTime end = clock_.Now() + kSlice;
  for (;;) {
    std::optional<Posted> next;
    {
      const MutexLock lock(mutex_);
      if (posted_.empty()) return;
      next = std::move(posted_.front());
      posted_.pop_front();
    }
    Call(next->what, [&](os::MonoTime) { next->job(); });
    if (clock_.Now() < end) continue;
    const MutexLock lock(mutex_);
    if (!posted_.empty()) posted_fd_.Signal();
    return;
  }
}

void Loop::CallDue() {
  for (const Kept& kept : kept_)
    if (clock_.Now() >= kept.due()) Call(kept.what, kept.callback);
}

/// Milliseconds for epoll_wait, rounded up: nobody is called too early, nor does the loop turn in vain.
int Loop::TimeToWait() const {
  if (stopped_) return 0;
  os::MonoTime due = os::MonoTime::max();
  for (const Kept& kept : kept_) due = std::min(due, kept.due());
  if (due == os::MonoTime::max()) return -1;
  const auto left = std::chrono::ceil<os::Millis>(due - clock_.Now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, INT_MAX));
}

Result<void> Loop::Turn(bool may_wait) {
  BERTH_CHECK(std::this_thread::get_id() == thread_);  // so that all that is called from here is
  constexpr std::size_t kMostEvents = 16;
  std::array<epoll_event, kMostEvents> ready{};
  const int count = ::epoll_wait(epoll_.get(), ready.data(), kMostEvents, may_wait ? TimeToWait() : 0);
  if (count < 0 && errno != EINTR) return FailErrno("wait for events", "", errno);
  away_.Begin(clock_.Now());
  for (int i = 0; i < count; ++i) CallReady(ready[static_cast<std::size_t>(i)].data.u64);
  CallDue();
  for (const AtEnd& part : each_turn_) Call(part.what, part.callback);
  away_.End(clock_.Now());
  return {};
}

Result<void> Loop::Run() {
  while (!stopped_) BERTH_RETURN_IF_ERROR(Turn(true));
  return {};
}

}  // namespace berth::event_loop
