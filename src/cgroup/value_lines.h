// Values as the control files show them, wanted beside found: what `berth tree` prints and repair reports. Pure.
#ifndef BERTH_CGROUP_VALUE_LINES_H_
#define BERTH_CGROUP_VALUE_LINES_H_

#include <string>
#include <vector>

#include "base/units.h"
#include "cgroup/cgroup.h"
#include "cgroup/values.h"
#include "model/cgroup_values.h"

namespace berth::cgroup {

struct ValueLine {
  std::string file;    ///< "memory.max"; "cpu.cfs_quota_us" stands for the period too
  std::string wanted;  ///< as the kernel will show it: "max", "200000 100000", "0-3"
  std::string found;
  std::string why;  ///< formula with its numbers
  bool Same() const { return wanted == found; }
  friend bool operator==(const ValueLine&, const ValueLine&) = default;
};

/// One line for each value of `wanted` that this host's controllers keep; limits are rounded down to pages as the
/// kernel does. Values the kernel does not show in `found` are left out.
std::vector<ValueLine> Compare(const CgroupValues& wanted, const CgroupValues& found, const Layout& layout,
                               const Reasons& why, Bytes page);

/// `values` without those whose controller this host does not have.
CgroupValues WithControllersOf(const Layout& layout, CgroupValues values);

}  // namespace berth::cgroup

#endif  // BERTH_CGROUP_VALUE_LINES_H_
