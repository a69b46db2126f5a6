// A connection with its calls, for many threads: a Session behind a mutex, and the transport its bytes go through.
// Internal: users have Client and Server.
//
// Whoever has something to send sends it at once; the thread of an Io reads, and sends what did not fit. Waiting is
// done by the threads of the callers, on descriptors of the calls.
#ifndef BERTH_RPC_GRPC_CONNECTION_H_
#define BERTH_RPC_GRPC_CONNECTION_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "host/os/clock.h"
#include "rpc/grpc/grpc_session.h"
#include "rpc/grpc/io.h"
#include "rpc/grpc/limits.h"
#include "rpc/grpc/transport.h"
#include "rpc/grpc/waiting.h"

namespace berth::grpc {

struct Keepalive {
  std::optional<os::Millis> every{};  ///< of silence while calls are open, then a PING; nullopt: never
  os::Millis patience{20'000};        ///< for its answer; then the connection is taken to be broken
};

/// Thread: any, but for the members of Watched.
class Connection final : public Watched {
 public:
  /// Errors: kExhausted.
  static Result<std::shared_ptr<Connection>> Make(Side side, std::unique_ptr<Transport> transport, const Limits& limits,
                                                  const Keepalive& keepalive, std::string peer, Wake wake);

  int fd() const override { return transport_->fd(); }
  Wants Prepare(os::MonoTime now) override BERTH_EXCLUDES(mutex_);
  bool Serve(short happened, os::MonoTime now) override BERTH_EXCLUDES(mutex_);

  /// Of a client: a call with its first message, if any; `ended`: it is the only one. Errors: kUnreachable: nothing was
  /// sent, as the other side is leaving, the connection is broken, or there is no memory.
  Result<StreamPtr> Open(const std::string& method, std::optional<os::MonoTime> deadline,
                         const std::optional<std::string_view>& message, bool ended) BERTH_EXCLUDES(mutex_);
  /// A call can be opened here.
  bool accepts() BERTH_EXCLUDES(mutex_);

  /// Waits while more than 64 KiB wait to be sent. Errors: kInvalid, nothing is sent: longer than the limit, or the
  /// call's writes are ended; of Wait, after which the call is over; how the call ended. One thread at a time for each
  /// call.
  Result<void> Write(const StreamPtr& stream, std::string_view message, const Patience& patience)
      BERTH_EXCLUDES(mutex_);
  void EndWrites(const StreamPtr& stream) BERTH_EXCLUDES(mutex_);
  /// The next message; nullopt: there are no more, and all is well. Errors: likewise; kUnsupported, kExhausted: the
  /// message is compressed, or longer than the limit, which ends a client's call. One thread at a time for each call.
  Result<std::optional<std::string>> Read(const StreamPtr& stream, const Patience& patience) BERTH_EXCLUDES(mutex_);
  /// Nobody waits for it any more. Nothing happens to one that is over.
  void Cancel(const StreamPtr& stream) BERTH_EXCLUDES(mutex_);

  // ---- of a server ----

  std::vector<StreamPtr> TakeTouched() BERTH_EXCLUDES(mutex_);
  void Refuse(const StreamPtr& stream) BERTH_EXCLUDES(mutex_);
  /// The call ends then, whoever works at it.
  void SetDeadline(const StreamPtr& stream, os::MonoTime deadline) BERTH_EXCLUDES(mutex_);
  /// Ends a call with its answer. Nothing happens to one that has ended.
  void Answer(const StreamPtr& stream, const std::optional<std::string_view>& message, Status status)
      BERTH_EXCLUDES(mutex_);
  /// Ends a call without a status: its caller knows nothing.
  void Abort(const StreamPtr& stream) BERTH_EXCLUDES(mutex_);
  bool over(const Stream& stream) BERTH_EXCLUDES(mutex_);
  /// What a server's call waits for: all of a request of one message, or an error in it.
  bool IsWhole(const Stream& stream) BERTH_EXCLUDES(mutex_);
  /// Waits until the call is over (true), was woken or `until` has come.
  bool WaitOver(const StreamPtr& stream, std::optional<os::MonoTime> until) BERTH_EXCLUDES(mutex_);
  void WakeStream(const StreamPtr& stream) BERTH_EXCLUDES(mutex_);
  /// Readable once the call is over; belongs to it. Errors: as eventfd(2).
  Result<int> GoneFd(const StreamPtr& stream) BERTH_EXCLUDES(mutex_);
  /// Since when nothing was heard; nullopt: calls are open, or it has ended.
  std::optional<os::MonoTime> IdleSince() BERTH_EXCLUDES(mutex_);
  /// Takes no new calls; ends when those that are open have ended.
  void Leave() BERTH_EXCLUDES(mutex_);

  /// Ends it now: all calls are over.
  void Break(const std::string& why) BERTH_EXCLUDES(mutex_);

 private:
  Connection(std::unique_ptr<Transport> transport, std::unique_ptr<Session> session, const Limits& limits,
             const Keepalive& keepalive, Side side, Wake wake)
      : transport_(std::move(transport)),
        limits_(limits),
        keepalive_(keepalive),
        side_(side),
        wake_(std::move(wake)),
        session_(std::move(session)) {}

  void Flush() BERTH_REQUIRES(mutex_);
  void Receive() BERTH_REQUIRES(mutex_);
  void Close(const std::string& why) BERTH_REQUIRES(mutex_);
  void KeepAlive(os::MonoTime now) BERTH_REQUIRES(mutex_);
  void EndLate(os::MonoTime now) BERTH_REQUIRES(mutex_);
  Error GiveUp(Stream& stream, const Error& why) BERTH_REQUIRES(mutex_);
  Result<void> CheckFront(Stream& stream) BERTH_REQUIRES(mutex_);
  Result<void> CheckEnd(const Stream& stream) const BERTH_REQUIRES(mutex_);

  const std::unique_ptr<Transport> transport_;
  const Limits limits_;
  const Keepalive keepalive_;
  const Side side_;
  const Wake wake_;
  Mutex mutex_;
  std::unique_ptr<Session> session_ BERTH_GUARDED_BY(mutex_);
  bool full_ BERTH_GUARDED_BY(mutex_) = false;  // the transport takes nothing now
  bool deaf_ BERTH_GUARDED_BY(mutex_) = false;  // the other side takes nothing any more
  bool closed_ BERTH_GUARDED_BY(mutex_) = false;
  const os::MonoTime opened_at_ = os::SystemClock().Now();
  os::MonoTime heard_at_ BERTH_GUARDED_BY(mutex_) = opened_at_;
  std::optional<os::MonoTime> pinged_at_ BERTH_GUARDED_BY(mutex_);
};

}  // namespace berth::grpc

#endif  // BERTH_RPC_GRPC_CONNECTION_H_
