#include "berthd_fixture.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "host/os/unique_fd.h"

namespace berth {
namespace {

constexpr const char* kSettings =
    "apiVersion: kubelet.config.k8s.io/v1beta1\n"
    "kind: KubeletConfiguration\n"
    "cpuManagerPolicy: static\n"
    "reservedSystemCPUs: \"0-1\"\n";

/// A socket on which berthd says that it is ready.
class ReadySocket {
 public:
  explicit ReadySocket(const std::string& path) : fd_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::ranges::copy(path.substr(0, sizeof address.sun_path - 1), address.sun_path);
    bound_ = ::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }
  /// False when the process ended first, or after a minute.
  bool WaitFor(int pid) const {
    constexpr int kPatienceMs = 60'000;
    const os::UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    for (;;) {
      pollfd both[] = {{fd_.get(), POLLIN, 0}, {process.get(), POLLIN, 0}};
      if (!bound_ || ::poll(both, 2, kPatienceMs) <= 0 || (both[0].revents & POLLIN) == 0) return false;
      char text[4096];
      const ssize_t n = ::recv(fd_.get(), text, sizeof text, 0);
      if (n <= 0) return false;
      if (std::string_view(text, static_cast<std::size_t>(n)).find("READY=1") != std::string_view::npos) return true;
    }
  }

 private:
  os::UniqueFd fd_;
  bool bound_ = false;
};

}  // namespace

void BerthdTest::SetUp() {
  socket_ = folder_ / "berth.sock";
  std::filesystem::create_directory(folder_ / "pods");
  const std::string settings = File("kubelet.yaml", kSettings);
  const ReadySocket ready(folder_ / "ready");
  // timeout(1) ends berthd should this program die before it can.
  std::vector<std::string> arguments = {"110",
                                        BERTHD,
                                        "--machine=pack:2 [numa(memory=8589934592)] core:4 pu:2",
                                        "--kubelet-config=" + settings,
                                        "--node-name=n1",
                                        "--pod-dir=" + (folder_ / "pods"),
                                        "--state-dir=" + (folder_ / "state"),
                                        "--run-dir=" + (folder_ / "run"),
                                        "--log-dir=" + (folder_ / "log"),
                                        "--socket=" + socket_};
  for (std::string& argument : MoreArguments()) arguments.push_back(std::move(argument));
  pid_ = Spawn("timeout", arguments, {"NOTIFY_SOCKET=" + (folder_ / "ready")}, folder_ / "berthd.out");
  ASSERT_GT(pid_, 0);
  ASSERT_TRUE(ready.WaitFor(pid_)) << testkit::ReadText(folder_ / "berthd.out");
}

void BerthdTest::TearDown() {
  StopBerthd();
  if (HasFailure()) std::fprintf(stderr, "berthd said:\n%s\n", testkit::ReadText(folder_ / "berthd.out").c_str());
}

void BerthdTest::StopBerthd() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGTERM);
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
}

Ran BerthdTest::Ask(std::vector<std::string> arguments, RunOptions options) const {
  arguments.insert(arguments.end(), {"--socket", socket_});
  return Berth(arguments, options);
}

codec::Json BerthdTest::AskJson(std::vector<std::string> arguments) const {
  arguments.insert(arguments.end(), {"-o", "json"});
  const Ran ran = Ask(std::move(arguments));
  EXPECT_EQ(0, ran.status) << ran.err;
  auto json = codec::ParseJson(ran.out, "berth");
  EXPECT_TRUE(json) << ran.out;
  return json ? *std::move(json) : codec::Json();
}

std::string BerthdTest::File(const std::string& name, const std::string& text) const {
  const std::string path = folder_ / name;
  std::ofstream(path) << text;
  return path;
}

std::string BerthdTest::Manifest(const std::string& name, const std::string& cpu) const {
  std::string text = "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name +
                     "}\nspec:\n  containers:\n  - name: app\n    image: none\n    command: [sleep, \"1000\"]\n";
  if (!cpu.empty()) text += "    resources: {limits: {cpu: \"" + cpu + "\", memory: 64Mi}}\n";
  return File(name + ".yaml", text);
}

void BerthdTest::AddPod(const std::string& name, const std::string& cpu) const {
  const Ran ran = Ask({"apply", "--wait", "-f", Manifest(name, cpu)});
  ASSERT_EQ(0, ran.status) << ran.err;
}

}  // namespace berth
