// NRI front end: containers of a kubelet, placed by berthd as a plug-in of their runtime, and what else it hears of
// them: pods from an API server, devices from the kubelet, new cgroups from the kernel. Design: docs/design/nri.md.
#ifndef BERTH_DAEMON_NRI_FRONT_END_H_
#define BERTH_DAEMON_NRI_FRONT_END_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/loop_thread.h"
#include "base/result.h"
#include "config/berth_config.h"
#include "daemon/pod_specs.h"
#include "frontend/nri_agent/loop_handler.h"
#include "frontend/nri_agent/new_groups.h"
#include "frontend/nri_agent/nri_allocator.h"
#include "frontend/nri_agent/watched_runtime.h"
#include "host/event_loop/executor.h"
#include "host/event_loop/loop.h"
#include "node/core/node_core.h"
#include "rpc/nri/plugin.h"
#include "telemetry/events/log.h"

namespace berth::daemon {

/// What it works with; all outlive it. The loop is closed before it goes.
struct NriFrontEndParts {
  const config::BerthConfiguration& settings;
  event_loop::Loop& loop;
  event_loop::Executor& executor;
  core::Node& node;  ///< of `runtime`, and recovered
  nri_agent::WatchedRuntime& runtime;
  events::Log& log;
};

/// Thread: the loop's only.
class NriFrontEnd {
 public:
  /// Tells the loop what it waits for, and joins the runtime as soon as that listens. Errors: of starting threads; the
  /// loop must not turn any more then.
  static Result<std::unique_ptr<NriFrontEnd>> Open(const NriFrontEndParts& parts) BERTH_REQUIRES(loop_thread);
  NriFrontEnd(const NriFrontEnd&) = delete;
  NriFrontEnd& operator=(const NriFrontEnd&) = delete;

  /// As NriAllocator's.
  bool Started() const BERTH_REQUIRES(loop_thread) { return agent_.Started(); }
  std::vector<std::string> NotReady() const BERTH_REQUIRES(loop_thread) { return agent_.NotReady(); }
  /// What an operator should know now, a sentence each.
  std::vector<std::string> Warnings() const BERTH_REQUIRES(loop_thread);
  /// The runtime is left for good; no call of it waits for the loop any more.
  void Leave() { plugin_.reset(); }

 private:
  explicit NriFrontEnd(const NriFrontEndParts& parts);
  void Tell(bool warning, const std::string& reason, const std::string& message) BERTH_REQUIRES(loop_thread);
  void OpenNewGroups() BERTH_REQUIRES(loop_thread);
  void OpenPodSpecs() BERTH_REQUIRES(loop_thread);
  nri_agent::DeviceSource KubeletsDevices() const;
  Result<void> Join() BERTH_REQUIRES(loop_thread);
  void JoinAnew() BERTH_REQUIRES(loop_thread);

  NriFrontEndParts parts_;
  std::optional<nri_agent::NewGroups> new_groups_;  // nullopt: the kernel does not tell
  nri_agent::NriAllocator agent_;
  std::unique_ptr<PodSpecs> pod_specs_;  // null: no API server is asked for them
  nri_agent::LoopHandler loop_handler_;
  std::unique_ptr<nri::Plugin> plugin_;
};

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_NRI_FRONT_END_H_
