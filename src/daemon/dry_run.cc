#include "daemon/dry_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>

#include "host/cgroup/pod_cgroup_values.h"

namespace berth::daemon {
namespace {

std::string_view ParentOf(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

/// Takes over a value that is given and differs; counts it.
template <class T>
void Update(std::optional<T>& have, const std::optional<T>& want, int& writes) {
  if (!want || have == want) return;
  have = want;
  ++writes;
}

}  // namespace

DryRunTree::DryRunTree(const Machine& machine) {
  CgroupValues root;
  root.cpus = UsableCpus(machine);
  root.mems = NodeIds(machine);
  for (const char* controller : {"cpuset", "cpu", "memory", "pids", "hugetlb"})
    layout_.controllers.push_back({.controller = controller, .mount = "", .v2 = true, .root = "/", .read_only = false});
  for (const HugePages& pages : machine.hugepages) page_sizes_.push_back(pages.page_size);
  groups_.emplace("", root);
}

std::unique_ptr<DryRunTree> DryRunTree::Copy() const {
  std::unique_ptr<DryRunTree> out(new DryRunTree(layout_));
  out->page_sizes_ = page_sizes_;
  const MutexLock mine(mutex_);
  const MutexLock theirs(out->mutex_);
  out->groups_ = groups_;
  return out;
}

Result<void> DryRunTree::Create(std::string_view path) {
  const MutexLock lock(mutex_);
  Add(path);
  return {};
}

void DryRunTree::Add(std::string_view path) {
  if (path.empty() || groups_.contains(path)) return;
  Add(ParentOf(path));
  const CgroupValues& parent = groups_.find(ParentOf(path))->second;
  CgroupValues values;  // CPUs are inherited as on v2: for as long as it has none of its own
  values.mems = parent.mems;
  groups_.emplace(path, std::move(values));
}

Result<int> DryRunTree::Write(std::string_view path, const CgroupValues& values) {
  const MutexLock lock(mutex_);
  const auto it = groups_.find(path);
  if (it == groups_.end()) return Fail(Code::kNotFound, fmt::format("cgroup {}: not there", path));
  int writes = 0;
  Update(it->second.cpus, values.cpus, writes);
  Update(it->second.mems, values.mems, writes);
  Update(it->second.shares, values.shares, writes);
  std::optional<std::uint64_t> weight = values.weight;
  if (!weight && values.shares) weight = cgroup::TierWeightOfShares(*values.shares);
  it->second.weight = weight ? weight : it->second.weight;
  Update(it->second.cpu_max, values.cpu_max, writes);
  Update(it->second.memory_max, values.memory_max, writes);
  Update(it->second.swap_max, values.swap_max, writes);
  Update(it->second.memory_min, values.memory_min, writes);
  Update(it->second.memory_low, values.memory_low, writes);
  Update(it->second.memory_high, values.memory_high, writes);
  Update(it->second.oom_group, values.oom_group, writes);
  Update(it->second.pids_max, values.pids_max, writes);
  UpdateHugePages(it->second, values, writes);
  writes_ += static_cast<std::uint64_t>(writes);
  return writes;
}

/// In whole pages and for every size of the machine, as the kernel has files.
void DryRunTree::UpdateHugePages(CgroupValues& have, const CgroupValues& want, int& writes) const {
  if (!want.hugetlb) return;
  for (const Bytes size : page_sizes_) {
    const auto asked = want.hugetlb->find(size);
    const Bytes limit = asked == want.hugetlb->end() ? want.hugetlb_others : asked->second;
    if (!have.hugetlb) have.hugetlb.emplace();
    const auto [at, added] = have.hugetlb->try_emplace(size, -1);
    std::optional<Bytes> kept = at->second;
    Update(kept, std::optional(Bytes{limit.v / size.v * size.v}), writes);
    at->second = *kept;
  }
}

Result<CgroupValues> DryRunTree::Read(std::string_view path) {
  const MutexLock lock(mutex_);
  const auto it = groups_.find(path);
  if (it == groups_.end()) return Fail(Code::kNotFound, fmt::format("cgroup {}: not there", path));
  CgroupValues values = it->second;
  values.cpus = EffectiveCpus(path);
  return values;
}

CpuSet DryRunTree::EffectiveCpus(std::string_view path) const {
  const auto it = groups_.find(path);
  const CpuSet own = it->second.cpus.value_or(CpuSet());
  if (path.empty()) return own;
  const CpuSet above = EffectiveCpus(ParentOf(path));
  return own.Intersects(above) ? own & above : above;
}

Result<void> DryRunTree::Remove(std::string_view path, os::Millis) {
  const MutexLock lock(mutex_);
  const std::string below = std::string(path) + "/";
  std::erase_if(groups_, [&](const auto& group) { return group.first == path || group.first.starts_with(below); });
  return {};
}

Result<std::vector<std::string>> DryRunTree::Children(std::string_view path) {
  const MutexLock lock(mutex_);
  std::vector<std::string> out;
  const std::string below = path.empty() ? "" : std::string(path) + "/";
  for (auto it = groups_.lower_bound(below); it != groups_.end() && it->first.starts_with(below); ++it)
    if (const std::string& name = it->first; !name.empty() && ParentOf(name) == path)
      out.push_back(name.substr(below.size()));
  return out;
}

Result<std::unique_ptr<DryRunRuntime>> DryRunRuntime::Open(const os::Clock& clock) {
  BERTH_TRY(os::EventFd fd, os::EventFd::Open());
  return std::unique_ptr<DryRunRuntime>(new DryRunRuntime(clock, std::move(fd)));
}

Result<runtime::ContainerStatus> DryRunRuntime::Start(const runtime::StartRequest& request) {
  runtime::ContainerStatus status;
  status.id = fmt::format("{}_{}_{}", request.pod_uid, request.container.name, request.attempt);
  status.pod_uid = request.pod_uid;
  status.container = request.container.name;
  status.attempt = request.attempt;
  status.started_at = os::FormatTime(clock_.Wall());
  status.state = runtime::ContainerState::kRunning;
  if (request.kind == ContainerKind::kInit) {
    status.state = runtime::ContainerState::kExited;
    status.exit_code = 0;
    status.finished_at = status.started_at;
  }
  containers_.insert_or_assign(status.id, status);
  return status;
}

Result<void> DryRunRuntime::Signal(std::string_view id, int signal) {
  const auto it = containers_.find(id);
  if (it == containers_.end() || it->second.state != runtime::ContainerState::kRunning) return {};
  it->second.state = runtime::ContainerState::kExited;
  it->second.exit_code = 128 + signal;
  it->second.signal = signal;
  it->second.finished_at = os::FormatTime(clock_.Wall());
  changed_.push_back(it->first);
  fd_.Signal();
  return {};
}

Result<std::vector<runtime::ContainerStatus>> DryRunRuntime::List() {
  std::vector<runtime::ContainerStatus> out;
  for (const auto& [id, status] : containers_) out.push_back(status);
  return out;
}

std::vector<runtime::ContainerStatus> DryRunRuntime::Poll() {
  fd_.Clear();
  std::vector<runtime::ContainerStatus> out;
  for (const std::string& id : changed_)
    if (const auto it = containers_.find(id); it != containers_.end()) out.push_back(it->second);
  changed_.clear();
  return out;
}

Result<void> DryRunRuntime::Forget(std::string_view id) {
  if (const auto it = containers_.find(id); it != containers_.end()) containers_.erase(it);
  return {};
}

}  // namespace berth::daemon
