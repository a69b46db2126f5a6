// The local API: HTTP/1.1 with JSON on a unix socket. docs/reference/api.md is its contract.
#ifndef BERTH_API_SERVER_H_
#define BERTH_API_SERVER_H_

#include <cstddef>
#include <memory>
#include <string>

#include "api/backend.h"
#include "base/result.h"

namespace berth::api {

struct ServerOptions {
  std::string socket;  ///< path; the folder exists. A stale socket of a dead server is replaced
  std::string group;   ///< group that may connect beside root; "" leaves the process's own
  std::size_t max_body_bytes = std::size_t{10} << 20;
};

/// HTTP status of an error code.
int HttpStatusOf(Code code);

/// Serves from its own threads for as long as it lives.
class Server {
 public:
  /// `backend` must outlive the server. The socket has mode 0660 from its first moment.
  /// Errors: kInUse when somebody already answers on that socket; kInvalid (path too long, unknown group);
  /// kPermission and kIo from the system, naming the socket.
  static Result<std::unique_ptr<Server>> Start(const ServerOptions& options, Backend& backend);
  /// Stops: calls in flight are answered first, then the socket file is removed.
  virtual ~Server() = default;
};

}  // namespace berth::api

#endif  // BERTH_API_SERVER_H_
