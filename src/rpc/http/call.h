// A call to the server, its answer, and the bounds of both.
#ifndef BERTH_RPC_HTTP_CALL_H_
#define BERTH_RPC_HTTP_CALL_H_

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "host/os/clock.h"
#include "rpc/http/headers.h"

namespace berth::http {

struct Request {
  std::string method;
  std::vector<std::string> parts;            ///< what the open segments of the route's pattern stand for, decoded
  std::map<std::string, std::string> query;  ///< decoded; of a name given twice the first
  /// By their names in lower case; the values of one given several times with ", " between them.
  std::map<std::string, std::string> headers;
  std::string body;
  /// The caller's connection, open until the handler has returned: poll(2) gives POLLHUP when a caller over a unix
  /// socket is gone. Not to be read or written.
  int caller_fd = -1;
  /// Thread: any, also after the answer's end. A Stream that had nothing yet is asked again.
  std::function<void()> wake;
};

/// A body made while it is sent.
class Stream {
 public:
  /// The caller has it all, or is gone. Thread: the server's.
  virtual ~Stream() = default;
  /// The next bytes; "": the end; nullopt: nothing yet, Request::wake when there is. Thread: the server's, which serves
  /// nobody else meanwhile: must not wait.
  virtual std::optional<std::string> Next() = 0;
};

struct Answer {
  int status = 200;
  std::string type = "application/json";
  std::string body;
  std::unique_ptr<Stream> stream;  ///< instead of `body`
  HeaderList headers;              ///< beside those every answer has
};

struct Route {
  std::string method;
  std::string pattern;  ///< as MatchPath takes it: "/v1/pods/{}/{}"
  /// Thread: one of the server's workers, several at a time. May take its time.
  std::function<Answer(const Request&)> handler;
  /// Bytes of a body, where fewer than Limits::body. Calls of such a route wait for no others with large bodies.
  std::optional<std::size_t> body = std::nullopt;
};

struct Limits {
  std::size_t body = std::size_t{10} << 20;
  /// Bytes of all bodies together that are large (above kSmallBody) and under way, read or being handled. Who would go
  /// beyond is refused with 503 and Retry-After. Of calls with large bodies one is handled at a time then, the others
  /// wait: what is made of a body may take many times its memory. nullopt: neither.
  std::optional<std::size_t> large_bodies = std::nullopt;
  std::size_t connections = 256;    ///< of anybody; of one user but root, and of all over TCP together: half of them
  std::size_t workers = 16;         ///< handlers that run at a time
  os::Millis header_time{10'000};   ///< from the connection's begin to the end of the headers
  os::Millis body_time{30'000};     ///< from there to the end of the body
  os::Millis answer_time{120'000};  ///< to send an answer that is no stream
  os::Millis idle_time{10'000};     ///< of a caller who takes nothing of an answer
};

using LostSocketTeller = std::function<void(const std::string& socket, const Result<void>& again)>;

struct ServerOptions {
  std::vector<Route> routes;
  /// The answer to a call that reaches no handler: 4xx and 5xx with a sentence for people.
  std::function<Answer(int status, const std::string& why)> refuse;
  HeaderList headers;  ///< of every answer, of refusals too
  Limits limits;
  /// The file of a unix socket was removed, and this came of listening there anew: tried again each second after an
  /// error, which is told once. Thread: the server's, which must not be held up. May be empty.
  LostSocketTeller on_lost_socket = nullptr;
};

/// Up to this many bytes a body is small: as many as there are connections and workers take little memory.
inline constexpr std::size_t kSmallBody = std::size_t{8} << 10;

/// Request line and headers together.
inline constexpr std::size_t kMostRequestHeaderBytes = std::size_t{32} << 10;

}  // namespace berth::http

#endif  // BERTH_RPC_HTTP_CALL_H_
