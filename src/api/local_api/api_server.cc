#include "api/local_api/api_server.h"

#include <utility>
#include <vector>

#include "api/local_api/routes.h"

namespace berth::api {

Result<std::unique_ptr<http::Server>> StartServer(const ServerOptions& options, Backend& backend) {
  http::ServerOptions serving;
  serving.limits.body = options.max_body_bytes;
  serving.limits.large_bodies = 2 * options.max_body_bytes;
  serving.refuse = &Refuse;
  serving.routes = Routes(backend);
  serving.on_lost_socket = options.on_lost_socket;
  std::vector<http::Listener> listeners;
  BERTH_TRY(http::Listener socket, http::ListenUnix(options.socket, options.group));
  listeners.push_back(std::move(socket));
  return http::Server::Start(std::move(serving), std::move(listeners));
}

Result<std::unique_ptr<http::Server>> StartMetricsServer(const std::string& address, std::uint16_t port,
                                                         Backend& backend) {
  constexpr std::size_t kMostCallers = 32;  // half of it is for callers over TCP
  http::ServerOptions serving;
  serving.limits.body = 1;
  serving.limits.connections = kMostCallers;
  serving.limits.workers = 2;
  serving.refuse = &Refuse;
  serving.routes.push_back(MetricsRoute(backend));
  std::vector<http::Listener> listeners;
  BERTH_TRY(http::Listener listener, http::ListenTcp(address, port, nullptr));
  listeners.push_back(std::move(listener));
  return http::Server::Start(std::move(serving), std::move(listeners));
}

}  // namespace berth::api
