// A node that is not there: cgroups and containers for machines loaded from a file. Nothing reaches the kernel.
#ifndef BERTH_DAEMON_DRY_RUN_H_
#define BERTH_DAEMON_DRY_RUN_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "host/cgroup/cgroup.h"
#include "host/os/clock.h"
#include "host/os/event_fd.h"
#include "model/machine.h"
#include "runtime/lifecycle/runtime.h"

namespace berth::daemon {

/// Cgroups in memory, with the rules of v2 without a kernel: a new group has its parent's CPUs and nodes. Thread: one;
/// Copy from any.
class DryRunTree final : public cgroup::Tree {
 public:
  explicit DryRunTree(const Machine& machine);
  /// The groups of now, for another thread to look at.
  std::unique_ptr<DryRunTree> Copy() const;

  const cgroup::Layout& layout() const override { return layout_; }
  Result<void> Create(std::string_view path) override;
  Result<int> Write(std::string_view path, const CgroupValues& values) override;
  Result<CgroupValues> Read(std::string_view path) override;
  Result<std::vector<int>> Pids(std::string_view) override { return std::vector<int>{}; }
  Result<void> Kill(std::string_view, os::Millis) override { return {}; }
  using cgroup::Tree::Remove;
  Result<void> Remove(std::string_view path, os::Millis patience) override;
  Result<std::vector<std::string>> Children(std::string_view path) override;
  CgroupDirs Dirs(std::string_view) const override { return {}; }
  std::uint64_t writes() const override { return writes_; }

 private:
  explicit DryRunTree(cgroup::Layout layout) : layout_(std::move(layout)) {}
  void Add(std::string_view path) BERTH_REQUIRES(mutex_);
  CpuSet EffectiveCpus(std::string_view path) const BERTH_REQUIRES(mutex_);
  void UpdateHugePages(CgroupValues& have, const CgroupValues& want, int& writes) const;

  cgroup::Layout layout_;
  std::vector<Bytes> page_sizes_;  // of the machine's huge pages
  mutable Mutex mutex_;
  std::map<std::string, CgroupValues, std::less<>> groups_ BERTH_GUARDED_BY(mutex_);  // by path; "" is the root
  std::uint64_t writes_ = 0;
};

/// Containers that only pretend: init containers succeed at once, the others run until they are signalled.
class DryRunRuntime final : public runtime::Runtime {
 public:
  /// `clock` must outlive the runtime. Errors: as eventfd(2).
  static Result<std::unique_ptr<DryRunRuntime>> Open(const os::Clock& clock);

  Result<runtime::ContainerStatus> Start(const runtime::StartRequest& request) override;
  Result<void> Signal(std::string_view id, int signal) override;
  Result<std::vector<runtime::ContainerStatus>> List() override;
  int event_fd() const override { return fd_.get(); }
  std::vector<runtime::ContainerStatus> Poll() override;
  Result<void> Forget(std::string_view id) override;

 private:
  DryRunRuntime(const os::Clock& clock, os::EventFd fd) : clock_(clock), fd_(std::move(fd)) {}

  const os::Clock& clock_;
  os::EventFd fd_;
  std::map<std::string, runtime::ContainerStatus, std::less<>> containers_;  // by id
  std::vector<std::string> changed_;
};

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_DRY_RUN_H_
