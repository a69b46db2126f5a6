#include "containerd_fixture.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "base/text.h"
#include "runtime/cri/cri_client.h"
#include "testing/seen_groups.h"

namespace berth::testkit {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRuncState = "/run/containerd/runc/k8s.io/";
constexpr const char* kSlice = ".slice";
constexpr const char* kSandboxImage = "localhost/berth/pause:1";
constexpr const char* kPlugins = "/usr/lib/cni";
constexpr const char* kNetworkLock = "/tmp/berth-test-network";
constexpr int kLookMs = 20;
constexpr int kPatienceMs = 120'000;                               // emulated machines and busy ones are slow
constexpr os::Millis kNetworkPatience = std::chrono::minutes(15);  // ctest ends a case sooner

/// Those of this host, without its first process.
std::vector<int> PidsBelow(const std::string& top) {
  std::vector<int> out;
  for (const std::string& group : GroupsBelow(top))
    for (const int pid : PidsIn(group))
      if (pid > 1) out.push_back(pid);
  return out;
}

bool HasChildren(int pid) {
  std::error_code error;
  for (const auto& thread : fs::directory_iterator("/proc/" + std::to_string(pid) + "/task", error))
    if (!Trim(ReadIfThere(thread.path() / "children")).empty()) return true;
  return false;
}

/// Whether the first process of a container that runc has on record is there.
bool MainProcessLives(const std::string& record) {
  constexpr std::string_view kField = "\"init_process_pid\":";
  const std::string state = ReadIfThere(record + "/state.json");
  const std::size_t at = state.find(kField);
  if (at == std::string::npos) return true;  // as far as anybody can tell
  const std::string_view rest = std::string_view(state).substr(at + kField.size());
  const auto pid = ParseDecimal<int>(rest.substr(0, rest.find_first_not_of("0123456789")));
  return pid && fs::exists("/proc/" + std::to_string(*pid));
}

void Pause() { ::poll(nullptr, 0, kLookMs); }

/// Of a containerd other than Debian's: BERTH_CONTAINERD, a folder as tools/get_containerd makes it.
std::string OwnProgram(const std::string& name) {
  const char* const folder = std::getenv("BERTH_CONTAINERD");
  return folder == nullptr ? name : std::string(folder) + "/" + name;
}

bool Found(const std::string& program) {
  if (program.starts_with('/')) return ::access(program.c_str(), X_OK) == 0;
  for (const char* const folder : {"/usr/local/sbin/", "/usr/local/bin/", "/usr/sbin/", "/usr/bin/", "/sbin/", "/bin/"})
    if (::access((folder + program).c_str(), X_OK) == 0) return true;
  return false;
}

}  // namespace

int RunProgram(const std::vector<std::string>& words, const std::string& log) {
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const int pid = ::fork();
  if (pid == 0) {
    const int fd = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    ::dup2(fd, STDOUT_FILENO);
    ::dup2(fd, STDERR_FILENO);
    ::execvp(argv[0], argv.data());
    ::_exit(127);
  }
  int status = -1;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

std::optional<std::string> ContainerdFixture::WhyNot() {
  if (::geteuid() != 0) return "needs root";
  std::vector<std::string> programs = {OwnProgram("containerd"), OwnProgram("ctr"), "runc"};
  if (std::getenv("BERTH_IMAGES") == nullptr) programs.insert(programs.end(), {"busybox", "python3"});
  for (const std::string& program : programs)
    if (!Found(program)) return "needs " + program + ": tools/install_packages test";
  return std::nullopt;
}

ContainerdFixture::ContainerdFixture() {
  static int count = 0;
  const std::string name = "berth-test-" + std::to_string(::getpid()) + "-cri" + std::to_string(count++);
  root_ = "/" + name;
  if (SystemdMakesGroups()) {
    std::ranges::replace(root_, '-', '_');  // one level
    root_ += kSlice;
  }
  const std::vector<std::string> hierarchies = CgroupMounts();
  const auto freezer = std::ranges::find(hierarchies, std::string(kCgroupMounts) + "/freezer");
  own_group_ = (freezer != hierarchies.end() ? *freezer : kCgroupMounts) + "/" + name + "-containerd";
  fs::create_directory(own_group_);
}

ContainerdFixture::~ContainerdFixture() {
  KillEverything();
  for (const std::string& mount : Mounts()) ::umount2(mount.c_str(), MNT_DETACH);
  RemoveRuncState();
  // With the slices below it: one whose group is removed behind systemd's back is made again with the next reload.
  if (root_.ends_with(kSlice)) {
    EXPECT_EQ(0, std::system(("systemctl stop " + root_.substr(1)).c_str()));
  }
  for (const std::string& hierarchy : CgroupMounts()) {
    std::vector<std::string> groups = GroupsBelow(hierarchy + root_);
    std::ranges::reverse(groups);
    for (const std::string& group : groups) ::rmdir(group.c_str());
  }
  // What was killed takes a moment to leave it.
  for (int round = 0; ::rmdir(own_group_.c_str()) != 0 && errno == EBUSY && round < 100; ++round) Pause();
}

void ContainerdFixture::KillEverything() {
  for (int round = 0; round < 250; ++round) {
    std::vector<int> pids = PidsBelow(own_group_);
    for (const std::string& hierarchy : CgroupMounts())
      for (const int pid : PidsBelow(hierarchy + root_)) pids.push_back(pid);
    if (pid_ > 0) ::waitpid(pid_, nullptr, WNOHANG);
    if (pids.empty()) break;
    for (const int pid : pids) ::kill(pid, SIGKILL);
    Pause();
  }
  if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

/// What runc and shims keep outside of our folders; only left when a test failed.
void ContainerdFixture::RemoveRuncState() {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(Dir("state/io.containerd.runtime.v2.task/k8s.io"), error)) {
    const std::string address = ReadIfThere(entry.path() / "address");
    constexpr std::string_view kScheme = "unix://";
    if (address.starts_with(kScheme)) fs::remove(std::string(Trim(address.substr(kScheme.size()))), error);
    fs::remove_all(kRuncState + entry.path().filename().string(), error);
  }
}

void ContainerdFixture::Start(With with) {
  const bool with_cri = with != With::kNothing;
  const std::string tool = std::string(BERTH_SOURCE_DIR) + "/tools/private_containerd";
  const std::string folder = Dir("");
  const std::string dir = folder.ends_with('/') ? folder.substr(0, folder.size() - 1) : folder;
  const char* const option = with == With::kNothing ? "without-cri" : with == With::kCriAndNri ? "with-nri" : nullptr;
  pid_ = ::fork();
  if (pid_ == 0) {
    std::ofstream(own_group_ + "/cgroup.procs") << ::getpid() << std::flush;
    const int fd = ::open(Dir("containerd.log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    ::dup2(fd, STDOUT_FILENO);
    ::dup2(fd, STDERR_FILENO);
    ::execl(tool.c_str(), tool.c_str(), dir.c_str(), option, nullptr);
    ::_exit(127);
  }
  ASSERT_GT(pid_, 0);
  const auto answers = [&] { return RunProgram({OwnProgram("ctr"), "-a", socket(), "version"}, Dir("ctr.log")) == 0; };
  ASSERT_TRUE(Until("containerd answers", answers));
  if (with_cri && !imported_) ImportImages();
}

void ContainerdFixture::ImportImages() {
  const char* const made = std::getenv("BERTH_IMAGES");
  const std::string archive = made == nullptr ? Dir("images.tar") : made;
  if (made == nullptr) {
    ASSERT_EQ(0, RunProgram({std::string(BERTH_SOURCE_DIR) + "/tools/make_image", archive}, Dir("ctr.log")))
        << ReadIfThere(Dir("ctr.log"));
  }
  Import(archive, {kTestImage, kSandboxImage});
  imported_ = true;
}

void ContainerdFixture::Import(const std::string& archive, const std::vector<std::string>& images) {
  ASSERT_EQ(
      0, RunProgram({OwnProgram("ctr"), "-a", socket(), "-n", "k8s.io", "images", "import", archive}, Dir("ctr.log")))
      << ReadIfThere(Dir("ctr.log"));
  // What ctr imported the CRI plug-in hears of a moment later.
  const cri::Client client(socket());
  EXPECT_TRUE(Until("the images are known", [&] {
    return std::ranges::all_of(images, [&](const std::string& image) {
      const auto found = client.FindImage(image);
      return found && *found;
    });
  }));
}

bool ContainerdFixture::MakeNetwork(With with, const std::string& more) {
  if (::access((std::string(kPlugins) + "/ptp").c_str(), X_OK) != 0) return false;
  auto lock = os::LockFile::Take(kNetworkLock, kNetworkPatience);
  EXPECT_TRUE(lock) << lock.error().message;
  if (!lock) return false;
  network_.emplace(*std::move(lock));
  fs::create_directories(Dir("cni/conf"));
  fs::create_directories(Dir("cni/bin"));
  for (const auto& plugin : fs::directory_iterator(kPlugins))
    fs::create_symlink(plugin.path(), Dir("cni/bin/" + plugin.path().filename().string()));
  std::ofstream(Dir("cni/conf/10-test.conflist"))
      << R"({"cniVersion": "0.4.0", "name": "berth-test", "plugins": [{"type": "ptp", "ipMasq": false, "ipam":
          {"type": "host-local", "ranges": [[{"subnet": "198.18.77.0/24"}]], "dataDir": ")" +
             Dir("addresses") + R"("}})" + more + "]}";
  Kill();
  Start(with);
  return true;
}

std::string ContainerdFixture::RecordOf(const std::string& id) const {
  const std::string answer = Dir("record.json");
  fs::remove(answer);
  const std::vector<std::string> words{OwnProgram("ctr"), "-a", socket(), "-n", "k8s.io", "containers", "info", id};
  return RunProgram(words, answer) == 0 ? ReadIfThere(answer) : "";
}

void ContainerdFixture::Kill() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
  killed_ = true;
}

void ContainerdFixture::Freeze(bool on) {
  ::kill(pid_, on ? SIGSTOP : SIGCONT);
  siginfo_t info{};
  // Its threads stop one after another.
  if (on) ::waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WEXITED | WNOWAIT);
}

std::string ContainerdFixture::GroupOfPod(const std::string& uid) const {
  if (!root_.ends_with(kSlice)) return root_ + "/pod" + uid;
  return root_ + root_.substr(0, root_.size() - std::string_view(kSlice).size()) + "-pod" + uid + kSlice;
}

std::vector<std::string> ContainerdFixture::Groups() const {
  std::vector<std::string> out;
  for (const std::string& hierarchy : CgroupMounts())
    for (std::string& group : GroupsBelow(hierarchy + root_)) out.push_back(std::move(group));
  return out;
}

/// The deepest first.
std::vector<std::string> ContainerdFixture::Mounts() const {
  std::vector<std::string> out;
  std::ifstream mounts("/proc/self/mounts");
  for (std::string line; std::getline(mounts, line);) {
    const std::vector<std::string_view> words = SplitWords(line);
    if (words.size() > 1 && words[1].starts_with(Dir(""))) out.emplace_back(words[1]);
  }
  std::ranges::sort(out, std::greater());
  return out;
}

/// By their command lines: "containerd-shim-runc-v2 -namespace N -id ID -address SOCKET".
std::map<std::string, int> ContainerdFixture::Shims() const {
  std::map<std::string, int> out;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const auto pid = ParseDecimal<int>(entry.path().filename().string());
    if (!pid) continue;
    const std::string line = ReadIfThere(entry.path() / "cmdline");
    const std::vector<std::string_view> words = Split(line, '\0');
    if (words.front().find("containerd-shim") == std::string_view::npos) continue;
    if (std::ranges::find(words, socket()) == words.end()) continue;
    const auto id = std::ranges::find(words, "-id");
    out[id == words.end() || id + 1 == words.end() ? line : std::string(*(id + 1))] = *pid;
  }
  return out;
}

/// runc keeps them outside of our folders.
std::vector<std::string> ContainerdFixture::RuncRecords() const {
  std::vector<std::string> out;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(kRuncState, error))
    if (ReadIfThere(entry.path() / "state.json").find("\"" + Dir("")) != std::string::npos)
      out.push_back(entry.path().string());
  return out;
}

std::vector<std::string> ContainerdFixture::Leftovers(bool client_killed) const {
  std::vector<std::string> out;
  const cri::Client client(socket());
  const auto sandboxes = client.Sandboxes({});
  const auto containers = client.Containers({});
  if (!sandboxes || !containers) return {(sandboxes ? containers.error() : sandboxes.error()).message};
  for (const cri::Sandbox& sandbox : *sandboxes) out.push_back("sandbox " + sandbox.id + " of pod " + sandbox.uid);
  for (const cri::ContainerEntry& container : *containers)
    out.push_back("container " + container.id + " called " + container.name);
  if (!out.empty()) return out;  // the rest follows from these
  const auto listed = [&](const std::string& what, const std::vector<std::string>& words, const auto& wanted) {
    const std::string file = Dir("list.txt");
    std::error_code error;
    fs::remove(file, error);
    std::vector<std::string> all = {OwnProgram("ctr"), "-a", socket(), "-n", "k8s.io"};
    all.insert(all.end(), words.begin(), words.end());
    if (RunProgram(all, file) != 0) out.push_back(what + ": " + ReadIfThere(file));
    std::istringstream lines(ReadIfThere(file));
    for (std::string line; std::getline(lines, line);)
      if (wanted(line)) out.push_back(what + " " + line);
  };
  const auto any = [](const std::string&) { return true; };
  listed("containerd's container", {"containers", "ls", "-q"}, any);
  listed("task", {"tasks", "ls", "-q"}, any);
  listed("snapshot", {"snapshots", "ls"}, [](const std::string& line) { return line.ends_with("Active"); });
  for (const auto& [id, pid] : Shims())
    if (HasChildren(pid) || !(killed_ || client_killed)) out.push_back("shim " + std::to_string(pid) + " of " + id);
  for (const std::string& mount : Mounts()) out.push_back("mount " + mount);
  for (const std::string& group : Groups()) out.push_back("group " + group);
  for (const std::string& record : RuncRecords())
    if (!killed_ || MainProcessLives(record)) out.push_back("record " + record);
  return out;
}

std::string ContainerdFixture::Value(std::string_view controller, std::string_view suffix,
                                     std::string_view file) const {
  const std::string named = std::string(kCgroupMounts) + "/" + std::string(controller);
  for (const std::string& group : GroupsBelow((fs::exists(named) ? named : kCgroupMounts) + root_))
    if (group.ends_with(suffix)) return std::string(Trim(ReadIfThere(group + "/" + std::string(file))));
  return "";
}

std::string ContainerdFixture::output() const { return ReadIfThere(Dir("containerd.log")); }

bool ContainerdFixture::Until(const std::string& what, const std::function<bool()>& done) const {
  using Clock = std::chrono::steady_clock;
  for (const auto end = Clock::now() + std::chrono::milliseconds(kPatienceMs); Clock::now() < end;) {
    if (done()) return true;
    Pause();
  }
  ADD_FAILURE() << "never came true: " << what << "\ncontainerd said:\n" << output();
  return false;
}

}  // namespace berth::testkit
