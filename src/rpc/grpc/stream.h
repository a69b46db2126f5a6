// One call on a connection, as both sides of the component see it. Internal: users have ClientStream and ServerStream.
#ifndef BERTH_RPC_GRPC_STREAM_H_
#define BERTH_RPC_GRPC_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "host/os/clock.h"
#include "host/os/event_fd.h"
#include "rpc/grpc/grpc_message.h"
#include "rpc/grpc/status.h"

namespace berth::grpc {

/// The fields of the other side that are looked at; "": it has none.
struct Head {
  std::string http_method;
  std::string path;
  std::string content_type;
  std::string encoding;
  std::string timeout;
  std::string http_status;
  std::optional<int> status;
  std::string message;  ///< of the status, decoded
};

/// Thread: everything but `event`, and `head` once head_done is true, belongs to whoever holds the connection's mutex.
struct Stream {
  Stream(std::size_t longest_message, os::EventFd event_) : in(longest_message), event(std::move(event_)) {}

  std::int32_t id = 0;
  std::string method;
  Head head;
  bool head_done = false;
  std::size_t head_bytes = 0;
  std::size_t head_fields = 0;
  MessageBuffer in;
  bool peer_done = false;  ///< it has said all
  bool over = false;       ///< nothing more comes, and nothing is sent: see `outcome`
  Result<void> outcome;    ///< how the call ended for a client; for a server why the peer is gone

  std::string out;  ///< to be sent, from out_sent on
  std::size_t out_sent = 0;
  bool responded = false;                ///< of a server: its head was sent
  bool last = false;                     ///< nothing is added to `out` any more
  Status trailers;                       ///< of a server: what follows it
  std::optional<std::uint64_t> head_at;  ///< of a client: which byte of the connection its head begins at

  // Of a server; these two belong to the thread of its Io.
  bool looked_at = false;   ///< its head was
  bool dispatched = false;  ///< its handler was called, or it was refused
  std::optional<os::MonoTime> deadline;
  bool woken = false;

  os::EventFd event;                    ///< readable: a message came, it is over, or it was woken
  std::optional<os::EventFd> writable;  ///< readable: there is room in `out`
  std::optional<os::EventFd> gone;      ///< readable: it is over

  std::size_t unsent() const { return out.size() - out_sent; }
};
using StreamPtr = std::shared_ptr<Stream>;

}  // namespace berth::grpc

#endif  // BERTH_RPC_GRPC_STREAM_H_
