// One socket on which both sides call each other by ttRPC: what NRI's plug-ins and runtimes are to one another.
//
// What is known after an error of a call is in its code, as with grpc::Client: kUnreachable and kOverloaded were not
// done, of kTimeout, kCancelled and kUncertain nobody knows, all others are answers in the other side's words.
#ifndef BERTH_RPC_TTRPC_PEER_H_
#define BERTH_RPC_TTRPC_PEER_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/loop_thread.h"
#include "base/result.h"
#include "host/os/clock.h"
#include "host/os/threads.h"
#include "rpc/grpc/io.h"
#include "rpc/grpc/transport.h"
#include "rpc/grpc/waiting.h"
#include "rpc/ttrpc/envelope.h"
#include "rpc/ttrpc/ttrpc_session.h"

namespace berth::ttrpc {

/// A call of the other side, as its handler sees it.
struct IncomingCall {
  std::string name;                      ///< "service/method"
  std::optional<os::MonoTime> deadline;  ///< after which its caller waits no more; nullopt: it did not say
  os::MonoTime arrived;
};

using Handler = std::function<Reply(const IncomingCall& call, const std::string& payload)>;
/// By "package.Service/Method". What is not named is answered with kUnimplemented. Handlers may run at the same time,
/// as many as Limits::calls; further calls are answered with kResourceExhausted.
using Handlers = std::map<std::string, Handler>;

struct PeerOptions {
  Lanes lanes{};
  Limits limits{};
};

/// Thread: any.
class Peer {
 public:
  /// `name`: the other side as people know it, for messages. Errors: kExhausted; as eventfd(2).
  static Result<std::unique_ptr<Peer>> Start(std::unique_ptr<grpc::Transport> transport, std::string name,
                                             Handlers handlers, const PeerOptions& options = {});
  /// Breaks the connection and waits for handlers to return. Requires: no call of this side is under way; not by a
  /// handler.
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  /// Sends a request and waits for its answer; the other side is told the deadline. Errors: above; kInvalid also for a
  /// request longer than the limit, nothing is sent. ttRPC has no word for a call that is given up: the other side goes
  /// on with it, and its answer is passed over.
  Result<std::string> Call(const std::string& service, const std::string& method, const std::string& payload,
                           const grpc::Patience& patience) BERTH_EXCLUDES(loop_thread);
  /// Ends the connection now.
  void Break(const std::string& why);
  /// Readable once the connection has ended. The descriptor stays the peer's.
  int ended_fd() const;
  /// Why it has ended; nullopt: it has not.
  std::optional<std::string> ended() const;

 private:
  class Link;
  Peer(Handlers handlers, std::unique_ptr<grpc::Io> io, const Limits& limits);
  void Arrived(const std::shared_ptr<Link>& link, Session::Incoming incoming);

  const Handlers handlers_;
  std::unique_ptr<grpc::Io> io_;
  std::shared_ptr<Link> link_;
  os::Threads workers_;  // last: their jobs use all of the above
};

}  // namespace berth::ttrpc

#endif  // BERTH_RPC_TTRPC_PEER_H_
