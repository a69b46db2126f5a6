// Calls of ttRPC both ways over one socket, from bytes to bytes: no socket, no thread, no lock, no clock.
//
// Bytes of the other side go in by Receive, what is to be sent is in output(). NRI has two connections on its socket:
// on one of them this side answers, on the other it asks.
#ifndef BERTH_RPC_TTRPC_TTRPC_SESSION_H_
#define BERTH_RPC_TTRPC_TTRPC_SESSION_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "rpc/ttrpc/envelope.h"
#include "rpc/ttrpc/frame.h"

namespace berth::ttrpc {

/// Numbers of connections, as a plug-in of NRI has them; its runtime has them the other way round.
struct Lanes {
  std::uint32_t answers = 1;  ///< where the other side calls
  std::uint32_t asks = 2;
};

struct Limits {
  std::size_t message = kLongestData;  ///< longest data, either way; not more than that
  std::size_t calls = 64;              ///< under way at a time, each way
};

/// Not thread-safe.
class Session {
 public:
  struct Incoming {
    std::uint32_t stream = 0;
    Request request;
  };
  struct Ended {
    std::uint32_t call = 0;
    Result<std::string> outcome;
  };

  /// `peer`: the other side as people know it, for messages.
  Session(const Lanes& lanes, const Limits& limits, std::string peer)
      : lanes_(lanes),
        limits_{.message = std::min(limits.message, kLongestData), .calls = limits.calls},
        peer_(std::move(peer)),
        asked_(limits_.message),
        answered_(limits_.message) {}

  // ---- bytes ----
  /// Errors: kUncertain: the other side does not speak this; nothing more may be received.
  Result<void> Receive(std::string_view bytes);
  std::string_view output() const { return std::string_view(out_).substr(out_sent_); }
  void Sent(std::size_t bytes);
  /// All calls of this side are over: kUncertain where the other side may have seen something of them, kUnreachable
  /// where not. Those of the other side need no answer any more.
  void Break(const std::string& why);

  // ---- calls of this side ----
  /// Its number. Errors, nothing is sent: kInvalid: longer than the limit; kOverloaded: too many are under way;
  /// kUnreachable: the connection is broken, or has had as many calls as there are numbers.
  Result<std::uint32_t> Call(const Request& request);
  /// Nobody waits for it any more. Returns `why` as that call's error: kUnreachable where nothing of it was sent.
  Error Forget(std::uint32_t call, Error why);
  /// Those that have got their answer, or none. Errors of an outcome: the other side's, by its status; kUncertain: an
  /// answer that is none; of Break.
  std::vector<Ended> TakeEnded() { return std::exchange(ended_, {}); }

  // ---- calls of the other side ----
  std::vector<Incoming> TakeRequests() { return std::exchange(requests_, {}); }
  /// Nothing happens to a call that is over.
  void Answer(std::uint32_t stream, const Reply& reply);
  std::size_t open_requests() const { return open_.size(); }

 private:
  struct Asked {
    std::string name;      // "service/method"
    std::uint64_t at = 0;  // byte of the output where it begins
  };
  void TakeRequest(Message message);
  void TakeResponse(Message message);
  void Send(std::uint32_t connection, std::uint32_t stream, Kind kind, std::string_view data);
  Error ErrorOf(const Asked& call, Error why) const;

  const Lanes lanes_;
  const Limits limits_;
  const std::string peer_;
  FrameReader frames_;
  MessageReader asked_;     // on the connection where this side answers
  MessageReader answered_;  // on the other one
  std::string out_;
  std::size_t out_sent_ = 0;
  std::uint64_t made_ = 0;  // bytes of output so far, and how many of them were sent
  std::uint64_t sent_ = 0;
  std::uint64_t next_call_ = 1;
  std::map<std::uint32_t, Asked> calls_;
  std::vector<Ended> ended_;
  std::set<std::uint32_t> open_;
  std::uint32_t last_request_ = 0;
  std::vector<Incoming> requests_;
  bool broken_ = false;
};

}  // namespace berth::ttrpc

#endif  // BERTH_RPC_TTRPC_TTRPC_SESSION_H_
