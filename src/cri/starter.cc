#include "cri/starter.h"

#include <chrono>
#include <utility>

#include "base/text.h"
#include "cri/specs.h"
#include "os/append_file.h"
#include "os/clock.h"

namespace berth::cri {
namespace {

using runtime::ContainerState;
using runtime::ContainerStatus;
using runtime::StartRequest;

constexpr int kCreations = 4;                      // of one attempt, each with newer CPUs
constexpr std::chrono::seconds kLongestHook{600};  // every call has a deadline
constexpr std::size_t kMostRefused = 3;            // sandboxes of a pod
constexpr int kNameTries = 5;                      // of a start, while a name is taken
constexpr os::Millis kBetweenTries{200};

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

}  // namespace

std::unexpected<Starter::NotStarted> Starter::Failed(const char* reason, Error error) {
  return std::unexpected(NotStarted{.reason = reason, .error = std::move(error)});
}

void Starter::Run(const StartRequest& request) {
  auto done = Try(request);
  shared_.LookSoon();
  if (done) return;
  shared_.DoubtAfter(request.pod_uid, done.error().error);
  ContainerStatus status = StatusFor(request, ContainerState::kNotStarted);
  status.reason = std::move(done.error().reason);
  status.message = std::move(done.error().error.message);
  shared_.Tell(std::move(status));
}

Starter::Outcome<ContainerStatus> Starter::Try(const StartRequest& request) {
  if (auto made = os::MakeFolderOf(request.log_path); !made) return Failed("CreateContainerError", made.error());
  auto sandbox = EnsureSandbox(request);
  if (!sandbox) return Failed("FailedCreatePodSandBox", sandbox.error());
  auto earlier = EarlierTry(request);
  if (!earlier) return Failed("CreateContainerError", earlier.error());
  if (*earlier) return **earlier;
  auto image = EnsureImage(request.container);
  if (!image) return std::unexpected(std::move(image).error());
  if (std::string problem = RootProblem(request.container.security, *image); !problem.empty())
    return Failed("CreateContainerConfigError", {.code = Code::kInvalid, .message = std::move(problem)});
  auto started = CreateAndStart(request, *sandbox, image->id);
  for (int again = 1; again < kNameTries && !started && NameIsTaken(started.error().error); ++again) {
    os::SleepFor(kBetweenTries);
    earlier = EarlierTry(request);  // removes what was made late
    if (!earlier) return Failed("CreateContainerError", earlier.error());
    if (*earlier) return **earlier;
    started = CreateAndStart(request, *sandbox, image->id);
  }
  if (started && started->state == ContainerState::kRunning) RunPostStart(request, started->id);
  return started;
}

/// The container runs already and is told so; other containers of the pod wait, as with the kubelet.
void Starter::RunPostStart(const StartRequest& request, const std::string& id) {
  if (request.container.post_start_exec.empty()) return;
  const auto ran = shared_.client.Exec(id, request.container.post_start_exec, kLongestHook);
  if (ran && ran->exit_code == 0) return;
  shared_.Notify({.reason = "FailedPostStartHook",
                  .pod_uid = request.pod_uid,
                  .message = "container " + request.container.name + ": postStart " +
                             (ran ? "ended with exit code " + std::to_string(ran->exit_code) + ": " +
                                        Printable(Trim(ran->err), 200)
                                  : "failed: " + ran.error().message) +
                             "; the container is ended"});
  ender_.StopContainer({.id = id,
                        .grace = request.grace,
                        .pre_stop_exec = request.container.pre_stop_exec,
                        .pre_stop_sleep = std::chrono::seconds(request.container.pre_stop_sleep_s)});
}

/// The newest CPUs of a container: they may have changed since it was asked for.
std::string Starter::CpusFor(const StartRequest& request) {
  const MutexLock lock(shared_.mutex);
  return shared_.containers.Wanted(request.pod_uid, request.container.name);
}

/// The pod's sandbox; a new one when there is none that is ready. What other sandboxes there are is removed.
Result<std::string> Starter::EnsureSandbox(const StartRequest& request) {
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
    auto made = client.RunSandbox(SandboxOf(request, shared_.options.owner, plan.attempt));
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

Starter::Outcome<Image> Starter::EnsureImage(const Container& container) {
  if (container.image_pull_policy == "Always") return Pull(container);
  auto found = shared_.client.FindImage(container.image);
  if (!found) return Failed("ImageInspectError", found.error());
  if (*found) return **std::move(found);
  if (container.image_pull_policy == "Never")
    return Failed("ErrImageNeverPull", {.code = Code::kNotFound,
                                        .message = "image " + Printable(container.image) +
                                                   " is not present with pull policy of Never; import it, or set "
                                                   "imagePullPolicy: IfNotPresent"});
  return Pull(container);
}

Starter::Outcome<Image> Starter::Pull(const Container& container) {
  auto pulled = shared_.client.Pull(container.image);
  if (!pulled) return Failed("ErrImagePull", pulled.error());
  Image out{.id = pulled->empty() ? container.image : *std::move(pulled)};
  if (!container.security.run_as_non_root.value_or(false)) return out;
  auto found = shared_.client.FindImage(out.id);  // for its user
  if (!found) return Failed("ImageInspectError", found.error());
  return *found ? **std::move(found) : out;
}

Starter::Outcome<ContainerStatus> Starter::CreateAndStart(const StartRequest& request, const std::string& sandbox,
                                                          const std::string& image) {
  const SandboxSpec of = SandboxOf(request, shared_.options.owner, 0);
  ContainerSpec spec = ContainerOf(request, shared_.options.owner);
  spec.image = image;
  spec.resources = ResourcesOf(request.place.values, request.oom_score_adj, request.place.v2);
  for (int creation = 1;; ++creation) {
    const std::string cpus = CpusFor(request);
    spec.resources.cpus = cpus;
    auto id = shared_.client.Create(sandbox, spec, of);
    if (!id) {
      const MutexLock lock(shared_.mutex);
      if (id.error().code == Code::kNotFound) shared_.sandboxes.Lost(request.pod_uid);
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
