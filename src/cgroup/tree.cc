#include "cgroup/tree.h"

#include <signal.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <set>
#include <utility>

#include "base/text.h"
#include "cgroup/control_files.h"
#include "cgroup/hierarchy.h"
#include "os/pidfd.h"

namespace berth::cgroup {
namespace {

constexpr std::size_t kMaxName = 255;
constexpr std::array<std::string_view, 12> kFilePrefixes = {"cgroup.",  "cpu.",     "cpuset.", "memory.",
                                                            "pids.",    "hugetlb.", "io.",     "cpuacct.",
                                                            "freezer.", "rdma.",    "misc.",   "blkio."};

/// Control files by their names; cgroups never have such a name (CheckComponent refuses them).
bool LooksLikeFile(std::string_view name) {
  if (name == "tasks" || name == "notify_on_release" || name == "release_agent") return true;
  return std::any_of(kFilePrefixes.begin(), kFilePrefixes.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

/// Waits 1, 2, 4, ... ms, until the patience is used up.
class Backoff {
 public:
  Backoff(const std::function<void(os::Millis)>& wait, os::Millis patience) : wait_(wait), patience_(patience) {}
  /// false: no time left, not waited.
  bool Wait() {
    if (waited_ >= patience_) return false;
    const os::Millis now = std::min(next_, patience_ - waited_);
    wait_(now);
    waited_ += now;
    next_ *= 2;
    return true;
  }

 private:
  const std::function<void(os::Millis)>& wait_;
  os::Millis patience_;
  os::Millis next_{1};
  os::Millis waited_{0};
};

std::string PidList(const std::vector<int>& pids) {
  constexpr std::size_t kShown = 8;
  std::vector<std::string> out;
  for (std::size_t i = 0; i < pids.size() && i < kShown; ++i) out.push_back(std::to_string(pids[i]));
  return Join(out, ", ") + (pids.size() > kShown ? ", ..." : "");
}

class HostTree final : public Tree {
 public:
  HostTree(std::unique_ptr<os::Fs> fs, Layout layout, std::string root, TreeDoors doors)
      : fs_(std::move(fs)),
        files_(*fs_),
        layout_(std::move(layout)),
        root_(std::move(root)),
        doors_(std::move(doors)) {}

  /// Finds the hierarchies; `root_too`: and makes the root in them.
  Result<void> Start(bool root_too);

  const Layout& layout() const override { return layout_; }
  Result<void> Create(std::string_view path) override;
  Result<int> Write(std::string_view path, const CgroupValues& values) override;
  Result<CgroupValues> Read(std::string_view path) override;
  Result<CpuSet> ReadCpus(std::string_view path) override;
  Result<Cpuset> ReadCpuset(std::string_view path) override;
  Result<std::optional<PartitionState>> ReadPartition(std::string_view path) override;
  Result<void> WriteExclusive(std::string_view path, const CpuSet& cpus) override;
  Result<void> WritePartition(std::string_view path, std::string_view kind) override;
  Result<std::vector<int>> Pids(std::string_view path) override;
  Result<std::vector<int>> CpusetPids(std::string_view path) override;
  Result<int> ReturnToCpuset(std::string_view path, const std::vector<int>& pids) override;
  Result<std::optional<Bytes>> MemoryUsage(std::string_view path) override;
  Result<std::optional<Bytes>> WorkingSet(std::string_view path) override;
  Result<std::optional<HostFigures>> Figures() override;
  Result<std::optional<std::int64_t>> PidCapacity() override;
  Result<std::optional<CpuSet>> OnlineCpus() override;
  using Tree::Kill;
  Result<void> Kill(std::string_view path, os::Millis patience) override;
  Result<void> Remove(std::string_view path, os::Millis patience) override;
  void RemoveRoot() override;
  Result<std::vector<std::string>> Children(std::string_view path) override;
  CgroupDirs Dirs(std::string_view path) const override;
  std::uint64_t writes() const override { return files_.writes(); }

 private:
  /// The path relative to each mount, checked component by component; the root for "".
  Result<std::string> Checked(std::string_view path) const;
  Result<void> CheckAsked(const CgroupValues& values) const;
  bool Has(std::string_view controller) const;
  /// Directory of the cgroup in the hierarchy with the cpuset controller; "" when that is not of `version`.
  std::string CpusetDir(Version version, const std::string& full) const;
  Result<std::vector<std::string>> ChildrenOf(const std::string& dir);
  Result<void> AddPids(const std::string& dir, std::set<int>& out);
  Result<std::vector<int>> PidsOf(const std::string& path);
  Result<bool> KillAtOnce(const std::string& path);
  Result<void> RemoveTree(const std::string& dir, Backoff& backoff);

  std::unique_ptr<os::Fs> fs_;
  ControlFiles files_;
  Layout layout_;
  std::string root_;  ///< without leading "/"; empty: the mount itself
  TreeDoors doors_;
  std::vector<std::unique_ptr<Hierarchy>> hierarchies_;
};

Result<void> HostTree::Start(bool root_too) {
  if (root_too) BERTH_RETURN_IF_ERROR(CheckWritable(layout_));
  std::vector<std::pair<const ControllerMount*, std::vector<std::string>>> mounts;
  for (const ControllerMount& c : layout_.controllers) {
    const auto same =
        std::find_if(mounts.begin(), mounts.end(), [&](const auto& m) { return m.first->mount == c.mount; });
    if (same == mounts.end()) {
      mounts.push_back({&c, {c.controller}});
    } else {
      same->second.push_back(c.controller);
    }
  }
  for (auto& [mount, names] : mounts) {
    hierarchies_.push_back(mount->v2 ? MakeV2Hierarchy(files_, mount->mount, std::move(names))
                                     : MakeV1Hierarchy(files_, mount->mount, std::move(names)));
  }
  if (!Has("cpuset"))
    return Fail(Code::kUnsupported,
                "no cgroup hierarchy with the cpuset controller; mount one ('mount -t cgroup2 none "
                "/sys/fs/cgroup', or v1: 'mount -t cgroup -o cpuset none "
                "/sys/fs/cgroup/cpuset'), or enable the controller in the kernel");
  if (!root_too) return {};
  auto made = Create("");
  if (made || made.error().code != Code::kPermission) return made;
  return Wrap(std::move(made).error(),
              "create the cgroups below '/" + root_ + "' (run as root, or have this part of the tree delegated)");
}

bool HostTree::Has(std::string_view controller) const {
  return std::any_of(hierarchies_.begin(), hierarchies_.end(), [&](const auto& h) { return h->Has(controller); });
}

Result<std::string> HostTree::Checked(std::string_view path) const {
  std::string out = root_;
  if (path.empty()) return out;
  for (const std::string_view part : Split(path, '/')) {
    if (auto ok = CheckComponent(part); !ok)
      return Wrap(std::move(ok).error(), "cgroup path '" + Printable(path) + "'");
    if (!out.empty()) out += '/';
    out += part;
  }
  return out;
}

Result<void> HostTree::CheckAsked(const CgroupValues& values) const {
  const auto check = [&](bool asked, std::string_view controller) -> Result<void> {
    if (!asked || Has(controller)) return {};
    return Fail(Code::kUnsupported, "controller '" + std::string(controller) +
                                        "' is not enabled on this host; enable it (kernel command line, cgroup mounts) "
                                        "or ask for no such value");
  };
  BERTH_RETURN_IF_ERROR(check(values.shares || values.weight || values.cpu_max, "cpu"));
  BERTH_RETURN_IF_ERROR(check(values.memory_max || values.memory_min || values.memory_low, "memory"));
  return check(values.pids_max.has_value(), "pids");
}

Result<void> HostTree::Create(std::string_view path) {
  BERTH_TRY(const std::string full, Checked(path));
  for (const auto& h : hierarchies_) BERTH_RETURN_IF_ERROR(h->Create(full));
  return {};
}

Result<int> HostTree::Write(std::string_view path, const CgroupValues& values) {
  BERTH_TRY(const std::string full, Checked(path));
  BERTH_RETURN_IF_ERROR(CheckAsked(values));
  const std::uint64_t before = files_.writes();
  for (const auto& h : hierarchies_) BERTH_RETURN_IF_ERROR(h->Write(full, root_.size(), values));
  return static_cast<int>(files_.writes() - before);
}

Result<CgroupValues> HostTree::Read(std::string_view path) {
  BERTH_TRY(const std::string full, Checked(path));
  CgroupValues out;
  bool found = false;
  for (const auto& h : hierarchies_) {
    BERTH_TRY(const bool exists, fs_->Exists(h->Dir(full)));
    if (!exists) continue;
    found = true;
    BERTH_RETURN_IF_ERROR(h->Read(full, out));
  }
  if (!found) return FailErrno("read cgroup", hierarchies_.front()->Dir(full), ENOENT);
  return out;
}

Result<CpuSet> HostTree::ReadCpus(std::string_view path) {
  BERTH_TRY(const std::string full, Checked(path));
  for (const auto& h : hierarchies_) {
    if (!h->Has("cpuset")) continue;
    BERTH_TRY(const auto cpus, h->ReadCpus(full));
    if (!cpus) return FailErrno("read cgroup", h->Dir(full), ENOENT);
    return *cpus;
  }
  return CpuSet();
}

Result<Cpuset> HostTree::ReadCpuset(std::string_view path) {
  BERTH_TRY(const std::string full, Checked(path));
  for (const auto& h : hierarchies_) {
    if (!h->Has("cpuset")) continue;
    BERTH_TRY(auto cpus, h->ReadCpus(full));
    if (!cpus) return FailErrno("read cgroup", h->Dir(full), ENOENT);
    BERTH_TRY(auto mems, h->ReadMems(full));
    return Cpuset{*std::move(cpus), std::move(mems).value_or(NodeSet())};
  }
  return Cpuset();
}

std::string HostTree::CpusetDir(Version version, const std::string& full) const {
  for (const auto& h : hierarchies_)
    if (h->v2() == (version == Version::kV2) && h->Has("cpuset")) return h->Dir(full);
  return "";
}

Result<std::optional<PartitionState>> HostTree::ReadPartition(std::string_view path) {
  BERTH_TRY(const std::string full, Checked(path));
  const std::string dir = CpusetDir(Version::kV2, full);
  if (dir.empty()) return std::nullopt;
  BERTH_TRY(const bool exists, fs_->Exists(dir));
  if (!exists) return FailErrno("read cgroup", dir, ENOENT);
  BERTH_TRY(const auto kind, files_.Read(dir + "/cpuset.cpus.partition"));
  if (!kind) return std::nullopt;
  PartitionState out{.kind = std::string(Trim(*kind)), .exclusive = {}};
  BERTH_TRY(out.exclusive, files_.Parsed(dir + "/cpuset.cpus.exclusive", CpuSet::Parse));
  return out;
}

Result<void> HostTree::WriteExclusive(std::string_view path, const CpuSet& cpus) {
  BERTH_TRY(const std::string full, Checked(path));
  return files_.Write(CpusetDir(Version::kV2, full) + "/cpuset.cpus.exclusive", cpus.empty() ? "\n" : FormatIds(cpus));
}

Result<void> HostTree::WritePartition(std::string_view path, std::string_view kind) {
  BERTH_TRY(const std::string full, Checked(path));
  return files_.Write(CpusetDir(Version::kV2, full) + "/cpuset.cpus.partition", kind);
}

Result<std::vector<std::string>> HostTree::ChildrenOf(const std::string& dir) {
  const auto names = fs_->List(dir);
  if (!names) {
    if (names.error().code == Code::kNotFound) return std::vector<std::string>();
    return std::unexpected(names.error());
  }
  std::vector<std::string> out;
  for (const std::string& name : *names) {
    if (LooksLikeFile(name)) continue;
    BERTH_TRY(const bool is_cgroup, fs_->Exists(dir + "/" + name + "/cgroup.procs"));
    if (is_cgroup) out.push_back(name);
  }
  return out;
}

Result<void> HostTree::AddPids(const std::string& dir, std::set<int>& out) {
  BERTH_TRY(const auto pids, files_.Parsed(dir + "/cgroup.procs", ParsePids));
  if (pids) out.insert(pids->begin(), pids->end());
  BERTH_TRY(const auto children, ChildrenOf(dir));
  for (const std::string& child : children) BERTH_RETURN_IF_ERROR(AddPids(dir + "/" + child, out));
  return {};
}

Result<std::vector<int>> HostTree::PidsOf(const std::string& path) {
  std::set<int> out;
  for (const auto& h : hierarchies_) BERTH_RETURN_IF_ERROR(AddPids(h->Dir(path), out));
  return std::vector<int>(out.begin(), out.end());
}

Result<std::vector<int>> HostTree::Pids(std::string_view path) {
  BERTH_TRY(const std::string full, Checked(path));
  return PidsOf(full);
}

Result<std::vector<int>> HostTree::CpusetPids(std::string_view path) {
  BERTH_TRY(const std::string full, Checked(path));
  const std::string dir = CpusetDir(Version::kV1, full);
  if (dir.empty()) return std::vector<int>();
  BERTH_TRY(auto pids, files_.Parsed(dir + "/cgroup.procs", ParsePids));
  return std::move(pids).value_or(std::vector<int>());
}

Result<int> HostTree::ReturnToCpuset(std::string_view path, const std::vector<int>& pids) {
  BERTH_TRY(const std::string full, Checked(path));
  const std::string dir = CpusetDir(Version::kV1, full);
  const auto other = std::ranges::find_if(hierarchies_, [](const auto& h) { return !h->Has("cpuset"); });
  if (dir.empty() || other == hierarchies_.end()) return 0;
  std::set<int> own;
  BERTH_RETURN_IF_ERROR(AddPids((*other)->Dir(full), own));
  int returned = 0;
  Result<void> first;
  for (const int pid : pids) {
    if (!own.contains(pid)) continue;
    auto moved = files_.Write(dir + "/cgroup.procs", std::to_string(pid));
    if (moved) {
      ++returned;
    } else if (moved.error().sys != ESRCH && moved.error().code != Code::kNotFound && first) {
      first = std::move(moved);
    }
  }
  return first ? Result<int>(returned) : std::unexpected(std::move(first).error());
}

/// cgroup.kill (Linux 5.14) leaves nobody behind, however fast they fork. false: not everything is on such a hierarchy.
Result<bool> HostTree::KillAtOnce(const std::string& path) {
  bool all = true;
  for (const auto& h : hierarchies_) {
    const std::string file = h->Dir(path) + "/cgroup.kill";
    if (!h->v2()) {
      all = false;
      continue;
    }
    if (auto done = files_.Write(file, "1"); !done) {
      if (done.error().code != Code::kNotFound) return std::unexpected(std::move(done).error());
      all = false;
    }
  }
  return all;
}

Result<std::optional<Bytes>> HostTree::MemoryUsage(std::string_view path) {
  BERTH_TRY(const std::string full, Checked(path));
  for (const auto& h : hierarchies_) {
    if (!h->Has("memory")) continue;
    BERTH_TRY(const auto text, files_.Read(h->Dir(full) + (h->v2() ? "/memory.current" : "/memory.usage_in_bytes")));
    if (!text) return std::nullopt;
    const auto bytes = ParseDecimal<std::int64_t>(Trim(*text));
    if (!bytes) return Fail(Code::kInvalid, "memory usage of cgroup " + full + " is '" + Printable(*text) + "'");
    return Bytes{*bytes};
  }
  return std::nullopt;
}

Result<std::optional<Bytes>> HostTree::WorkingSet(std::string_view path) {
  BERTH_TRY(const auto usage, MemoryUsage(path));
  if (!usage) return std::nullopt;
  BERTH_TRY(const std::string full, Checked(path));
  for (const auto& h : hierarchies_) {
    if (!h->Has("memory")) continue;
    BERTH_TRY(const auto stat, files_.Read(h->Dir(full) + "/memory.stat"));
    const auto idle = stat ? ParseField(*stat, h->v2() ? "inactive_file" : "total_inactive_file") : std::nullopt;
    return Bytes{std::max<std::int64_t>(0, usage->v - idle.value_or(0))};
  }
  return usage;
}

Result<std::optional<HostFigures>> HostTree::Figures() {
  constexpr std::int64_t kKib = 1024;
  BERTH_TRY(const auto memory, files_.Read("/proc/meminfo"));
  BERTH_TRY(const auto load, files_.Read("/proc/loadavg"));
  if (!memory || !load) return std::nullopt;
  const auto total = ParseField(*memory, "MemTotal:");
  const auto free = ParseField(*memory, "MemFree:");
  const auto idle = ParseField(*memory, "Inactive(file):");
  if (!total || !free || !idle) return Fail(Code::kInvalid, "/proc/meminfo lacks MemTotal, MemFree or Inactive(file)");
  HostFigures out;
  out.memory = Bytes{*total * kKib};
  out.working_set = Bytes{std::max<std::int64_t>(0, *total - *free - *idle) * kKib};
  const auto words = SplitWords(*load);  // "0.1 0.2 0.3 running/all last-pid"
  const std::string_view counts = words.size() > 3 ? words[3] : std::string_view();
  const auto processes = ParseDecimal<std::int64_t>(counts.substr(counts.find('/') + 1));
  if (!processes)
    return Fail(Code::kInvalid, "/proc/loadavg has no number of processes: '" + Printable(*load, 60) + "'");
  out.processes = *processes;
  BERTH_TRY(const auto most, PidCapacity());
  out.most_processes = most.value_or(0);
  return out;
}

Result<std::optional<std::int64_t>> HostTree::PidCapacity() {
  std::optional<std::int64_t> out;
  for (const char* file : {"/proc/sys/kernel/pid_max", "/proc/sys/kernel/threads-max"}) {
    BERTH_TRY(const auto number, files_.Parsed(file, ParseNumber));
    if (number) out = std::min(out.value_or(*number), *number);
  }
  return out;
}

Result<std::optional<CpuSet>> HostTree::OnlineCpus() {
  BERTH_TRY(const auto text, files_.Read("/sys/devices/system/cpu/online"));
  if (!text) return std::nullopt;
  BERTH_TRY(CpuSet cpus, CpuSet::Parse(Trim(*text)));
  return cpus;
}

Result<void> HostTree::Kill(std::string_view path, os::Millis patience) {
  BERTH_TRY(const std::string full, Checked(path));
  if (full == root_ && root_.empty()) return Fail(Code::kInvalid, "will not kill every process of the host");
  Backoff backoff(doors_.wait, patience);
  std::vector<int> told;  // reached by cgroup.kill: they only need time to die
  for (;;) {
    BERTH_TRY(const std::vector<int> pids, PidsOf(full));
    if (pids.empty()) return {};
    if (!std::includes(told.begin(), told.end(), pids.begin(), pids.end())) {
      BERTH_TRY(const bool done, KillAtOnce(full));
      if (!done) BERTH_RETURN_IF_ERROR(doors_.kill(pids, [&] { return PidsOf(full); }));
      if (done) told = pids;
    }
    if (!backoff.Wait()) return Fail(Code::kBusy, "processes of cgroup " + full + " survive SIGKILL: " + PidList(pids));
  }
}

Result<void> HostTree::RemoveTree(const std::string& dir, Backoff& backoff) {
  for (;;) {
    BERTH_TRY(const auto children, ChildrenOf(dir));
    for (const std::string& child : children) BERTH_RETURN_IF_ERROR(RemoveTree(dir + "/" + child, backoff));
    auto done = fs_->RemoveDir(dir);
    if (done || done.error().code != Code::kBusy || !backoff.Wait()) return done;
  }
}

Result<void> HostTree::Remove(std::string_view path, os::Millis patience) {
  BERTH_TRY(const std::string full, Checked(path));
  if (full == root_) return Fail(Code::kInvalid, "will not remove the root '/" + root_ + "' of Berth's cgroups");
  BERTH_TRY(const std::vector<int> pids, PidsOf(full));
  if (!pids.empty()) {
    return Fail(Code::kBusy, "remove cgroup " + full + ": processes are still in it: " + PidList(pids));
  }
  Backoff backoff(doors_.wait, patience);
  for (const auto& h : hierarchies_) BERTH_RETURN_IF_ERROR(RemoveTree(h->Dir(full), backoff));
  return {};
}

/// A directory that somebody else uses is not empty and stays.
void HostTree::RemoveRoot() {
  if (root_.empty()) return;
  for (const auto& h : hierarchies_) [[maybe_unused]]
    const auto removed = fs_->RemoveDir(h->Dir(root_));
}

Result<std::vector<std::string>> HostTree::Children(std::string_view path) {
  BERTH_TRY(const std::string full, Checked(path));
  std::set<std::string> out;
  for (const auto& h : hierarchies_) {
    BERTH_TRY(const auto names, ChildrenOf(h->Dir(full)));
    out.insert(names.begin(), names.end());
  }
  return std::vector<std::string>(out.begin(), out.end());
}

CgroupDirs HostTree::Dirs(std::string_view path) const {
  CgroupDirs out;
  const auto full = Checked(path);
  if (!full) return out;
  out.v2 = hierarchies_.size() == 1 && hierarchies_.front()->v2();
  for (const auto& h : hierarchies_) out.dirs.push_back(h->Dir(*full));
  return out;
}

/// Handles are opened first, then the list is read again: a pid that is still listed is the process of the handle, or
/// that one is dead and the signal goes nowhere. A reused pid is never hit.
Result<void> KillListed(const std::vector<int>& pids, const std::function<Result<std::vector<int>>()>& still_there) {
  std::vector<std::pair<int, os::UniqueFd>> handles;
  for (const int pid : pids) {
    const auto start = os::StartTicksOf(pid);
    auto handle = start ? os::OpenPidfd(pid, *start) : Result<os::UniqueFd>(std::unexpected(start.error()));
    if (handle) {
      handles.emplace_back(pid, *std::move(handle));
    } else if (handle.error().code != Code::kNotFound) {
      return std::unexpected(std::move(handle).error());
    }
  }
  BERTH_TRY(const std::vector<int> there, still_there());
  for (const auto& [pid, handle] : handles)
    if (std::binary_search(there.begin(), there.end(), pid)) {
      BERTH_RETURN_IF_ERROR(os::SendSignal(handle.get(), SIGKILL));
    }
  return {};
}

}  // namespace

Result<void> CheckComponent(std::string_view name) {
  const auto bad = [&](std::string_view why) {
    return Fail(Code::kInvalid, "'" + Printable(name, 80) + "' cannot be the name of a cgroup: " + std::string(why));
  };
  if (name.empty()) return bad("it is empty");
  if (name == "." || name == "..") return bad("it would lead elsewhere");
  if (name.size() > kMaxName) return bad("it is longer than 255 bytes");
  for (const char c : name) {
    const bool fine =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
    if (!fine) return bad("only letters, digits, '-', '.' and '_' are allowed");
  }
  if (LooksLikeFile(name)) return bad("the kernel keeps such names for its control files");
  return {};
}

namespace {

Result<std::unique_ptr<Tree>> MakeTree(std::unique_ptr<os::Fs> root_fs, Layout layout, const std::string& root,
                                       TreeDoors doors, bool root_too) {
  std::vector<std::string> parts;
  for (const std::string_view part : Split(root, '/')) {
    if (part.empty()) continue;
    if (auto ok = CheckComponent(part); !ok)
      return Wrap(std::move(ok).error(), "cgroup root '" + Printable(root) + "'");
    parts.emplace_back(part);
  }
  auto tree = std::make_unique<HostTree>(std::move(root_fs), std::move(layout), Join(parts, "/"), std::move(doors));
  BERTH_RETURN_IF_ERROR(tree->Start(root_too));
  return tree;
}

}  // namespace

Result<std::unique_ptr<Tree>> OpenTree(std::unique_ptr<os::Fs> root_fs, Layout layout, const std::string& root,
                                       TreeDoors doors) {
  return MakeTree(std::move(root_fs), std::move(layout), root, std::move(doors), true);
}

Result<void> CheckWritable(const Layout& layout) {
  for (const ControllerMount& c : layout.controllers) {
    if (!c.read_only) continue;
    return Fail(Code::kPermission, "cgroup mount " + c.mount + " is read-only; remount it ('mount -o remount,rw " +
                                       c.mount + "'), or in a container run it with a writable cgroup mount");
  }
  return {};
}

TreeDoors HostDoors() { return {.kill = KillListed, .wait = os::SleepFor}; }

Result<std::unique_ptr<Tree>> OpenTreeToLook(std::unique_ptr<os::Fs> root_fs, Layout layout, const std::string& root,
                                             TreeDoors doors) {
  return MakeTree(std::move(root_fs), std::move(layout), root, std::move(doors), false);
}

Result<std::unique_ptr<Tree>> Tree::OpenToLook(std::unique_ptr<os::Fs> root_fs, Layout layout,
                                               const std::string& root) {
  return OpenTreeToLook(std::move(root_fs), std::move(layout), root, HostDoors());
}

Result<std::unique_ptr<Tree>> Tree::Open(std::unique_ptr<os::Fs> root_fs, Layout layout, const std::string& root) {
  return OpenTree(std::move(root_fs), std::move(layout), root, HostDoors());
}

}  // namespace berth::cgroup
