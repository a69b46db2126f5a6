// The cgroup tree: what every group should hold, what it holds, and why.
#ifndef BERTH_MODEL_TREE_VIEW_H_
#define BERTH_MODEL_TREE_VIEW_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"

namespace berth {

/// A value as the control file shows it.
struct ValueLine {
  std::string file;    ///< "memory.max"; "cpu.cfs_quota_us" stands for the period too
  std::string wanted;  ///< as the kernel will show it: "max", "200000 100000", "0-3"
  std::string found;
  std::string why;  ///< formula with its numbers
  bool Same() const { return wanted == found; }
  friend bool operator==(const ValueLine&, const ValueLine&) = default;
};

/// A group of Berth's as it is.
struct GroupView {
  std::string path;     ///< below the cgroup root
  std::string what;     ///< "all pods", "pod default/web", "container main of default/web"
  std::string problem;  ///< why it could not be read; empty otherwise
  std::vector<ValueLine> values;
  friend bool operator==(const GroupView&, const GroupView&) = default;
};

/// What a group of the host holds and uses.
struct HostGroup {
  std::string setting;  ///< "kubeletCgroups"
  std::string path;     ///< from the top of the hierarchy
  std::int64_t processes = 0;
  std::optional<Bytes> memory;      ///< working set; nullopt: not counted
  std::string problem;              ///< why it could not be looked at
  std::vector<ValueLine> values{};  ///< of a group that gets what is reserved for it
  friend bool operator==(const HostGroup&, const HostGroup&) = default;
};

struct TreeView {
  std::string cgroup_version;  ///< "v1", "v2", "hybrid"
  std::string driver;          ///< "cgroupfs", "systemd"
  std::string root;
  std::vector<HostGroup> host_groups;
  std::vector<GroupView> groups;  ///< from the top
  friend bool operator==(const TreeView&, const TreeView&) = default;
};

}  // namespace berth

#endif  // BERTH_MODEL_TREE_VIEW_H_
