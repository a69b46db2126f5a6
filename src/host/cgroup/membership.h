// In which group of a hierarchy a process is, as /proc/PID/cgroup says.
#ifndef BERTH_HOST_CGROUP_MEMBERSHIP_H_
#define BERTH_HOST_CGROUP_MEMBERSHIP_H_

#include <optional>
#include <string_view>

#include "host/cgroup/cgroup.h"

namespace berth::cgroup {

/// One line: "4:cpu,cpuacct:/path", of the v2 hierarchy "0::/path". Parts of the line, which outlives this.
struct Membership {
  std::string_view controllers;  ///< separated by commas; "": v2
  std::string_view path;         ///< from the top of the hierarchy

  bool v2() const { return controllers.empty(); }
  bool Has(std::string_view controller) const;
};

/// nullopt: no such line.
std::optional<Membership> ParseMembership(std::string_view line);

/// Whether it is of the hierarchy that is mounted there.
bool IsOf(const Membership& group, const ControllerMount& mount);

/// The path of a group, given from the top of its hierarchy, below what a mount point shows of it: "/" for that itself.
/// A part of `path`. nullopt: it is outside of that.
std::optional<std::string_view> WithinMount(const ControllerMount& mount, std::string_view path);

}  // namespace berth::cgroup

#endif  // BERTH_HOST_CGROUP_MEMBERSHIP_H_
