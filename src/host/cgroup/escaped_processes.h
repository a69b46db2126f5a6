// Processes of containers that are not where their containers are: a root process leaves its group with one write.
#ifndef BERTH_HOST_CGROUP_ESCAPED_PROCESSES_H_
#define BERTH_HOST_CGROUP_ESCAPED_PROCESSES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "host/cgroup/cgroup.h"
#include "host/os/fs.h"

namespace berth::cgroup {

/// Where a container's processes belong.
struct Home {
  std::string path;  ///< below the mounts (Names::FromTop), its own group
  int main_pid = 0;  ///< 0: not known
};

/// Whether the threads of processes are looked at too, each by itself: on v1 one can leave alone.
enum class Threads : std::uint8_t { kNo, kYes };

struct Stray {
  int pid = 0;
  int thread = 0;        ///< of that process, which has left alone; 0: the process
  std::string name;      ///< of the program, 15 bytes at most, any of them
  std::size_t home = 0;  ///< index
  std::string cpuset;    ///< the group it is in instead, from the top of the cpuset hierarchy
  friend bool operator==(const Stray&, const Stray&) = default;
};

/// For people: "process 7 (sh)", "thread 8 of process 7 (sh)".
std::string NameOf(const Stray& stray);
/// For people: "process 7 (sh) of <of> is in the cpuset /".
std::string StrayText(const Stray& stray, std::string_view of);

/// One look over /proc. A process is a container's when it is its main process, below that one, or
/// in its session; or (v1) when another hierarchy than that of cpusets still has it in the container's group. It is
/// astray when its cpuset is neither the container's nor below. `root`: the file system's "/"; `layout`: of this host,
/// because a mount point may show a part of its hierarchy only. Processes that end meanwhile are left out.
/// Errors: /proc cannot be listed; kUnsupported: the cpuset mount point shows what is outside of this process's cgroup
/// namespace, so that /proc does not say where in it a process is.
/// Thread: any; some 30 microseconds a process, and as much for each thread that is looked at.
Result<std::vector<Stray>> FindStrays(os::Fs& root, const Layout& layout, const std::vector<Home>& homes,
                                      Threads threads);

}  // namespace berth::cgroup

#endif  // BERTH_HOST_CGROUP_ESCAPED_PROCESSES_H_
