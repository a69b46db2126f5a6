// Processes by descent: a process with all that descend from it, and whether they may be brought to another place.
#ifndef BERTH_HOST_CGROUP_MOVABLE_PROCESSES_H_
#define BERTH_HOST_CGROUP_MOVABLE_PROCESSES_H_

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "host/os/fs.h"

namespace berth::cgroup {

/// Parent of every process, by pid. `root`: the file system's "/". Processes that end meanwhile are left out.
std::map<int, int> ParentsOfAll(os::Fs& root);

/// The process and all that descend from it, parents first.
std::vector<int> FamilyOf(os::Fs& root, int pid);

/// Which processes that have a place already may be moved too.
enum class TakesFrom {
  kNowhere,     ///< none of them
  kContainers,  ///< those of containers and of cpusets that others made, but not of pods
  kAnywhere,
};

/// Who wants to move which processes.
struct FamilyMove {
  int pid = 0;     ///< with all that descend from it
  int self = 0;    ///< the process that asks
  int berthd = 0;  ///< the berthd that is asked; 0: not known
  TakesFrom takes_from = TakesFrom::kNowhere;
};

/// Processes that may be moved.
struct MovableFamily {
  std::string name;       ///< of the first one's program, 15 bytes, printable
  std::vector<int> pids;  ///< parents first
};

/// The family, when every one of it may be moved: it has no process 1, thread of the kernel, berthd, supervisor of one,
/// nor `self` (so `pid` is no ancestor of it), and none that has a place, but for `takes_from`. `root`: the file
/// system's "/"; only reads, and what every user may read.
/// Errors: kNotFound when there is no such process; kConflict naming the process that may not be moved, why, and what
/// to do. Thread: any.
Result<MovableFamily> FindMovable(os::Fs& root, const FamilyMove& move);

}  // namespace berth::cgroup

#endif  // BERTH_HOST_CGROUP_MOVABLE_PROCESSES_H_
