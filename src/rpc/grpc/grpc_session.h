// HTTP/2 with gRPC in it, from bytes to bytes: no socket, no thread, no lock, no clock. Internal.
//
// Bytes of the other side go in by Receive; Produce makes bytes to send, which the caller takes from output(). Calls
// are Streams; those of a server that have come or changed are in TakeTouched.
#ifndef BERTH_RPC_GRPC_GRPC_SESSION_H_
#define BERTH_RPC_GRPC_GRPC_SESSION_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "rpc/grpc/limits.h"
#include "rpc/grpc/stream.h"

struct nghttp2_session;
struct nghttp2_session_callbacks;

namespace berth::grpc {

enum class Side { kClient, kServer };

/// Not thread-safe.
class Session {
 public:
  /// `peer`: the other side as people know it, for messages. Errors: kExhausted.
  static Result<std::unique_ptr<Session>> Make(Side side, const Limits& limits, std::string peer);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() = default;

  // ---- bytes ----
  /// Errors: kUncertain: the other side does not speak HTTP/2; nothing more may be received.
  Result<void> Receive(std::string_view bytes);
  /// Makes output, up to some 64 KiB at a time.
  void Produce();
  std::string_view output() const { return std::string_view(out_).substr(out_sent_); }
  void Sent(std::size_t bytes);
  /// Nothing is to be sent or received any more: the connection may be closed.
  bool finished() const;
  /// The other side has said something that only HTTP/2 says.
  bool greeted() const { return greeted_; }

  // ---- calls ----
  /// Of a client: false when the other side is leaving.
  bool accepts() const;
  /// Of a client. Errors: kUnreachable: no stream can be opened here; nothing is sent.
  Result<StreamPtr> Open(const std::string& method, std::optional<os::Millis> timeout);
  /// Of a client: nothing more is written. Of a server: `status` ends the call. Nothing happens to one that has ended.
  void EndWrites(Stream& stream);
  void Finish(Stream& stream, Status status);
  /// Adds a message. Requires: within the limit; nothing was ended.
  void Write(Stream& stream, std::string_view message);
  /// The next message; nullopt: none is complete. The sender may send more then.
  std::optional<std::string> Take(Stream& stream);
  /// Of a server: tells that the call was not looked at.
  void Refuse(Stream& stream);
  /// Ends the call on both sides: the other one is told that nobody waits, this one has `why`.
  void Reset(Stream& stream, Error why);
  /// Of a server: the caller's deadline has passed. The call is over, and told so where that can still be said.
  void Expire(Stream& stream);
  /// All calls are over, with `why` where they may have been seen and as not done where not.
  void Break(const std::string& why);
  /// Of a server: asks the other side to make no new calls; those that are open, or under way to here, go on.
  void Leave();
  void Ping();
  /// True once for each answer to Ping.
  bool TakePong() { return std::exchange(ponged_, false); }

  const std::map<std::int32_t, StreamPtr>& streams() const { return streams_; }
  std::vector<StreamPtr> TakeTouched();
  /// An error of `stream` with what call it was: "call <method> at <peer>: <why>".
  Error ErrorOf(const Stream& stream, Code code, const std::string& why) const;
  /// As ErrorOf for a call that got no answer: kUnreachable of one that was never sent.
  Error NotAnswered(const Stream& stream, Code code, const std::string& why) const;
  /// Whether the other side may have seen anything of this call.
  bool MayBeSeen(const Stream& stream) const { return stream.head_at && *stream.head_at < sent_; }

 private:
  struct Deleter {
    void operator()(nghttp2_session* session) const;
  };
  struct Callbacks;
  friend struct Callbacks;
  Session(Side side, const Limits& limits, std::string peer) : side_(side), limits_(limits), peer_(std::move(peer)) {}

  static void SetCallbacks(nghttp2_session_callbacks* callbacks);
  Result<void> Start();
  StreamPtr Find(std::int32_t id) const;
  void TakeField(Stream& stream, std::string_view name, std::string_view value);
  void TakeData(std::int32_t id, std::string_view bytes);
  void PeerDone(Stream& stream);
  void End(Stream& stream, Result<void> outcome);
  void Left();
  void Closed(std::int32_t id, std::uint32_t code);
  Result<void> Judge(const Stream& stream) const;
  void Resume(Stream& stream);
  void SubmitHead(Stream& stream, bool with_body);
  ssize_t ReadBody(std::int32_t id, std::uint8_t* into, std::size_t room, std::uint32_t* flags);

  Side side_;
  Limits limits_;
  std::string peer_;
  std::unique_ptr<nghttp2_session, Deleter> http_;
  std::map<std::int32_t, StreamPtr> streams_;
  std::set<StreamPtr> touched_;  // of a server
  std::string out_;
  std::size_t out_sent_ = 0;
  std::uint64_t made_ = 0;  // bytes of output so far, and how many of them were sent
  std::uint64_t sent_ = 0;
  bool greeted_ = false;
  bool peer_leaves_ = false;
  bool broken_ = false;
  bool leaving_ = false;
  bool ponged_ = false;
};

}  // namespace berth::grpc

#endif  // BERTH_RPC_GRPC_GRPC_SESSION_H_
