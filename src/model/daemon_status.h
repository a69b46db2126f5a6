// Status and health of berthd, as its local API reports them.
#ifndef BERTH_MODEL_DAEMON_STATUS_H_
#define BERTH_MODEL_DAEMON_STATUS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time_text.h"

namespace berth {

/// How often a call was made, and how often it failed or went unanswered.
struct CallCount {
  std::uint64_t calls = 0;
  std::uint64_t failed = 0;
  friend bool operator==(const CallCount&, const CallCount&) = default;
};

/// The database of events.
struct HistoryStatus {
  std::string path;
  std::uint64_t kept = 0;   ///< entries in it
  std::size_t waiting = 0;  ///< recorded, not written yet
  std::uint64_t lost = 0;   ///< recorded since the start and never written
  std::string problem;      ///< why the last write failed; "" when it worked
  friend bool operator==(const HistoryStatus&, const HistoryStatus&) = default;
};

/// How long the loop was away from what waits for it, at most.
struct LoopAbsence {
  std::int64_t ms = 0;  ///< rounded up
  std::string what;     ///< the part of it that took longest then; "": it never was
  friend bool operator==(const LoopAbsence&, const LoopAbsence&) = default;
};
struct LoopStatus {
  std::uint64_t turns = 0;
  LoopAbsence longest;         ///< since the start
  LoopAbsence longest_lately;  ///< within the last minute
  friend bool operator==(const LoopStatus&, const LoopStatus&) = default;
};

/// What probes ask for.
struct Health {
  bool started = false;                ///< what was there when berthd came has been looked at
  std::vector<std::string> not_ready;  ///< why no container can be placed now, a sentence each; empty: nothing
  friend bool operator==(const Health&, const Health&) = default;
};

struct DaemonStatus {
  std::string version;
  std::string node_name;
  int pid = 0;
  std::optional<WallTime> started_at;
  std::string cgroup_version;    ///< "v1", "v2", "hybrid"
  std::string runtime;           ///< "process", "dry-run", or name and version of a container runtime
  std::string runtime_endpoint;  ///< its socket; "": there is none
  std::string machine_source;
  std::uint64_t ledger_revision = 0;
  std::size_t pods = 0;
  std::uint64_t cgroup_writes = 0;
  std::map<std::string, CallCount> runtime_calls;  ///< since the start, by name
  std::string pod_folder;
  std::string cgroup_root;
  std::string cgroup_driver;  ///< "cgroupfs", "systemd"
  LoopStatus loop;
  std::optional<HistoryStatus> history;  ///< nullopt: there is none
  std::vector<std::string> warnings;     ///< a sentence each
  friend bool operator==(const DaemonStatus&, const DaemonStatus&) = default;
};

}  // namespace berth

#endif  // BERTH_MODEL_DAEMON_STATUS_H_
