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
#include "daemon/front_end.h"
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

class NriFrontEnd final : public FrontEnd {
 public:
  /// `runtime` is that of the node.
  NriFrontEnd(const FrontEndParts& parts, nri_agent::WatchedRuntime& runtime)
      : settings_(parts.settings.berth),
        loop_(parts.loop),
        executor_(parts.executor),
        log_(parts.log),
        runtime_(runtime) {}

  /// Joins the runtime as soon as that listens. Errors: of starting threads.
  Result<void> Start(core::Node& node, PodManager& manager) override BERTH_REQUIRES(loop_thread);
  bool EndAll() override { return false; }
  /// The runtime is left for good.
  void Leave() override { plugin_.reset(); }
  void AddHealth(Health& health) const override BERTH_REQUIRES(loop_thread);
  std::vector<std::string> Warnings() const override BERTH_REQUIRES(loop_thread);

 private:
  void Tell(bool warning, const std::string& reason, const std::string& message) BERTH_REQUIRES(loop_thread);
  void OpenNewGroups() BERTH_REQUIRES(loop_thread);
  void OpenPodSpecs() BERTH_REQUIRES(loop_thread);
  nri_agent::DeviceSource KubeletsDevices() const;
  Result<void> Join() BERTH_REQUIRES(loop_thread);
  void JoinAnew() BERTH_REQUIRES(loop_thread);

  const config::BerthConfiguration& settings_;
  event_loop::Loop& loop_;
  event_loop::Executor& executor_;
  events::Log& log_;
  nri_agent::WatchedRuntime& runtime_;
  core::Node* node_ = nullptr;                      // from Start on, as agent and handler
  std::optional<nri_agent::NewGroups> new_groups_;  // nullopt: the kernel does not tell
  std::optional<nri_agent::NriAllocator> agent_;
  std::unique_ptr<PodSpecs> pod_specs_;  // null: no API server is asked for them
  std::optional<nri_agent::LoopHandler> loop_handler_;
  std::unique_ptr<nri::Plugin> plugin_;
};

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_NRI_FRONT_END_H_
