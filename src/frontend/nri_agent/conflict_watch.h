// Watch for others who place the node's containers too: a kubelet, for which Berth steps aside where it is set so, and
// plug-ins of the runtime.
#ifndef BERTH_FRONTEND_NRI_AGENT_CONFLICT_WATCH_H_
#define BERTH_FRONTEND_NRI_AGENT_CONFLICT_WATCH_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "frontend/nri_agent/nri_session.h"
#include "frontend/nri_agent/placement_conflicts.h"
#include "frontend/nri_agent/pod_departures.h"
#include "host/event_loop/task_scope.h"
#include "host/os/clock.h"
#include "model/kubelet_version.h"
#include "node/core/node_core.h"
#include "rpc/nri/nri_values.h"

namespace berth::nri_agent {

struct ConflictWatchOptions {
  bool step_aside = false;            ///< as in NriAllocatorOptions
  std::string kubelet_dir;            ///< likewise
  std::function<void()> begin_aside;  ///< a kubelet places containers: Berth steps aside
  std::function<void()> join_anew;    ///< Berth has stepped back: the runtime shall say all there is
};

/// Thread: the loop's only.
class ConflictWatch {
 public:
  /// Reads the kubelet's state files; `begin_aside` may be called. All outlive it.
  ConflictWatch(core::Node& node, NriSession& session, PodDepartures& departures, ConflictWatchOptions options);

  /// For the warnings, and as the pod's event; `what` as in PlacementConflicts::Note.
  void Report(PlacementConflict how, const nri::Pod& pod, std::string what, const std::string& message);
  /// A runtime drops a container when a plug-in refuses it, or two of them say where it goes, and tells only who asked.
  void ReportNotMade(const nri::Pod& pod, const nri::Container& container);
  /// What an operator should know now, a sentence each.
  std::vector<std::string> Warnings() const { return conflicts_.Warnings(node_.clock().Now()); }

  void Tick(os::MonoTime now);
  os::MonoTime next_due() const;

 private:
  void ReadKubelet(os::MonoTime now);
  void TakeKubelet(KubeletPlaces now);
  void TakeKubeletVersion(std::optional<KubeletVersion> now);
  bool HoldsPlacesAside() const;
  void ReleaseAll();

  core::Node& node_;
  NriSession& session_;
  PodDepartures& departures_;
  const ConflictWatchOptions options_;
  PlacementConflicts conflicts_;
  os::MonoTime next_read_{};
  std::optional<KubeletVersion> files_version_;  // by the kubelet's state files
  event_loop::TaskScope tasks_;
};

}  // namespace berth::nri_agent

#endif  // BERTH_FRONTEND_NRI_AGENT_CONFLICT_WATCH_H_
