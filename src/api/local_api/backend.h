// Interface between the local API's HTTP server and the daemon: the server translates HTTP and JSON, the daemon
// answers.
//
// Thread: every function is called from the server's own threads, several at a time.
#ifndef BERTH_API_LOCAL_API_BACKEND_H_
#define BERTH_API_LOCAL_API_BACKEND_H_

#include <memory>
#include <string>

#include "api/local_api/queries.h"
#include "base/result.h"
#include "model/daemon_status.h"
#include "model/defrag.h"
#include "model/event.h"
#include "model/explanation.h"
#include "model/ledger.h"
#include "model/machine.h"
#include "model/node_snapshot.h"
#include "model/operation_results.h"
#include "model/pod.h"
#include "model/pod_view.h"
#include "model/stats_summary.h"
#include "model/tree_view.h"

namespace berth::api {

/// The calls of docs/reference/api.md; codec makes its JSON of the answers. Errors become HTTP statuses by their code.
/// Pointers in answers are never null.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual Result<DaemonStatus> Status() = 0;
  /// Errors: kTimeout: the loop does not turn.
  virtual Result<Health> GetHealth() = 0;
  virtual Result<std::shared_ptr<const Machine>> GetMachine() = 0;
  virtual Result<std::shared_ptr<const DeviceInventory>> Devices() = 0;
  virtual Result<std::shared_ptr<const NodeView>> Node() = 0;
  virtual Result<std::shared_ptr<const Ledger>> GetLedger() = 0;
  virtual Result<PodList> Pods() = 0;
  virtual Result<TreeView> Tree() = 0;
  virtual Result<PodDetails> GetPod(const std::string& namespace_, const std::string& name) = 0;
  virtual Result<StoredPods> ApplyPods(const ApplyQuery& query) = 0;
  virtual Result<DeletedPod> DeletePod(const std::string& namespace_, const std::string& name) = 0;
  virtual Result<DeletedPod> DeleteDocument(DocumentKind kind, const std::string& namespace_,
                                            const std::string& name) = 0;
  /// The containers of a pod are ended, within its grace period, and started again where they are.
  virtual Result<RestartedPod> RestartPod(const std::string& namespace_, const std::string& name) = 0;
  virtual Result<Outlook> Explain(const ExplainQuery& query) = 0;
  /// Takes a running container elsewhere on its node. It is being made durable when this returns.
  virtual Result<Move> MoveContainer(const MoveRequest& request) = 0;
  virtual Result<EventList> Events(const EventQuery& query) = 0;
  virtual Result<LogPage> Logs(const LogQuery& query) = 0;
  /// Takes as long as the command, which ends with its caller.
  virtual Result<CommandEnd> Exec(const ExecQuery& query) = 0;
  virtual Result<ImageList> Images() = 0;
  /// Everything that is measured, as text for Prometheus (exposition format 0.0.4).
  virtual Result<std::string> Metrics() = 0;
  /// What node, tiers, pods and containers use.
  virtual Result<StatsSummary> Stats() = 0;
};

}  // namespace berth::api

#endif  // BERTH_API_LOCAL_API_BACKEND_H_
