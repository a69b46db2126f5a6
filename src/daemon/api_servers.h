// Servers of a daemon: the local API on its socket, metrics over TCP, the live page, and the pod resources API.
#ifndef BERTH_DAEMON_API_SERVERS_H_
#define BERTH_DAEMON_API_SERVERS_H_

#include <memory>

#include "api/local_api/api_server.h"
#include "api/web/web_server.h"
#include "base/loop_thread.h"
#include "base/result.h"
#include "daemon/daemon_host.h"
#include "daemon/local_api.h"
#include "daemon/pod_manager.h"
#include "daemon/published.h"
#include "daemon/settings.h"
#include "daemon/snapshot_builder.h"
#include "host/event_loop/loop.h"
#include "kubernetes/pod_resources/pod_resources_service.h"
#include "manifest/manifest.h"
#include "node/core/node_core.h"
#include "rpc/http/call.h"
#include "rpc/http/http_server.h"
#include "telemetry/events/log.h"
#include "telemetry/history/history.h"

namespace berth::daemon {

/// What they answer from. All outlive them; the loop is closed before they go.
struct ApiServersParts {
  const Settings& settings;
  event_loop::Loop& loop;
  const Published<LoopState>& published;
  core::Node& node;
  PodManager& manager;
  DaemonHost& host;
  history::History& history;
  events::Log& log;
  HealthDoor health;
  http::LostSocketTeller on_lost_socket;
};

/// Thread: one; the servers have their own.
class ApiServers {
 public:
  explicit ApiServers(ApiServersParts parts);
  ApiServers(const ApiServers&) = delete;
  ApiServers& operator=(const ApiServers&) = delete;

  /// Starts them, once. Errors: of the local API and of metrics; what was started before that serves until this is
  /// destroyed. Who only wants to look does not keep pods from running: without the live page or the pod resources API
  /// berthd goes on, with an event that says why.
  Result<void> Open() BERTH_REQUIRES(loop_thread);

 private:
  std::shared_ptr<const NodeSnapshot> NewestSnapshot() const;
  void OpenPodResources();
  void OpenWeb();
  Result<void> OpenMetrics();

  // Destroyed in reverse order: the servers before what they ask.
  ApiServersParts parts_;
  std::unique_ptr<pod_resources::Service> pod_resources_;  // null: not asked for, or its socket is somebody else's
  std::unique_ptr<LocalApi> api_;
  std::unique_ptr<http::Server> server_;
  std::unique_ptr<http::Server> metrics_server_;  // null: metrics are not served over TCP
  std::unique_ptr<web::Page> web_;                // null: not asked for, or it could not be served
};

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_API_SERVERS_H_
