// Cgroups that systemd manages: the tree of a host whose slices and scopes are systemd's units. cgroup v2 only.
//
// What is made is a unit, and every value that has a property is told to systemd before the kernel's file is looked at,
// so that neither a reload of systemd nor a change of another property takes it back. Files stay the truth: what
// differs there is told and written, and when nothing differs systemd is not asked.
#ifndef BERTH_HOST_CGROUP_SYSTEMD_H_
#define BERTH_HOST_CGROUP_SYSTEMD_H_

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "host/cgroup/cgroup.h"
#include "host/cgroup/cgroup_names.h"
#include "host/os/fs.h"

namespace berth::cgroup {

/// What decides which driver a host needs.
struct DriverQuestion {
  std::string_view configured;     ///< cgroupDriver; "" when nothing is said
  bool systemd_runs = false;       ///< process 1 is systemd
  Version version = Version::kV2;  ///< of the host's cgroups
  bool delegated = false;          ///< the cgroup root is in a part of the tree that systemd has handed over
  std::string_view root = "/";     ///< for messages
};
/// The driver. Pure. Errors: kInvalid (no driver's name), kUnsupported (a contradiction), with the cure.
Result<Driver> ChooseDriver(const DriverQuestion& question);

/// Whether `found` is what systemd makes of `wanted` when it writes a quota by itself: it keeps whole percents only.
bool IsRoundedBySystemd(const CpuMax& wanted, const CpuMax& found);

/// As Tree::Open, with this driver. With kSystemd: `root` is made of slices, and paths written to are units
/// (host/cgroup/cgroup_names.h); errors are also those of D-Bus: kTimeout, kUnreachable or kUncertain when systemd does
/// not answer, within seconds and with the cure.
Result<std::unique_ptr<Tree>> OpenTree(Driver driver, std::unique_ptr<os::Fs> root_fs, Layout layout,
                                       const std::string& root);

}  // namespace berth::cgroup

#endif  // BERTH_HOST_CGROUP_SYSTEMD_H_
