#include "daemon_fixture.h"

#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "api/local_api/api_client.h"
#include "base/text.h"
#include "host/cgroup/systemd.h"
#include "testing/seen_groups.h"

namespace berth::testkit {
namespace {

namespace fs = std::filesystem;

constexpr int kLookMs = 20;
constexpr int kPatienceMs = 120'000;  // emulated machines and busy ones are slow

std::string CpusetMount() {
  for (const std::string& mount : CgroupMounts())
    if (fs::exists(mount + "/cpuset.cpus") || fs::exists(mount + "/cpuset.cpus.effective")) return mount;
  return kCgroupMounts;
}

/// nullopt: it ended meanwhile.
std::optional<SeenProcess> Look(int pid, const std::string& cgroup) {
  SeenProcess out;
  out.pid = pid;
  out.cgroup = cgroup;
  const std::string folder = "/proc/" + std::to_string(pid);
  const std::string stat = ReadIfThere(folder + "/stat");
  const std::string status = ReadIfThere(folder + "/status");
  const std::size_t open = stat.find('(');
  const std::size_t close = stat.rfind(')');
  const std::size_t allowed = status.find("Cpus_allowed_list:");
  if (close == std::string::npos || allowed == std::string::npos) return std::nullopt;
  out.name = stat.substr(open + 1, close - open - 1);
  const std::vector<std::string_view> fields = SplitWords(std::string_view(stat).substr(close + 1));
  if (fields.size() < 37 || fields[0] == "Z" || fields[0] == "X") return std::nullopt;
  out.on_cpu = fields[0] == "R";
  out.processor = CpuId{ParseDecimal<std::uint32_t>(fields[36]).value_or(0)};
  std::string_view line = std::string_view(status).substr(allowed + 18);
  line = Trim(line.substr(0, line.find('\n')));
  if (auto cpus = CpuSet::Parse(line)) out.allowed = *std::move(cpus);
  return out;
}

void Pause() { ::poll(nullptr, 0, kLookMs); }

/// How a child ended, as a shell tells it; nullopt: it runs.
std::optional<int> StatusOf(int child) {
  int status = 0;
  if (::waitpid(child, &status, WNOHANG) != child) return std::nullopt;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

const std::string kUnits = "/run/systemd/system/";

/// What it prints. What goes wrong is seen in the unit.
std::string Systemctl(const std::string& words) {
  std::FILE* const pipe = ::popen(("systemctl " + words).c_str(), "r");
  std::string out;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) out += static_cast<char>(c);
  ::pclose(pipe);
  return out;
}

}  // namespace

std::string SpinnerManifest(const std::string& name, const std::string& cpu, int grace_s) {
  std::string out =
      "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name +
      "}\nspec:\n  terminationGracePeriodSeconds: " + std::to_string(grace_s) +
      "\n  containers:\n  - name: spin\n    image: none\n"
      "    command: [\"/bin/sh\", \"-c\", \"grep Cpus_allowed_list /proc/self/status; while :; do :; done\"]\n";
  if (!cpu.empty()) out += "    resources: {limits: {cpu: \"" + cpu + "\", memory: 32Mi}}\n";
  return out;
}

CpuSet OnlineCpus() {
  const auto cpus = CpuSet::Parse(Trim(ReadIfThere("/sys/devices/system/cpu/online")));
  EXPECT_TRUE(cpus);
  return cpus ? *cpus : CpuSet();
}

std::optional<std::string> DaemonFixture::WhyNot() {
  if (::geteuid() != 0) return "needs root";
  if (::access((CpusetMount() + "/cgroup.procs").c_str(), W_OK) != 0) return "no writable cpuset hierarchy";
  return std::nullopt;
}

bool Lives(int pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(stat, text);
  const std::size_t end = text.rfind(')');
  return end != std::string::npos && text.size() > end + 2 && text[end + 2] != 'Z';
}

DaemonFixture::DaemonFixture(std::string_view reserved_cpus) {
  static int count = 0;
  root_ = "/berth-test-" + std::to_string(::getpid()) + "-" + std::to_string(count++);
  const auto driver = SystemdMakesGroups() ? cgroup::Driver::kSystemd : cgroup::Driver::kCgroupfs;
  if (auto names = cgroup::Names::Make(driver, root_, true)) names_ = *std::move(names);
  state_dir = Dir("state");
  socket_ = Dir("run/berth.sock");
  fs::create_directories(Dir("pods"));
  std::ofstream(Dir("kubelet.yaml")) << "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
                                        "cpuManagerPolicy: static\nreservedSystemCPUs: \""
                                     << reserved_cpus << "\"\n";
}

DaemonFixture::~DaemonFixture() {
  Kill();
  KillGroups();
  RemoveGroups();
}

void DaemonFixture::RemoveGroups() {
  if (names_.driver() == cgroup::Driver::kSystemd && !Groups().empty()) {
    auto host = os::OpenFs("/");
    auto layout = host ? cgroup::DiscoverLayout(**host) : std::unexpected(host.error());
    auto tree = layout ? cgroup::OpenTree(names_.driver(), *std::move(host), *std::move(layout), names_.root())
                       : std::unexpected(layout.error());
    if (!tree) {
      ADD_FAILURE() << tree.error().message;
      return;
    }
    const auto groups = (*tree)->Children("");
    if (!groups) ADD_FAILURE() << groups.error().message;
    for (const std::string& group : groups.value_or(std::vector<std::string>()))
      if (auto removed = (*tree)->Remove(group); !removed) ADD_FAILURE() << removed.error().message;
    (*tree)->RemoveRoot();
  }
  for (const std::string& mount : CgroupMounts()) {
    std::vector<std::string> groups = GroupsBelow(mount + names_.root());
    std::ranges::reverse(groups);
    for (const std::string& group : groups) ::rmdir(group.c_str());
  }
}

/// The last words of slices' names, and containers without what makes their scopes' names unique.
std::string DaemonFixture::HostGroup(const std::string& name) const {
  const std::string& root = names_.root();
  if (names_.driver() == cgroup::Driver::kCgroupfs) return root + "/host/" + name;
  const std::string_view slice = std::string_view(root).substr(root.rfind('/') + 1);
  const std::string stem(slice.substr(0, slice.size() - std::string_view(".slice").size()));
  return root + "/" + stem + "-host.slice/" + stem + "-" + name + ".scope";  // units have one name space
}

std::string DaemonFixture::Plainly(std::string_view group) const {
  if (names_.driver() == cgroup::Driver::kCgroupfs) return std::string(group);
  std::vector<std::string> out;
  std::string uid;
  for (const std::string_view part : Split(group, '/')) {
    if (part == names_.Own()) {
      out.emplace_back("berth");
    } else if (auto container = names_.ContainerName(uid, part)) {
      out.push_back(*std::move(container));
    } else {
      const auto words = cgroup::ComponentsOf(cgroup::Driver::kSystemd, part);
      out.push_back(words.empty() ? std::string(part) : words.back());
    }
    uid = names_.PodUid(part).value_or("");
  }
  return Join(out, "/");
}

void DaemonFixture::KillGroups() {
  for (int round = 0; round < 200; ++round) {
    bool any = false;
    for (const std::string& mount : CgroupMounts())
      for (const std::string& group : GroupsBelow(mount + names_.root()))
        for (const int pid : PidsIn(group)) {
          any = true;
          ::kill(pid, SIGKILL);
        }
    if (!any) return;
    Pause();
  }
}

std::vector<std::string> DaemonFixture::Arguments(const std::vector<std::string>& more) const {
  std::vector<std::string> out = {
      BERTHD,      "--kubelet-config", Dir("kubelet.yaml"), "--pod-dir", Dir("pods"),     "--state-dir", state_dir,
      "--run-dir", Dir("run"),         "--log-dir",         Dir("log"),  "--cgroup-root", root_,         "--node-name",
      "n1"};
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

int DaemonFixture::Spawn(const std::vector<std::string>& more, const std::function<void()>& before_exec,
                         const std::string& log) {
  const std::vector<std::string> arguments = Arguments(more);
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const int pid = ::fork();
  if (pid != 0) return pid;
  const int fd = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  ::dup2(fd, STDOUT_FILENO);
  ::dup2(fd, STDERR_FILENO);
  if (before_exec) before_exec();
  ::execv(argv[0], argv.data());
  ::_exit(127);
}

int DaemonFixture::StartUnit(const std::string& file, const std::vector<std::string>& more) {
  static int count = 0;
  unit_ = root_.substr(1) + "-" + std::to_string(count++) + ".service";  // a new name is found without a daemon-reload
  const std::string log = Dir("berthd.log");
  ::close(::open(log.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));  // systemd would let everybody read it
  // Later lines of a unit win. Who starts berthd again, and when, is the test's choice.
  std::ofstream(kUnits + unit_) << ReadText(file) << "\n[Service]\nExecStart=\nExecStart=\""
                                << Join(Arguments(more), "\" \"") << "\"\nStandardOutput=append:" << log
                                << "\nStandardError=append:" << log << "\nRestart=no\n";
  Systemctl("start " + unit_);
  return ParseDecimal<int>(Trim(Systemctl("show -P MainPID " + unit_))).value_or(-1);
}

std::optional<int> DaemonFixture::Ended() {
  std::optional<int> out;
  if (unit_.empty()) {
    out = StatusOf(pid_);
  } else if (::kill(pid_, 0) != 0) {  // not only a zombie: systemd knows its status then
    const auto shown = [&](const std::string& what) {
      return ParseDecimal<int>(Trim(Systemctl("show -P " + what + " " + unit_))).value_or(-1);
    };
    out = shown("ExecMainStatus") + (shown("ExecMainCode") == CLD_EXITED ? 0 : 128);
    ForgetUnit();
  }
  if (out) pid_ = -1;
  return out;
}

void DaemonFixture::ForgetUnit() {
  fs::remove(kUnits + unit_);  // before that systemd would not know any more how it ended
  Systemctl("reset-failed " + unit_ + " 2>/dev/null");
  unit_.clear();
}

void DaemonFixture::Start(const std::vector<std::string>& more_arguments, const std::function<void()>& before_exec) {
  if (const char* const unit = std::getenv("BERTH_UNIT")) {
    ASSERT_FALSE(before_exec) << "systemd does nothing of ours before it executes berthd";
    pid_ = StartUnit(unit, more_arguments);
  } else {
    pid_ = Spawn(more_arguments, before_exec, Dir("berthd.log"));
  }
  ASSERT_GT(pid_, 0) << "berthd did not start: " << output();
  for (int waited = 0; waited < kPatienceMs; waited += kLookMs) {
    if (api::Call(socket_, "GET", "/v1/status")) return;
    if (const auto status = Ended()) FAIL() << "berthd ended with status " << *status << ": " << output();
    Pause();
  }
  FAIL() << "berthd does not answer: " << output();
}

DaemonFixture::Outcome DaemonFixture::RunToEnd(const std::vector<std::string>& more_arguments,
                                               const std::function<void()>& before_exec) {
  const std::string log = Dir("other.log");
  std::error_code error;
  fs::remove(log, error);
  const int pid = Spawn(more_arguments, before_exec, log);
  for (int waited = 0; waited < kPatienceMs; waited += kLookMs) {
    if (const auto status = StatusOf(pid)) return {.status = *status, .output = ReadIfThere(log)};
    Pause();
  }
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  ADD_FAILURE() << "berthd did not end: " << ReadIfThere(log);
  return {};
}

void DaemonFixture::Kill() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  if (unit_.empty()) {
    ::waitpid(pid_, nullptr, 0);
  } else {
    while (::kill(pid_, 0) == 0) Pause();
    ForgetUnit();
  }
  pid_ = -1;
  killed_ = true;
}

int DaemonFixture::Stop() {
  if (pid_ <= 0) return -1;
  ::kill(pid_, SIGTERM);
  for (int waited = 0; waited < kPatienceMs; waited += kLookMs) {
    if (const auto status = Ended()) return *status;
    Pause();
  }
  ADD_FAILURE() << "berthd does not stop: " << output();
  return -1;
}

std::string DaemonFixture::output() const { return ReadIfThere(Dir("berthd.log")); }

void DaemonFixture::Configure(std::string_view yaml) { std::ofstream(Dir("kubelet.yaml"), std::ios::app) << yaml; }

void DaemonFixture::AddPod(const std::string& file, std::string_view text) {
  const std::string path = Dir("pods/" + file);
  {
    std::ofstream out(path + ".tmp");
    out << text;
  }
  fs::rename(path + ".tmp", path);
}

void DaemonFixture::RemovePod(const std::string& file) { fs::remove(Dir("pods/" + file)); }

codec::Json DaemonFixture::Get(const std::string& path) {
  auto answer = api::Call(socket_, "GET", path);
  if (answer) return *std::move(answer);
  if (answer.error().code == Code::kUnreachable || MayBeDone(answer.error().code)) unanswered_ = true;
  return nullptr;
}

bool DaemonFixture::Until(const std::string& what, const std::function<bool()>& done) {
  using Clock = std::chrono::steady_clock;
  for (const auto end = Clock::now() + std::chrono::milliseconds(kPatienceMs); Clock::now() < end;) {
    unanswered_ = false;
    if (done() && !unanswered_) return true;
    if (pid_ > 0 && Ended()) break;  // berthd died: nothing more will happen
    Pause();
  }
  ADD_FAILURE() << "never came true: " << what << "\nberthd said:\n" << output() << "pods: " << Get("/v1/pods").dump(1);
  return false;
}

codec::Json DaemonFixture::PodNamed(const std::string& name) {
  const codec::Json pods = Get("/v1/pods");
  if (!pods.is_object()) return nullptr;
  for (const codec::Json& pod : pods["pods"])
    if (pod["name"] == name + "-n1") return pod;
  return nullptr;
}

bool DaemonFixture::Runs(const std::string& name) {
  const codec::Json pod = PodNamed(name);
  if (!pod.is_object()) return false;
  return std::ranges::all_of(pod["containers"], [](const codec::Json& c) { return c["state"] == "running"; });
}

std::map<std::string, int> DaemonFixture::Pids() {
  std::map<std::string, int> out;
  const codec::Json pods = Get("/v1/pods");
  if (!pods.is_object()) return out;
  for (const codec::Json& pod : pods["pods"])
    for (const codec::Json& container : pod["containers"])
      if (container.contains("pid"))
        out[pod["name"].get<std::string>() + "/" + container["name"].get<std::string>()] = container["pid"].get<int>();
  return out;
}

codec::Json DaemonFixture::OwnEvents() {
  const codec::Json status = Get("/v1/status");
  if (!status.is_object()) return codec::Json::array();
  const codec::Json events = Get("/v1/events?since=" + status["startedAt"].get<std::string>());
  return events.is_object() ? events["events"] : codec::Json::array();
}

int DaemonFixture::CountEvents(const std::string& reason, const std::string& text) {
  int count = 0;
  for (const codec::Json& event : OwnEvents())
    if (event["reason"] == reason && event["message"].get<std::string>().find(text) != std::string::npos)
      count += event["count"].get<int>();
  return count;
}

std::string DaemonFixture::Repairs() {
  std::string lines;
  for (const codec::Json& event : OwnEvents())
    if (event["reason"] == "CgroupRepaired")
      lines += event["object"].get<std::string>() + ": " + event["message"].get<std::string>() + "\n";
  return lines;
}

std::vector<SeenProcess> DaemonFixture::Processes() const {
  std::vector<SeenProcess> out;
  const std::string top = CpusetMount() + names_.root();
  for (const std::string& group : GroupsBelow(top))
    for (const int pid : PidsIn(group))
      if (auto seen = Look(pid, group.size() > top.size() ? Plainly(group.substr(top.size() + 1)) : ""))
        out.push_back(*seen);
  return out;
}

std::vector<std::string> DaemonFixture::Groups() const {
  std::vector<std::string> out;
  for (const std::string& mount : CgroupMounts())
    for (std::string& group : GroupsBelow(mount + names_.root())) out.push_back(std::move(group));
  return out;
}

std::vector<std::string> DaemonFixture::Leftovers() {
  std::vector<std::string> out;
  for (const char* const path : {"/v1/pods", "/v1/ledger"}) {
    const codec::Json answer = Get(path);
    if (!answer.is_object()) return {std::string(path) + ": no answer"};
    for (const codec::Json& pod : answer["pods"]) out.push_back(std::string(path) + " " + pod["name"].dump());
  }
  for (const std::string& group : Groups())
    if (group.find("/pod") != std::string::npos) out.push_back("group " + group);
  std::error_code error;
  for (const std::string& folder : {state_dir + "/volumes", Dir("run/volumes"), Dir("log/pods")})
    for (const auto& entry : fs::directory_iterator(folder, error)) out.push_back("folder " + entry.path().string());
  std::ifstream mounts("/proc/self/mounts");
  for (std::string line; std::getline(mounts, line);)
    if (line.find(" " + temp_.path() + "/") != std::string::npos) out.push_back("mount " + line);
  return out;
}

std::string DaemonFixture::GroupFile(std::string_view controller, std::string_view group, std::string_view file) const {
  const std::string mount = fs::exists(std::string(kCgroupMounts) + "/" + std::string(controller))
                                ? std::string(kCgroupMounts) + "/" + std::string(controller)
                                : kCgroupMounts;
  return mount + names_.root() + "/" + (group == "berth" ? names_.Own() : std::string(group)) + "/" + std::string(file);
}

}  // namespace berth::testkit
