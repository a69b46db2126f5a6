// Asking an HTTP server: one request, one answer, both bounded. Over TCP, TLS or a unix socket.
#ifndef BERTH_RPC_HTTP_HTTP_CLIENT_H_
#define BERTH_RPC_HTTP_HTTP_CLIENT_H_

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/loop_thread.h"
#include "base/result.h"
#include "host/os/clock.h"
#include "rpc/http/headers.h"

namespace berth::http {

/// Of an answer that is no success this much is kept, and no more is waited for.
inline constexpr std::size_t kMostOfARefusal = std::size_t{1} << 20;
/// Status line and headers together.
inline constexpr std::size_t kMostHeaderBytes = std::size_t{32} << 10;

/// Who is trusted behind https, and who we are there. Files are PEM, read for each request; "": the system's
/// authorities, no certificate of ours.
struct ClientTls {
  std::string authorities;
  std::string certificate;
  std::string key;
};

struct ClientRequest {
  std::string method = "GET";
  std::string url;                  ///< http or https; sent as it stands
  std::string unix_socket;          ///< connects here instead of to the URL's host; "" for the host
  std::string connect_to;           ///< likewise: "host:port"; the server is known by the URL's name
  HeaderList headers;               ///< beside Host and "Connection: close"; a Host of one's own replaces that
  std::string body;                 ///< sent with POST, PUT and PATCH, and with DELETE unless empty
  os::Millis patience{30'000};      ///< how long the other side may do nothing: of connecting and of each wait for more
  std::size_t max_body = 0;         ///< a success with a larger body is an error
  std::optional<os::Millis> quiet;  ///< instead of patience, once the answer's headers are there
  std::optional<os::Millis> limit;  ///< of all of it
  int cancel_fd = -1;               ///< readable, or closed at its other side: given up. -1: none
  bool verify = true;               ///< false: with https any certificate will do
  bool cut_body = false;            ///< of a larger body the rest is left, instead of an error
  ClientTls tls;
  std::string proxy;  ///< http, https or socks5; "": none
  /// Gets a success's body piece by piece instead, of any size; first "", as soon as it is known for one. May wait: the
  /// other side waits then too. False: enough, the answer is complete. Thread: the one that sends.
  std::function<bool(std::string_view piece)> on_piece;
};

struct ClientAnswer {
  int status = 0;
  std::string body;
  std::string redirect;  ///< where it leads, absolute; "": nowhere
  std::optional<std::chrono::seconds> retry_after;
};

/// Uses no proxy but a request's and no setting of the environment, follows no redirection, takes no content encoding,
/// and keeps no connection. Servers behind https need a certificate the system trusts for their name, unless told
/// otherwise.
class Client {
 public:
  virtual ~Client() = default;
  /// Thread: one at a time. Errors: one sentence for people, without the URL and the same each time for the same
  /// trouble; kUnreachable, kTimeout and kCancelled (by Stop or cancel_fd), kInvalid for a URL that cannot be used,
  /// else kUncertain: no answer, one larger than its bounds, or one that makes no sense.
  virtual Result<ClientAnswer> Send(const ClientRequest& request) BERTH_EXCLUDES(loop_thread) = 0;
  /// Thread: any. Ends a Send that is under way with an error; before one begins it does nothing.
  virtual void Stop() = 0;
};
/// Errors: kUnsupported when libcurl is not installed (it is loaded here, for the first client), kIo when it cannot be
/// readied.
Result<std::unique_ptr<Client>> MakeClient();

}  // namespace berth::http

#endif  // BERTH_RPC_HTTP_HTTP_CLIENT_H_
