#include "runtime_fixture.h"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>

#include "base/text.h"
#include "host/cgroup/cgroup.h"
#include "host/seccomp/profile.h"

namespace berth::runtime {

std::unique_ptr<TestCgroup> TestCgroup::Below(const std::string& mount, bool v2, const std::string& name) {
  const std::string relative = "berth-test-" + std::to_string(::getpid()) + "-" + name;
  Result<std::unique_ptr<os::Fs>> fs = os::OpenFs(mount);
  if (!fs || !(*fs)->MakeDir(relative)) return nullptr;
  Result<std::unique_ptr<os::Fs>> own = os::OpenFs(mount + "/" + relative);
  if (!own) return nullptr;
  return std::unique_ptr<TestCgroup>(new TestCgroup(*std::move(own), mount + "/" + relative, v2));
}

std::unique_ptr<TestCgroup> TestCgroup::Make(std::string_view controller, const std::string& name) {
  Result<std::unique_ptr<os::Fs>> host = os::OpenFs("/");
  const Result<cgroup::Layout> layout = host ? cgroup::DiscoverLayout(**host) : std::unexpected(host.error());
  if (!layout) return nullptr;
  const auto mount = std::ranges::find(layout->controllers, controller, &cgroup::ControllerMount::controller);
  if (mount == layout->controllers.end()) return nullptr;
  if (mount->v2 && !(*host)->Write(mount->mount + "/cgroup.subtree_control", "+" + std::string(controller)))
    return nullptr;
  return Below(mount->mount, mount->v2, name);
}

std::unique_ptr<TestCgroup> TestCgroup::MakeUnified(const std::string& name) {
  for (const char* mount : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"})
    if (::access((std::string(mount) + "/cgroup.controllers").c_str(), F_OK) == 0) return Below(mount, true, name);
  return nullptr;
}

std::string TestCgroup::AllCpus() const {
  const std::string mount = dir_.substr(0, dir_.rfind('/'));
  return std::string(Trim(testkit::ReadText(mount + (v2_ ? "/cpuset.cpus.effective" : "/cpuset.cpus"))));
}

std::string TestCgroup::Read(const std::string& file) const { return fs_->Read(file).value_or(""); }

void TestCgroup::Write(const std::string& file, const std::string& value) const {
  const Result<void> done = fs_->Write(file, value);
  EXPECT_TRUE(done) << done.error().message;
}

std::vector<int> TestCgroup::Pids() const {
  std::vector<int> pids;
  const std::string text = Read("cgroup.procs");
  for (const std::string_view word : SplitWords(text)) pids.push_back(ParseDecimal<int>(word).value_or(0));
  return pids;
}

void TestCgroup::Kill() const {
  for (int round = 0; round < kPatienceMs; ++round) {
    const std::vector<int> pids = Pids();
    if (pids.empty()) return;
    for (const int pid : pids)
      if (pid > 0) ::kill(pid, SIGKILL);
    ::poll(nullptr, 0, 1);
  }
  ADD_FAILURE() << dir_ << " does not get empty";
}

TestCgroup::~TestCgroup() {
  Kill();
  for (int round = 0; round < kPatienceMs && ::rmdir(dir_.c_str()) != 0 && errno == EBUSY; ++round)
    ::poll(nullptr, 0, 1);
}

void RuntimeTest::SetUp() {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  cgroup_ = TestCgroup::Make("cpuset", "app");
  if (cgroup_) {
    cgroup_->Write("cpuset.cpus", "0");
    cgroup_->Write("cpuset.mems", "0");
  }
  Open();
}

void RuntimeTest::TearDown() {
  if (runtime_) {
    for (const ContainerStatus& status : runtime_->List().value_or(std::vector<ContainerStatus>()))
      EXPECT_TRUE(runtime_->Signal(status.id, SIGKILL));
  }
  runtime_.reset();
  cgroup_.reset();
  while (::waitpid(-1, nullptr, 0) > 0) {  // supervisors whose end nobody waited for
  }
}

Result<ContainerStatus> StartNow(Runtime& runtime, testkit::QueuedExecutor& executor, const StartRequest& request) {
  BERTH_TRY(const ContainerStatus creating, runtime.Start(request));
  EXPECT_EQ(creating.state, ContainerState::kCreating);
  executor.RunAll();
  for (ContainerStatus& status : runtime.Poll()) {
    if (status.id != creating.id) continue;
    if (status.state == ContainerState::kNotStarted) return Fail(Code::kIo, status.message);
    return std::move(status);
  }
  return Fail(Code::kInternal, "nothing came of " + creating.id);
}

Result<void> RuntimeTest::Forget(const std::string& id) {
  auto forgotten = runtime_->Forget(id);
  executor_.RunAll();
  return forgotten;
}

ProcessRuntimeOptions RuntimeTest::Options() {
  return {.run_dir = temp_ / "run",
          .shim_path = BERTH_SHIM,
          .shim_cgroup = {},
          .executor = executor_,
          .start_deadline = os::Millis(kPatienceMs),
          .seccomp = [this](const std::string& type, const std::string& profile, os::CapabilitySet capabilities) {
            return type == "Localhost" ? seccomp::Localhost(temp_ / "seccomp", profile, capabilities)
                                       : seccomp::RuntimeDefault(capabilities);
          }};
}

void RuntimeTest::Open() {
  runtime_.reset();
  Result<std::unique_ptr<Runtime>> runtime = OpenProcessRuntime(Options());
  ASSERT_TRUE(runtime) << runtime.error().message;
  runtime_ = *std::move(runtime);
}

StartRequest RuntimeTest::Request(std::vector<std::string> command) const {
  StartRequest request;
  request.pod_uid = "uid-1";
  request.pod_namespace = "default";
  request.pod_name = "pod";
  request.container.name = "app";
  request.container.command = std::move(command);
  if (cgroup_) request.cgroup = cgroup_->dirs();
  request.log_path = temp_ / "logs/app/0.log";
  return request;
}

ContainerStatus RuntimeTest::WaitEnd(const std::string& id) {
  for (;;) {
    const std::optional<ContainerStatus> status = Listed(id);
    if (!status || status->state != ContainerState::kRunning) return status.value_or(ContainerStatus{});
    pollfd event{.fd = runtime_->event_fd(), .events = POLLIN, .revents = 0};
    if (::poll(&event, 1, kPatienceMs) <= 0) {
      ADD_FAILURE() << "no event for " << id;
      return *status;
    }
    runtime_->Poll();
  }
}

ContainerStatus RuntimeTest::Run(const StartRequest& request) {
  const Result<ContainerStatus> started = Start(request);
  if (!started) {
    ADD_FAILURE() << started.error().message;
    return {};
  }
  return WaitEnd(started->id);
}

std::string RuntimeTest::Output(const StartRequest& request, std::string_view stream) const {
  const Result<LogPart> tail = TailLog(request.log_path, {});
  if (!tail) return tail.error().message;
  std::string out;
  for (const LogEntry& entry : tail->entries)
    if (entry.stream == stream) out += entry.text + "\n";
  return out;
}

std::optional<ContainerStatus> RuntimeTest::Listed(const std::string& id) {
  const Result<std::vector<ContainerStatus>> all = runtime_->List();
  if (!all) return std::nullopt;
  for (const ContainerStatus& status : *all)
    if (status.id == id) return status;
  return std::nullopt;
}

}  // namespace berth::runtime
