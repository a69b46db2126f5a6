// Berth's cgroup tree on this host: discovery, directories, values. v1, v2 and hybrid behind one interface.
//
// Names: a cgroup is a path below Berth's root, e.g. "kubepods/burstable/pod<uid>/<container>"; components are checked
// (letters, digits, '-', '.', '_'; no "..", no "/", none that looks like a control file). Every operation is
// idempotent: "already so" and "already gone" are success. A failed operation may have done a part; repeating it
// completes it.
#ifndef BERTH_HOST_CGROUP_CGROUP_H_
#define BERTH_HOST_CGROUP_CGROUP_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "host/event_loop/executor.h"
#include "host/os/clock.h"
#include "host/os/fs.h"
#include "model/cgroup_values.h"
#include "model/usage.h"

namespace berth::cgroup {

enum class Version { kV1, kV2, kHybrid };
std::string_view Name(Version version);

/// Where a controller lives. v2: all share one mount.
struct ControllerMount {
  std::string controller;  ///< "cpuset", "cpu", "memory", "pids", "hugetlb", "freezer"
  std::string mount;       ///< absolute mount point, e.g. "/sys/fs/cgroup/cpuset"
  bool v2 = false;
  std::string root = "/";  ///< the cgroup the mount point shows; other than "/" in a container or after a bind mount
  bool read_only = false;
  friend bool operator==(const ControllerMount&, const ControllerMount&) = default;
};

/// What the host offers: read from /proc/self/mountinfo, not assumed.
struct Layout {
  Version version = Version::kV2;
  std::vector<ControllerMount> controllers;  ///< those Berth can use, in the order it writes them
  /// v1: where CPU time is counted, when it is not where "cpu" is. Groups are made there too; nothing is written.
  std::optional<ControllerMount> accounting;
  std::vector<std::string> warnings;  ///< what is missing and what that means, for people
  friend bool operator==(const Layout&, const Layout&) = default;
};

/// Pure half of discovery. Errors: kUnsupported when there is no cpuset controller anywhere; the message says what to
/// do.
Result<Layout> ParseLayout(std::string_view mountinfo, std::string_view v2_controllers);
/// Reads `root_fs` ("/"): proc/self/mountinfo and cgroup.controllers of the v2 mount.
Result<Layout> DiscoverLayout(os::Fs& root_fs);

/// The effective set of a cgroup; empty where there is no value.
struct Cpuset {
  CpuSet cpus;
  NodeSet mems;
  friend bool operator==(const Cpuset&, const Cpuset&) = default;
};

/// Figures of the whole host.
struct HostFigures {
  Bytes memory{};       ///< there is
  Bytes working_set{};  ///< in use, without file pages nobody has used lately, and without huge pages
  Bytes active_file{};  ///< file pages somebody has used lately: they are in the working set, and can be dropped too
  Bytes huge_pages{};   ///< set aside for huge pages, used or not
  std::int64_t processes = 0;
  std::int64_t most_processes = 0;  ///< that the kernel allows; 0: not known
  friend bool operator==(const HostFigures&, const HostFigures&) = default;
};

/// Whether the kernel keeps the CPUs of a cgroup for its processes alone; v2 only.
struct PartitionState {
  std::string kind;                 ///< cpuset.cpus.partition: "member", "root", "isolated", "isolated invalid (why)"
  std::optional<CpuSet> exclusive;  ///< cpuset.cpus.exclusive; nullopt: the kernel has no such file (before Linux 6.7)
  friend bool operator==(const PartitionState&, const PartitionState&) = default;
};

/// The tree below one root cgroup of this host. Not thread-safe: owned by the daemon's loop.
class Tree {
 public:
  /// `root`: path of Berth's root cgroup below each mount, e.g. "/" or "/berth-test-123"; created when missing, with
  /// cpuset.cpus/mems inherited on v1 and subtree_control set on v2.
  /// Errors: kPermission (read-only mount, no root), kUnsupported (controller missing), kBusy (v2: the parent holds
  /// processes), kInvalid (`root` is no such path), all with the cure.
  static Result<std::unique_ptr<Tree>> Open(std::unique_ptr<os::Fs> root_fs, Layout layout, const std::string& root);

  /// The same for somebody who only looks: makes and changes nothing, and works without root. Requires: nothing is
  /// created or written through it. Errors: kUnsupported, kInvalid.
  static Result<std::unique_ptr<Tree>> OpenToLook(std::unique_ptr<os::Fs> root_fs, Layout layout,
                                                  const std::string& root);

  virtual ~Tree() = default;
  virtual const Layout& layout() const = 0;
  /// Makes `path` in every controller it needs, parents first; on v1 with the parent's cpuset.cpus and mems.
  virtual Result<void> Create(std::string_view path) = 0;
  /// Writes what differs from the kernel's current values, in an order the kernel accepts (mems before cpus, memory
  /// before swap). Returns the number of writes made. v1: ancestors below Berth's root that lack CPUs or nodes asked
  /// for are widened first (they hold no processes). v2: the effective CPUs are checked afterwards, because the kernel
  /// takes any value and silently runs the cgroup on its parent's CPUs instead; levels below Berth's root that took
  /// them away are widened. Errors: kNotFound (no such cgroup),
  /// kUnsupported (controller not enabled), kBusy (v1 memory below usage), kInvalid (value out of range, v2 CPUs the
  /// parent does not have), kPermission.
  virtual Result<int> Write(std::string_view path, const CgroupValues& values) = 0;
  /// The same for one whose processes have not run yet, and have next to no memory: it waits for nobody (WaitBehind)
  /// but the kernel.
  virtual Result<int> WriteBeforeRun(std::string_view path, const CgroupValues& values) { return Write(path, values); }
  /// Begins what Write would have another thread do with memory, and nothing else. Success: nothing is left to be done.
  /// Errors: kBusy (WaitBehind); of a move that failed, once.
  virtual Result<void> MoveMemory(std::string_view, const CgroupValues&) { return {}; }
  /// Writes CPUs to a cgroup that has all of these and more; nothing is read before or after, unlike Write's. Errors:
  /// kNotFound, kBusy (v1: a group below has more), as the kernel's; nothing has changed then.
  virtual Result<void> NarrowCpus(std::string_view path, const CpuSet& cpus) {
    CgroupValues values;
    values.cpus = cpus;
    BERTH_TRY([[maybe_unused]] const int writes, Write(path, values));
    return {};
  }
  /// What the kernel says now; cpus and mems are the effective ones; values without controller stay nullopt.
  /// Errors: kNotFound.
  virtual Result<CgroupValues> Read(std::string_view path) = 0;
  /// Only Read(path).cpus: the effective CPUs; empty without a value. Errors: kNotFound.
  virtual Result<CpuSet> ReadCpus(std::string_view path) {
    BERTH_TRY(const CgroupValues values, Read(path));
    return values.cpus.value_or(CpuSet());
  }
  /// Only the CPUs and memory nodes of Read(path). Errors: kNotFound.
  virtual Result<Cpuset> ReadCpuset(std::string_view path) {
    BERTH_TRY(const CgroupValues values, Read(path));
    return Cpuset{values.cpus.value_or(CpuSet()), values.mems.value_or(NodeSet())};
  }
  /// nullopt: no partitions here (v1, or the top of the hierarchy). Errors: kNotFound.
  virtual Result<std::optional<PartitionState>> ReadPartition(std::string_view) { return std::nullopt; }
  /// Writes cpuset.cpus.exclusive; empty: none. Requires: ReadPartition has it.
  virtual Result<void> WriteExclusive(std::string_view, const CpuSet&) { return {}; }
  /// Writes cpuset.cpus.partition; what came of it is in the file. Requires: ReadPartition has it.
  virtual Result<void> WritePartition(std::string_view, std::string_view) { return {}; }
  /// From now on memory follows when the cgroup gets other memory nodes: the kernel migrates it before the write of
  /// these returns. On v2 it always does. Errors: kNotFound.
  virtual Result<void> MigrateMemory(std::string_view) { return {}; }
  /// Memory charged to the cgroup and everything below; nullopt: not counted here.
  virtual Result<std::optional<Bytes>> MemoryUsage(std::string_view) { return std::nullopt; }
  /// Memory usage less file pages that were not used lately (inactive_file), never below zero; nullopt: not counted
  /// here.
  virtual Result<std::optional<Bytes>> WorkingSet(std::string_view) { return std::nullopt; }
  /// File pages that were used lately (active_file): they are in the working set, though the kernel can drop them.
  /// nullopt: not counted here.
  virtual Result<std::optional<Bytes>> ActiveFile(std::string_view) { return std::nullopt; }
  /// What the cgroup and everything below it uses; nullopt: there is no such group, or nothing is counted here.
  virtual Result<std::optional<GroupUsage>> Usage(std::string_view) { return std::nullopt; }
  /// Memory of the cgroup and everything below it by NUMA node: pages of processes and files; empty: not counted here.
  virtual Result<std::map<NumaId, Bytes>> MemoryByNode(std::string_view) { return std::map<NumaId, Bytes>(); }
  /// What the host uses, and the memory of these of its nodes. nullopt: not known.
  virtual Result<std::optional<HostUsage>> UsageOfHost(const NodeSet&) { return std::nullopt; }
  /// nullopt: not known.
  virtual Result<std::optional<HostFigures>> Figures() { return std::nullopt; }
  /// Most processes the kernel allows at a time: the smaller of kernel.pid_max and kernel.threads-max; nullopt: not
  /// known.
  virtual Result<std::optional<std::int64_t>> PidCapacity() { return std::nullopt; }
  /// CPUs that are online now; nullopt: not known.
  virtual Result<std::optional<CpuSet>> OnlineCpus() { return std::nullopt; }
  /// Pids in the cgroup and everything below it, over all controllers; gone: empty.
  virtual Result<std::vector<int>> Pids(std::string_view path) = 0;
  /// Whether Pids(path) has any, without a look at more than it takes: a living one is found in its cpuset.
  virtual Result<bool> HasProcesses(std::string_view path) {
    BERTH_TRY(const std::vector<int> pids, Pids(path));
    return !pids.empty();
  }
  /// v1: pids right in the cpuset of `path`, not below. A cpuset that loses all its CPUs loses its processes too: the
  /// kernel moves them into the next one above that has CPUs, and leaves them there (cgroup-v1/cpusets). v2: empty.
  virtual Result<std::vector<int>> CpusetPids(std::string_view) { return std::vector<int>(); }
  /// Moves those of `pids` that are in `path` by its other controllers into its cpuset. Returns how many. Errors: the
  /// first that is not about a process or group that has ended; the rest was tried.
  virtual Result<int> ReturnToCpuset(std::string_view, const std::vector<int>&) { return 0; }
  /// SIGKILL to everything below (cgroup.kill on v2, else repeated passes); success when empty or gone.
  /// Looks at least once and signals what is there, then waits up to `patience` for the end.
  /// Errors: kBusy when processes may still be there then; the message names them.
  virtual Result<void> Kill(std::string_view path, os::Millis patience) = 0;
  /// With 2 s of patience.
  Result<void> Kill(std::string_view path) { return Kill(path, os::Millis(2000)); }
  /// Removes `path` with everything below, retrying EBUSY for up to `patience`. Errors: kBusy when processes remain
  /// (then nothing is removed), or the kernel is not done with those that were there; kInvalid for Berth's root itself.
  virtual Result<void> Remove(std::string_view path, os::Millis patience) = 0;
  /// With 2 s of patience.
  Result<void> Remove(std::string_view path) { return Remove(path, os::Millis(2000)); }
  /// Names of the child cgroups, sorted; gone: empty.
  virtual Result<std::vector<std::string>> Children(std::string_view path) = 0;
  /// Those of them that have a cpuset: one directory is looked at.
  virtual Result<std::vector<std::string>> CpusetChildren(std::string_view path) { return Children(path); }
  /// Absolute directories for a process that starts in `path`.
  virtual CgroupDirs Dirs(std::string_view path) const = 0;
  /// The process that `path` was made for is in it, or will not come: from here on nothing keeps an empty group. Only
  /// some drivers need that. Requires: called after Create of a group for processes, on every way.
  virtual void LetGo(std::string_view) {}
  /// Removes Berth's root itself when nothing is in it any more; otherwise, and when it is "/", it stays.
  virtual void RemoveRoot() {}
  /// The caller is about to wait for something: what pays only while there is work is given up.
  virtual void Rest() {}
  /// From now on no call waits for somebody else (systemd, or the kernel while it migrates memory): one that would
  /// begins what it needs on `executor` and fails with kBusy, and when it is repeated goes on from there. `answered` is
  /// called on the executor's loop when that pays. Calls with patience wait for the kernel as before.
  virtual void WaitBehind(event_loop::Executor&, std::function<void()>) {}
  /// Something that a call began so is not finished.
  virtual bool asking() { return false; }
  /// As before WaitBehind. Requires: no job runs any more.
  virtual void WaitHere() {}
  /// Number of file writes so far (for tests, metrics and the claim "no writes when nothing changed").
  virtual std::uint64_t writes() const = 0;
};

/// Sets the CPUs of many cgroups without an overlap on the way: every set first gives up what it may not keep, then
/// sets grow into what is free. `wanted`: path -> CPUs, not empty; a path above another one must contain its CPUs and
/// is grown before and shrunk after it. Two sets share a CPU at a moment only if they shared it before or shall share
/// it in the end. Gone cgroups are skipped. Returns the number of writes: one per cgroup that changes, two when it
/// gives and takes. Errors: kInvalid (empty or contradicting sets), kBusy (sets that can only be exchanged through an
/// overlap: nothing is left overlapping), else those of Tree::Write.
Result<int> ApplyCpus(Tree& tree, const std::vector<std::pair<std::string, CpuSet>>& wanted);

}  // namespace berth::cgroup

#endif  // BERTH_HOST_CGROUP_CGROUP_H_
