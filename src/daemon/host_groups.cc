#include "daemon/host_groups.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <set>

#include "base/text.h"
#include "host/cgroup/control_files.h"
#include "host/os/path.h"
#include "host/os/pidfd.h"

namespace berth::daemon {
namespace {

constexpr std::string_view kHasControllers =
    " (a group whose children have controllers takes no process; name one without in systemCgroups)";

/// "/system.slice/berth" from any spelling; "/" for none.
std::string Normal(std::string_view path) {
  return "/" + Join(cgroup::ComponentsOf(cgroup::Driver::kCgroupfs, path), "/");
}

std::unexpected<Error> Named(Error error, std::string_view setting) {
  return Wrap(std::move(error), std::string(setting));
}

Result<void> CheckSystemGroup(const std::string& group, const cgroup::Names& names) {
  const auto refuse = [&](const std::string& why) {
    return Fail(Code::kInvalid, fmt::format("systemCgroups: '{}' {}", Printable(group, 80), why));
  };
  if (group == "/") return refuse("is the root cgroup, which processes are to leave; name a group such as /system");
  for (const std::string& own : {names.Own(), names.Runtime()})
    if (os::IsAtOrBelow(group, names.FromTop(own)))
      return refuse("is the group of berthd or its supervisors, which only has the shared pool; name another one");
  const std::string pods = names.Qos(QosClass::kGuaranteed);
  if (!pods.empty() && os::IsAtOrBelow(group, names.FromTop(pods)))
    return refuse("lies where the groups of pods are; name a group beside " + names.FromTop(pods));
  return {};
}

/// PF_KTHREAD in the flags of /proc/<pid>/stat. nullopt: gone.
std::optional<bool> IsKernelThread(os::Fs& root, int pid) {
  constexpr std::size_t kFlags = 9;
  constexpr std::uint64_t kKernelThread = 0x00200000;
  const auto stat = root.Read(fmt::format("/proc/{}/stat", pid));
  const auto flags = stat ? os::StatField(*stat, kFlags) : std::nullopt;
  if (!flags) return std::nullopt;
  return (*flags & kKernelThread) != 0;
}

}  // namespace

bool NamesAUnit(const Settings& settings, cgroup::Driver driver) {
  return driver == cgroup::Driver::kSystemd && settings.kubelet.kubelet_cgroups.ends_with(".service");
}

Result<cgroup::Names> NamesOf(const Settings& settings, cgroup::Driver driver) {
  BERTH_TRY(cgroup::Names names, cgroup::Names::Make(driver, settings.cgroup_root, settings.kubelet.cgroups_per_qos));
  if (const std::string& own = settings.kubelet.kubelet_cgroups; !own.empty() && !NamesAUnit(settings, driver))
    if (auto named = names.NameOwn(own); !named) return Named(std::move(named).error(), "kubeletCgroups");
  if (const std::string& runtime = settings.berth.runtime_cgroups; !runtime.empty())
    if (auto named = names.NameRuntime(runtime); !named) return Named(std::move(named).error(), "runtimeCgroups");
  const std::string own = names.FromTop(names.Own());
  const std::string runtime = names.FromTop(names.Runtime());
  if (own != runtime && (os::IsAtOrBelow(own, runtime) || os::IsAtOrBelow(runtime, own)))
    return Fail(Code::kInvalid, fmt::format("runtimeCgroups: '{}' and the group of berthd, '{}', lie in each other; a "
                                            "group with processes has no children: name groups beside each other",
                                            runtime, own));
  if (const std::string& system = settings.kubelet.system_cgroups; !system.empty())
    BERTH_RETURN_IF_ERROR(CheckSystemGroup(Normal(system), names));
  return names;
}

SystemProcesses::SystemProcesses(os::Fs& root, const cgroup::Layout& layout, const std::string& group) : root_(&root) {
  std::set<std::string> seen;
  for (const cgroup::ControllerMount& mount : layout.controllers)
    if (seen.insert(mount.mount).second) dirs_.emplace_back(mount.mount, mount.mount + Normal(group));
}

Result<bool> SystemProcesses::GroupsExist() const {
  for (const auto& [top, dir] : dirs_) {
    BERTH_TRY(const bool there, root_->Exists(dir));
    if (!there) return false;
  }
  return true;
}

bool SystemProcesses::Stays(int pid) const { return pid == 1 || IsKernelThread(*root_, pid).value_or(true); }

/// true: somebody was moved.
Result<bool> SystemProcesses::MoveFrom(const std::string& top, const std::string& dir, Moved& out) {
  BERTH_TRY(const std::string text, root_->Read(top + "/cgroup.procs"));
  BERTH_TRY(const std::vector<int> pids, cgroup::ParsePids(text));
  bool any = false;
  for (const int pid : pids) {
    if (Stays(pid)) continue;
    const auto moved = root_->Write(dir + "/cgroup.procs", std::to_string(pid));
    if (moved) {
      ++out.count;
      any = true;
    } else if (moved.error().code != Code::kNotFound && moved.error().sys != ESRCH) {
      out.refused.push_back(
          fmt::format("{}: {}{}", pid, moved.error().message, moved.error().sys == EBUSY ? kHasControllers : ""));
    }
  }
  return any;
}

Result<SystemProcesses::Moved> SystemProcesses::Move(int passes) {
  Moved out;
  for (int pass = 0; pass < passes; ++pass) {
    bool any = false;
    out.refused.clear();
    for (const auto& [top, dir] : dirs_) {
      BERTH_TRY(const bool moved, MoveFrom(top, dir, out));
      any = any || moved;
    }
    if (!any) break;
  }
  return out;
}

std::vector<std::pair<std::string, std::string>> HostGroupsOf(const Settings& settings, const cgroup::Names& names) {
  std::vector<std::pair<std::string, std::string>> out{{"kubeletCgroups", names.FromTop(names.Own())},
                                                       {"runtimeCgroups", names.FromTop(names.Runtime())}};
  if (!settings.kubelet.system_cgroups.empty())
    out.emplace_back("systemCgroups", Normal(settings.kubelet.system_cgroups));
  return out;
}

std::vector<HostGroup> LookAt(const std::vector<std::pair<std::string, std::string>>& groups,
                              const cgroup::Layout& layout) {
  std::vector<HostGroup> out;
  auto fs = os::OpenFs("/");
  auto tree = fs ? cgroup::Tree::OpenToLook(*std::move(fs), layout, "/")
                 : Result<std::unique_ptr<cgroup::Tree>>(std::unexpected(std::move(fs).error()));
  for (const auto& [setting, path] : groups) {
    HostGroup group{.setting = setting, .path = path, .processes = 0, .memory = {}, .problem = {}};
    const auto look = [&]() -> Result<void> {
      if (!tree) return std::unexpected(tree.error());
      BERTH_TRY(const std::vector<int> pids, (*tree)->Pids(path.substr(1)));
      group.processes = static_cast<std::int64_t>(pids.size());
      BERTH_TRY(group.memory, (*tree)->WorkingSet(path.substr(1)));
      return {};
    };
    if (auto looked = look(); !looked) group.problem = looked.error().message;
    out.push_back(std::move(group));
  }
  return out;
}

}  // namespace berth::daemon
