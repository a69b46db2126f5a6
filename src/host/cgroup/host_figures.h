// Host-wide figures beside cgroups, from /proc and /sys: memory, processes, online CPUs. Internal to this folder.
#ifndef BERTH_HOST_CGROUP_HOST_FIGURES_H_
#define BERTH_HOST_CGROUP_HOST_FIGURES_H_

#include <cstdint>
#include <optional>

#include "base/id_set.h"
#include "base/result.h"
#include "host/cgroup/cgroup.h"
#include "host/cgroup/hierarchy.h"

namespace berth::cgroup {

// nullopt: a file of the kernel is not there. Errors: kInvalid for one that cannot be read as what it should be.

/// As Tree::Figures, Tree::PidCapacity and Tree::OnlineCpus.
Result<std::optional<HostFigures>> ReadHostFigures(ControlFiles& files);
Result<std::optional<std::int64_t>> ReadPidCapacity(ControlFiles& files);
Result<std::optional<CpuSet>> ReadOnlineCpus(ControlFiles& files);

}  // namespace berth::cgroup

#endif  // BERTH_HOST_CGROUP_HOST_FIGURES_H_
