// The systemd driver with its doors given, for tests. Internal to the component.
#ifndef BERTH_HOST_CGROUP_SYSTEMD_TREE_H_
#define BERTH_HOST_CGROUP_SYSTEMD_TREE_H_

#include <functional>
#include <memory>
#include <string>

#include "host/cgroup/host_tree.h"
#include "host/cgroup/systemd_bus.h"
#include "host/os/placeholder.h"

namespace berth::cgroup {

Result<std::unique_ptr<Tree>> OpenSystemdTree(std::unique_ptr<os::Fs> root_fs, Layout layout, const std::string& root,
                                              TreeDoors doors, std::unique_ptr<Systemd> systemd);

}  // namespace berth::cgroup

#endif  // BERTH_HOST_CGROUP_SYSTEMD_TREE_H_
