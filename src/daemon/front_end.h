// Front end of a daemon: where the pods of the node come from, and who is told what became of them.
#ifndef BERTH_DAEMON_FRONT_END_H_
#define BERTH_DAEMON_FRONT_END_H_

#include <optional>
#include <string>
#include <vector>

#include "base/loop_thread.h"
#include "base/result.h"
#include "daemon/pod_manager.h"
#include "daemon/settings.h"
#include "host/event_loop/executor.h"
#include "host/event_loop/loop.h"
#include "host/os/work_notes.h"
#include "model/daemon_status.h"
#include "node/checkpoint/store.h"
#include "telemetry/events/log.h"

namespace berth::daemon {

/// What one is opened with; all outlive it but `saved` and `warnings`. The loop is closed before it goes.
struct FrontEndParts {
  const Settings& settings;
  event_loop::Loop& loop;
  event_loop::Executor& executor;
  events::Log& log;
  os::WorkNotes& work_notes;
  const std::optional<checkpoint::Saved>& saved;
  std::vector<std::string>& warnings;  ///< what an operator should know is added
};

/// Thread: the loop's only.
class FrontEnd {
 public:
  virtual ~FrontEnd() = default;

  /// Tells the loop what it waits for; pods come from then on. The node was recovered; both outlive this. Called once,
  /// before all of the following but Leave. Errors: the loop must not turn any more then.
  virtual Result<void> Start(core::Node& node, PodManager& manager) BERTH_REQUIRES(loop_thread) = 0;
  /// Begins to end all pods. False: they are not Berth's to end.
  virtual bool EndAll() BERTH_REQUIRES(loop_thread) = 0;
  /// Nobody who called waits for the loop any more.
  virtual void Leave() {}
  virtual void AddHealth(Health&) const BERTH_REQUIRES(loop_thread) {}
  /// What an operator should know now, a sentence each.
  virtual std::vector<std::string> Warnings() const BERTH_REQUIRES(loop_thread) { return {}; }
};

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_FRONT_END_H_
