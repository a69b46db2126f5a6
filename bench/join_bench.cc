// How long berthd looks at what a runtime has when it joins, and how long containers that are made meanwhile wait: a
// berthd beside a runtime that is made up, with real groups and a process in each. BERTH_BENCH_CONTAINERS: how many,
// 500 without.
//
// Skips, and says why, without root and where systemd makes the groups.
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "api/local_api/api_client.h"
#include "base/text.h"
#include "daemon_fixture.h"
#include "host/os/clock.h"
#include "host/os/poll.h"
#include "host/os/unique_fd.h"
#include "nri.pb.h"
#include "rpc/grpc/transport.h"
#include "rpc/ttrpc/peer.h"
#include "testing/seen_groups.h"

namespace {

using namespace berth;
namespace fs = std::filesystem;
namespace pb = ::nri::pkg::api::v1alpha1;

constexpr int kContainersOfAPod = 10;
constexpr os::Millis kLong{60'000};
constexpr os::Millis kBetween{2};

os::MonoTime In(os::Millis time) { return os::SystemClock().Now() + time; }
double MillisSince(os::MonoTime begin) {
  return std::chrono::duration<double, std::milli>(os::SystemClock().Now() - begin).count();
}

/// There is nothing to measure. Thrown, so that all that was made is removed.
struct Failed {
  std::string why;
};
void Must(bool well, const std::string& why) {
  if (!well) throw Failed{why};
}

/// A runtime's end of NRI. One plug-in at a time.
class Runtime {
 public:
  explicit Runtime(const std::string& path) : listener_(*grpc::UnixListener::Open(path, 0600)) {}

  /// Waits for a plug-in that registers.
  void Accept() {
    Must(os::WaitFor(listener_.fd(), POLLIN, In(kLong)).value_or(false), "berthd does not connect");
    std::promise<void> registered;
    ttrpc::Handlers handlers;
    handlers["nri.pkg.api.v1alpha1.Runtime/RegisterPlugin"] = [&registered](const auto&,
                                                                            const std::string&) -> ttrpc::Reply {
      registered.set_value();
      return "";
    };
    auto peer = ttrpc::Peer::Start(
        grpc::SocketTransport(os::UniqueFd(::accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC))), "berthd",
        std::move(handlers), {.lanes = {.answers = 2, .asks = 1}});
    Must(peer.has_value(), "no connection to berthd");
    peer_ = *std::move(peer);
    Must(registered.get_future().wait_for(kLong) == std::future_status::ready, "berthd does not register");
    pb::ConfigureRequest request;
    request.set_runtime_name("containerd");
    request.set_runtime_version("1.7.24");
    Ask("Configure", request);
  }
  /// How long the answer took, in milliseconds.
  double Ask(const std::string& method, const google::protobuf::MessageLite& request) {
    const os::MonoTime begin = os::SystemClock().Now();
    const auto answer =
        peer_->Call("nri.pkg.api.v1alpha1.Plugin", method, request.SerializeAsString(), {.deadline = In(kLong)});
    const double took = MillisSince(begin);
    Must(answer.has_value(), method + (answer ? "" : ": " + answer.error().message));
    return took;
  }
  void Break() { peer_->Break("the runtime ends"); }

 private:
  grpc::UnixListener listener_;
  std::unique_ptr<ttrpc::Peer> peer_;
};

/// Shares this program's memory, so that thousands of them cost little; it makes system calls alone, as even errno is
/// shared.
int SleepUntilKilled(void*) {
  ::syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  for (;;) ::syscall(SYS_ppoll, nullptr, 0, nullptr, nullptr, 0);
}

/// Pods of a kubelet with their groups, in the hierarchy of cpusets alone, and a process in each. The first pod has a
/// container with a CPU of its own, where there is one to be had. The node's fixture removes the groups.
class Pods {
 public:
  explicit Pods(const testkit::DaemonFixture& node) : root_(node.root()) {
    for (const std::string& mount : testkit::CgroupMounts())
      if (fs::exists(mount + "/cpuset.cpus") || fs::exists(mount + "/cpuset.cpus.effective")) mount_ = mount;
    v1_ = fs::exists(mount_ + "/cpuset.cpus");
    for (const char* const group : {"", "/kubepods", "/kubepods/burstable"}) MakeGroup(root_ + group);
  }
  /// Before the stacks of the processes go.
  ~Pods() {
    for (const int pid : pids_) ::kill(pid, SIGKILL);
    for (const int pid : pids_) ::waitpid(pid, nullptr, 0);
  }
  Pods(const Pods&) = delete;
  Pods& operator=(const Pods&) = delete;

  void Add(int containers) {
    const bool own = inventory_.pods_size() == 0 && testkit::OnlineCpus().Count() > 1;
    const std::string uid = fmt::format("uid-{}", inventory_.pods_size());
    pb::PodSandbox& pod = *inventory_.add_pods();
    pod.set_id(NewId());
    pod.set_name(fmt::format("p{}", inventory_.pods_size()));
    pod.set_uid(uid);
    pod.set_namespace_("default");
    pod.mutable_linux()->set_cgroup_parent(root_ + (own ? "/kubepods/pod" : "/kubepods/burstable/pod") + uid);
    MakeGroup(pod.linux().cgroup_parent());
    StartIn(MakeGroup(pod.linux().cgroup_parent() + "/" + pod.id()));
    for (int i = 0; i < (own ? 1 : containers); ++i)
      StartIn(mount_ + pod.linux().cgroup_parent() + "/" + AddTo(pod, own).id());
  }
  /// One that is about to be made in one of these pods.
  pb::CreateContainerRequest Another() {
    pb::PodSandbox& pod = *inventory_.mutable_pods(1 + next_++ % (inventory_.pods_size() - 1));
    pb::CreateContainerRequest out;
    *out.mutable_container() = AddTo(pod, false);
    out.mutable_container()->clear_state();
    *out.mutable_pod() = pod;
    return out;
  }
  const pb::SynchronizeRequest& inventory() const { return inventory_; }

 private:
  std::string NewId() { return fmt::format("{:064x}", ++ids_); }
  pb::Container& AddTo(const pb::PodSandbox& pod, bool own) {
    pb::Container& out = *inventory_.add_containers();
    out.set_id(NewId());
    out.set_pod_sandbox_id(pod.id());
    out.set_name(fmt::format("c{}", ids_));
    out.set_state(pb::CONTAINER_RUNNING);
    pb::LinuxResources& resources = *out.mutable_linux()->mutable_resources();
    resources.mutable_cpu()->mutable_shares()->set_value(own ? 1024 : 2);
    if (own) {
      resources.mutable_cpu()->mutable_quota()->set_value(100'000);
      resources.mutable_cpu()->mutable_period()->set_value(100'000);
      resources.mutable_memory()->mutable_limit()->set_value(32 << 20);
    }
    MakeGroup(pod.linux().cgroup_parent() + "/" + out.id());
    return out;
  }
  static void Write(const std::string& file, std::string_view text) {
    std::ofstream out(file);
    out << text << std::flush;
    Must(out.good(), "cannot write " + file);
  }
  /// Its folder. As a runtime makes it: with all CPUs and memory nodes of the one above.
  std::string MakeGroup(const std::string& path) {
    const std::string dir = mount_ + path;
    const std::string above = fs::path(dir).parent_path();
    if (!v1_) Write(above + "/cgroup.subtree_control", "+cpuset");
    std::error_code error;
    Must(fs::create_directory(dir, error), "cannot make " + dir);
    if (v1_)
      for (const char* const file : {"/cpuset.cpus", "/cpuset.mems"})
        Write(dir + file, testkit::ReadIfThere(above + file));
    return dir;
  }
  void StartIn(const std::string& dir) {
    auto& stack = stacks_.emplace_back(std::make_unique<Stack>());
    const int pid = ::clone(&SleepUntilKilled, stack->data() + stack->size(), CLONE_VM | SIGCHLD, nullptr);
    Must(pid > 0, "cannot start another process");
    pids_.push_back(pid);
    Write(dir + "/cgroup.procs", std::to_string(pid));
  }

  using Stack = std::array<std::byte, 16384>;
  const std::string root_;
  std::string mount_;
  bool v1_ = false;
  pb::SynchronizeRequest inventory_;
  std::vector<std::unique_ptr<Stack>> stacks_;
  std::vector<int> pids_;
  std::uint64_t ids_ = 0;
  int next_ = 0;
};

double At(std::vector<double> series, double part) {
  if (series.empty()) return 0;
  std::ranges::sort(series);
  return series[static_cast<std::size_t>(part * static_cast<double>(series.size() - 1))];
}

/// Tells berthd what there is, and makes containers until it is ready.
void Join(const char* what, Runtime& runtime, Pods& pods, const testkit::DaemonFixture& node) {
  const int count = pods.inventory().containers_size();
  const double told = runtime.Ask("Synchronize", pods.inventory());
  const os::MonoTime begin = os::SystemClock().Now();
  std::atomic<bool> ready = false;
  double looked = 0;
  std::jthread watch([&](const std::stop_token& stop) {
    for (; !ready && !stop.stop_requested(); os::SleepFor(kBetween)) {
      const auto health = api::Call(node.socket(), "GET", "/v1/health");
      if (!health || !(*health)["notReady"].empty()) continue;
      looked = MillisSince(begin);
      ready = true;
    }
  });
  std::vector<double> made;
  std::vector<double> started;
  for (; !ready && MillisSince(begin) < static_cast<double>(kLong.count()); os::SleepFor(kBetween)) {
    const pb::CreateContainerRequest another = pods.Another();
    made.push_back(runtime.Ask("CreateContainer", another));
    pb::StateChangeEvent start;
    start.set_event(pb::START_CONTAINER);
    *start.mutable_pod() = another.pod();
    *start.mutable_container() = another.container();
    started.push_back(runtime.Ask("StateChange", start));
  }
  watch.request_stop();
  watch.join();
  Must(ready, "berthd is not ready: " + node.output());
  fmt::print("{:<28} {:>10} {:>8.0f} {:>8.0f} {:>6} {:>8.1f} {:>8.1f} {:>8.1f}\n", what, count, told, looked,
             made.size(), At(made, 0.5), At(made, 1), At(started, 1));
}

void Run(int containers) {
  testkit::DaemonFixture node;
  Runtime runtime(node.Dir("nri.sock"));
  std::ofstream(node.Dir("berth.yaml")) << "apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\nruntime: nri\n"
                                           "kubeletDir: \"\"\nnriSocket: "
                                        << node.Dir("nri.sock") << "\n";
  Pods pods(node);
  for (int made = 0; made < containers || pods.inventory().pods_size() < 2; made += kContainersOfAPod)
    pods.Add(kContainersOfAPod);
  const auto start = [&] {
    node.Start({"--config", node.Dir("berth.yaml"), "--socket", node.socket()});
    runtime.Accept();
  };
  fmt::print(
      "\nA join, in ms: until Synchronize is answered, and until all is in its place; containers that are made\n"
      "and started meanwhile, and how long their calls wait\n"
      "{:<28} {:>10} {:>8} {:>8} {:>6} {:>8} {:>8} {:>8}\n",
      "", "containers", "answer", "ready", "made", "p50", "longest", "start");
  start();
  Join("berthd is new here", runtime, pods, node);
  runtime.Break();
  runtime.Accept();
  Join("the runtime comes back", runtime, pods, node);
  node.Kill();
  start();
  Join("berthd was killed", runtime, pods, node);
}

}  // namespace

int main() {
  std::string why = testkit::DaemonFixture::WhyNot().value_or("");
  if (testkit::SystemdMakesGroups()) why = "groups are systemd's";
  if (!why.empty()) {
    fmt::print("joining: skipped, {}\n", why);
    return 0;
  }
  const char* const text = std::getenv("BERTH_BENCH_CONTAINERS");
  try {
    Run(text == nullptr ? 500 : ParseDecimal<int>(text).value_or(500));
  } catch (const Failed& failed) {
    fmt::print("joining: failed, {}\n", failed.why);
    return 1;
  }
  return 0;
}
