#include "runtime/cri/cri_starter.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <utility>

#include "base/text.h"
#include "host/os/append_file.h"
#include "host/os/clock.h"
#include "host/os/input.h"
#include "host/os/lock_file.h"
#include "runtime/cri/cri_specs.h"
#include "runtime/cri/log_keeper.h"
#include "runtime/cri/pod_names.h"
#include "runtime/cri/pull_secrets.h"
#include "runtime/lifecycle/device_grants.h"
#include "runtime/lifecycle/env.h"

namespace berth::cri {
namespace {

using runtime::ContainerState;
using runtime::ContainerStatus;
using runtime::StartRequest;

constexpr int kCreations = 4;            // of one attempt, each with newer CPUs
constexpr std::size_t kMostRefused = 3;  // sandboxes of a pod
constexpr int kNameTries = 5;            // of a start, while a name is taken
constexpr os::Millis kBetweenTries{200};
constexpr unsigned kPublic = 0755;
constexpr const char* kHosts = "/etc/hosts";

/// A call that somebody gave up, an earlier berthd perhaps, is still at it or has done it meanwhile: in the words of
/// containerd and of CRI-O.
bool NameIsTaken(const Error& error) {
  return error.code == Code::kConflict || error.message.contains("reserved") ||
         error.message.contains("is already in use");
}

ContainerStatus StatusFor(const StartRequest& request, ContainerState state) {
  ContainerStatus out;
  out.pod_uid = request.pod_uid;
  out.container = request.container.name;
  out.attempt = request.attempt;
  out.state = state;
  return out;
}

/// "": it is not there. Errors: it is, and cannot be read.
Result<std::string> NodesFile(const std::string& path) {
  auto text = os::ReadInput(path);
  if (!text && text.error().code == Code::kNotFound) return std::string();
  return text;
}

}  // namespace

std::unexpected<Starter::NotStarted> Starter::Failed(const char* reason, Error error) {
  return std::unexpected(NotStarted{.reason = reason, .error = std::move(error)});
}

void Starter::Run(const StartRequest& request) {
  auto done = Try(request);
  shared_.LookSoon();
  if (done) return;
  shared_.DoubtAfter(request.pod_uid, done.error().error);
  shared_.SuspectSandboxes();
  ContainerStatus status = StatusFor(request, ContainerState::kNotStarted);
  status.reason = std::move(done.error().reason);
  const Code code = done.error().error.code;
  status.message = std::move(done.error().error.message);
  shared_.Tell(std::move(status));
  if (code != Code::kUnreachable && code != Code::kUncertain && code != Code::kCancelled) return;
  const MutexLock lock(shared_.mutex);  // tried again when it answers
  shared_.unanswered.Add(request.pod_uid, os::SystemClock().Now());
}

Starter::Outcome<ContainerStatus> Starter::Try(const StartRequest& asked) {
  if (auto made = os::MakeFolderOf(asked.log_path); !made) return Failed("CreateContainerError", made.error());
  auto of = SandboxFor(asked);
  if (!of) return Failed("FailedCreatePodSandBox", of.error());
  auto sandbox = EnsureSandbox(asked, *of);
  if (!sandbox) return Failed("FailedCreatePodSandBox", sandbox.error());
  const auto completed = Complete(asked, *sandbox);
  if (!completed) return Failed("CreateContainerConfigError", completed.error());
  const StartRequest& request = *completed;
  auto earlier = EarlierTry(request);
  if (!earlier) return Failed("CreateContainerError", earlier.error());
  if (*earlier) return **earlier;
  auto image = EnsureImage(request, *of);
  if (!image) return std::unexpected(std::move(image).error());
  if (std::string problem = RootProblem(request.container.security, *image); !problem.empty())
    return Failed("CreateContainerConfigError", {.code = Code::kInvalid, .message = std::move(problem)});
  auto started = CreateAndStart(request, *sandbox, *of, image->id);
  for (int again = 1; again < kNameTries && !started && NameIsTaken(started.error().error); ++again) {
    os::SleepFor(kBetweenTries);
    earlier = EarlierTry(request);  // removes what was made late
    if (!earlier) return Failed("CreateContainerError", earlier.error());
    if (*earlier) return **earlier;
    started = CreateAndStart(request, *sandbox, *of, image->id);
  }
  return started;
}

/// The newest CPUs of a container: they may have changed since it was asked for.
std::string Starter::CpusFor(const StartRequest& request) {
  const MutexLock lock(shared_.mutex);
  return shared_.containers.Wanted(request.pod_uid, request.container.name);
}

/// The pod's sandbox; a new one when there is none that is ready. What other sandboxes there are is removed.
Result<std::string> Starter::EnsureSandbox(const StartRequest& request, SandboxSpec spec) {
  const std::string& uid = request.pod_uid;
  const Client& client = shared_.client;
  {
    const MutexLock lock(shared_.mutex);
    if (auto usable = shared_.sandboxes.Usable(uid)) return *std::move(usable);
  }
  SandboxPlan plan;
  for (bool first = true;; first = false) {
    BERTH_TRY(const std::vector<Sandbox> found, client.Sandboxes(shared_.LabelsOfPod(uid)));
    {
      const MutexLock lock(shared_.mutex);
      plan = shared_.sandboxes.Plan(uid, found);
    }
    BERTH_RETURN_IF_ERROR(RemoveOthers(plan));
    if (!plan.use.empty()) break;
    spec.attempt = plan.attempt;
    auto made = client.RunSandbox(spec);
    if (made) {
      plan.use = *std::move(made);
      break;
    }
    const MutexLock lock(shared_.mutex);
    shared_.sandboxes.NotMade(uid, plan.attempt);
    if (!first || !NameIsTaken(made.error())) return made;  // else another name at once
  }
  const MutexLock lock(shared_.mutex);
  shared_.sandboxes.Made(uid, plan.use, plan.attempt);
  shared_.WakeLoop();  // the sandbox has a group now
  return plan.use;
}

/// Of a first attempt.
Result<SandboxSpec> Starter::SandboxFor(const StartRequest& request) const {
  const CriOptions& options = shared_.options;
  SandboxSpec out = SandboxOf(request, options.owner, 0);
  if (!request.place.pod) return out;
  const Pod& pod = *request.place.pod;
  BERTH_TRY(PodNames names, NamesOf(pod, options.dns.cluster_domain));
  out.hostname = std::move(names.kernel);
  std::string resolv_conf;
  if (!options.dns.resolv_conf.empty() && pod.dns_policy != "None") {
    BERTH_TRY(resolv_conf, NodesFile(options.dns.resolv_conf));
  }
  out.dns = DnsOf(pod, options.dns, resolv_conf);
  if (pod.runtime_class.empty()) return out;
  const auto handler = options.runtime_handlers.find(pod.runtime_class);
  if (handler == options.runtime_handlers.end())
    return Fail(Code::kInvalid, "RuntimeClass \"" + Printable(pod.runtime_class, 80) +
                                    "\" not found: name its handler in runtimeClasses of Berth's settings");
  out.handler = handler->second;
  return out;
}

/// What is known only when there is a sandbox: the pod's addresses, in variables and in its /etc/hosts.
Result<StartRequest> Starter::Complete(StartRequest request, const std::string& sandbox) {
  BERTH_RETURN_IF_ERROR(SettleSecurity(request));
  if (!request.devices.cdi_devices.empty()) {  // it may have been upgraded since it was asked last
    BERTH_TRY(const Version version, shared_.client.Handshake());
    BERTH_TRY(const RuntimeStatus status, shared_.client.AskStatus());
    if (std::string problem = CdiProblem(version.name, version.version, status.features.cdi); !problem.empty())
      return Fail(Code::kUnsupported, std::move(problem));
  }
  if (!request.place.pod) return request;
  const Pod& pod = *request.place.pod;
  runtime::NodeFacts facts = request.place.facts;
  if (!pod.host_network) {
    BERTH_TRY(facts.pod_ips, AddressesOf(request.pod_uid, sandbox));
  }
  const Container* written = nullptr;  // without the values of variables in its command
  ForEachContainer(pod, [&](const Container& container, ContainerKind) {
    if (container.name == request.container.name) written = &container;
  });
  if (written != nullptr && facts != request.place.facts) {
    BERTH_TRY(runtime::Environment own, runtime::ResolveEnv(pod, *written, facts));
    request.env = runtime::WithDevices(request.devices, std::move(own));
    BERTH_TRY(Container expanded, runtime::ExpandCommand(*written, request.env));
    request.container.command = std::move(expanded.command);
    request.container.args = std::move(expanded.args);
    request.place.facts = facts;
  }
  BERTH_RETURN_IF_ERROR(AddHosts(request, facts.pod_ips));
  return request;
}

Result<std::vector<std::string>> Starter::AddressesOf(const std::string& uid, const std::string& sandbox) {
  {
    const MutexLock lock(shared_.mutex);
    if (auto known = shared_.sandboxes.Addresses(uid); !known.empty()) return known;
  }
  BERTH_TRY(std::vector<std::string> addresses, shared_.client.Addresses(sandbox));
  const MutexLock lock(shared_.mutex);
  shared_.sandboxes.SetAddresses(uid, sandbox, addresses);
  return addresses;
}

/// The pod's own /etc/hosts, unless the container mounts something there itself.
Result<void> Starter::AddHosts(StartRequest& request, const std::vector<std::string>& addresses) const {
  const CriOptions& options = shared_.options;
  const Pod& pod = *request.place.pod;
  const auto is_hosts = [](const runtime::BoundMount& mount) { return mount.container_path == kHosts; };
  if (options.pod_files.empty() || std::ranges::any_of(request.place.mounts, is_hosts)) return {};
  if (addresses.empty() && !pod.host_network) return {};
  BERTH_TRY(const PodNames names, NamesOf(pod, options.dns.cluster_domain));
  std::string of_node;
  if (pod.host_network) {
    BERTH_TRY(of_node, NodesFile(kHosts));
  }
  const std::string folder = options.pod_files + "/" + pod.uid;
  BERTH_RETURN_IF_ERROR(os::MakeDirs(folder, kPublic));
  const std::string file = folder + "/.hosts";  // no name of a volume
  std::ofstream out(file, std::ios::trunc);
  out << HostsOf(pod, names, addresses, of_node);
  if (!out.flush()) return FailErrno("write", file, errno);
  request.place.mounts.push_back({.container_path = kHosts, .host_path = file, .own_files = options.se_linux});
  return {};
}

/// Profiles as the runtime finds them; mounts that this handler can make read-only with all below them.
Result<void> Starter::SettleSecurity(StartRequest& request) {
  SecurityContext& security = request.container.security;
  const CriOptions& options = shared_.options;
  if (security.seccomp == "Localhost" && !options.seccomp_dir.empty())
    security.seccomp_localhost = options.seccomp_dir + "/" + security.seccomp_localhost;
  std::string handler;
  if (request.place.pod)
    if (const auto found = options.runtime_handlers.find(request.place.pod->runtime_class);
        found != options.runtime_handlers.end())
      handler = found->second;
  for (runtime::BoundMount& mount : request.place.mounts) mount.own_files = mount.own_files && options.se_linux;
  const MutexLock lock(shared_.mutex);
  const bool can = shared_.recursive_read_only.contains(handler);
  for (runtime::BoundMount& mount : request.place.mounts) {
    if (mount.recursive_read_only == "Enabled" && !can)
      return Fail(Code::kInvalid, "recursiveReadOnly: Enabled of the mount at " + Printable(mount.container_path, 80) +
                                      ": the container runtime cannot do it; set IfPossible, or take it out");
    if (mount.recursive_read_only == "IfPossible") mount.recursive_read_only = can ? "Enabled" : "Disabled";
  }
  return {};
}

/// What the runtime refuses to remove stays beside the new one: nothing of it runs. Not so many times, each may hold an
/// address of the node's network.
Result<void> Starter::RemoveOthers(const SandboxPlan& plan) {
  std::vector<Ender::Refusal> refused;
  for (const Sandbox& sandbox : plan.remove) {
    BERTH_TRY(std::string words, ender_.RemoveSandbox(sandbox));
    if (!words.empty()) refused.push_back({sandbox, std::move(words)});
  }
  ender_.TakeRefusals(refused);
  if (refused.size() < kMostRefused || !plan.use.empty()) return {};
  return Fail(Code::kInternal, std::to_string(refused.size()) +
                                   " earlier sandboxes of the pod are not removed by the runtime, and no more are made "
                                   "before that: " +
                                   refused.back().words);
}

/// What an earlier try of the same attempt has come to, when its answer is missing. What was only created is removed.
Result<std::optional<ContainerStatus>> Starter::EarlierTry(const StartRequest& request) {
  const Client& client = shared_.client;
  {
    const MutexLock lock(shared_.mutex);
    if (!shared_.sandboxes.doubtful(request.pod_uid)) return std::nullopt;
  }
  BERTH_TRY(const std::vector<ContainerEntry> list, client.Containers(shared_.LabelsOfPod(request.pod_uid)));
  std::optional<ContainerStatus> out;
  for (const ContainerEntry& listed : list) {
    if (listed.name != request.container.name || static_cast<int>(listed.attempt) != request.attempt) continue;
    if (listed.state == ContainerEntry::State::kCreated) {
      BERTH_RETURN_IF_ERROR(client.Remove(listed.id));
      continue;
    }
    BERTH_TRY(const ContainerEntry entry, client.Status(listed.id));
    out = StatusOf(entry);
    if (out) shared_.Took(*out, entry.resources ? std::optional(entry.resources->cpus) : std::nullopt);
  }
  const MutexLock lock(shared_.mutex);
  shared_.sandboxes.Sure(request.pod_uid);
  return out;
}

Starter::Outcome<Image> Starter::EnsureImage(const StartRequest& request, const SandboxSpec& of) {
  const Container& container = request.container;
  if (container.image_pull_policy == "Always") return Pull(request, of);
  auto found = shared_.client.FindImage(container.image);
  if (!found) return Failed("ImageInspectError", found.error());
  if (*found) return **std::move(found);
  if (container.image_pull_policy == "Never")
    return Failed("ErrImageNeverPull", {.code = Code::kNotFound,
                                        .message = "image " + Printable(container.image) +
                                                   " is not present with pull policy of Never; import it, or set "
                                                   "imagePullPolicy: IfNotPresent"});
  return Pull(request, of);
}

Starter::Outcome<Image> Starter::Pull(const StartRequest& request, const SandboxSpec& of) {
  const Container& container = request.container;
  auto pulled = PullWithSecrets(request, of);
  if (!pulled) return Failed("ErrImagePull", pulled.error());
  Image out{.id = pulled->empty() ? container.image : *std::move(pulled)};
  if (!container.security.run_as_non_root.value_or(false)) return out;
  auto found = shared_.client.FindImage(out.id);  // for its user
  if (!found) return Failed("ImageInspectError", found.error());
  return *found ? **std::move(found) : out;
}

/// With each of the pod's credentials for this registry until one will do.
Result<std::string> Starter::PullWithSecrets(const StartRequest& request, const SandboxSpec& sandbox) {
  const std::string& image = request.container.image;
  PullSecrets secrets;
  if (request.place.pod) secrets = PullSecretsFor(*request.place.pod, image, request.place.facts);
  if (!secrets.problems.empty()) {
    const MutexLock lock(shared_.mutex);
    shared_.notices.push_back({.reason = "FailedToRetrieveImagePullSecret",
                               .pod_uid = request.pod_uid,
                               .message = Join(secrets.problems, "; ") + "; the image is pulled without"});
  }
  if (secrets.credentials.empty()) return shared_.client.Pull(image, sandbox, nullptr);
  Result<std::string> pulled;
  for (const Credentials& credentials : secrets.credentials)
    if (pulled = shared_.client.Pull(image, sandbox, &credentials); pulled) break;
  return pulled;
}

Starter::Outcome<ContainerStatus> Starter::CreateAndStart(const StartRequest& request, const std::string& sandbox,
                                                          const SandboxSpec& of, const std::string& image) {
  ContainerSpec spec = ContainerOf(request, shared_.options.owner);
  spec.image = image;
  spec.resources = ResourcesOf(request.place.values, request.oom_score_adj, request.place.v2);
  for (int creation = 1;; ++creation) {
    const std::string cpus = CpusFor(request);
    spec.resources.cpus = cpus;
    auto id = shared_.client.Create(sandbox, spec, of);
    if (!id) {
      const MutexLock lock(shared_.mutex);
      shared_.sandboxes.Doubt(request.pod_uid);  // one of this name may be there, or come yet
      return Failed("CreateContainerError", std::move(id).error());
    }
    auto started = StartCreated(request, *id, cpus);
    if (!started) return std::unexpected(std::move(started).error());
    if (*started) return **std::move(started);
    if (creation == kCreations)
      return Failed("RunContainerError", {.code = Code::kBusy, .message = "its CPUs change all the time"});
  }
}

/// nullopt: it could not be started on CPUs it shall not have any more; nothing of it is left.
Starter::Outcome<std::optional<ContainerStatus>> Starter::StartCreated(const StartRequest& request,
                                                                       const std::string& id, const std::string& cpus) {
  const auto started = shared_.client.Start(id);
  const auto entry = shared_.client.Status(id);
  std::optional<ContainerStatus> status = entry ? StatusOf(*entry) : std::nullopt;
  const bool ran = status && status->state != ContainerState::kCreating;
  if (!started && !(ran && status->state == ContainerState::kRunning)) {
    const bool stale = !MayBeDone(started.error().code) && CpusFor(request) != cpus;
    if (!ran || stale) {
      const auto removed = shared_.client.Remove(id);
      if (stale && removed) return std::nullopt;
      return Failed("RunContainerError", started.error());
    }
    if (status->message.empty() || status->exit_code == runtime::kStartErrorExitCode)
      status->message = started.error().message;
  }
  if (!status) status = Presumed(request, id);
  status->log_path = request.log_path;
  if (const std::string& links = shared_.options.log_links; !links.empty())
    if (auto linked = LinkLog(links, request, id); !linked) status->warnings.push_back(linked.error().message);
  shared_.Took(*status, cpus);
  return status;
}

/// It was started and cannot be asked for: the next look tells more.
ContainerStatus Starter::Presumed(const StartRequest& request, const std::string& id) {
  const MutexLock lock(shared_.mutex);
  shared_.sandboxes.Doubt(request.pod_uid);
  ContainerStatus out = StatusFor(request, ContainerState::kRunning);
  out.id = id;
  return out;
}

}  // namespace berth::cri
