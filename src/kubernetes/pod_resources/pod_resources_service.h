// The pod resources API on its socket: calls of v1 and v1alpha1, answered on the server's threads.
#ifndef BERTH_KUBERNETES_POD_RESOURCES_POD_RESOURCES_SERVICE_H_
#define BERTH_KUBERNETES_POD_RESOURCES_POD_RESOURCES_SERVICE_H_

#include <functional>
#include <memory>
#include <string>

#include "base/mutex.h"
#include "base/result.h"
#include "host/os/clock.h"
#include "kubernetes/pod_resources/token_bucket.h"
#include "model/node_figures.h"
#include "model/node_snapshot.h"
#include "rpc/grpc/grpc_server.h"

namespace berth::pod_resources {

/// The newest snapshot. Never null. Thread: any.
using SnapshotGetter = std::function<std::shared_ptr<const NodeSnapshot>()>;

/// The methods, with the one limit for all of them. Thread: any.
class Calls {
 public:
  /// `clock` outlives this.
  Calls(SnapshotGetter snapshot, bool only_active, const os::Clock& clock)
      : snapshot_(std::move(snapshot)), only_active_(only_active), clock_(clock) {}

  grpc::Reply List(const std::string& request);
  grpc::Reply Allocatable(const std::string& request);
  grpc::Reply Get(const std::string& request);
  grpc::Reply ListAlpha(const std::string& request);
  PodResourcesFigures figures() const BERTH_EXCLUDES(mutex_);

 private:
  bool Admit() BERTH_EXCLUDES(mutex_);
  void Count(TriedCount PodResourcesFigures::* method, bool failed) BERTH_EXCLUDES(mutex_);
  template <class Request, class Answer>
  grpc::Reply Answered(const std::string& request, const Answer& answer);

  const SnapshotGetter snapshot_;
  const bool only_active_;
  const os::Clock& clock_;
  mutable Mutex mutex_;
  TokenBucket bucket_ BERTH_GUARDED_BY(mutex_){100, 10};  // the kubelet's
  PodResourcesFigures figures_ BERTH_GUARDED_BY(mutex_);
};

struct ServiceOptions {
  std::string socket;                       ///< absolute; its folder is made (0750) if it is not there
  bool only_active = true;                  ///< List leaves out pods that are over
  grpc::LostSocketTeller on_lost_socket{};  ///< as grpc::ServerOptions has it
};

/// Thread: any.
class Service {
 public:
  /// Errors: kInUse: somebody listens there, who is left alone; else as grpc::Server::Listen, os::MakeDirs.
  static Result<std::unique_ptr<Service>> Start(const ServiceOptions& options, SnapshotGetter snapshot);
  PodResourcesFigures figures() const { return calls_->figures(); }

 private:
  explicit Service(std::unique_ptr<Calls> calls) : calls_(std::move(calls)) {}
  std::unique_ptr<Calls> calls_;
  std::unique_ptr<grpc::Server> server_;  // its handlers use the above
};

}  // namespace berth::pod_resources

#endif  // BERTH_KUBERNETES_POD_RESOURCES_POD_RESOURCES_SERVICE_H_
