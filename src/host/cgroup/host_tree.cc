#include "host/cgroup/host_tree.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "host/cgroup/cgroup_usage.h"
#include "host/cgroup/control_files.h"
#include "host/cgroup/group_dirs.h"
#include "host/cgroup/group_processes.h"
#include "host/cgroup/hierarchy.h"
#include "host/cgroup/host_figures.h"
#include "host/cgroup/memory_moves.h"
#include "host/cgroup/patience.h"

namespace berth::cgroup {
namespace {

std::vector<std::unique_ptr<Hierarchy>> HierarchiesOf(ControlFiles& files, const Layout& layout) {
  std::vector<std::pair<const ControllerMount*, std::vector<std::string>>> mounts;
  for (const ControllerMount& c : layout.controllers) {
    const auto same =
        std::find_if(mounts.begin(), mounts.end(), [&](const auto& m) { return m.first->mount == c.mount; });
    if (same == mounts.end()) {
      mounts.push_back({&c, {c.controller}});
    } else {
      same->second.push_back(c.controller);
    }
  }
  if (const auto& apart = layout.accounting; apart && !apart->read_only)
    mounts.push_back({&*apart, {apart->controller}});
  std::vector<std::unique_ptr<Hierarchy>> out;
  for (auto& [mount, names] : mounts) {
    out.push_back(mount->v2 ? MakeV2Hierarchy(files, mount->mount, std::move(names))
                            : MakeV1Hierarchy(files, mount->mount, std::move(names)));
  }
  return out;
}

class HostTree final : public Tree {
 public:
  HostTree(std::unique_ptr<os::Fs> fs, Layout layout, std::string root, TreeDoors doors)
      : fs_(std::move(fs)),
        files_(*fs_),
        layout_(std::move(layout)),
        root_(std::move(root)),
        doors_(std::move(doors)),
        processes_(files_, hierarchies_, doors_) {}

  /// Finds the hierarchies; `root_too`: and makes the root in them.
  Result<void> Start(bool root_too);

  const Layout& layout() const override { return layout_; }
  Result<void> Create(std::string_view path) override;
  Result<int> Write(std::string_view path, const CgroupValues& values) override;
  Result<int> WriteBeforeRun(std::string_view path, const CgroupValues& values) override;
  Result<void> MoveMemory(std::string_view path, const CgroupValues& values) override;
  Result<void> NarrowCpus(std::string_view path, const CpuSet& cpus) override;
  Result<CgroupValues> Read(std::string_view path) override;
  Result<CpuSet> ReadCpus(std::string_view path) override;
  Result<Cpuset> ReadCpuset(std::string_view path) override;
  Result<std::optional<PartitionState>> ReadPartition(std::string_view path) override;
  Result<void> WriteExclusive(std::string_view path, const CpuSet& cpus) override;
  Result<void> WritePartition(std::string_view path, std::string_view kind) override;
  Result<void> MigrateMemory(std::string_view path) override;
  Result<std::vector<int>> Pids(std::string_view path) override;
  Result<bool> HasProcesses(std::string_view path) override;
  Result<std::vector<int>> CpusetPids(std::string_view path) override;
  Result<int> ReturnToCpuset(std::string_view path, const std::vector<int>& pids) override;
  Result<std::optional<Bytes>> MemoryUsage(std::string_view path) override;
  Result<std::optional<Bytes>> WorkingSet(std::string_view path) override;
  Result<std::optional<Bytes>> ActiveFile(std::string_view path) override;
  Result<std::optional<GroupUsage>> Usage(std::string_view path) override;
  Result<std::map<NumaId, Bytes>> MemoryByNode(std::string_view path) override;
  Result<std::optional<HostUsage>> UsageOfHost(const NodeSet& nodes) override { return ReadHostUsage(files_, nodes); }
  Result<std::optional<HostFigures>> Figures() override { return ReadHostFigures(files_); }
  Result<std::optional<std::int64_t>> PidCapacity() override { return ReadPidCapacity(files_); }
  Result<std::optional<CpuSet>> OnlineCpus() override { return ReadOnlineCpus(files_); }
  using Tree::Kill;
  Result<void> Kill(std::string_view path, os::Millis patience) override;
  Result<void> Remove(std::string_view path, os::Millis patience) override;
  void RemoveRoot() override;
  void WaitBehind(event_loop::Executor& executor, std::function<void()> answered) override {
    moves_.Use(executor, std::move(answered));
  }
  bool asking() override { return moves_.under_way(); }
  void WaitHere() override { moves_.Leave(); }
  Result<std::vector<std::string>> Children(std::string_view path) override;
  Result<std::vector<std::string>> CpusetChildren(std::string_view path) override;
  CgroupDirs Dirs(std::string_view path) const override;
  std::uint64_t writes() const override { return files_.writes(); }

 private:
  /// The path relative to each mount, checked component by component; the root for "".
  Result<std::string> Checked(std::string_view path) const;
  Result<std::optional<Bytes>> MemoryStat(std::string_view path, const std::string& name);
  Result<void> CheckAsked(const CgroupValues& values) const;
  bool Has(std::string_view controller) const;
  /// Directory of the cgroup in the hierarchy with the cpuset controller; "" when that is not of v2.
  std::string PartitionDir(const std::string& full) const;
  /// Writing these values would have the kernel migrate memory, for which another thread is to wait. Errors: kBusy:
  /// writing them would wait for a move under way.
  Result<bool> Migrates(const std::string& full, const CgroupValues& values);
  Result<void> BeginMove(const std::string& full, const NodeSet& mems);
  Result<void> RemoveTree(const std::string& dir, Patience& waiting);

  std::unique_ptr<os::Fs> fs_;
  ControlFiles files_;
  Layout layout_;
  std::string root_;  ///< without leading "/"; empty: the mount itself
  TreeDoors doors_;
  std::vector<std::unique_ptr<Hierarchy>> hierarchies_;
  GroupProcesses processes_;
  MemoryMoves moves_;
};

Result<void> HostTree::Start(bool root_too) {
  if (root_too) BERTH_RETURN_IF_ERROR(CheckWritable(layout_));
  hierarchies_ = HierarchiesOf(files_, layout_);
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
  for (const auto& h : hierarchies_) {
    if (moves_.under_way() && !h->v2() && h->Has("cpuset")) {  // a new one there is empty until it is written
      BERTH_TRY(const bool exists, fs_->Exists(h->Dir(full)));
      if (!exists) return moves_.Busy("make cgroup " + full);
    }
    BERTH_RETURN_IF_ERROR(h->Create(full));
  }
  return {};
}

Result<int> HostTree::Write(std::string_view path, const CgroupValues& values) {
  BERTH_TRY(const std::string full, Checked(path));
  BERTH_TRY(const bool migrates, Migrates(full, values));
  if (!migrates) return WriteBeforeRun(path, values);
  CgroupValues others = values;
  others.mems.reset();
  BERTH_TRY([[maybe_unused]] const int writes, WriteBeforeRun(path, others));
  BERTH_RETURN_IF_ERROR(BeginMove(full, *values.mems));
  return writes;
}

Result<void> HostTree::MoveMemory(std::string_view path, const CgroupValues& values) {
  BERTH_TRY(const std::string full, Checked(path));
  BERTH_TRY(const bool migrates, Migrates(full, values));
  return migrates ? BeginMove(full, *values.mems) : Result<void>();
}

Result<int> HostTree::WriteBeforeRun(std::string_view path, const CgroupValues& values) {
  BERTH_TRY(const std::string full, Checked(path));
  BERTH_RETURN_IF_ERROR(CheckAsked(values));
  const std::uint64_t before = files_.writes();
  for (const auto& h : hierarchies_) BERTH_RETURN_IF_ERROR(h->Write(full, root_.size(), values));
  return static_cast<int>(files_.writes() - before);
}

Result<bool> HostTree::Migrates(const std::string& full, const CgroupValues& values) {
  if (moves_.under_way() && (values.cpus || values.mems)) return moves_.Busy("write the cpuset of cgroup " + full);
  if (!moves_.in_use() || !values.mems) return false;
  for (const auto& h : hierarchies_) {
    if (!h->Has("cpuset")) continue;
    BERTH_TRY(const auto now, h->ReadMems(full));
    return now && *now != *values.mems ? processes_.AnyIn(full) : Result<bool>(false);
  }
  return false;
}

/// The job has control files of its own; the file system is for all threads, and outlives it.
Result<void> HostTree::BeginMove(const std::string& full, const NodeSet& mems) {
  os::Fs& for_jobs = doors_.for_jobs == nullptr ? *fs_ : *doors_.for_jobs;
  return moves_.Move(full, mems,
                     [&fs = for_jobs, layout = layout_, owned = root_.size(), full, mems]() -> Result<void> {
                       ControlFiles files(fs);
                       CgroupValues values;
                       values.mems = mems;
                       for (const auto& h : HierarchiesOf(files, layout))
                         if (h->Has("cpuset")) BERTH_RETURN_IF_ERROR(h->Write(full, owned, values));
                       return {};
                     });
}

Result<void> HostTree::NarrowCpus(std::string_view path, const CpuSet& cpus) {
  BERTH_TRY(const std::string full, Checked(path));
  if (moves_.under_way()) return moves_.Busy("narrow cgroup " + full);
  if (cpus.empty()) return Fail(Code::kInvalid, "narrow cgroup " + full + ": an empty set would mean the parent's");
  for (const auto& h : hierarchies_)
    if (h->Has("cpuset")) return files_.Write(h->Dir(full) + "/cpuset.cpus", FormatIds(cpus));
  return {};
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
  if (moves_.IsMoving(full)) return moves_.Busy("read the memory nodes of cgroup " + full);
  for (const auto& h : hierarchies_) {
    if (!h->Has("cpuset")) continue;
    BERTH_TRY(auto cpus, h->ReadCpus(full));
    if (!cpus) return FailErrno("read cgroup", h->Dir(full), ENOENT);
    BERTH_TRY(auto mems, h->ReadMems(full));
    return Cpuset{*std::move(cpus), std::move(mems).value_or(NodeSet())};
  }
  return Cpuset();
}

std::string HostTree::PartitionDir(const std::string& full) const {
  for (const auto& h : hierarchies_)
    if (h->v2() && h->Has("cpuset")) return h->Dir(full);
  return "";
}

Result<std::optional<PartitionState>> HostTree::ReadPartition(std::string_view path) {
  BERTH_TRY(const std::string full, Checked(path));
  const std::string dir = PartitionDir(full);
  if (dir.empty()) return std::nullopt;
  BERTH_TRY(const bool exists, fs_->Exists(dir));
  if (!exists) return FailErrno("read cgroup", dir, ENOENT);
  BERTH_TRY(const auto kind, files_.Read(dir + "/cpuset.cpus.partition"));
  if (!kind) return std::nullopt;
  PartitionState out{.kind = std::string(Trim(*kind)), .exclusive = {}};
  BERTH_TRY(out.exclusive, files_.Parsed(dir + "/cpuset.cpus.exclusive", CpuSet::Parse));
  return out;
}

Result<void> HostTree::MigrateMemory(std::string_view path) {
  BERTH_TRY(const std::string full, Checked(path));
  for (const auto& h : hierarchies_)
    if (!h->v2() && h->Has("cpuset")) return files_.Write(h->Dir(full) + "/cpuset.memory_migrate", "1");
  return {};
}

Result<void> HostTree::WriteExclusive(std::string_view path, const CpuSet& cpus) {
  BERTH_TRY(const std::string full, Checked(path));
  if (moves_.under_way()) return moves_.Busy("write exclusive CPUs of cgroup " + full);
  return files_.Write(PartitionDir(full) + "/cpuset.cpus.exclusive", cpus.empty() ? "\n" : FormatIds(cpus));
}

Result<void> HostTree::WritePartition(std::string_view path, std::string_view kind) {
  BERTH_TRY(const std::string full, Checked(path));
  return files_.Write(PartitionDir(full) + "/cpuset.cpus.partition", kind);
}

Result<std::vector<int>> HostTree::Pids(std::string_view path) {
  BERTH_TRY(const std::string full, Checked(path));
  return processes_.Of(full);
}

Result<bool> HostTree::HasProcesses(std::string_view path) {
  BERTH_TRY(const std::string full, Checked(path));
  return processes_.AnyIn(full);
}

Result<std::vector<int>> HostTree::CpusetPids(std::string_view path) {
  BERTH_TRY(const std::string full, Checked(path));
  return processes_.InCpuset(full);
}

Result<int> HostTree::ReturnToCpuset(std::string_view path, const std::vector<int>& pids) {
  BERTH_TRY(const std::string full, Checked(path));
  if (moves_.under_way()) return moves_.Busy("return processes to cgroup " + full);
  return processes_.ReturnToCpuset(full, pids);
}

Result<void> HostTree::Kill(std::string_view path, os::Millis patience) {
  BERTH_TRY(const std::string full, Checked(path));
  if (full == root_ && root_.empty()) return Fail(Code::kInvalid, "will not kill every process of the host");
  return processes_.Kill(full, patience);
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
  BERTH_TRY(const auto idle, MemoryStat(path, "inactive_file"));
  return Bytes{std::max<std::int64_t>(0, usage->v - idle.value_or(Bytes()).v)};
}

Result<std::optional<Bytes>> HostTree::ActiveFile(std::string_view path) { return MemoryStat(path, "active_file"); }

/// Of the cgroup and everything below it, by its name on v2; nullopt: no such file or line.
Result<std::optional<Bytes>> HostTree::MemoryStat(std::string_view path, const std::string& name) {
  BERTH_TRY(const std::string full, Checked(path));
  for (const auto& h : hierarchies_) {
    if (!h->Has("memory")) continue;
    BERTH_TRY(const auto stat, files_.Read(h->Dir(full) + "/memory.stat"));
    const auto value = stat ? ParseField(*stat, h->v2() ? name : "total_" + name) : std::nullopt;
    return value ? std::optional(Bytes{*value}) : std::nullopt;
  }
  return std::nullopt;
}

Result<std::optional<GroupUsage>> HostTree::Usage(std::string_view path) {
  BERTH_TRY(const std::string full, Checked(path));
  return ReadGroupUsage(files_, hierarchies_, full);
}

Result<std::map<NumaId, Bytes>> HostTree::MemoryByNode(std::string_view path) {
  BERTH_TRY(const std::string full, Checked(path));
  return ReadMemoryByNode(files_, hierarchies_, full);
}

Result<void> HostTree::RemoveTree(const std::string& dir, Patience& waiting) {
  for (;;) {
    BERTH_TRY(const auto children, GroupsIn(*fs_, dir));
    for (const std::string& child : children) BERTH_RETURN_IF_ERROR(RemoveTree(dir + "/" + child, waiting));
    auto done = fs_->RemoveDir(dir);
    if (done || done.error().code != Code::kBusy || !waiting.Wait()) return done;
  }
}

Result<void> HostTree::Remove(std::string_view path, os::Millis patience) {
  BERTH_TRY(const std::string full, Checked(path));
  if (full == root_) return Fail(Code::kInvalid, "will not remove the root '/" + root_ + "' of Berth's cgroups");
  if (moves_.IsMovingIn(full)) return moves_.Busy("remove cgroup " + full);  // Linux 6.13 to 6.16 waits for the write
  BERTH_TRY(const std::vector<int> pids, processes_.Of(full));
  if (!pids.empty()) {
    return Fail(Code::kBusy, "remove cgroup " + full + ": processes are still in it: " + PidList(pids));
  }
  Patience waiting(doors_.wait, patience);
  for (const auto& h : hierarchies_) BERTH_RETURN_IF_ERROR(RemoveTree(h->Dir(full), waiting));
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
    BERTH_TRY(const auto names, GroupsIn(*fs_, h->Dir(full)));
    out.insert(names.begin(), names.end());
  }
  return std::vector<std::string>(out.begin(), out.end());
}

Result<std::vector<std::string>> HostTree::CpusetChildren(std::string_view path) {
  BERTH_TRY(const std::string full, Checked(path));
  for (const auto& h : hierarchies_)
    if (h->Has("cpuset")) return GroupsIn(*fs_, h->Dir(full));
  return std::vector<std::string>();
}

CgroupDirs HostTree::Dirs(std::string_view path) const {
  CgroupDirs out;
  const auto full = Checked(path);
  if (!full) return out;
  out.v2 = hierarchies_.size() == 1 && hierarchies_.front()->v2();
  for (const auto& h : hierarchies_) out.dirs.push_back(h->Dir(*full));
  return out;
}

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
