// The part of a kernel that cgroup code depends on, played on a MemoryFs: directories fill with control files, values
// are rounded, and writes are refused that are no value of their file or break the order the real one wants (v1: child
// within parent, no process in an empty cpuset, swap limit not below memory limit, quota within the parent's; v2:
// subtree_control and "no internal processes", effective sets).
#ifndef BERTH_TESTING_FAKE_CGROUPS_H_
#define BERTH_TESTING_FAKE_CGROUPS_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/id_set.h"
#include "testing/memory_fs.h"

namespace berth::testkit {

class FakeCgroups {
 public:
  struct Options {
    bool v2 = false;
    std::string cpus = "0-3";
    std::string mems = "0-1";
    bool swap = true;
    bool partitions = false;  ///< v2: cpuset.cpus.partition and cpuset.cpus.exclusive, as from Linux 6.7 on
  };
  /// Adds mounts below sys/fs/cgroup and proc/self/mountinfo to `fs`, which must outlive this, and takes its hooks.
  FakeCgroups(MemoryFs& fs, Options options);

  /// Absolute directory of cgroup `path` in the hierarchy that has `controller`.
  std::string Dir(std::string_view controller, std::string_view path) const;
  /// Content of a control file without the newline; "(none)" when it is missing.
  std::string Value(std::string_view controller, std::string_view path, std::string_view file);
  /// As a foreign program would: no rule of the test, but those of the kernel.
  Result<void> ForeignWrite(std::string_view controller, std::string_view path, std::string_view file,
                            std::string_view value);
  /// Puts a process into every hierarchy's `path`, as the kernel would: errors as from cgroup.procs.
  Result<void> AddProcess(std::string_view path, int pid);
  /// The process ends.
  void EndProcess(int pid);
  /// CPUs a process in `path` may run on now.
  CpuSet EffectiveCpus(std::string_view path);

  /// Called after each accepted write with the file's path and the new text.
  std::function<void(const std::string& file, const std::string& text)> on_write;

 private:
  void Populate(const std::string& dir);
  Result<void> Check(const std::string& file, std::string_view text);
  Result<void> CheckSet(const std::string& dir, const std::string& name, std::string_view text);
  Result<void> CheckMemory(const std::string& dir, const std::string& name, std::string_view text);
  Result<void> CheckQuota(const std::string& dir, const std::string& name, std::string_view text);
  Result<void> CheckControllers(const std::string& dir, std::string_view text);
  void Settle(const std::string& file);
  void MoveTo(const std::string& dir, int pid);
  std::string Partition(const std::string& dir);
  std::optional<std::string> Computed(const std::string& file);
  CpuSet Effective(const std::string& dir, const std::string& name);
  std::string MountOf(const std::string& dir) const;
  std::vector<std::string> Below(const std::string& dir) const;
  std::string Text(const std::string& file) const;

  MemoryFs& fs_;
  Options options_;
  std::map<std::string, std::string> mounts_;       ///< controller -> mount, without leading "/"
  std::map<std::string, std::set<int>> processes_;  ///< by directory
  std::map<std::string, std::string> enabled_;      ///< v2: directory -> cgroup.subtree_control
  std::map<std::string, std::string> periods_;      ///< v2: of each cpu.max that was written
};

}  // namespace berth::testkit

#endif  // BERTH_TESTING_FAKE_CGROUPS_H_
