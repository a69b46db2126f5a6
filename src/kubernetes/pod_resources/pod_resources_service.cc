#include "kubernetes/pod_resources/pod_resources_service.h"

#include <utility>

#include "host/os/lock_file.h"
#include "host/os/path.h"
#include "kubernetes/pod_resources/pod_resources_responses.h"

namespace berth::pod_resources {
namespace {

constexpr unsigned kFolderMode = 0750;  // the kubelet's
constexpr unsigned kSocketMode = 0600;
constexpr std::size_t kLongestRequest = std::size_t{64} << 10;  // two names
constexpr std::uint32_t kMostStreams = 16;
constexpr std::size_t kMostConnections = 32;
constexpr std::size_t kMostCalls = 8;
constexpr os::Millis kLongestCall{30'000};

grpc::Status Unreadable() { return {grpc::StatusCode::kInternal, "the request cannot be read"}; }

}  // namespace

bool Calls::Admit() {
  const MutexLock lock(mutex_);
  return bucket_.Take(clock_.Now());
}

PodResourcesFigures Calls::figures() const {
  const MutexLock lock(mutex_);
  return figures_;
}

void Calls::Count(TriedCount PodResourcesFigures::* method, bool failed) {
  const MutexLock lock(mutex_);
  TriedCount& count = figures_.*method;
  ++count.tried;
  if (failed) ++count.failed;
}

/// `answer`: of request and snapshot, a message or a Status.
template <class Request, class Answer>
grpc::Reply Calls::Answered(const std::string& request, const Answer& answer) {
  if (!Admit()) return std::unexpected(grpc::Status(grpc::StatusCode::kResourceExhausted, "rejected by rate limit"));
  Request asked;
  if (!asked.ParseFromString(request)) return std::unexpected(Unreadable());
  return answer(asked, *snapshot_());
}

grpc::Reply Calls::List(const std::string& request) {
  return Answered<v1::ListPodResourcesRequest>(request, [&](const auto&, const NodeSnapshot& snapshot) -> grpc::Reply {
    Count(&PodResourcesFigures::list, false);
    return ListPods(snapshot, only_active_).SerializeAsString();
  });
}

grpc::Reply Calls::Allocatable(const std::string& request) {
  return Answered<v1::AllocatableResourcesRequest>(request,
                                                   [&](const auto&, const NodeSnapshot& snapshot) -> grpc::Reply {
                                                     Count(&PodResourcesFigures::get_allocatable, false);
                                                     return AllocatableOf(snapshot).SerializeAsString();
                                                   });
}

grpc::Reply Calls::Get(const std::string& request) {
  return Answered<v1::GetPodResourcesRequest>(
      request, [&](const v1::GetPodResourcesRequest& asked, const NodeSnapshot& snapshot) -> grpc::Reply {
        const PodSnapshot* const pod = FindPod(snapshot, asked.pod_namespace(), asked.pod_name());
        const bool found = pod != nullptr && IsActive(snapshot, *pod);
        Count(&PodResourcesFigures::get, !found);
        if (!found)
          return std::unexpected(grpc::Status(grpc::StatusCode::kUnknown, "pod " + asked.pod_name() + " in namespace " +
                                                                              asked.pod_namespace() + " not found"));
        v1::GetPodResourcesResponse out;
        *out.mutable_pod_resources() = ResourcesOf(snapshot, *pod);
        return out.SerializeAsString();
      });
}

grpc::Reply Calls::ListAlpha(const std::string& request) {
  return Answered<v1::ListPodResourcesRequest>(request, [&](const auto&, const NodeSnapshot& snapshot) -> grpc::Reply {
    {
      const MutexLock lock(mutex_);
      ++figures_.list_alpha;
    }
    return ListPodsAlpha(snapshot).SerializeAsString();
  });
}

Result<std::unique_ptr<Service>> Service::Start(const ServiceOptions& options, SnapshotGetter snapshot) {
  BERTH_RETURN_IF_ERROR(os::MakeDirs(os::FolderOf(options.socket), kFolderMode));
  std::unique_ptr<Service> out(
      new Service(std::make_unique<Calls>(std::move(snapshot), options.only_active, os::SystemClock())));
  Calls* const calls = out->calls_.get();
  using Method = grpc::Reply (Calls::*)(const std::string&);
  const auto handler = [calls](Method method) -> grpc::UnaryHandler {
    return [calls, method](const grpc::ServerCall&, const std::string& request) { return (calls->*method)(request); };
  };
  BERTH_TRY(
      out->server_,
      grpc::Server::Start({.unary = {{"/v1.PodResourcesLister/List", handler(&Calls::List)},
                                     {"/v1.PodResourcesLister/GetAllocatableResources", handler(&Calls::Allocatable)},
                                     {"/v1.PodResourcesLister/Get", handler(&Calls::Get)},
                                     {"/v1alpha1.PodResourcesLister/List", handler(&Calls::ListAlpha)}}},
                          {.most_calls = kMostCalls,
                           .most_connections = kMostConnections,
                           .limits = {.received = kLongestRequest, .streams = kMostStreams},
                           .longest_call = kLongestCall,
                           .on_lost_socket = options.on_lost_socket}));
  BERTH_RETURN_IF_ERROR(out->server_->Listen(options.socket, kSocketMode));
  return out;
}

}  // namespace berth::pod_resources
