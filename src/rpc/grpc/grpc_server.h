// A server of gRPC on unix sockets. Design: docs/design/wire.md.
//
// A handler runs on a thread of the server for as long as its call lasts. What it returns ends the call; it has to
// return soon after the call is gone: given up by the caller, cut off, or past the caller's deadline.
#ifndef BERTH_RPC_GRPC_GRPC_SERVER_H_
#define BERTH_RPC_GRPC_GRPC_SERVER_H_

#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "base/result.h"
#include "host/os/threads.h"
#include "rpc/grpc/connection.h"
#include "rpc/grpc/status.h"

namespace berth::grpc {

/// What a handler knows of its call. Thread: any, while the handler runs.
class ServerCall {
 public:
  ServerCall(std::shared_ptr<Connection> connection, StreamPtr stream)
      : connection_(std::move(connection)), stream_(std::move(stream)) {}

  const std::string& method() const { return stream_->method; }
  /// nullopt: the caller waits for ever. When it passes the caller is told so and the call is gone.
  std::optional<os::MonoTime> deadline() const { return deadline_; }
  /// Nobody waits for the answer any more.
  bool gone() const { return connection_->over(*stream_); }
  /// Readable once it is gone; not to be closed. Errors: as eventfd(2).
  Result<int> gone_fd() const { return connection_->GoneFd(stream_); }

 protected:
  friend class Server;
  std::shared_ptr<Connection> connection_;
  StreamPtr stream_;
  std::optional<os::MonoTime> deadline_;
};

/// A call with any number of messages either way. Thread: one that writes and one that reads or waits at a time; Wake
/// any, while the handler runs.
class ServerStream : public ServerCall {
 public:
  using ServerCall::ServerCall;

  /// Blocks until there is a message; nullopt: the caller has said all. Errors: kUnsupported: it is compressed;
  /// kExhausted: longer than the limit; kInvalid: it breaks off; else why the call is gone.
  Result<std::optional<std::string>> Read() { return connection_->Read(stream_, {}); }
  /// Blocks while the caller is slow to take what was written before (more than 64 KiB of it), until it is gone.
  /// Errors: kInvalid: longer than the limit; kTimeout: it was slow until `patience` ended, and the call is over; else
  /// why the call is gone.
  Result<void> Write(std::string_view message, std::optional<os::MonoTime> patience = std::nullopt) {
    return connection_->Write(stream_, message, {.deadline = patience});
  }
  /// Waits for the next thing to say. True: the call is gone; false: Wake was called, or `until` has come.
  bool WaitGone(std::optional<os::MonoTime> until) { return connection_->WaitOver(stream_, until); }
  void Wake() { connection_->WakeStream(stream_); }
  /// Ends the call without a status: the caller does not learn what became of it.
  void Abort() { connection_->Abort(stream_); }
};

/// The one message of the answer, or the status that says why there is none. An Error of Result becomes a Status.
using Reply = std::expected<std::string, Status>;
using UnaryHandler = std::function<Reply(const ServerCall& call, const std::string& request)>;
using StreamHandler = std::function<Status(ServerStream& stream)>;

/// By "/package.Service/Method". What is not named is answered with kUnimplemented. Handlers may run at the same time.
struct Services {
  std::map<std::string, UnaryHandler> unary{};
  std::map<std::string, StreamHandler> streaming{};
  StreamHandler other{};  ///< for all that is not named; empty: none
};

using LostSocketTeller = std::function<void(const std::string& socket, const Result<void>& again)>;

struct ServerOptions {
  std::size_t most_calls = 64;        ///< handlers at a time; further calls are refused, not done
  std::size_t most_connections = 64;  ///< then the one without calls that was silent for longest goes for the next
  Limits limits{};
  Keepalive keepalive{};
  /// How long a call may take from its head to the last byte of its answer, where the caller does not say less;
  /// nullopt: for ever. Then it is ended as if the caller's deadline had passed.
  std::optional<os::Millis> longest_call{};
  /// The file of a socket was removed, and this came of listening there anew, in a folder that is made again if need be
  /// (0750): tried again each second after an error, which is told once. What somebody else has made there is left
  /// alone, unless it is a socket that nobody listens at a while later. Thread: the one of all connections, which must
  /// not be held up. Empty: nobody looks after the file.
  LostSocketTeller on_lost_socket{};
  /// From the loss, or from a new file of somebody else, to the next try: who removes a socket may be about to listen
  /// there himself, as a kubelet that starts.
  os::Millis listen_again{1'000};
};

/// Thread: any.
class Server {
 public:
  /// Errors: kExhausted; as eventfd(2).
  static Result<std::unique_ptr<Server>> Start(Services services, const ServerOptions& options = {});
  /// As Stop without waiting. Waits for the handlers to return.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Takes connections at `path`, whose socket gets `mode`. Errors: as ListenUnix.
  Result<void> Listen(const std::string& path, unsigned mode);
  /// Takes one connection that was made already.
  Result<void> Adopt(os::UniqueFd socket);
  /// Asks all callers to make no more calls here, answers those that are open or were sent before they heard of that,
  /// for `grace` at most, and cuts the rest off. The sockets it listened at are removed.
  void Stop(os::Millis grace) BERTH_EXCLUDES(mutex_);

 private:
  class Peer;
  class Door;
  class FileKeeper;
  Server(Services services, const ServerOptions& options, std::unique_ptr<Io> io)
      : services_(std::move(services)), options_(options), io_(std::move(io)), workers_({.most = options.most_calls}) {}

  void Arrived(const std::shared_ptr<Connection>& connection, const StreamPtr& stream);
  bool LookAt(const std::shared_ptr<Connection>& connection, const StreamPtr& stream);
  static void Run(ServerStream call, const UnaryHandler& handler);
  static void Run(ServerStream call, const StreamHandler& handler);
  void Remove(const Peer* peer) BERTH_EXCLUDES(mutex_);
  bool stopping() BERTH_EXCLUDES(mutex_);
  std::shared_ptr<Connection> LongestIdle() BERTH_REQUIRES(mutex_);

  const Services services_;
  const ServerOptions options_;
  Mutex mutex_;
  CondVar changed_;
  std::map<const Peer*, std::shared_ptr<Connection>> peers_ BERTH_GUARDED_BY(mutex_);
  bool stopping_ BERTH_GUARDED_BY(mutex_) = false;
  std::unique_ptr<Io> io_;
  os::Threads workers_;  // their jobs use all of the above
};

}  // namespace berth::grpc

#endif  // BERTH_RPC_GRPC_GRPC_SERVER_H_
