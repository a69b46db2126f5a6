// Processes of containers that are not where their containers are: a root process leaves its group with one write.
#ifndef BERTH_CGROUP_STRAYS_H_
#define BERTH_CGROUP_STRAYS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "os/fs.h"

namespace berth::cgroup {

/// Where a container's processes belong.
struct Home {
  std::string path;  ///< from the top of the hierarchies (Names::FromTop), its own group
  int main_pid = 0;  ///< 0: not known
};

struct Stray {
  int pid = 0;
  std::string name;      ///< of the program, 15 bytes at most, any of them
  std::size_t home = 0;  ///< index
  std::string cpuset;    ///< the group it is in instead, from the top of the cpuset hierarchy
  friend bool operator==(const Stray&, const Stray&) = default;
};

/// For people: "process 7 (sh) of <of> is in the cpuset /".
std::string StrayText(const Stray& stray, std::string_view of);

/// One look over /proc, at threads' leaders. A process is a container's when it is its main process, below that one, or
/// in its session; or (v1) when another hierarchy than that of cpusets still has it in the container's group. It is
/// astray when its cpuset is neither the container's nor below. `root`: the file system's "/". Processes that end
/// meanwhile are left out. Errors: /proc cannot be listed.
/// Thread: any; some 30 microseconds a process.
Result<std::vector<Stray>> FindStrays(os::Fs& root, const std::vector<Home>& homes);

}  // namespace berth::cgroup

#endif  // BERTH_CGROUP_STRAYS_H_
