#include "attack_fixture.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>

#include "api/local_api/api_client.h"
#include "base/text.h"
#include "testing/raw_server.h"

namespace berth::testkit {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view kMemoryLimit = "201326592";  // 192 MiB: supervisors and page cache are in it

/// Where berthd puts itself and its supervisors: made before, with a limit, so that growing means dying.
void LimitMemory(const DaemonFixture& node) {
  const std::string group = "/sys/fs/cgroup/memory" + node.cgroup_root() + "/berth";
  ::mkdir(("/sys/fs/cgroup/memory" + node.cgroup_root()).c_str(), 0755);
  ::mkdir(group.c_str(), 0755);
  std::ofstream file(group + "/memory.limit_in_bytes");
  if (!file.is_open()) return;  // cgroup v2, see LimitMemoryOf
  file << kMemoryLimit << std::flush;
  ASSERT_TRUE(file.good()) << group;
}

/// The same on cgroup v2, where berthd (or systemd for it) makes the group and hands down controllers itself.
void LimitMemoryOf(int berthd) {
  std::ifstream groups("/proc/" + std::to_string(berthd) + "/cgroup");
  std::string line;
  while (std::getline(groups, line) && !line.starts_with("0::")) {
  }
  const std::string limit = "/sys/fs/cgroup" + line.substr(std::min<std::size_t>(line.size(), 3)) + "/memory.max";
  std::ofstream file(limit);
  if (!file.is_open()) return;  // cgroup v1
  file << kMemoryLimit << std::flush;
  ASSERT_TRUE(file.good()) << limit;
}

/// How many times slower than a host this machine is: what a guest is told whose processors are emulated.
int Slowness() {
  const char* const text = std::getenv("BERTH_SLOWER");
  return text == nullptr ? 1 : ParseDecimal<int>(text).value_or(1);
}

}  // namespace

std::string ScriptPod(const std::string& name, const std::string& script, const std::string& cpu,
                      const std::string& more) {
  const std::string resources = cpu.empty() ? "" : "    resources: {limits: {cpu: \"" + cpu + "\", memory: 64Mi}}\n";
  return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + "}\nspec:\n  terminationGracePeriodSeconds: 1\n" +
         more +
         "  containers:\n  - name: app\n    image: none\n    command: [\"/bin/sh\", \"-c\"]\n    args:\n    - |\n     "
         " " +
         script + "\n" + resources;
}

std::string PodsInLines() {
  std::string out;
  for (int i = 0; i < 90'000; ++i)
    out += R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p)" + std::to_string(i) +
           R"("},"spec":{"containers":[{"name":"a","image":"b"}]}})" + "\n";
  return out;
}

int StatusKib(int pid, const std::string& field) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(field + ":")) return ParseDecimal<int>(SplitWords(line)[1]).value_or(-1);
  return -1;
}

void AttackTest::SetUp() {
  if (const auto why = DaemonFixture::WhyNot()) GTEST_SKIP() << *why;
  if (::sysconf(_SC_NPROCESSORS_ONLN) < 2) GTEST_SKIP() << "needs two CPUs";
  if (!starts_itself()) Begin();
}

void AttackTest::Begin(Memory memory) {
  if (memory == Memory::kLimited) LimitMemory(node);
  node.AddPod("steady.yaml", ScriptPod("steady", "while :; do sleep 1; done", "1"));
  ASSERT_NO_FATAL_FAILURE(node.Start(arguments(), before_exec()));
  if (memory == Memory::kLimited) LimitMemoryOf(node.pid());
  ASSERT_TRUE(node.Until("steady runs", [&] { return node.Runs("steady"); }));
  berthd_ = node.pid();
  steady_ = node.Pids();
  asker_ = std::thread([this] { KeepAsking(); });
}

void AttackTest::KeepAsking() {
  while (!stop_) {
    const Clock::time_point begin = Clock::now();
    const auto answer = api::Call(node.socket(), "GET", "/v1/status");
    const std::int64_t took = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin).count();
    EXPECT_TRUE(answer) << answer.error().message;
    longest_us_ = std::max(longest_us_.load(), took);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

void AttackTest::TearDown() {
  if (berthd_ < 0) return;
  stop_ = true;
  asker_.join();
  ASSERT_TRUE(Lives(berthd_)) << "berthd died: " << node.output();
  EXPECT_EQ(node.pid(), berthd_);
  EXPECT_LT(StatusKib(berthd_, "VmHWM"), kMostMemoryKib);
  EXPECT_LT(longest_us_, std::chrono::microseconds(kLongestAnswer * Slowness()).count());
  RecordProperty("longest_answer_us", static_cast<int>(longest_us_));
  RecordProperty("most_memory_kib", StatusKib(berthd_, "VmHWM"));
  EXPECT_TRUE(node.Runs("steady"));
  const std::map<std::string, int> now = node.Pids();
  for (const auto& [container, pid] : steady_) EXPECT_EQ(now.contains(container) ? now.at(container) : -1, pid);
  for (const SeenProcess& process : node.Processes()) {
    if (steady_.empty() || process.pid != steady_.begin()->second) continue;
    EXPECT_EQ(process.allowed, CpuSet{CpuId{1}});
  }
}

os::UniqueFd AttackTest::Connect() const {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  node.socket().copy(address.sun_path, sizeof address.sun_path - 1);
  os::UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  return fd;
}

std::string AttackTest::Say(std::string_view bytes) const {
  const os::UniqueFd fd = Connect();
  SendAll(fd.get(), bytes);  // a refusal may come before all is said
  return ReceiveAll(fd.get());
}

std::string AttackTest::Post(const std::string& target, const std::string& text, const std::string& headers) const {
  return Say("POST " + target + " HTTP/1.1\r\nHost: berth\r\nContent-Length: " + std::to_string(text.size()) + "\r\n" +
             headers + "\r\n" + text);
}

}  // namespace berth::testkit
