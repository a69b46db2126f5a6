// An HTTP/1.1 server of bounded size: every number a stranger could make large has a limit and every wait a deadline.
// docs/design/http.md says how.
#ifndef BERTH_RPC_HTTP_HTTP_SERVER_H_
#define BERTH_RPC_HTTP_HTTP_SERVER_H_

#include <memory>
#include <vector>

#include "base/result.h"
#include "rpc/http/call.h"
#include "rpc/http/listener.h"

namespace berth::http {

/// Serves from threads of its own for as long as it lives. One call a connection.
class Server {
 public:
  /// Errors: kInvalid for a certificate or key that cannot be used; kIo when the system gives no thread or descriptor.
  static Result<std::unique_ptr<Server>> Start(ServerOptions options, std::vector<Listener> listeners);
  /// Stops: calls in flight are answered first (streams end where they are), then their own socket files are removed.
  virtual ~Server() = default;
};

}  // namespace berth::http

#endif  // BERTH_RPC_HTTP_HTTP_SERVER_H_
