// One connection with its one call, and what the library says about it. Internal to the component: the only header that
// shows libmicrohttpd.
#ifndef BERTH_RPC_HTTP_EXCHANGE_H_
#define BERTH_RPC_HTTP_EXCHANGE_H_

#include <microhttpd.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "host/os/unique_fd.h"
#include "rpc/http/call.h"

namespace berth::http {

struct Exchange {
  enum class Stage {
    kHeader,  ///< its headers are not all there
    kBody,    ///< its body is not all there
    kWork,    ///< its handler runs
    kAnswer,  ///< the answer is being sent
    kPause,   ///< its stream had nothing to send
  };
  std::uint64_t id = 0;
  MHD_Connection* connection = nullptr;
  int fd = -1;
  uid_t user = 0;  ///< of a unix socket's caller; kNobodyKnown over TCP
  Stage stage = Stage::kHeader;
  os::MonoTime since;                    ///< when it was accepted
  std::optional<os::MonoTime> deadline;  ///< of the stage

  const Route* route = nullptr;
  Request request;
  std::size_t received = 0;    ///< bytes of the body, kept or not
  std::size_t held = 0;        ///< of these, or announced: what counts of Limits::large_bodies
  bool one_at_a_time = false;  ///< its handler waits for others with large bodies
  os::UniqueFd other_end{};    ///< of a call that is refused before its body is read: see Loop::Linger
  std::optional<Answer> answer;
  std::string piece;     ///< of the stream
  std::size_t sent = 0;  ///< of `piece`
  bool gone = false;     ///< the caller is, or nobody waits for the rest
};

inline constexpr uid_t kNobodyKnown = static_cast<uid_t>(-2);

/// What is known of a call when its headers are there.
struct Opening {
  int status = 0;  ///< of the refusal; 0: there is none
  std::string why;
  bool has_body = false;     ///< one is announced
  std::uint64_t length = 0;  ///< its bytes, where they are announced
};
/// Bytes that its body may have.
std::size_t MostBody(const Exchange& exchange, const Limits& limits);
/// Why a body above that is refused.
std::string TooLarge(std::size_t most);

/// Looks at the headers, finds the route and fills the request. `url`: the path as it was sent.
Opening Open(Exchange& exchange, const ServerOptions& options, const std::string& url, const std::string& method);

/// Hands the exchange's answer to the library, with the headers every answer has. `exchange` must live as long as the
/// connection.
MHD_Result Send(Exchange& exchange, const HeaderList& of_all);

}  // namespace berth::http

#endif  // BERTH_RPC_HTTP_EXCHANGE_H_
