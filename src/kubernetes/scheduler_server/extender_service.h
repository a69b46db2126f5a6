// The HTTP side of an extender: calls become questions to the cluster's books, and are counted.
#ifndef BERTH_KUBERNETES_SCHEDULER_SERVER_EXTENDER_SERVICE_H_
#define BERTH_KUBERNETES_SCHEDULER_SERVER_EXTENDER_SERVICE_H_

#include <vector>

#include "base/mutex.h"
#include "host/os/clock.h"
#include "kubernetes/scheduler_server/cluster.h"
#include "kubernetes/scheduler_server/figures.h"
#include "rpc/http/call.h"

namespace berth::scheduler_server {

/// Thread: any.
class Service {
 public:
  /// Both outlive it.
  explicit Service(Cluster& cluster, const os::Clock& clock = os::SystemClock()) : cluster_(cluster), clock_(clock) {}

  /// POST /filter and /prioritize, GET /healthz, /readyz and /metrics. They refer to the service.
  ///
  /// kube-scheduler shows nobody the text of an answer that is not 200. So a filter call that cannot be answered gets
  /// 200 and the extender's own error, unless not all of the cluster is known yet (503).
  std::vector<http::Route> Routes();

 private:
  struct Reply {
    http::Answer answer;
    Outcome outcome = Outcome::kAnswered;
  };
  Reply Filter(const http::Request& request);
  Reply Prioritize(const http::Request& request);
  http::Answer Counted(Verb verb, Reply (Service::*handle)(const http::Request&), const http::Request& request)
      BERTH_EXCLUDES(mutex_);
  http::Answer Ready() const;
  http::Answer Metrics() BERTH_EXCLUDES(mutex_);

  Cluster& cluster_;
  const os::Clock& clock_;
  Mutex mutex_;
  CallFigures calls_ BERTH_GUARDED_BY(mutex_);
};

}  // namespace berth::scheduler_server

#endif  // BERTH_KUBERNETES_SCHEDULER_SERVER_EXTENDER_SERVICE_H_
