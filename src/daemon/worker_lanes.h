// Lanes of berthd's worker pool: which work waits for which.
#ifndef BERTH_DAEMON_WORKER_LANES_H_
#define BERTH_DAEMON_WORKER_LANES_H_

#include <vector>

#include "host/event_loop/worker_pool.h"

namespace berth::daemon {

inline constexpr char kDiskLane[] = "disk";              // files, units of systemd, supervisors of containers
inline constexpr char kHookLane[] = "hooks";             // runs containers' hooks
inline constexpr char kPluginLane[] = "plugins";         // asks device plug-ins; one job for each resource
inline constexpr char kProbeLane[] = "probes";           // asks containers how they are
inline constexpr char kPublishingLane[] = "publishing";  // writes to the API server; there if `publishes`

inline std::vector<event_loop::LaneOptions> WorkerLanes(bool publishes) {
  std::vector<event_loop::LaneOptions> out = {{.name = kDiskLane, .most = 8},
                                              {.name = kHookLane, .most = 64},
                                              {.name = kPluginLane, .most = 64},
                                              {.name = kProbeLane, .most = 64}};
  if (publishes) out.push_back({.name = kPublishingLane, .most = 2});
  return out;
}

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_WORKER_LANES_H_
