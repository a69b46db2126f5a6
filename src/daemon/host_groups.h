// Groups of the host that settings name: kubeletCgroups for berthd, runtimeCgroups for the supervisors of containers,
// systemCgroups for every process that would stay in the root cgroup (rules/cgroups#groups-of-the-host).
#ifndef BERTH_DAEMON_HOST_GROUPS_H_
#define BERTH_DAEMON_HOST_GROUPS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "daemon/settings.h"
#include "host/cgroup/cgroup.h"
#include "host/cgroup/cgroup_names.h"
#include "host/os/fs.h"
#include "model/tree_view.h"

namespace berth::daemon {

/// kubeletCgroups names a service, as files of kubelets under systemd do: a group that systemd makes, for that service
/// alone. berthd then has its usual one.
bool NamesAUnit(const Settings& settings, cgroup::Driver driver);
/// Names of Berth's groups under these settings. Errors: kInvalid naming the setting that contradicts another.
Result<cgroup::Names> NamesOf(const Settings& settings, cgroup::Driver driver);

/// Moves processes out of the root cgroup of each hierarchy. Kernel threads and pid 1 stay.
class SystemProcesses {
 public:
  /// `root`: the file system "/", outlives this. `group`: from the top of the hierarchy.
  SystemProcesses(os::Fs& root, const cgroup::Layout& layout, const std::string& group);

  /// In every hierarchy.
  Result<bool> GroupsExist() const;

  struct Moved {
    int count = 0;
    std::vector<std::string> refused;  ///< "4711: why"; they stay where they are
  };
  /// Requires: the groups exist. On v2 the kernel refuses each process where children of the group have controllers (so
  /// that /system.slice can be named on a host where nothing has to move). Looks again, up to `passes` times, as long
  /// as somebody was moved: processes fork meanwhile. Errors: of reading who is in the root cgroup.
  Result<Moved> Move(int passes);

 private:
  Result<bool> MoveFrom(const std::string& top, const std::string& dir, Moved& out);
  bool Stays(int pid) const;

  os::Fs* root_;
  std::vector<std::pair<std::string, std::string>> dirs_;  // root cgroup of a hierarchy -> the group there
};

/// The groups that settings name and Berth's own, by setting: path from the top of the hierarchy.
std::vector<std::pair<std::string, std::string>> HostGroupsOf(const Settings& settings, const cgroup::Names& names);
/// Looks at them, changing nothing.
std::vector<HostGroup> LookAt(const std::vector<std::pair<std::string, std::string>>& groups,
                              const cgroup::Layout& layout);

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_HOST_GROUPS_H_
