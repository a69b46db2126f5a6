// In which group of a hierarchy a process is, as /proc/PID/cgroup says.
#ifndef BERTH_CGROUP_MEMBERSHIP_H_
#define BERTH_CGROUP_MEMBERSHIP_H_

#include <optional>
#include <string_view>

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

}  // namespace berth::cgroup

#endif  // BERTH_CGROUP_MEMBERSHIP_H_
