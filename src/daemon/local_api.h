// The local API's answers, made on the server's threads from what the loop has published.
#ifndef BERTH_DAEMON_LOCAL_API_H_
#define BERTH_DAEMON_LOCAL_API_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/local_api/backend.h"
#include "base/mutex.h"
#include "daemon/apply_check.h"
#include "daemon/container_calls.h"
#include "daemon/event_list.h"
#include "daemon/followed_logs.h"
#include "daemon/pod_folder.h"
#include "daemon/published.h"
#include "daemon/snapshot_builder.h"
#include "daemon/tree_status.h"
#include "daemon/usage_reader.h"
#include "host/event_loop/loop.h"
#include "kubernetes/pod_resources/pod_resources_service.h"
#include "manifest/manifest.h"

namespace berth::daemon {

/// Ends the containers of the pod with this uid and starts them again. Thread: the loop's.
using RestartDoor = std::function<Result<std::vector<std::string>>(const std::string& uid)>;
/// Makes one move. Thread: the loop's.
using MoveDoor = std::function<Result<Move>(const MoveRequest&)>;
/// Thread: the loop's.
using HealthDoor = std::function<Health()>;

/// Thread: any. `history` may be null; `calls` is where there is no container runtime, `pod_resources` where
/// that API is not served.
class LocalApi final : public api::Backend {
 public:
  LocalApi(const Published<LoopState>& published, event_loop::Loop& loop, RestartDoor restart, MoveDoor move,
           HealthDoor health, TreeDoor tree, history::History* history, ContainerCalls* calls,
           const pod_resources::Service* pod_resources, PodFolder folder, ApplyRules rules, CallLimits limits = {})
      : published_(published),
        loop_(loop),
        restart_(std::move(restart)),
        move_(std::move(move)),
        health_(std::move(health)),
        tree_(std::move(tree)),
        usage_(published, tree_.open, os::SystemClock()),
        history_(history),
        calls_(calls),
        pod_resources_(pod_resources),
        folder_(std::move(folder)),
        rules_(std::move(rules)),
        limits_(std::move(limits)) {}

  Result<DaemonStatus> Status() override;
  Result<Health> GetHealth() override;
  Result<std::shared_ptr<const Machine>> GetMachine() override;
  Result<std::shared_ptr<const DeviceInventory>> Devices() override;
  Result<std::shared_ptr<const NodeView>> Node() override;
  Result<std::shared_ptr<const Ledger>> GetLedger() override;
  Result<PodList> Pods() override;
  Result<TreeView> Tree() override;
  Result<PodDetails> GetPod(const std::string& namespace_, const std::string& name) override;
  Result<StoredPods> ApplyPods(const api::ApplyQuery& query) override;
  Result<DeletedPod> DeletePod(const std::string& namespace_, const std::string& name) override;
  Result<DeletedPod> DeleteDocument(DocumentKind kind, const std::string& namespace_, const std::string& name) override;
  Result<RestartedPod> RestartPod(const std::string& namespace_, const std::string& name) override;
  Result<Outlook> Explain(const api::ExplainQuery& query) override;
  Result<Move> MoveContainer(const MoveRequest& request) override;
  Result<EventList> Events(const api::EventQuery& query) override;
  Result<LogPage> Logs(const api::LogQuery& query) override;
  Result<CommandEnd> Exec(const api::ExecQuery& query) override;
  Result<ImageList> Images() override;
  Result<std::string> Metrics() override;
  Result<StatsSummary> Stats() override;

 private:
  /// The pod of that name, or of that name with the node's appended. It lives as long as `state`.
  Result<const PodSnapshot*> Find(const LoopState& state, const std::string& namespace_, const std::string& name) const;
  /// The runtime's id of a container that runs.
  Result<std::string> FindRunning(const api::ExecQuery& query) const;
  /// Errors: kUnsupported: pods are somebody else's to change.
  Result<void> CheckOurs() const;
  /// Errors: kUnsupported: there is no container runtime, and this is why that is needed.
  Result<ContainerCalls*> Calls(const std::string& why) const;
  Result<StoredPods> Apply(const api::ApplyQuery& query);
  manifest::Reading ReadRequest(const api::ApplyQuery& query, const LoopState& state) const;
  /// A pod of the node that has the path as a volume and is not `pod`, nor what it replaces; "": there is none.
  std::string OtherUserOf(const LoopState& state, const std::string& path, const Pod& pod) const;
  Result<Outlook> ExplainOne(const api::ExplainQuery& query);
  /// Log of one attempt of a container.
  struct FoundLog {
    std::string path;
    bool running = false;
  };
  Result<FoundLog> FindLog(const api::LogQuery& query) const;
  Result<LogPage> FollowLog(const api::LogQuery& query);

  const Published<LoopState>& published_;
  event_loop::Loop& loop_;
  const RestartDoor restart_;
  const MoveDoor move_;
  const HealthDoor health_;
  const TreeDoor tree_;
  UsageReader usage_;
  history::History* history_;
  ContainerCalls* calls_;
  const pod_resources::Service* pod_resources_;
  PodFolder folder_;
  const ApplyRules rules_;
  const CallLimits limits_;
  FollowedLogs followed_;
  /// What a large manifest becomes takes many times its memory: one is read at a time, through whatever server it came.
  Mutex large_manifest_;
};

/// RFC 3339, or a duration back from `now`: "90s", "10m", "2h", "1h30m". Errors: kInvalid.
Result<os::WallTime> ParseSince(std::string_view text, os::WallTime now);

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_LOCAL_API_H_
