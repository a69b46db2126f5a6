// NRI connection of one runtime: its requests, handed to the handler in order and answered in time. Internal to this
// folder.
#ifndef BERTH_RPC_NRI_CONVERSATION_H_
#define BERTH_RPC_NRI_CONVERSATION_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/mutex.h"
#include "base/result.h"
#include "host/os/event_fd.h"
#include "host/os/threads.h"
#include "rpc/nri/handler.h"
#include "rpc/nri/nri_messages.h"
#include "rpc/ttrpc/peer.h"

namespace berth::nri {

/// What a runtime is told when the handler gave no answer in time to what it cannot do without.
enum class WhenLate : std::uint8_t {
  kLetPass,  ///< the container is made as it is
  kRefuse,   ///< it is not made
};

/// Calls of a handler, one after another. Thread: any.
class HandlerQueue {
 public:
  explicit HandlerQueue(Handler& handler) : handler_(handler), threads_({.most = 1}) {}
  /// False: too many wait; it is not called.
  bool Post(std::move_only_function<void(Handler&)> call);
  /// As Post, however many wait.
  void PostAnyway(std::move_only_function<void(Handler&)> call);
  void NoteLate() { ++late_; }
  /// Answers that were not given in time.
  std::uint64_t late() const { return late_; }

 private:
  Handler& handler_;
  std::atomic<std::uint64_t> late_ = 0;
  os::Threads threads_;
};

/// Thread: any. Lives as long as its methods.
class Conversation : public std::enable_shared_from_this<Conversation> {
 public:
  /// `wanted`: a mask of events. Errors: as eventfd(2).
  static Result<std::shared_ptr<Conversation>> Make(HandlerQueue& queue, std::uint32_t wanted, WhenLate when_late,
                                                    os::Millis longest_answer);

  ttrpc::Handlers Methods();
  /// Readable once the runtime has taken the plug-in in, or something was missed and the connection is to be ended.
  int news_fd() const { return news_.get(); }
  void Heard() const { news_.Clear(); }
  bool joined() const BERTH_EXCLUDES(mutex_);
  /// Why it cannot go on; nullopt: it can.
  std::optional<std::string> spoilt() const BERTH_EXCLUDES(mutex_);
  /// After Configure.
  std::optional<Runtime> runtime() const BERTH_EXCLUDES(mutex_);

 private:
  Conversation(HandlerQueue& queue, std::uint32_t wanted, WhenLate when_late, os::Millis longest_answer,
               os::EventFd news)
      : queue_(queue),
        wanted_(wanted),
        when_late_(when_late),
        longest_answer_(longest_answer),
        news_(std::move(news)) {}

  ttrpc::Reply Configure(const std::string& payload) BERTH_EXCLUDES(mutex_);
  ttrpc::Reply Synchronize(const ttrpc::IncomingCall& call, const std::string& payload) BERTH_EXCLUDES(mutex_);
  ttrpc::Reply Create(const ttrpc::IncomingCall& call, const std::string& payload);
  ttrpc::Reply Update(const ttrpc::IncomingCall& call, const std::string& payload);
  ttrpc::Reply Stop(const ttrpc::IncomingCall& call, const std::string& payload);
  ttrpc::Reply Tell(const ttrpc::IncomingCall& call, Result<Subject> subject);
  ttrpc::Reply StateChange(const ttrpc::IncomingCall& call, const std::string& payload);
  os::MonoTime Due(const ttrpc::IncomingCall& call) const BERTH_EXCLUDES(mutex_);
  void Spoil(const std::string& why) BERTH_EXCLUDES(mutex_);
  /// Has the handler asked by `ask` and waits; nullopt: it gave no answer in time.
  template <class T>
  std::optional<Result<T>> Ask(os::MonoTime due, std::move_only_function<void(Handler&, Answer<T>)> ask);

  HandlerQueue& queue_;
  const std::uint32_t wanted_;
  const WhenLate when_late_;
  const os::Millis longest_answer_;
  const os::EventFd news_;
  mutable Mutex mutex_;
  std::optional<Runtime> runtime_ BERTH_GUARDED_BY(mutex_);
  Inventory parts_ BERTH_GUARDED_BY(mutex_);
  bool joined_ BERTH_GUARDED_BY(mutex_) = false;
  std::optional<std::string> spoilt_ BERTH_GUARDED_BY(mutex_);
};

}  // namespace berth::nri

#endif  // BERTH_RPC_NRI_CONVERSATION_H_
