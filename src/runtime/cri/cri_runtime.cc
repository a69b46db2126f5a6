#include "runtime/cri/cri_runtime.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <map>
#include <set>
#include <utility>

#include "host/os/event_fd.h"
#include "host/os/keyed_jobs.h"
#include "host/os/threads.h"
#include "runtime/cri/cri_specs.h"
#include "runtime/cri/cri_starter.h"
#include "runtime/cri/cri_watcher.h"
#include "runtime/cri/ender.h"
#include "runtime/cri/shared.h"

namespace berth::cri {
namespace {

using runtime::ContainerState;
using runtime::ContainerStatus;
using runtime::StartRequest;

constexpr std::size_t kMostStops = 512;
constexpr std::size_t kCallLane = 0;
constexpr std::size_t kStopLane = 1;
constexpr std::chrono::seconds kTermGrace{2};

/// The loop's side: everything is handed to threads, and what is known is answered.
class CriRuntime final : public runtime::Runtime {
 public:
  CriRuntime(const CriOptions& options, os::EventFd events, os::EventFd cancel)
      : shared_(options, std::move(events), std::move(cancel)),
        ender_(shared_),
        starter_(shared_, ender_),
        watcher_(shared_, ender_, workers_),
        threads_(std::array<os::LaneLimits, 2>{{{.most = options.most_calls}, {.most = kMostStops}}}),
        workers_(threads_, kCallLane),
        stops_(threads_, kStopLane) {}
  ~CriRuntime() override;

  Result<void> Recover();
  void Begin() { watcher_.Begin(); }
  const Client& client() const { return shared_.client; }
  void SetRecursiveReadOnly(std::set<std::string> handlers) {
    const MutexLock lock(shared_.mutex);
    shared_.recursive_read_only = std::move(handlers);
  }

  bool isolates_pods() const override { return true; }
  Result<ContainerStatus> Start(const StartRequest& request) override;
  Result<void> Stop(const runtime::StopRequest& request) override;
  Result<void> Signal(std::string_view id, int signal) override;
  Result<runtime::ExecJob> PrepareExec(std::string_view id, const std::vector<std::string>& command) override;
  Result<std::vector<ContainerStatus>> List() override;
  int event_fd() const override { return shared_.events.get(); }
  std::vector<ContainerStatus> Poll() override;
  Result<void> Forget(std::string_view id) override;
  void SetCpus(const std::vector<runtime::ContainerCpus>& cpus) override;
  void SetValues(const runtime::ContainerValues& wanted) override;
  Result<bool> StopPod(std::string_view uid) override;
  std::map<std::string, std::string> Sandboxes() override;
  std::vector<std::string> Addresses(std::string_view uid) override;
  void ForgetPod(std::string_view uid) override;
  void Retain(const std::set<std::string>& uids) override;
  std::string Problem() override;
  std::vector<runtime::Notice> TakeNotices() override;
  std::map<std::string, runtime::CallCount> Calls() const override { return client().Calls(); }

 private:
  Shared shared_;
  Ender ender_;
  Starter starter_;
  Watcher watcher_;
  os::Threads threads_;
  os::KeyedJobs workers_;  // their jobs use all of the above
  os::KeyedJobs stops_;
};

CriRuntime::~CriRuntime() {
  {
    const MutexLock lock(shared_.mutex);
    shared_.stop = true;
    shared_.changed.NotifyAll();
  }
  shared_.cancel.Signal();
  watcher_.End();  // it posts to the workers
}

/// What an earlier berthd left.
Result<void> CriRuntime::Recover() {
  BERTH_TRY(const std::vector<Sandbox> sandboxes, client().Sandboxes(shared_.OwnLabels()));
  BERTH_TRY(const std::vector<ContainerEntry> containers, client().Containers(shared_.OwnLabels()));
  {
    const MutexLock lock(shared_.mutex);
    shared_.sandboxes.Recover(sandboxes);
  }
  for (const Sandbox& sandbox : sandboxes) {
    if (!sandbox.ready) continue;
    auto addresses = client().Addresses(sandbox.id);
    const MutexLock lock(shared_.mutex);
    if (addresses) shared_.sandboxes.SetAddresses(sandbox.uid, sandbox.id, *std::move(addresses));
  }
  std::set<std::string> of_no_use;
  for (const ContainerEntry& entry : OfNoUse(containers)) {
    of_no_use.insert(entry.id);
    const std::string uid = LabelOf(entry, kPodUid);
    workers_.Post(uid.empty() ? entry.id : uid, [this, id = entry.id] { ender_.RemoveContainer(id); });
  }
  for (const ContainerEntry& listed : containers) {
    if (of_no_use.contains(listed.id)) continue;
    auto entry = client().Status(listed.id);
    if (!entry && entry.error().code == Code::kNotFound) continue;
    if (!entry) return std::unexpected(std::move(entry).error());
    const auto status = StatusOf(*entry);
    if (!status) continue;
    // Its record of CPUs may change yet, by a call of the last berthd that is still under way: it is told once more.
    const MutexLock lock(shared_.mutex);
    shared_.containers.Take(*status, std::nullopt);
  }
  return {};
}

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
  const MutexLock lock(shared_.mutex);
  shared_.sandboxes.Want(request.pod_uid);
  shared_.graces[request.pod_uid] = request.grace;
  if (request.place.values.cpus)
    shared_.containers.Want(request.pod_uid, request.container.name, FormatIds(*request.place.values.cpus));
  workers_.Post(request.pod_uid, [this, request] { starter_.Run(request); });
  return status;
}

Result<void> CriRuntime::Stop(const runtime::StopRequest& request) {
  stops_.Post(request.id, [this, request] { ender_.StopContainer(request); });
  return {};
}

Result<void> CriRuntime::Signal(std::string_view id, int signal) {
  if (signal != SIGTERM && signal != SIGKILL)
    return Fail(Code::kUnsupported, "a container runtime sends SIGTERM and SIGKILL only");
  return Stop({.id = std::string(id), .grace = signal == SIGKILL ? std::chrono::seconds(0) : kTermGrace});
}

/// The runtime kills what takes too long.
Result<runtime::ExecJob> CriRuntime::PrepareExec(std::string_view id, const std::vector<std::string>& command) {
  return [this, id = std::string(id), command](os::Millis limit, int cancel_fd) -> Result<runtime::ExecEnd> {
    BERTH_TRY(ExecResult ran, client().Exec(id, command, std::chrono::ceil<std::chrono::seconds>(limit), cancel_fd));
    std::string output = std::move(ran.out) + ran.err;
    output.resize(std::min(output.size(), runtime::kMostExecOutput));
    return runtime::ExecEnd{.exit_code = ran.exit_code, .output = std::move(output)};
  };
}

Result<std::vector<ContainerStatus>> CriRuntime::List() {
  const MutexLock lock(shared_.mutex);
  return shared_.containers.List();
}

std::vector<ContainerStatus> CriRuntime::Poll() {
  shared_.events.Clear();
  const MutexLock lock(shared_.mutex);
  return std::exchange(shared_.news, {});
}

std::string CriRuntime::Problem() {
  const MutexLock lock(shared_.mutex);
  return shared_.problem;
}

std::vector<runtime::Notice> CriRuntime::TakeNotices() {
  const MutexLock lock(shared_.mutex);
  return std::exchange(shared_.notices, {});
}

void CriRuntime::SetCpus(const std::vector<runtime::ContainerCpus>& cpus) {
  const MutexLock lock(shared_.mutex);
  for (const runtime::ContainerCpus& wanted : cpus)
    shared_.containers.Want(wanted.pod_uid, wanted.container, FormatIds(wanted.cpus));
  shared_.pace.Expect(os::SystemClock().Now());  // the record is brought along with the next look
}

void CriRuntime::SetValues(const runtime::ContainerValues& wanted) {
  const MutexLock lock(shared_.mutex);
  shared_.containers.WantValues(wanted.pod_uid, wanted.container, ResourcesOf(wanted.values, 0, wanted.v2));
  shared_.pace.Expect(os::SystemClock().Now());
}

Result<void> CriRuntime::Forget(std::string_view id) {
  const MutexLock lock(shared_.mutex);
  BERTH_TRY(const std::optional<std::string> uid, shared_.containers.Forget(id));
  if (uid) workers_.Post(*uid, [this, held = std::string(id)] { ender_.RemoveContainer(held); });
  return {};
}

Result<bool> CriRuntime::StopPod(std::string_view uid) {
  const std::string key(uid);
  const MutexLock lock(shared_.mutex);
  switch (shared_.sandboxes.NextStop(uid, workers_.Busy(key), os::SystemClock().Now())) {
    case StopStep::kDone: return true;
    case StopStep::kWait: return false;
    case StopStep::kBegin: break;
  }
  workers_.Post(key, [this, key] { ender_.StopPod(key); });
  return false;
}

std::map<std::string, std::string> CriRuntime::Sandboxes() {
  const MutexLock lock(shared_.mutex);
  return shared_.sandboxes.Ready();
}

std::vector<std::string> CriRuntime::Addresses(std::string_view uid) {
  const MutexLock lock(shared_.mutex);
  return shared_.sandboxes.Addresses(uid);
}

void CriRuntime::ForgetPod(std::string_view uid) {
  const std::string key(uid);
  const MutexLock lock(shared_.mutex);
  shared_.graces.erase(key);
  if (!shared_.sandboxes.Forget(uid)) return;
  shared_.containers.ForgetPod(uid);
  workers_.Post(key, [this, key] { ender_.RemovePod(key); });
}

void CriRuntime::Retain(const std::set<std::string>& uids) {
  std::vector<std::string> others;
  {
    const MutexLock lock(shared_.mutex);
    others = shared_.sandboxes.AllBut(uids);
  }
  for (const std::string& uid : others) ForgetPod(uid);
}

/// A runtime that is being started beside us gets a moment.
Result<Version> ShakeHands(const Client& client, os::Millis patience) {
  const os::MonoTime end = os::SystemClock().Now() + patience;
  for (os::Millis pause{100};; pause *= 2) {
    auto version = client.Handshake();
    if (version) return version;
    const bool may_come = version.error().code == Code::kUnreachable || version.error().code == Code::kNotFound;
    if (!may_come || os::SystemClock().Now() + pause > end) return version;
    os::SleepFor(pause);
  }
}

}  // namespace

Result<OpenedRuntime> OpenCriRuntime(const CriOptions& options) {
  BERTH_TRY(os::EventFd events, os::EventFd::Open());
  BERTH_TRY(os::EventFd cancel, os::EventFd::Open());
  auto made = std::make_unique<CriRuntime>(options, std::move(events), std::move(cancel));
  OpenedRuntime out;
  BERTH_TRY(out.version, ShakeHands(made->client(), options.patience));
  BERTH_TRY(RuntimeStatus status, made->client().AskStatus());
  out.not_ready = std::move(status.not_ready);
  BERTH_TRY(const std::optional<std::string> driver, made->client().CgroupDriver());
  if (driver && *driver != options.cgroup_driver)
    return Fail(Code::kUnsupported, "the container runtime at " + options.socket + " uses the cgroup driver " +
                                        *driver + ", berthd on this host " + options.cgroup_driver +
                                        ": set SystemdCgroup = " + (*driver == "systemd" ? "false" : "true") +
                                        " in containerd's configuration, or cgroup_manager = \"" +
                                        options.cgroup_driver + "\" in CRI-O's");
  made->SetRecursiveReadOnly(status.features.recursive_read_only);
  out.features = std::move(status.features);
  BERTH_RETURN_IF_ERROR(made->Recover());
  made->Begin();
  out.runtime = std::move(made);
  return out;
}

}  // namespace berth::cri
