#include "cgroup_fixture.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "host/cgroup/cgroup_names.h"
#include "host/cgroup/systemd.h"

namespace berth::testkit {
namespace {

constexpr unsigned kLifetimeSeconds = 60;

std::unique_ptr<os::Fs> Host() {
  auto fs = os::OpenFs("/");
  return fs ? *std::move(fs) : nullptr;
}

/// In the child, between fork and the end: only async-signal-safe calls.
[[noreturn]] void SleepIn(const std::vector<std::string>& files, RealCgroups::Sleeper what, int ready) {
  char status = 0;
  for (const std::string& file : files) {
    const int fd = ::open(file.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0 || ::write(fd, "0", 1) != 1) status = static_cast<char>(errno);
    if (fd >= 0) ::close(fd);
  }
  for (int i = 0; i < what.children; ++i) {
    if (::fork() == 0) break;
  }
  if (const std::size_t size = what.touch_mib << 20; size != 0) {
    void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
      status = static_cast<char>(errno);
    } else {
      std::memset(memory, 1, size);
    }
  }
  ::alarm(kLifetimeSeconds);
  [[maybe_unused]] const auto told = ::write(ready, &status, 1);
  for (;;) ::pause();
}

bool ManagedBySystemd(const cgroup::Layout& layout) {
  return layout.version == cgroup::Version::kV2 && ::access("/run/systemd/system", F_OK) == 0;
}

/// Group of pods and classes, as opposed to containers.
bool IsAbovePods(std::string_view name) {
  return name == "kubepods" || name == "burstable" || name == "besteffort" || name.starts_with("pod");
}

/// Calls cgroups as the cgroupfs driver does, where systemd manages them: "kubepods/podx/c" stands for slices and a
/// scope.
class PlainlyNamed final : public cgroup::Tree {
 public:
  PlainlyNamed(std::unique_ptr<Tree> units, std::string root) : units_(std::move(units)), root_(std::move(root)) {}

  std::string Named(std::string_view path) const {
    std::vector<std::string> slices{root_};
    std::string scope;
    for (const std::string_view part : Split(path, '/')) {
      if (part.empty()) continue;
      if (IsAbovePods(part))
        slices.emplace_back(part);
      else
        scope += "-" + std::string(part);
    }
    const std::string all = *cgroup::PathOf(cgroup::Driver::kSystemd, slices);
    std::string out = all.substr(std::min(all.find('/', 1), all.size()));
    if (!scope.empty()) out += "/" + Join(slices, "-") + scope + ".scope";
    return out.empty() ? out : out.substr(1);
  }

  const cgroup::Layout& layout() const override { return units_->layout(); }
  Result<void> Create(std::string_view path) override { return units_->Create(Named(path)); }
  Result<int> Write(std::string_view path, const CgroupValues& values) override {
    return units_->Write(Named(path), values);
  }
  Result<CgroupValues> Read(std::string_view path) override { return units_->Read(Named(path)); }
  Result<std::vector<int>> Pids(std::string_view path) override { return units_->Pids(Named(path)); }
  using Tree::Kill;
  Result<void> Kill(std::string_view path, os::Millis patience) override { return units_->Kill(Named(path), patience); }
  using Tree::Remove;
  Result<void> Remove(std::string_view path, os::Millis patience) override {
    return units_->Remove(Named(path), patience);
  }
  void LetGo(std::string_view path) override { units_->LetGo(Named(path)); }
  Result<std::vector<std::string>> Children(std::string_view path) override {
    BERTH_TRY(auto names, units_->Children(Named(path)));
    for (std::string& name : names) {
      name.resize(name.rfind('.'));
      name.erase(0, name.rfind('-') + 1);  // npos + 1 is 0
    }
    return names;
  }
  CgroupDirs Dirs(std::string_view path) const override { return units_->Dirs(Named(path)); }
  std::uint64_t writes() const override { return units_->writes(); }
  Result<std::optional<Bytes>> MemoryUsage(std::string_view path) override { return units_->MemoryUsage(Named(path)); }
  Result<std::optional<CpuSet>> OnlineCpus() override { return units_->OnlineCpus(); }
  Result<std::optional<std::int64_t>> PidCapacity() override { return units_->PidCapacity(); }

 private:
  std::unique_ptr<Tree> units_;
  std::string root_;
};

/// The tree at `root`, with the driver that this host needs.
Result<std::unique_ptr<cgroup::Tree>> OpenAt(const cgroup::Layout& layout, const std::string& root) {
  if (!ManagedBySystemd(layout)) return cgroup::Tree::Open(Host(), layout, root);
  const auto path = cgroup::PathOf(cgroup::Driver::kSystemd, {root});
  if (!path) return std::unexpected(path.error());
  auto units = cgroup::OpenTree(cgroup::Driver::kSystemd, Host(), layout, *path);
  if (!units) return units;
  return std::make_unique<PlainlyNamed>(*std::move(units), root);
}

}  // namespace

std::optional<std::string> RealCgroups::WhyNot() {
  if (::geteuid() != 0) return "not root";
  const auto fs = Host();
  if (fs == nullptr) return "/ cannot be opened";
  const auto layout = cgroup::DiscoverLayout(*fs);
  if (!layout) return layout.error().message;
  for (const cgroup::ControllerMount& c : layout->controllers)
    if (c.read_only) return c.mount + " is mounted read-only";
  return std::nullopt;
}

RealCgroups::RealCgroups() : fs_(Host()) {
  static int count = 0;
  root_ = "berth-test-" + std::to_string(::getpid()) + "-" + std::to_string(++count);
  auto layout = cgroup::DiscoverLayout(*fs_);
  if (!layout) {
    ADD_FAILURE() << layout.error().message;
    return;
  }
  layout_ = *std::move(layout);
  auto tree = OpenAt(layout_, root_);
  if (!tree) {
    ADD_FAILURE() << tree.error().message;
    return;
  }
  tree_ = *std::move(tree);
}

RealCgroups::~RealCgroups() {
  const bool systemd = ManagedBySystemd(layout_);
  const auto driver = systemd ? cgroup::Driver::kSystemd : cgroup::Driver::kCgroupfs;
  const auto root = cgroup::PathOf(driver, {root_});
  tree_.reset();
  const auto whole = cgroup::OpenTree(driver, Host(), layout_, "/");
  if (!whole || !root) {
    ADD_FAILURE() << "cannot open the cgroups of this host";
    return;
  }
  const std::string path = root->substr(1);
  if (const auto killed = (*whole)->Kill(path); !killed) ADD_FAILURE() << killed.error().message;
  while (::waitpid(-1, nullptr, WNOHANG) > 0) {
  }
  if (const auto removed = (*whole)->Remove(path); !removed) ADD_FAILURE() << removed.error().message;
}

bool RealCgroups::systemd() const { return ManagedBySystemd(layout_); }

bool RealCgroups::v2(std::string_view controller) const {
  for (const cgroup::ControllerMount& c : layout_.controllers)
    if (c.controller == controller) return c.v2;
  return false;
}

bool RealCgroups::SwapIsOn() {
  const auto swaps = fs_->Read("proc/swaps");
  return swaps && Split(Trim(*swaps), '\n').size() > 1;
}

std::string RealCgroups::File(std::string_view controller, std::string_view path, std::string_view file) const {
  for (const cgroup::ControllerMount& c : layout_.controllers) {
    if (c.controller != controller) continue;
    for (const std::string& dir : tree_->Dirs(path).dirs)
      if (dir == c.mount || dir.starts_with(c.mount + "/")) return dir + "/" + std::string(file);
  }
  ADD_FAILURE() << "no controller " << controller;
  return "";
}

std::string RealCgroups::Value(std::string_view controller, std::string_view path, std::string_view file) {
  const auto text = fs_->Read(File(controller, path, file));
  if (text) return std::string(Trim(*text));
  ADD_FAILURE() << text.error().message;
  return "";
}

void RealCgroups::ForeignWrite(std::string_view controller, std::string_view path, std::string_view file,
                               std::string_view value) {
  const auto done = fs_->Write(File(controller, path, file), value);
  if (!done) ADD_FAILURE() << done.error().message;
}

int RealCgroups::ForeignMove(std::string_view path, int pid) {
  for (const std::string& dir : tree_->Dirs(path).dirs)
    if (const auto moved = fs_->Write(dir + "/cgroup.procs", std::to_string(pid)); !moved) return moved.error().sys;
  tree_->LetGo(path);
  return 0;
}

int RealCgroups::StartSleeper(std::string_view path, Sleeper what) {
  std::vector<std::string> files;
  for (const std::string& dir : tree_->Dirs(path).dirs) files.push_back(dir + "/cgroup.procs");
  std::array<int, 2> ready{};
  if (::pipe2(ready.data(), O_CLOEXEC) != 0) {
    ADD_FAILURE() << "pipe: " << std::strerror(errno);
    return -1;
  }
  const int pid = ::fork();
  if (pid == 0) SleepIn(files, what, ready[1]);
  ::close(ready[1]);
  for (int told = 0; told <= what.children; ++told) {
    char status = 0;
    if (::read(ready[0], &status, 1) != 1 || status != 0) ADD_FAILURE() << "child: " << std::strerror(status);
  }
  ::close(ready[0]);
  tree_->LetGo(path);
  return pid;
}

void RealCgroups::Reap(int pid) {
  if (pid > 0) ::waitpid(pid, nullptr, 0);
}

CpuSet RealCgroups::AllowedCpus(int pid) {
  constexpr std::string_view kKey = "Cpus_allowed_list:";
  const auto status = fs_->Read("proc/" + std::to_string(pid) + "/status");
  if (!status) {
    ADD_FAILURE() << status.error().message;
    return {};
  }
  for (const std::string_view line : Split(*status, '\n')) {
    if (!line.starts_with(kKey)) continue;
    const auto set = CpuSet::Parse(Trim(line.substr(kKey.size())));
    if (set) return *set;
  }
  ADD_FAILURE() << "no " << kKey;
  return {};
}

}  // namespace berth::testkit
