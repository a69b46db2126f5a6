#include "cri/client.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/text.h"
#include "cri.pb.h"

namespace berth::cri {
namespace {

namespace pb = ::runtime::v1;

constexpr std::string_view kRuntimeService = "RuntimeService";
constexpr std::string_view kImageService = "ImageService";
constexpr std::string_view kApiVersion = "v1";
constexpr os::Millis kLongestList{30'000};  // what is asked again and again has to be given up sooner
constexpr os::Millis kLongestExecStart{2'000};
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

// ---- values to messages ----

void Put(const Resources& from, pb::LinuxContainerResources& to) {
  to.set_cpu_period(from.cpu_period_us);
  to.set_cpu_quota(from.cpu_quota_us);
  to.set_cpu_shares(from.cpu_shares);
  to.set_memory_limit_in_bytes(from.memory_limit);
  to.set_memory_swap_limit_in_bytes(from.memory_swap_limit);
  to.set_oom_score_adj(from.oom_score_adj);
  to.set_cpuset_cpus(from.cpus);
  to.set_cpuset_mems(from.mems);
  for (const auto& [size, limit] : from.hugepages) {
    pb::HugepageLimit& put = *to.add_hugepage_limits();
    put.set_page_size(size);
    put.set_limit(limit);
  }
  for (const auto& [file, value] : from.unified) (*to.mutable_unified())[file] = value;
}

void PutNamespaces(bool host_network, pb::NamespaceOption& to) {
  to.set_network(host_network ? pb::NODE : pb::POD);
  to.set_pid(pb::CONTAINER);
  to.set_ipc(pb::POD);
}

template <class Map>
void PutMap(const Labels& from, Map& to) {
  for (const auto& [key, value] : from) to[key] = value;
}

void Put(const SandboxSpec& from, pb::PodSandboxConfig& to) {
  pb::PodSandboxMetadata& metadata = *to.mutable_metadata();
  metadata.set_name(from.name);
  metadata.set_namespace_(from.namespace_);
  metadata.set_uid(from.uid);
  metadata.set_attempt(from.attempt);
  if (!from.host_network) to.set_hostname(from.hostname);  // else it shares the host's
  to.set_log_directory(from.log_directory);
  PutMap(from.labels, *to.mutable_labels());
  PutMap(from.annotations, *to.mutable_annotations());
  pb::LinuxPodSandboxConfig& of_linux = *to.mutable_linux();
  of_linux.set_cgroup_parent(from.cgroup_parent);
  pb::LinuxSandboxSecurityContext& security = *of_linux.mutable_security_context();
  security.set_privileged(from.privileged);
  security.mutable_seccomp()->set_profile_type(pb::SecurityProfile::RuntimeDefault);
  PutNamespaces(from.host_network, *security.mutable_namespace_options());
}

void Put(const SecurityContext& from, pb::LinuxContainerSecurityContext& to) {
  to.set_privileged(from.privileged.value_or(false));
  to.set_readonly_rootfs(from.read_only_root.value_or(false));
  to.set_no_new_privs(!from.allow_privilege_escalation.value_or(true));
  if (from.run_as_user) to.mutable_run_as_user()->set_value(*from.run_as_user);
  if (from.run_as_group) to.mutable_run_as_group()->set_value(*from.run_as_group);
  for (const std::string& name : from.add_capabilities) to.mutable_capabilities()->add_add_capabilities(name);
  for (const std::string& name : from.drop_capabilities) to.mutable_capabilities()->add_drop_capabilities(name);
  pb::SecurityProfile& seccomp = *to.mutable_seccomp();
  seccomp.set_profile_type(pb::SecurityProfile::Unconfined);
  if (from.seccomp == "RuntimeDefault") seccomp.set_profile_type(pb::SecurityProfile::RuntimeDefault);
  if (from.seccomp == "Localhost") {
    seccomp.set_profile_type(pb::SecurityProfile::Localhost);
    seccomp.set_localhost_ref(from.seccomp_localhost);
  }
  if (from.privileged.value_or(false)) return;
  for (const char* const path : {"/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list",
                                 "/proc/timer_stats", "/proc/sched_debug", "/proc/scsi", "/sys/firmware"})
    to.add_masked_paths(path);
  for (const char* const path :
       {"/proc/asound", "/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"})
    to.add_readonly_paths(path);
}

pb::MountPropagation PropagationOf(std::string_view text) {
  if (text == "HostToContainer") return pb::PROPAGATION_HOST_TO_CONTAINER;
  if (text == "Bidirectional") return pb::PROPAGATION_BIDIRECTIONAL;
  return pb::PROPAGATION_PRIVATE;
}

void Put(const ContainerSpec& from, pb::ContainerConfig& to) {
  to.mutable_metadata()->set_name(from.name);
  to.mutable_metadata()->set_attempt(from.attempt);
  to.mutable_image()->set_image(from.image);
  to.mutable_image()->set_user_specified_image(from.user_image);
  for (const std::string& word : from.command) to.add_command(word);
  for (const std::string& word : from.args) to.add_args(word);
  to.set_working_dir(from.working_dir);
  for (const auto& [name, value] : from.env) {
    pb::KeyValue& put = *to.add_envs();
    put.set_key(name);
    put.set_value(value);
  }
  for (const Mount& mount : from.mounts) {
    pb::Mount& put = *to.add_mounts();
    put.set_container_path(mount.container_path);
    put.set_host_path(mount.host_path);
    put.set_readonly(mount.read_only);
    put.set_propagation(PropagationOf(mount.propagation));
  }
  PutMap(from.labels, *to.mutable_labels());
  PutMap(from.annotations, *to.mutable_annotations());
  to.set_log_path(from.log_path);
  Put(from.resources, *to.mutable_linux()->mutable_resources());
  pb::LinuxContainerSecurityContext& security = *to.mutable_linux()->mutable_security_context();
  Put(from.security, security);
  PutNamespaces(from.host_network, *security.mutable_namespace_options());
}

// ---- messages to values ----

ContainerEntry::State StateOf(pb::ContainerState state) {
  switch (state) {
    case pb::CONTAINER_CREATED: return ContainerEntry::State::kCreated;
    case pb::CONTAINER_RUNNING: return ContainerEntry::State::kRunning;
    case pb::CONTAINER_EXITED: return ContainerEntry::State::kExited;
    default: return ContainerEntry::State::kUnknown;
  }
}

template <class Map>
Labels TakeMap(const Map& from) {
  return {from.begin(), from.end()};
}

Image TakeImage(const pb::Image& from) {
  Image out{.id = from.id(), .tags = {}, .digests = {}, .size = from.size()};
  out.tags.assign(from.repo_tags().begin(), from.repo_tags().end());
  out.digests.assign(from.repo_digests().begin(), from.repo_digests().end());
  if (from.has_uid()) out.uid = from.uid().value();
  out.user = from.username();
  return out;
}

/// The number after "pid": in the text a runtime answers to a verbose question (containerd and CRI-O: JSON).
int PidIn(std::string_view info) {
  constexpr std::string_view kKey = "\"pid\":";
  const std::size_t at = info.find(kKey);
  if (at == std::string_view::npos) return 0;
  info = Trim(info.substr(at + kKey.size(), 16));
  return ParseDecimal<int>(info.substr(0, info.find_first_not_of("0123456789"))).value_or(0);
}

Resources TakeResources(const pb::LinuxContainerResources& from) {
  Resources out;
  out.cpu_period_us = from.cpu_period();
  out.cpu_quota_us = from.cpu_quota();
  out.cpu_shares = from.cpu_shares();
  out.memory_limit = from.memory_limit_in_bytes();
  out.cpus = from.cpuset_cpus();
  out.mems = from.cpuset_mems();
  return out;
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
      wire_(wire::UnixConnector(socket_), socket_) {}

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
  if (!text) return Wrap(std::move(text).error(), doing);
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

Result<std::vector<std::string>> Client::NotReady() const {
  BERTH_TRY(const auto answer, Ask<pb::StatusResponse>(kRuntimeService, "Status", pb::StatusRequest(),
                                                       timeouts_.handshake, "ask the runtime for its status"));
  std::vector<std::string> out;
  for (const pb::RuntimeCondition& condition : answer.status().conditions())
    if (!condition.status())
      out.push_back(Printable(condition.type(), 60) + ": " +
                    Printable(condition.message().empty() ? condition.reason() : condition.message(), 300));
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
  BERTH_TRY(const auto answer, Ask<pb::RunPodSandboxResponse>(kRuntimeService, "RunPodSandbox", request,
                                                              timeouts_.usual * 2, "run the pod's sandbox"));
  return answer.pod_sandbox_id();
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

Result<std::vector<Sandbox>> Client::Sandboxes(const Labels& labels) const {
  pb::ListPodSandboxRequest request;
  PutMap(labels, *request.mutable_filter()->mutable_label_selector());
  BERTH_TRY(const auto answer,
            Ask<pb::ListPodSandboxResponse>(kRuntimeService, "ListPodSandbox", request,
                                            std::min(timeouts_.usual, kLongestList), "list sandboxes"));
  std::vector<Sandbox> out;
  for (const pb::PodSandbox& item : answer.items())
    out.push_back({.id = item.id(),
                   .uid = item.metadata().uid(),
                   .pod = item.metadata().namespace_() + "/" + item.metadata().name(),
                   .attempt = item.metadata().attempt(),
                   .ready = item.state() == pb::SANDBOX_READY,
                   .created_at_ns = item.created_at()});
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
                                              "start the container"));
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

Result<std::vector<ContainerEntry>> Client::Containers(const Labels& labels) const {
  pb::ListContainersRequest request;
  PutMap(labels, *request.mutable_filter()->mutable_label_selector());
  BERTH_TRY(const auto answer,
            Ask<pb::ListContainersResponse>(kRuntimeService, "ListContainers", request,
                                            std::min(timeouts_.usual, kLongestList), "list containers"));
  std::vector<ContainerEntry> out;
  for (const pb::Container& item : answer.containers()) {
    ContainerEntry& entry = out.emplace_back();
    entry.id = item.id();
    entry.sandbox_id = item.pod_sandbox_id();
    entry.name = item.metadata().name();
    entry.attempt = item.metadata().attempt();
    entry.state = StateOf(item.state());
    entry.labels = TakeMap(item.labels());
  }
  return out;
}

Result<ContainerEntry> Client::Status(std::string_view id) const {
  pb::ContainerStatusRequest request;
  request.set_container_id(std::string(id));
  request.set_verbose(true);
  BERTH_TRY(const auto answer, Ask<pb::ContainerStatusResponse>(kRuntimeService, "ContainerStatus", request,
                                                                timeouts_.usual, "ask for the container's status"));
  const pb::ContainerStatus& status = answer.status();
  ContainerEntry out;
  out.id = status.id();
  out.name = status.metadata().name();
  out.attempt = status.metadata().attempt();
  out.state = StateOf(status.state());
  out.labels = TakeMap(status.labels());
  out.started_at_ns = status.started_at();
  out.finished_at_ns = status.finished_at();
  out.exit_code = status.exit_code();
  out.reason = status.reason();
  out.message = Printable(status.message(), 2'000);
  out.log_path = status.log_path();
  if (const auto info = answer.info().find("info"); info != answer.info().end()) out.pid = PidIn(info->second);
  if (status.resources().has_linux()) out.resources = TakeResources(status.resources().linux());
  return out;
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
  BERTH_TRY(wire::ClientStream stream,
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

Result<std::string> Client::Pull(std::string_view image) const {
  pb::PullImageRequest request;
  request.mutable_image()->set_image(std::string(image));
  BERTH_TRY(const auto answer, Ask<pb::PullImageResponse>(kImageService, "PullImage", request, timeouts_.pull,
                                                          "pull image " + Printable(image)));
  return answer.image_ref();
}

}  // namespace berth::cri
