// Values as the control files show them, wanted beside found: what `berth tree` prints and repair reports. Pure.
#ifndef BERTH_HOST_CGROUP_VALUE_LINES_H_
#define BERTH_HOST_CGROUP_VALUE_LINES_H_

#include <string>
#include <vector>

#include "base/units.h"
#include "host/cgroup/cgroup.h"
#include "host/cgroup/pod_cgroup_values.h"
#include "model/cgroup_values.h"
#include "model/tree_view.h"

namespace berth::cgroup {

/// One line for each value of `wanted` that this host's controllers keep; limits are rounded down to pages as the
/// kernel does. Values the kernel does not show in `found` are left out.
std::vector<ValueLine> Compare(const CgroupValues& wanted, const CgroupValues& found, const Layout& layout,
                               const Reasons& why, Bytes page);

/// `values` without those whose controller this host does not have.
CgroupValues WithControllersOf(const Layout& layout, CgroupValues values);

}  // namespace berth::cgroup

#endif  // BERTH_HOST_CGROUP_VALUE_LINES_H_
