// Calls of gRPC to one server, all on one connection. Design: docs/design/wire.md.
//
// What is known after an error is in its code (status.h, KnownOf):
//   not done: kUnreachable (nobody answers there, the server is leaving, or nothing was sent), kOverloaded (the server
//     refused to look at it). The call may be made again; a client has done so once already.
//   nobody knows: kTimeout, kCancelled, kUncertain (the connection broke, or the answer is none).
//   answered: all others, with the server's own words. Errors that are no answer begin with "call <method> at <peer>:
//   ".
#ifndef BERTH_RPC_GRPC_GRPC_CLIENT_H_
#define BERTH_RPC_GRPC_GRPC_CLIENT_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/loop_thread.h"
#include "base/mutex.h"
#include "base/result.h"
#include "rpc/grpc/connection.h"

namespace berth::grpc {

/// A call with any number of messages either way. It ends when Read says so, by Cancel, or with this object.
/// Requires: the Client outlives it. Thread: one that writes and one that reads at a time; Cancel any.
class ClientStream {
 public:
  ClientStream(std::shared_ptr<Connection> connection, StreamPtr stream, const Patience& patience)
      : connection_(std::move(connection)), stream_(std::move(stream)), patience_(patience) {}
  ClientStream(ClientStream&&) = default;
  ClientStream& operator=(ClientStream&&) = delete;
  ClientStream(const ClientStream&) = delete;
  ClientStream& operator=(const ClientStream&) = delete;
  ~ClientStream() { Cancel(); }

  /// Blocks while the server is slow to take what was written before.
  /// Errors: kInvalid: longer than the limit, or after EndWrites; else how the call ended (kConflict: well, without
  /// this message). After any but kInvalid the call is over.
  Result<void> Write(std::string_view message) BERTH_EXCLUDES(loop_thread) {
    return connection_->Write(stream_, message, patience_);
  }
  /// All was written.
  void EndWrites() { connection_->EndWrites(stream_); }
  /// Blocks until there is a message; nullopt: the server has ended the call, and all is well. What is not read is not
  /// acknowledged: a server that writes more than a window of it waits. Errors: how the call ended.
  Result<std::optional<std::string>> Read() BERTH_EXCLUDES(loop_thread) {
    return connection_->Read(stream_, patience_);
  }
  /// Gives the call up: whoever reads or writes returns with kCancelled. Nothing happens to one that is over.
  void Cancel() {
    if (stream_ != nullptr) connection_->Cancel(stream_);
  }

 private:
  std::shared_ptr<Connection> connection_;
  StreamPtr stream_;
  Patience patience_;
};

struct ClientOptions {
  Limits limits;
  Keepalive keepalive;
};

/// Connects at the first call, and again at the first one after a connection broke or its server said that it leaves;
/// calls that are open there go on meanwhile. One thread of its own reads the answers. Requires: no call is under way
/// when it is destroyed. Thread: any number at a time.
class Client {
 public:
  /// `peer`: the server as people know it (the path of its socket), for messages.
  Client(Connector connector, std::string peer, const ClientOptions& options = {});
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// Sends one message and waits for the one message of the answer. `method`: "/package.Service/Method". The server is
  /// told the deadline. Errors: above; kInvalid also for a request longer than the limit or a wrong address, nothing is
  /// sent; kInternal also for an answer that has no message or more than one.
  Result<std::string> Call(const std::string& method, std::string_view request, const Patience& patience)
      BERTH_EXCLUDES(mutex_, loop_thread);
  /// Begins a call; `patience` is for all of it. Errors: as Call.
  Result<ClientStream> Open(const std::string& method, const Patience& patience) BERTH_EXCLUDES(mutex_, loop_thread);

 private:
  Result<std::shared_ptr<Connection>> Connected() BERTH_EXCLUDES(mutex_);
  Result<ClientStream> Begin(const std::string& method, const Patience& patience,
                             const std::optional<std::string_view>& request) BERTH_EXCLUDES(mutex_);
  Result<std::string> CallOnce(const std::string& method, std::string_view request, const Patience& patience)
      BERTH_EXCLUDES(mutex_);
  Error ErrorOf(const std::string& method, Error why) const;

  const Connector connector_;
  const std::string peer_;
  const ClientOptions options_;
  Mutex mutex_;
  std::unique_ptr<Io> io_ BERTH_GUARDED_BY(mutex_);
  std::shared_ptr<Connection> connection_ BERTH_GUARDED_BY(mutex_);
};

}  // namespace berth::grpc

#endif  // BERTH_RPC_GRPC_GRPC_CLIENT_H_
