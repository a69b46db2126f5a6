// The local API: HTTP/1.1 with JSON on a unix socket. docs/reference/api.md is its contract.
#ifndef BERTH_API_LOCAL_API_API_SERVER_H_
#define BERTH_API_LOCAL_API_API_SERVER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "api/local_api/backend.h"
#include "base/result.h"
#include "rpc/http/call.h"
#include "rpc/http/http_server.h"

namespace berth::api {

struct ServerOptions {
  std::string socket;  ///< path; the folder exists. A stale socket of a dead server is replaced
  std::string group;   ///< group that may connect beside root; "" leaves the process's own
  std::size_t max_body_bytes = std::size_t{10} << 20;
  http::LostSocketTeller on_lost_socket = nullptr;  ///< as http::ServerOptions has it
};

/// Serves from its own threads as long as the server lives: stopping it answers calls in flight first, then removes the
/// socket file. `backend` must outlive it. The socket has mode 0660 from its first moment. Errors: of http::ListenUnix.
Result<std::unique_ptr<http::Server>> StartServer(const ServerOptions& options, Backend& backend);

/// Serves GET /metrics and nothing else over TCP, likewise. Errors: of http::ListenTcp.
Result<std::unique_ptr<http::Server>> StartMetricsServer(const std::string& address, std::uint16_t port,
                                                         Backend& backend);

}  // namespace berth::api

#endif  // BERTH_API_LOCAL_API_API_SERVER_H_
