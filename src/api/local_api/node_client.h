// Client of berthd's local API, for the command line and tests: requests and answers are values.
#ifndef BERTH_API_LOCAL_API_NODE_CLIENT_H_
#define BERTH_API_LOCAL_API_NODE_CLIENT_H_

#include <chrono>
#include <string>

#include "api/local_api/api_client.h"
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
#include "model/pod_view.h"
#include "model/stats_summary.h"
#include "model/tree_view.h"

namespace berth::api {

/// One function per call of docs/reference/api.md. Errors of each: as Call; kInvalid naming the field of an answer that
/// makes no sense. Thread: any; every call makes its own connection.
class NodeClient {
 public:
  /// `timeout`: of a call, beyond the time of what it asks for.
  explicit NodeClient(std::string socket, std::chrono::seconds timeout = std::chrono::seconds(30))
      : socket_(std::move(socket)), timeout_(timeout) {}

  Result<DaemonStatus> Status() const;
  Result<Health> GetHealth() const;
  Result<Machine> GetMachine() const;
  Result<DeviceInventory> Devices() const;
  Result<NodeView> Node() const;
  Result<Ledger> GetLedger() const;
  Result<PodList> Pods() const;
  Result<PodDetails> GetPod(const std::string& namespace_, const std::string& name) const;
  Result<TreeView> Tree() const;
  Result<StoredPods> ApplyPods(const ApplyQuery& query) const;
  Result<DeletedPod> DeletePod(const std::string& namespace_, const std::string& name) const;
  Result<DeletedPod> DeleteDocument(DocumentKind kind, const std::string& namespace_, const std::string& name) const;
  Result<RestartedPod> RestartPod(const std::string& namespace_, const std::string& name) const;
  /// `manifest`: of one pod.
  Result<Outlook> Explain(const std::string& manifest) const;
  /// It is being made durable when this returns, and in force soon after (GetLedger shows it).
  Result<Move> MoveContainer(const MoveRequest& request) const;
  Result<EventList> Events(const EventQuery& query) const;
  Result<LogPage> Logs(const LogQuery& query) const;
  /// Errors also: kInvalid when the command has bytes that are not UTF-8.
  Result<CommandEnd> Exec(const ExecQuery& query) const;
  Result<ImageList> Images() const;
  Result<StatsSummary> Stats() const;

 private:
  template <class T>
  Result<T> Ask(std::string_view method, const std::string& path, Result<T> (*read)(const codec::Json&),
                const std::string& body = {}, std::chrono::seconds beyond = std::chrono::seconds(0)) const;

  std::string socket_;
  std::chrono::seconds timeout_;
};

}  // namespace berth::api

#endif  // BERTH_API_LOCAL_API_NODE_CLIENT_H_
