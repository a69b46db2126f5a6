// berth-scheduler: follows a cluster, and answers its scheduler over HTTP.
#ifndef BERTH_KUBERNETES_SCHEDULER_SERVER_SCHEDULER_H_
#define BERTH_KUBERNETES_SCHEDULER_SERVER_SCHEDULER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/loop_thread.h"
#include "base/result.h"
#include "host/event_loop/loop.h"
#include "kubernetes/kube_client/kube_watcher.h"
#include "kubernetes/scheduler_server/cluster.h"
#include "rpc/http/listener.h"
#include "telemetry/events/log.h"

namespace berth::scheduler_server {

struct SchedulerOptions {
  kube::Access access;
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;  ///< 0: any
  std::optional<http::TlsFiles> tls;
  ClusterOptions cluster;
  std::size_t threads = 2;  ///< that may work on one answer
  /// Two extenders that ask every few seconds are no burden, and an API server that is back is to be followed at once.
  kube::PaceOptions pace{.first = os::Millis{500}, .most = os::Millis{2'000}};
};

/// Blocks the signals that end it. Call before any thread is started.
void PrepareSignals();

/// Thread: the one that starts it, but for Stop.
class Scheduler {
 public:
  /// Listens, and begins to follow. `log` outlives it. Errors: of http::ListenTcp, http::Server::Start and
  /// kube::Watcher::Start, with the address.
  static Result<std::unique_ptr<Scheduler>> Start(SchedulerOptions options, events::Log& log)
      BERTH_ASSERTS(loop_thread);
  virtual ~Scheduler() = default;

  /// Until Stop, or SIGTERM or SIGINT where PrepareSignals was called. Errors: as event_loop::Loop::Run.
  virtual Result<void> Run() BERTH_REQUIRES(loop_thread) = 0;
  /// Thread: any.
  virtual void Stop() = 0;
  virtual std::uint16_t port() const = 0;
};

}  // namespace berth::scheduler_server

#endif  // BERTH_KUBERNETES_SCHEDULER_SERVER_SCHEDULER_H_
