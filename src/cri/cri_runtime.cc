#include "cri/cri_runtime.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include "base/mutex.h"
#include "base/text.h"
#include "cri/keyed_workers.h"
#include "cri/specs.h"
#include "os/lock_file.h"
#include "os/unique_fd.h"

namespace berth::cri {
namespace {

using runtime::ContainerState;
using runtime::ContainerStatus;
using runtime::StartRequest;

constexpr os::Millis kLookWhileBusy{200};
constexpr os::Millis kBusyFor{3'000};  // after a call that is about to change something
constexpr os::Millis kAgain{1'000};    // between tries to hear events
constexpr std::size_t kMostStops = 512;
constexpr int kLooksAfterStop = 10;
constexpr int kRefusalsToTell = 5;  // of updates, in a row
constexpr int kCreations = 4;       // of one attempt, each with newer CPUs
constexpr std::chrono::seconds kLeastGrace{2};

using ContainerKey = std::pair<std::string, std::string>;  // uid, container

/// A container the runtime told us about.
struct Known {
  ContainerStatus status;
  std::optional<std::string> recorded;  ///< CPUs the runtime has on record; nullopt: not known
  bool updating = false;
  int refused = 0;          ///< updates in a row
  std::uint64_t since = 0;  ///< count of looks when it was taken in
};

struct SandboxState {
  std::string current;     ///< id; "": none
  bool ready = false;      ///< the current one may run
  bool uncertain = false;  ///< a call went unanswered: what there is has to be asked for
  bool stopping = false;   ///< StopPod is under way
  std::uint32_t attempts = 0;
};

os::UniqueFd MakeEventFd() { return os::UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)); }

void Signal(const os::UniqueFd& fd) {
  const std::uint64_t one = 1;
  // Fails only when it is readable already.
  [[maybe_unused]] const ssize_t n = ::write(fd.get(), &one, sizeof one);
}

class CriRuntime final : public runtime::Runtime {
 public:
  CriRuntime(const CriOptions& options, os::UniqueFd events, os::UniqueFd cancel)
      : options_(options),
        events_(std::move(events)),
        cancel_(std::move(cancel)),
        client_(options.socket, options.timeouts, cancel_.get()),
        workers_(options.most_calls),
        stops_(kMostStops) {}
  ~CriRuntime() override;

  Result<void> Recover();
  void Begin();
  const Client& client() const { return client_; }

  bool makes_groups() const override { return true; }
  Result<ContainerStatus> Start(const StartRequest& request) override;
  Result<void> Stop(const runtime::StopRequest& request) override;
  Result<void> Signal(std::string_view id, int signal) override;
  Result<std::vector<ContainerStatus>> List() override;
  int event_fd() const override { return events_.get(); }
  std::vector<ContainerStatus> Poll() override;
  Result<void> Forget(std::string_view id) override;
  void SetCpus(const std::vector<runtime::ContainerCpus>& cpus) override;
  Result<bool> StopPod(std::string_view uid) override;
  std::map<std::string, std::string> Sandboxes() override;
  void ForgetPod(std::string_view uid) override;
  void Retain(const std::set<std::string>& uids) override;
  std::vector<std::string> TakeWarnings() override;

 private:
  struct NotStarted {
    std::string reason;
    Error error;
  };

  // Jobs, on worker threads
  void StartJob(const StartRequest& request);
  std::expected<ContainerStatus, NotStarted> TryStart(const StartRequest& request);
  Result<std::string> EnsureSandbox(const StartRequest& request);
  Result<std::optional<ContainerStatus>> EarlierTry(const StartRequest& request);
  std::expected<std::string, NotStarted> EnsureImage(const Container& container);
  std::expected<ContainerStatus, NotStarted> CreateAndStart(const StartRequest& request, const std::string& sandbox,
                                                            const std::string& image);
  std::expected<std::optional<ContainerStatus>, NotStarted> StartCreated(const StartRequest& request,
                                                                         const std::string& id,
                                                                         const std::string& cpus);
  void StopJob(const runtime::StopRequest& request);
  bool EndsSoon(const std::string& id) const;
  void StopPodJob(const std::string& uid);
  void ForgetPodJob(const std::string& uid);
  void UpdateJob(const std::string& id);
  void RemoveJob(const std::string& id);

  // The watcher's thread
  void Watch();
  void Look();
  void TakeAnswer(const std::vector<ContainerEntry>& list, std::uint64_t asked);
  void Listen();
  void TryAgain();

  void Took(const ContainerStatus& status, std::optional<std::string> recorded) BERTH_EXCLUDES(mutex_);
  void PostUpdates() BERTH_REQUIRES(mutex_);
  void Warn(std::string text) BERTH_EXCLUDES(mutex_);
  void Poke() BERTH_EXCLUDES(mutex_);
  std::string CpusFor(const StartRequest& request) BERTH_EXCLUDES(mutex_);
  void Uncertain(const std::string& uid, const Error& error) BERTH_EXCLUDES(mutex_);
  Labels OwnLabels() const { return {{kOwner, options_.owner}}; }
  Labels LabelsOfPod(const std::string& uid) const { return {{kOwner, options_.owner}, {kPodUid, uid}}; }

  const CriOptions options_;
  const os::UniqueFd events_;
  const os::UniqueFd cancel_;
  const Client client_;

  Mutex mutex_;
  CondVar changed_mind_;
  std::map<std::string, Known, std::less<>> known_ BERTH_GUARDED_BY(mutex_);  // by id
  std::map<std::string, SandboxState, std::less<>> pods_ BERTH_GUARDED_BY(mutex_);
  std::map<ContainerKey, std::string> wanted_cpus_ BERTH_GUARDED_BY(mutex_);
  std::vector<ContainerStatus> news_ BERTH_GUARDED_BY(mutex_);
  std::vector<std::string> warnings_ BERTH_GUARDED_BY(mutex_);
  std::set<std::string> doomed_ BERTH_GUARDED_BY(mutex_);       // containers whose removal failed
  std::set<std::string> doomed_pods_ BERTH_GUARDED_BY(mutex_);  // pods whose removal failed
  std::uint64_t looks_ BERTH_GUARDED_BY(mutex_) = 0;
  std::string problem_ BERTH_GUARDED_BY(mutex_);  // why the runtime cannot be asked
  os::MonoTime busy_until_ BERTH_GUARDED_BY(mutex_){};
  bool poked_ BERTH_GUARDED_BY(mutex_) = false;
  bool stop_ BERTH_GUARDED_BY(mutex_) = false;

  std::thread watcher_;
  std::thread listener_;
  KeyedWorkers workers_;  // ended first
  KeyedWorkers stops_;
};

CriRuntime::~CriRuntime() {
  {
    const MutexLock lock(mutex_);
    stop_ = true;
    changed_mind_.NotifyAll();
  }
  cri::Signal(cancel_);
  if (watcher_.joinable()) watcher_.join();
  if (listener_.joinable()) listener_.join();
}

void CriRuntime::Begin() {
  watcher_ = std::thread([this] { Watch(); });
  listener_ = std::thread([this] { Listen(); });
}

// ---- what is known ----

void CriRuntime::Warn(std::string text) {
  const MutexLock lock(mutex_);
  warnings_.push_back(std::move(text));
  cri::Signal(events_);
}

/// Something is about to change: look more often for a while.
void CriRuntime::Poke() {
  const MutexLock lock(mutex_);
  busy_until_ = os::SystemClock().Now() + kBusyFor;
  poked_ = true;
  changed_mind_.NotifyAll();
}

void CriRuntime::Took(const ContainerStatus& status, std::optional<std::string> recorded) {
  const MutexLock lock(mutex_);
  Known& known = known_[status.id];
  known.status = status;
  if (recorded) known.recorded = std::move(recorded);
  known.since = looks_;
  news_.push_back(status);
  cri::Signal(events_);
}

void CriRuntime::Uncertain(const std::string& uid, const Error& error) {
  if (error.code != Code::kBusy) return;
  const MutexLock lock(mutex_);
  pods_[uid].uncertain = true;
}

std::vector<ContainerStatus> CriRuntime::Poll() {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t n = ::read(events_.get(), &count, sizeof count);
  const MutexLock lock(mutex_);
  return std::exchange(news_, {});
}

std::vector<std::string> CriRuntime::TakeWarnings() {
  const MutexLock lock(mutex_);
  return std::exchange(warnings_, {});
}

Result<std::vector<ContainerStatus>> CriRuntime::List() {
  const MutexLock lock(mutex_);
  std::vector<ContainerStatus> out;
  for (const auto& [id, known] : known_) out.push_back(known.status);
  return out;
}

/// What an earlier berthd left.
Result<void> CriRuntime::Recover() {
  BERTH_TRY(const std::vector<Sandbox> sandboxes, client_.Sandboxes(OwnLabels()));
  BERTH_TRY(const std::vector<ContainerEntry> containers, client_.Containers(OwnLabels()));
  {
    const MutexLock lock(mutex_);
    for (const Sandbox& sandbox : sandboxes) {
      SandboxState& pod = pods_[sandbox.uid];
      pod.uncertain = true;  // the last berthd's calls may have gone unanswered
      pod.attempts = std::max(pod.attempts, sandbox.attempt + 1);
      if (pod.current.empty() || sandbox.ready) pod.current = sandbox.id;
      pod.ready = pod.ready || sandbox.ready;
    }
  }
  for (const ContainerEntry& listed : containers) {
    auto entry = client_.Status(listed.id);
    if (!entry && entry.error().code == Code::kNotFound) continue;
    if (!entry) return std::unexpected(std::move(entry).error());
    const auto status = StatusOf(*entry);
    if (!status) continue;
    if (status->state == ContainerState::kCreating) {  // never started, and nobody will start it
      workers_.Post(status->pod_uid, [this, id = status->id] { RemoveJob(id); });
      continue;
    }
    const MutexLock lock(mutex_);
    Known& known = known_[status->id];
    known.status = *status;
    if (entry->resources) known.recorded = entry->resources->cpus;
  }
  return {};
}

// ---- start ----

Result<ContainerStatus> CriRuntime::Start(const StartRequest& request) {
  if (request.container.image.empty())
    return Fail(Code::kInvalid, "container " + request.container.name + " of pod " + request.pod_namespace + "/" +
                                    request.pod_name + " has no image: set spec.containers[].image");
  ContainerStatus status;
  status.pod_uid = request.pod_uid;
  status.container = request.container.name;
  status.attempt = request.attempt;
  status.state = ContainerState::kCreating;
  status.log_path = request.log_path;
  {
    const MutexLock lock(mutex_);
    pods_.try_emplace(request.pod_uid);
    doomed_pods_.erase(request.pod_uid);
    if (request.place.values.cpus)
      wanted_cpus_[{request.pod_uid, request.container.name}] = FormatIds(*request.place.values.cpus);
  }
  workers_.Post(request.pod_uid, [this, request] { StartJob(request); });
  return status;
}

/// The newest CPUs of a container: they may have changed since it was asked for.
std::string CriRuntime::CpusFor(const StartRequest& request) {
  const MutexLock lock(mutex_);
  const auto it = wanted_cpus_.find({request.pod_uid, request.container.name});
  return it == wanted_cpus_.end() ? "" : it->second;
}

void CriRuntime::StartJob(const StartRequest& request) {
  auto done = TryStart(request);
  Poke();
  if (done) return;
  Uncertain(request.pod_uid, done.error().error);
  ContainerStatus status;
  status.pod_uid = request.pod_uid;
  status.container = request.container.name;
  status.attempt = request.attempt;
  status.state = ContainerState::kNotStarted;
  status.reason = std::move(done.error().reason);
  status.message = std::move(done.error().error.message);
  const MutexLock lock(mutex_);
  news_.push_back(std::move(status));
  cri::Signal(events_);
}

std::expected<ContainerStatus, CriRuntime::NotStarted> CriRuntime::TryStart(const StartRequest& request) {
  const auto fail = [](const char* reason, Error error) {
    return std::unexpected(NotStarted{.reason = reason, .error = std::move(error)});
  };
  const std::string log_folder = request.log_path.substr(0, request.log_path.rfind('/'));
  if (auto made = os::MakeDirs(log_folder, 0755); !made) return fail("CreateContainerError", made.error());
  auto sandbox = EnsureSandbox(request);
  if (!sandbox) return fail("FailedCreatePodSandBox", sandbox.error());
  auto earlier = EarlierTry(request);
  if (!earlier) return fail("CreateContainerError", earlier.error());
  if (*earlier) return **earlier;
  auto image = EnsureImage(request.container);
  if (!image) return std::unexpected(std::move(image).error());
  return CreateAndStart(request, *sandbox, *image);
}

/// The pod's sandbox; a new one when there is none that is ready. What other sandboxes there are is removed.
Result<std::string> CriRuntime::EnsureSandbox(const StartRequest& request) {
  std::uint32_t attempt = 0;
  {
    const MutexLock lock(mutex_);
    SandboxState& pod = pods_[request.pod_uid];
    pod.stopping = false;
    attempt = pod.attempts;
    if (pod.ready && !pod.uncertain) return pod.current;
  }
  BERTH_TRY(const std::vector<Sandbox> found, client_.Sandboxes(LabelsOfPod(request.pod_uid)));
  std::string current;
  for (const Sandbox& sandbox : found) {
    attempt = std::max(attempt, sandbox.attempt + 1);
    if (sandbox.ready && current.empty()) {
      current = sandbox.id;
      continue;
    }
    BERTH_RETURN_IF_ERROR(client_.StopSandbox(sandbox.id));
    BERTH_RETURN_IF_ERROR(client_.RemoveSandbox(sandbox.id));
  }
  if (current.empty()) {
    auto made = client_.RunSandbox(SandboxOf(request, options_.owner, attempt));
    if (!made) {  // a name that was used may stay taken
      const MutexLock lock(mutex_);
      pods_[request.pod_uid].attempts = attempt + 1;
      return made;
    }
    current = *std::move(made);
  }
  const MutexLock lock(mutex_);
  SandboxState& pod = pods_[request.pod_uid];
  pod.current = current;
  pod.ready = true;
  pod.attempts = std::max(pod.attempts, attempt + 1);
  cri::Signal(events_);  // the sandbox has a group now
  return current;
}

/// What an earlier try of the same attempt has come to, when its answer is missing. What was only created is removed.
Result<std::optional<ContainerStatus>> CriRuntime::EarlierTry(const StartRequest& request) {
  {
    const MutexLock lock(mutex_);
    if (!pods_[request.pod_uid].uncertain) return std::nullopt;
  }
  BERTH_TRY(const std::vector<ContainerEntry> list, client_.Containers(LabelsOfPod(request.pod_uid)));
  std::optional<ContainerStatus> out;
  for (const ContainerEntry& listed : list) {
    if (listed.name != request.container.name || static_cast<int>(listed.attempt) != request.attempt) continue;
    if (listed.state == ContainerEntry::State::kCreated) {
      BERTH_RETURN_IF_ERROR(client_.Remove(listed.id));
      continue;
    }
    BERTH_TRY(const ContainerEntry entry, client_.Status(listed.id));
    out = StatusOf(entry);
    if (out) Took(*out, entry.resources ? std::optional(entry.resources->cpus) : std::nullopt);
  }
  const MutexLock lock(mutex_);
  pods_[request.pod_uid].uncertain = false;
  return out;
}

std::expected<std::string, CriRuntime::NotStarted> CriRuntime::EnsureImage(const Container& container) {
  const auto fail = [](const char* reason, Error error) {
    return std::unexpected(NotStarted{.reason = reason, .error = std::move(error)});
  };
  const bool always = container.image_pull_policy == "Always";
  if (!always) {
    auto found = client_.FindImage(container.image);
    if (!found) return fail("ImageInspectError", found.error());
    if (*found) return (*found)->id;
    if (container.image_pull_policy == "Never")
      return fail("ErrImageNeverPull", Error{.code = Code::kNotFound,
                                             .message = "image " + Printable(container.image) +
                                                        " is not present with pull policy of Never; import it, or "
                                                        "set imagePullPolicy: IfNotPresent"});
  }
  auto pulled = client_.Pull(container.image);
  if (!pulled) return fail("ErrImagePull", pulled.error());
  return pulled->empty() ? container.image : *std::move(pulled);
}

std::expected<ContainerStatus, CriRuntime::NotStarted> CriRuntime::CreateAndStart(const StartRequest& request,
                                                                                  const std::string& sandbox,
                                                                                  const std::string& image) {
  const SandboxSpec of = SandboxOf(request, options_.owner, 0);
  ContainerSpec spec = ContainerOf(request, options_.owner);
  spec.image = image;
  for (int creation = 1;; ++creation) {
    const std::string cpus = CpusFor(request);
    spec.resources = ResourcesOf(request.place.values, request.oom_score_adj, request.place.v2);
    spec.resources.cpus = cpus;
    auto id = client_.Create(sandbox, spec, of);
    if (!id) {
      const MutexLock lock(mutex_);
      if (id.error().code == Code::kNotFound) pods_[request.pod_uid].ready = false;  // the sandbox is gone
      return std::unexpected(NotStarted{.reason = "CreateContainerError", .error = std::move(id).error()});
    }
    auto started = StartCreated(request, *id, cpus);
    if (!started) return std::unexpected(std::move(started).error());
    if (*started) return **std::move(started);
    if (creation == kCreations)
      return std::unexpected(NotStarted{.reason = "RunContainerError",
                                        .error = {.code = Code::kBusy, .message = "its CPUs change all the time"}});
  }
}

/// nullopt: it could not be started on CPUs it shall not have any more; nothing of it is left.
std::expected<std::optional<ContainerStatus>, CriRuntime::NotStarted> CriRuntime::StartCreated(
    const StartRequest& request, const std::string& id, const std::string& cpus) {
  const auto started = client_.Start(id);
  const auto entry = client_.Status(id);
  std::optional<ContainerStatus> status = entry ? StatusOf(*entry) : std::nullopt;
  const bool ran = status && status->state != ContainerState::kCreating;
  if (!started && !(ran && status->state == ContainerState::kRunning)) {
    const bool stale = started.error().code != Code::kBusy && CpusFor(request) != cpus;
    if (!ran || stale) {
      const auto removed = client_.Remove(id);
      if (stale && removed) return std::nullopt;
      return std::unexpected(NotStarted{.reason = "RunContainerError", .error = started.error()});
    }
    if (status->message.empty() || status->exit_code == runtime::kStartErrorExitCode)
      status->message = started.error().message;
  }
  if (!status) {  // it was started and cannot be asked for: the next look tells more
    const MutexLock lock(mutex_);
    pods_[request.pod_uid].uncertain = true;
    status.emplace();
    status->id = id;
    status->pod_uid = request.pod_uid;
    status->container = request.container.name;
    status->attempt = request.attempt;
    status->state = ContainerState::kRunning;
  }
  status->log_path = request.log_path;
  Took(*status, cpus);
  return status;
}

// ---- the runtime's record of CPUs ----

void CriRuntime::SetCpus(const std::vector<runtime::ContainerCpus>& cpus) {
  const MutexLock lock(mutex_);
  for (const runtime::ContainerCpus& wanted : cpus)
    wanted_cpus_[{wanted.pod_uid, wanted.container}] = FormatIds(wanted.cpus);
  busy_until_ = os::SystemClock().Now() + kBusyFor;  // the record is brought along with the next look
}

/// From looks only: what changes and changes back in between costs no call.
void CriRuntime::PostUpdates() {
  for (auto& [id, known] : known_) {
    if (known.updating || known.status.state != ContainerState::kRunning) continue;
    const auto wanted = wanted_cpus_.find({known.status.pod_uid, known.status.container});
    if (wanted == wanted_cpus_.end() || wanted->second.empty() || known.recorded == wanted->second) continue;
    known.updating = true;
    workers_.Post("update/" + id, [this, held = id] { UpdateJob(held); });
  }
}

/// Brings the record of one container to the newest value. One call at a time per container: an older value never
/// comes after a newer one.
void CriRuntime::UpdateJob(const std::string& id) {
  Resources asked;
  {
    const MutexLock lock(mutex_);
    const auto it = known_.find(id);
    if (it == known_.end()) return;
    asked.cpus = wanted_cpus_[{it->second.status.pod_uid, it->second.status.container}];
  }
  const auto done = client_.Update(id, asked);
  const MutexLock lock(mutex_);
  const auto it = known_.find(id);
  if (it == known_.end()) return;
  it->second.updating = false;
  it->second.recorded = done ? std::optional(asked.cpus) : std::nullopt;
  it->second.refused = done || done.error().code == Code::kNotFound ? 0 : it->second.refused + 1;
  // CPUs it shall not have any more are refused by its pod's group, which is narrowed first. The next try has the new
  // ones, so that a few refusals say nothing.
  if (it->second.refused == kRefusalsToTell)
    warnings_.push_back("container " + id.substr(0, 12) + ": " + done.error().message + "; tried again");
  cri::Signal(events_);  // the kernel's value is looked at again
}

// ---- stop ----

Result<void> CriRuntime::Stop(const runtime::StopRequest& request) {
  stops_.Post(request.id, [this, request] { StopJob(request); });
  return {};
}

Result<void> CriRuntime::Signal(std::string_view id, int signal) {
  if (signal != SIGTERM && signal != SIGKILL)
    return Fail(Code::kUnsupported, "a container runtime sends SIGTERM and SIGKILL only");
  return Stop(
      {.id = std::string(id), .grace = signal == SIGKILL ? std::chrono::seconds(0) : kLeastGrace, .pre_stop_exec = {}});
}

void CriRuntime::StopJob(const runtime::StopRequest& request) {
  const os::MonoTime begin = os::SystemClock().Now();
  if (!request.pre_stop_exec.empty()) {
    const auto ran = client_.Exec(request.id, request.pre_stop_exec, std::max(request.grace, std::chrono::seconds(1)));
    if (!ran) {
      Warn("preStop of container " + request.id.substr(0, 12) + ": " + ran.error().message);
    } else if (ran->exit_code != 0) {
      Warn("preStop of container " + request.id.substr(0, 12) + " ended with exit code " +
           std::to_string(ran->exit_code) + ": " + Printable(Trim(ran->err), 200));
    }
  }
  const auto taken = std::chrono::floor<std::chrono::seconds>(os::SystemClock().Now() - begin);
  const bool at_once = request.grace.count() == 0 && request.pre_stop_exec.empty();
  Poke();
  const auto done =
      client_.Stop(request.id, at_once ? std::chrono::seconds(0) : std::max(request.grace - taken, kLeastGrace));
  if (!done && !EndsSoon(request.id)) Warn("container " + request.id.substr(0, 12) + ": " + done.error().message);
  Poke();
}

/// The runtime fails to stop what ends at the same moment, and learns of the end a little later.
bool CriRuntime::EndsSoon(const std::string& id) const {
  for (int look = 0; look < kLooksAfterStop; ++look) {
    const auto now = client_.Status(id);
    if (now && now->state == ContainerEntry::State::kExited) return true;
    if (!now) return now.error().code == Code::kNotFound;
    os::SleepFor(kLookWhileBusy);
  }
  return false;
}

Result<bool> CriRuntime::StopPod(std::string_view uid) {
  const std::string key(uid);
  const MutexLock lock(mutex_);
  const auto pod = pods_.find(uid);
  if (pod == pods_.end() || (!pod->second.ready && !pod->second.uncertain)) return true;
  if (pod->second.stopping && workers_.Busy(key)) return false;
  pod->second.stopping = true;
  workers_.Post(key, [this, key] { StopPodJob(key); });
  return false;
}

/// Containers that were made and never started must not be started by a call that comes late.
void CriRuntime::StopPodJob(const std::string& uid) {
  const auto stop = [&]() -> Result<void> {
    BERTH_TRY(const std::vector<ContainerEntry> containers, client_.Containers(LabelsOfPod(uid)));
    for (const ContainerEntry& entry : containers)
      if (entry.state == ContainerEntry::State::kCreated) BERTH_RETURN_IF_ERROR(client_.Remove(entry.id));
    BERTH_TRY(const std::vector<Sandbox> sandboxes, client_.Sandboxes(LabelsOfPod(uid)));
    for (const Sandbox& sandbox : sandboxes) BERTH_RETURN_IF_ERROR(client_.StopSandbox(sandbox.id));
    return {};
  };
  const auto done = stop();
  if (!done) return Warn("pod " + uid + ": " + done.error().message + "; tried again");
  const MutexLock lock(mutex_);
  const auto pod = pods_.find(uid);
  if (pod != pods_.end()) {
    pod->second.ready = false;
    pod->second.uncertain = false;
  }
  cri::Signal(events_);
}

std::map<std::string, std::string> CriRuntime::Sandboxes() {
  const MutexLock lock(mutex_);
  std::map<std::string, std::string> out;
  for (const auto& [uid, pod] : pods_)
    if (pod.ready) out.emplace(pod.current, uid);
  return out;
}

// ---- forget ----

Result<void> CriRuntime::Forget(std::string_view id) {
  const MutexLock lock(mutex_);
  const auto it = known_.find(id);
  if (it == known_.end()) return {};
  if (it->second.status.state == ContainerState::kRunning)
    return Fail(Code::kBusy, "container " + it->first.substr(0, 12) + " runs: it cannot be forgotten");
  workers_.Post(it->second.status.pod_uid, [this, held = it->first] { RemoveJob(held); });
  known_.erase(it);
  return {};
}

void CriRuntime::RemoveJob(const std::string& id) {
  const auto done = client_.Remove(id);
  if (!done) Warn("container " + id.substr(0, 12) + ": " + done.error().message + "; tried again");
  const MutexLock lock(mutex_);
  if (done) {
    doomed_.erase(id);
  } else {
    doomed_.insert(id);
  }
}

void CriRuntime::ForgetPod(std::string_view uid) {
  const std::string key(uid);
  const MutexLock lock(mutex_);
  if (!pods_.contains(uid)) return;
  pods_.erase(key);
  std::erase_if(wanted_cpus_, [&](const auto& entry) { return entry.first.first == key; });
  workers_.Post(key, [this, key] { ForgetPodJob(key); });
}

void CriRuntime::ForgetPodJob(const std::string& uid) {
  {
    const MutexLock lock(mutex_);
    if (pods_.contains(uid)) return;  // it is wanted again; its start removes what is of no use
  }
  const auto forget = [&]() -> Result<void> {
    BERTH_TRY(const std::vector<Sandbox> sandboxes, client_.Sandboxes(LabelsOfPod(uid)));
    for (const Sandbox& sandbox : sandboxes) {
      BERTH_RETURN_IF_ERROR(client_.StopSandbox(sandbox.id));
      BERTH_RETURN_IF_ERROR(client_.RemoveSandbox(sandbox.id));
    }
    return {};
  };
  const auto done = forget();
  if (!done) Warn("pod " + uid + ": " + done.error().message + "; tried again");
  const MutexLock lock(mutex_);
  if (done) {
    doomed_pods_.erase(uid);
  } else {
    doomed_pods_.insert(uid);
  }
}

void CriRuntime::Retain(const std::set<std::string>& uids) {
  std::vector<std::string> others;
  {
    const MutexLock lock(mutex_);
    for (const auto& [uid, pod] : pods_)
      if (!uids.contains(uid)) others.push_back(uid);
  }
  for (const std::string& uid : others) ForgetPod(uid);
}

// ---- what happens meanwhile ----

void CriRuntime::Watch() {
  for (;;) {
    {
      const MutexLock lock(mutex_);
      const os::MonoTime now = os::SystemClock().Now();
      const os::MonoTime next = now + (now < busy_until_ ? kLookWhileBusy : options_.look);
      while (!stop_ && !poked_ && os::SystemClock().Now() < next) changed_mind_.WaitUntil(mutex_, next);
      poked_ = false;
      if (stop_) return;
      ++looks_;
    }
    Look();
  }
}

void CriRuntime::Look() {
  std::uint64_t asked = 0;
  {
    const MutexLock lock(mutex_);
    asked = looks_;
  }
  const auto list = client_.Containers(OwnLabels());
  if (!list) {
    const MutexLock lock(mutex_);
    if (problem_.empty() && !stop_) {
      warnings_.push_back(list.error().message +
                          "; containers go on, nothing is started or taken to have ended meanwhile");
      cri::Signal(events_);
    }
    problem_ = list.error().message;
    return;
  }
  {
    const MutexLock lock(mutex_);
    if (!std::exchange(problem_, "").empty()) {
      warnings_.emplace_back("the container runtime answers again");
      for (auto& [uid, pod] : pods_) pod.uncertain = true;  // it may have been restarted
      cri::Signal(events_);
    }
  }
  TakeAnswer(*list, asked);
  TryAgain();
}

void CriRuntime::TakeAnswer(const std::vector<ContainerEntry>& list, std::uint64_t asked) {
  std::map<std::string_view, ContainerEntry::State> states;
  for (const ContainerEntry& entry : list) states.emplace(entry.id, entry.state);
  std::vector<std::string> ended;
  std::vector<ContainerStatus> vanished;
  {
    const MutexLock lock(mutex_);
    for (const auto& [id, known] : known_) {
      if (known.status.state != ContainerState::kRunning || known.since >= asked) continue;
      const auto found = states.find(id);
      if (found == states.end()) {
        vanished.push_back(known.status);
      } else if (found->second != ContainerEntry::State::kRunning) {
        ended.push_back(id);
      }
    }
  }
  for (ContainerStatus& status : vanished) {
    status.state = ContainerState::kUnknown;
    status.message = "the runtime does not know it any more";
    Took(status, std::nullopt);
  }
  for (const std::string& id : ended) {
    const auto entry = client_.Status(id);
    if (!entry) continue;  // looked at again
    if (const auto status = StatusOf(*entry); status && status->state != ContainerState::kRunning)
      Took(*status, std::nullopt);
  }
}

/// What failed in the background.
void CriRuntime::TryAgain() {
  const MutexLock lock(mutex_);
  PostUpdates();
  for (const std::string& id : doomed_)
    if (!workers_.Busy("remove/" + id)) workers_.Post("remove/" + id, [this, id] { RemoveJob(id); });
  for (const std::string& uid : doomed_pods_)
    if (!workers_.Busy(uid)) workers_.Post(uid, [this, uid] { ForgetPodJob(uid); });
}

void CriRuntime::Listen() {
  for (;;) {
    const auto heard = client_.Events([this](const std::string&) {
      Poke();
      return true;
    });
    if (!heard && heard.error().code == Code::kUnsupported) return;  // looks do
    const MutexLock lock(mutex_);
    const os::MonoTime next = os::SystemClock().Now() + kAgain;
    while (!stop_ && os::SystemClock().Now() < next) changed_mind_.WaitUntil(mutex_, next);
    if (stop_) return;
  }
}

/// A runtime that is being started beside us gets a moment.
Result<Version> ShakeHands(const Client& client, os::Millis patience) {
  const os::MonoTime end = os::SystemClock().Now() + patience;
  for (os::Millis pause{100};; pause *= 2) {
    auto version = client.Handshake();
    if (version) return version;
    const bool may_come = version.error().code == Code::kIo || version.error().code == Code::kNotFound;
    if (!may_come || os::SystemClock().Now() + pause > end) return version;
    os::SleepFor(pause);
  }
}

}  // namespace

Result<OpenedRuntime> OpenCriRuntime(const CriOptions& options) {
  os::UniqueFd events = MakeEventFd();
  os::UniqueFd cancel = MakeEventFd();
  if (!events.valid() || !cancel.valid()) return FailErrno("create an eventfd", "", errno);
  auto made = std::make_unique<CriRuntime>(options, std::move(events), std::move(cancel));
  OpenedRuntime out;
  BERTH_TRY(out.version, ShakeHands(made->client(), options.patience));
  BERTH_TRY(out.not_ready, made->client().NotReady());
  BERTH_TRY(const std::optional<std::string> driver, made->client().CgroupDriver());
  if (driver && *driver != "cgroupfs")
    return Fail(Code::kUnsupported, "the container runtime at " + options.socket + " uses the cgroup driver " +
                                        *driver + "; Berth drives it with cgroupfs: set SystemdCgroup = false there");
  BERTH_RETURN_IF_ERROR(made->Recover());
  made->Begin();
  out.runtime = std::move(made);
  return out;
}

}  // namespace berth::cri
