// Processes that somebody else started, in the groups of the calling process: how a command of a terminal, or a process
// that runs already, comes to a place of its own, and back again.
#ifndef BERTH_HOST_CGROUP_VISITORS_H_
#define BERTH_HOST_CGROUP_VISITORS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "host/cgroup/cgroup.h"
#include "host/os/affinity.h"
#include "host/os/fs.h"

namespace berth::cgroup {

/// A process, for ever: its pid and when it was started (os::StartTicksOf).
struct ProcessId {
  int pid = 0;
  std::uint64_t start_ticks = 0;
};

/// Whether the group of a pod's container is meant: a component of `path` holds `uid`, as either driver writes it.
bool IsInPod(std::string_view path, std::string_view uid);

/// Whether a process is in all those groups of another one that belong to the pod. Both: lines of /proc/PID/cgroup.
/// False when the other one is in none.
bool SharesGroups(const std::vector<std::string>& lines, const std::vector<std::string>& of_other,
                  std::string_view uid);

/// Not thread-safe. Takes root, and a mount of the hierarchies that can be written.
class Visitors {
 public:
  /// Into the caller's own groups that belong to the pod `uid`. Errors: kNotFound when it is in none.
  static Result<Visitors> Make(std::string_view uid);

  /// Brings a process and all that descend from it, on every CPU they may have there. Errors: kNotFound when it is
  /// gone; of the kernel, naming process and group: who was brought before that stays.
  Result<void> TakeIn(const ProcessId& process);
  /// Everybody who is here but the caller goes back where he came from, with the affinity he had; who was born here, to
  /// where the process came from that he descends from. A group that is gone: the nearest above it. Errors: of the
  /// kernel; the others are back all the same.
  Result<void> GiveBack();

 private:
  /// A group of ours in one hierarchy. Paths are below "/".
  struct Seat {
    ControllerMount mount;
    std::string dir;
  };
  struct Guest {
    std::vector<std::string> came_from;          ///< by seat: directories
    std::map<int, os::AffinityMask> affinities;  ///< by thread
  };

  Visitors(std::unique_ptr<os::Fs> fs, std::vector<Seat> seats) : fs_(std::move(fs)), seats_(std::move(seats)) {}
  Result<Guest> Remember(int pid);
  Result<void> MoveIn(int pid);
  Result<std::set<int>> Here();
  const Guest* HostOf(int pid);
  Result<void> MoveBack(int pid, const Guest& guest);
  std::string Standing(std::size_t seat, std::string dir);

  std::unique_ptr<os::Fs> fs_;
  std::vector<Seat> seats_;
  std::map<int, Guest> guests_;  // by pid
};

}  // namespace berth::cgroup

#endif  // BERTH_HOST_CGROUP_VISITORS_H_
