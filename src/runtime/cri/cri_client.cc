#include "runtime/cri/cri_client.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/text.h"
#include "cri.pb.h"
#include "runtime/cri/cri_messages.h"

namespace berth::cri {
namespace {

constexpr std::string_view kRuntimeService = "RuntimeService";
constexpr std::string_view kImageService = "ImageService";
constexpr std::string_view kApiVersion = "v1";
constexpr std::string_view kNotUpYet =
    "server is not initialized yet";       // containerd, while it starts: nothing was done
constexpr std::size_t kMostAddresses = 8;  // of a pod
constexpr std::size_t kLongestAddress = 64;
constexpr os::Millis kLongestExecStart{2'000};
// What containerd 1.6 does not survive: a start that is cancelled in its midst leaves a task that CRI cannot remove.
constexpr os::Millis kLongestStart{2'000};
constexpr os::Millis kBeyondGrace{10'000};  // for a runtime to notice that what it killed has ended

Result<void> GoneIsFine(Result<void> done) {
  if (!done && done.error().code == Code::kNotFound) return {};
  return done;
}

template <class Answer>
Result<void> Drop(Result<Answer> answer) {
  if (!answer) return std::unexpected(std::move(answer).error());
  return {};
}

}  // namespace

Result<std::string> SocketOf(std::string_view endpoint) {
  constexpr std::string_view kScheme = "unix://";
  const std::string_view path = endpoint.starts_with(kScheme) ? endpoint.substr(kScheme.size()) : endpoint;
  if (path.starts_with('/') && path.size() > 1) return std::string(path);
  return Fail(Code::kInvalid, "'" + Printable(endpoint) +
                                  "' is no endpoint of a container runtime: give a unix socket, as in "
                                  "unix:///run/containerd/containerd.sock");
}

Client::Client(std::string_view socket, const Timeouts& timeouts, int cancel_fd)
    : socket_(socket.starts_with("unix://") ? socket.substr(7) : socket),
      timeouts_(timeouts),
      cancel_fd_(cancel_fd),
      wire_(grpc::UnixConnector(socket_), socket_) {}

template <class Answer, class Request>
Result<Answer> Client::Ask(std::string_view service, std::string_view method, const Request& request, os::Millis limit,
                           std::string_view doing, const Caller& caller) const {
  std::string bytes;
  if (!request.SerializeToString(&bytes) || bytes.size() > kLongestMessage)
    return Fail(Code::kInvalid, std::string(doing) + ": the request is no valid message (text must be UTF-8)");
  std::string path = "/runtime.v1.";
  path.append(service).append("/").append(method);
  auto text = wire_.Call(path, bytes,
                         {.deadline = os::SystemClock().Now() + limit,
                          .cancel_fd = cancel_fd_,
                          .caller_fd = caller.fd,
                          .give_up_from = caller.counts_from});
  Count(method, text.has_value());
  if (!text) {
    if (text.error().message.contains(kNotUpYet)) text.error().code = Code::kUnreachable;
    return Wrap(std::move(text).error(), doing);
  }
  Answer answer;
  if (!answer.ParseFromString(*text))
    return Fail(Code::kUncertain, std::string(doing) + ": the runtime's answer cannot be read");
  return answer;
}

void Client::Count(std::string_view method, bool answered) const {
  const MutexLock lock(mutex_);
  runtime::CallCount& count = calls_[std::string(method)];
  ++count.calls;
  if (!answered) ++count.failed;
}

std::map<std::string, runtime::CallCount> Client::Calls() const {
  const MutexLock lock(mutex_);
  return {calls_.begin(), calls_.end()};
}

// ---- the runtime itself ----

Result<Version> Client::Handshake() const {
  const std::string doing = "container runtime at " + socket_;
  struct stat info{};
  if (::stat(socket_.c_str(), &info) != 0) {
    const int sys = errno;
    if (sys == ENOENT)
      return Fail(Code::kNotFound, doing +
                                       ": there is no such socket; start the runtime, or name its socket in "
                                       "containerRuntimeEndpoint");
    return FailErrno("look at", socket_, sys);
  }
  if (!S_ISSOCK(info.st_mode))
    return Fail(Code::kInvalid,
                doing + ": this is not a socket; name the runtime's socket in containerRuntimeEndpoint");
  pb::VersionRequest request;
  request.set_version("0.1.0");
  auto answer = Ask<pb::VersionResponse>(kRuntimeService, "Version", request, timeouts_.handshake, doing);
  if (!answer && answer.error().code == Code::kUnsupported)
    return Fail(Code::kUnsupported,
                doing +
                    ": it does not speak version v1 of the Container Runtime Interface (containerd 1.6 and CRI-O "
                    "1.20 are the first that do): " +
                    answer.error().message);
  if (!answer && (answer.error().code == Code::kUncertain || answer.error().code == Code::kTimeout))
    return Fail(answer.error().code, answer.error().message + "; is this a container runtime?");
  if (!answer) return std::unexpected(std::move(answer).error());
  if (answer->runtime_api_version() != kApiVersion)
    return Fail(Code::kUnsupported, doing + ": it speaks version '" + Printable(answer->runtime_api_version(), 40) +
                                        "' of the Container Runtime Interface; Berth speaks v1");
  return Version{
      .name = answer->runtime_name(), .version = answer->runtime_version(), .api = answer->runtime_api_version()};
}

Result<RuntimeStatus> Client::AskStatus() const {
  pb::StatusRequest request;
  request.set_verbose(true);  // containerd: its configuration too
  BERTH_TRY(const auto answer, Ask<pb::StatusResponse>(kRuntimeService, "Status", request, timeouts_.handshake,
                                                       "ask the runtime for its status"));
  RuntimeStatus out;
  for (const pb::RuntimeCondition& condition : answer.status().conditions())
    if (!condition.status())
      out.not_ready.push_back(Printable(condition.type(), 60) + ": " +
                              Printable(condition.message().empty() ? condition.reason() : condition.message(), 300));
  out.features.strict_groups = answer.features().supplemental_groups_policy();
  for (const pb::RuntimeHandler& handler : answer.runtime_handlers())
    if (handler.features().recursive_read_only_mounts()) out.features.recursive_read_only.insert(handler.name());
  out.features.cni_reads_annotations = CniHas(answer, "io.kubernetes.cri.pod-annotations");
  out.features.cni_limits_bandwidth = CniHas(answer, "bandwidth");
  out.features.cdi = EnablesCdi(answer);
  return out;
}

Result<std::optional<std::string>> Client::CgroupDriver() const {
  const auto answer = Ask<pb::RuntimeConfigResponse>(kRuntimeService, "RuntimeConfig", pb::RuntimeConfigRequest(),
                                                     timeouts_.handshake, "ask the runtime for its cgroup driver");
  if (!answer && answer.error().code == Code::kUnsupported) return std::nullopt;
  if (!answer) return std::unexpected(answer.error());
  return answer->linux().cgroup_driver() == pb::SYSTEMD ? "systemd" : "cgroupfs";
}

// ---- sandboxes ----

Result<std::string> Client::RunSandbox(const SandboxSpec& spec) const {
  pb::RunPodSandboxRequest request;
  Put(spec, *request.mutable_config());
  request.set_runtime_handler(spec.handler);
  BERTH_TRY(const auto answer, Ask<pb::RunPodSandboxResponse>(kRuntimeService, "RunPodSandbox", request,
                                                              timeouts_.usual * 2, "run the pod's sandbox"));
  return answer.pod_sandbox_id();
}

Result<std::vector<std::string>> Client::Addresses(std::string_view sandbox) const {
  pb::PodSandboxStatusRequest request;
  request.set_pod_sandbox_id(std::string(sandbox));
  BERTH_TRY(const auto answer,
            Ask<pb::PodSandboxStatusResponse>(kRuntimeService, "PodSandboxStatus", request,
                                              std::min(timeouts_.usual, kLongestList), "ask for the pod's addresses"));
  std::vector<std::string> out;
  const pb::PodSandboxNetworkStatus& network = answer.status().network();
  if (!network.ip().empty()) out.push_back(Printable(network.ip(), kLongestAddress));
  for (const pb::PodIP& more : network.additional_ips())
    if (!more.ip().empty() && out.size() < kMostAddresses) out.push_back(Printable(more.ip(), kLongestAddress));
  return out;
}

Result<void> Client::StopSandbox(std::string_view id) const {
  pb::StopPodSandboxRequest request;
  request.set_pod_sandbox_id(std::string(id));
  return GoneIsFine(Drop(Ask<pb::StopPodSandboxResponse>(kRuntimeService, "StopPodSandbox", request, timeouts_.usual,
                                                         "stop the pod's sandbox")));
}

Result<void> Client::RemoveSandbox(std::string_view id) const {
  pb::RemovePodSandboxRequest request;
  request.set_pod_sandbox_id(std::string(id));
  return GoneIsFine(Drop(Ask<pb::RemovePodSandboxResponse>(kRuntimeService, "RemovePodSandbox", request,
                                                           timeouts_.usual, "remove the pod's sandbox")));
}

Result<std::vector<Sandbox>> Client::Sandboxes(const Labels& labels, os::Millis patience) const {
  pb::ListPodSandboxRequest request;
  Put(labels, *request.mutable_filter()->mutable_label_selector());
  BERTH_TRY(const auto answer, Ask<pb::ListPodSandboxResponse>(kRuntimeService, "ListPodSandbox", request,
                                                               std::min(timeouts_.usual, patience), "list sandboxes"));
  std::vector<Sandbox> out;
  for (const pb::PodSandbox& item : answer.items()) out.push_back(TakeSandbox(item));
  return out;
}

// ---- containers ----

Result<std::string> Client::Create(std::string_view sandbox, const ContainerSpec& spec, const SandboxSpec& of) const {
  pb::CreateContainerRequest request;
  request.set_pod_sandbox_id(std::string(sandbox));
  Put(spec, *request.mutable_config());
  Put(of, *request.mutable_sandbox_config());
  BERTH_TRY(const auto answer, Ask<pb::CreateContainerResponse>(kRuntimeService, "CreateContainer", request,
                                                                timeouts_.usual, "create container " + spec.name));
  return answer.container_id();
}

Result<void> Client::Start(std::string_view id) const {
  pb::StartContainerRequest request;
  request.set_container_id(std::string(id));
  return Drop(Ask<pb::StartContainerResponse>(kRuntimeService, "StartContainer", request, timeouts_.usual,
                                              "start the container",
                                              {.fd = -1, .counts_from = os::SystemClock().Now() + kLongestStart}));
}

Result<void> Client::Stop(std::string_view id, std::chrono::seconds grace) const {
  pb::StopContainerRequest request;
  request.set_container_id(std::string(id));
  request.set_timeout(grace.count());
  return GoneIsFine(Drop(Ask<pb::StopContainerResponse>(kRuntimeService, "StopContainer", request, grace + kBeyondGrace,
                                                        "stop the container")));
}

Result<void> Client::Remove(std::string_view id) const {
  pb::RemoveContainerRequest request;
  request.set_container_id(std::string(id));
  return GoneIsFine(Drop(Ask<pb::RemoveContainerResponse>(kRuntimeService, "RemoveContainer", request, timeouts_.usual,
                                                          "remove the container")));
}

Result<std::vector<ContainerEntry>> Client::Containers(const Labels& labels, os::Millis patience) const {
  pb::ListContainersRequest request;
  Put(labels, *request.mutable_filter()->mutable_label_selector());
  BERTH_TRY(const auto answer, Ask<pb::ListContainersResponse>(kRuntimeService, "ListContainers", request,
                                                               std::min(timeouts_.usual, patience), "list containers"));
  std::vector<ContainerEntry> out;
  for (const pb::Container& item : answer.containers()) out.push_back(TakeContainer(item));
  return out;
}

Result<ContainerEntry> Client::Status(std::string_view id, os::Millis patience) const {
  pb::ContainerStatusRequest request;
  request.set_container_id(std::string(id));
  request.set_verbose(true);
  BERTH_TRY(const auto answer,
            Ask<pb::ContainerStatusResponse>(kRuntimeService, "ContainerStatus", request,
                                             std::min(timeouts_.usual, patience), "ask for the container's status"));
  return TakeStatus(answer);
}

Result<void> Client::Update(std::string_view id, const Resources& resources) const {
  pb::UpdateContainerResourcesRequest request;
  request.set_container_id(std::string(id));
  Put(resources, *request.mutable_linux());
  return Drop(Ask<pb::UpdateContainerResourcesResponse>(kRuntimeService, "UpdateContainerResources", request,
                                                        timeouts_.usual, "update the container's resources"));
}

Result<void> Client::ReopenLog(std::string_view id) const {
  pb::ReopenContainerLogRequest request;
  request.set_container_id(std::string(id));
  return GoneIsFine(Drop(Ask<pb::ReopenContainerLogResponse>(kRuntimeService, "ReopenContainerLog", request,
                                                             timeouts_.usual, "open the container's log anew")));
}

Result<ExecResult> Client::Exec(std::string_view id, const std::vector<std::string>& command,
                                std::chrono::seconds limit, int caller_fd) const {
  pb::ExecSyncRequest request;
  request.set_container_id(std::string(id));
  for (const std::string& word : command) request.add_cmd(word);
  request.set_timeout(limit.count());
  // Given up during the start, containerd 1.6 leaves the command running and its shim stuck for half a minute.
  BERTH_TRY(const auto answer,
            Ask<pb::ExecSyncResponse>(kRuntimeService, "ExecSync", request, limit + kBeyondGrace,
                                      "run a command in the container",
                                      {.fd = caller_fd, .counts_from = os::SystemClock().Now() + kLongestExecStart}));
  return ExecResult{.out = answer.stdout(), .err = answer.stderr(), .exit_code = answer.exit_code()};
}

Result<void> Client::Events(const std::function<bool(const std::string&)>& changed) const {
  BERTH_TRY(grpc::ClientStream stream,
            wire_.Open("/runtime.v1.RuntimeService/GetContainerEvents", {.cancel_fd = cancel_fd_}));
  BERTH_RETURN_IF_ERROR(stream.Write(pb::GetEventsRequest().SerializeAsString()));
  stream.EndWrites();
  for (;;) {
    BERTH_TRY(const std::optional<std::string> message, stream.Read());
    if (!message) return {};
    pb::ContainerEventResponse event;
    if (event.ParseFromString(*message) && !changed(event.container_id())) return {};
  }
}

// ---- images ----

Result<std::vector<Image>> Client::Images() const {
  BERTH_TRY(const auto answer, Ask<pb::ListImagesResponse>(kImageService, "ListImages", pb::ListImagesRequest(),
                                                           timeouts_.usual, "list images"));
  std::vector<Image> out;
  for (const pb::Image& image : answer.images()) out.push_back(TakeImage(image));
  return out;
}

Result<std::optional<Image>> Client::FindImage(std::string_view image) const {
  pb::ImageStatusRequest request;
  request.mutable_image()->set_image(std::string(image));
  BERTH_TRY(const auto answer, Ask<pb::ImageStatusResponse>(kImageService, "ImageStatus", request, timeouts_.usual,
                                                            "look for image " + Printable(image)));
  if (!answer.has_image()) return std::nullopt;
  return TakeImage(answer.image());
}

Result<std::string> Client::Pull(std::string_view image, const SandboxSpec& of, const Credentials* as) const {
  pb::PullImageRequest request;
  request.mutable_image()->set_image(std::string(image));
  Put(of.annotations, *request.mutable_image()->mutable_annotations());
  Put(of, *request.mutable_sandbox_config());
  if (as != nullptr) Put(*as, *request.mutable_auth());
  BERTH_TRY(const auto answer, Ask<pb::PullImageResponse>(kImageService, "PullImage", request, timeouts_.pull,
                                                          "pull image " + Printable(image)));
  return answer.image_ref();
}

}  // namespace berth::cri
