#include "host/cgroup/systemd.h"

#include <cstdint>
#include <string>
#include <utility>

#include "base/text.h"
#include "host/cgroup/systemd_bus.h"
#include "host/cgroup/systemd_tree.h"
#include "host/cgroup/systemd_units.h"
#include "host/cgroup/tree_doors.h"

namespace berth::cgroup {

Result<std::unique_ptr<Tree>> OpenTree(Driver driver, std::unique_ptr<os::Fs> root_fs, Layout layout,
                                       const std::string& root) {
  if (driver == Driver::kCgroupfs) return Tree::Open(std::move(root_fs), std::move(layout), root);
  return OpenSystemdTree(std::move(root_fs), std::move(layout), root, HostDoors(), OpenSystemd());
}

bool IsRoundedBySystemd(const CpuMax& wanted, const CpuMax& found) {
  if (!wanted.quota || !found.quota || wanted.period != found.period || wanted.quota == found.quota) return false;
  const std::int64_t period = wanted.period.count();
  const std::uint64_t told = QuotaPerSecond(wanted.quota->count(), period);
  return static_cast<std::uint64_t>(found.quota->count()) == told * static_cast<std::uint64_t>(period) / 1'000'000;
}

Result<Driver> ChooseDriver(const DriverQuestion& question) {
  const std::string said = "cgroupDriver: " + Printable(question.configured, 60) + ": ";
  if (!question.configured.empty() && question.configured != Name(Driver::kSystemd) &&
      question.configured != Name(Driver::kCgroupfs))
    return Fail(Code::kInvalid, said +
                                    "there are the drivers 'systemd' and 'cgroupfs'; leave it out to have the one this "
                                    "host needs");
  const bool managed = question.systemd_runs && question.version == Version::kV2;
  const bool wants_systemd = question.configured == Name(Driver::kSystemd);
  if (wants_systemd && !question.systemd_runs)
    return Fail(Code::kUnsupported,
                said + "systemd does not run on this host; set 'cgroupDriver: cgroupfs', or leave it out");
  if (wants_systemd && !managed)
    return Fail(Code::kUnsupported,
                said + "berthd works with systemd on cgroup v2 only, this host has " +
                    std::string(Name(question.version)) +
                    "; boot it with systemd.unified_cgroup_hierarchy=1, or set 'cgroupDriver: cgroupfs'");
  if (question.configured.empty()) return managed && !question.delegated ? Driver::kSystemd : Driver::kCgroupfs;
  if (!wants_systemd && managed && !question.delegated)
    return Fail(
        Code::kUnsupported,
        said + "systemd manages the cgroups of this host, and " + std::string(question.root) +
            " is not handed over to anybody: two managers would undo each other's values; set "
            "'cgroupDriver: systemd' or leave it out, or give berthd a cgroupRoot below a unit with Delegate=yes");
  return wants_systemd ? Driver::kSystemd : Driver::kCgroupfs;
}

}  // namespace berth::cgroup
