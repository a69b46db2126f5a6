// The local API's answers: what needs the loop's state asks the loop, the rest is done on the server's thread.
#ifndef BERTH_DAEMON_LOCAL_API_H_
#define BERTH_DAEMON_LOCAL_API_H_

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/backend.h"
#include "daemon/container_calls.h"
#include "daemon/event_list.h"
#include "daemon/events.h"
#include "daemon/followed_logs.h"
#include "daemon/mailbox.h"
#include "daemon/pod_folder.h"
#include "daemon/pod_manager.h"

namespace berth::daemon {

/// What stays the same while berthd runs.
struct DaemonFacts {
  std::string version;
  std::string started_at;
  std::string runtime;                ///< "process", "dry-run", or name and version of a container runtime
  std::string kubelet_text;           ///< the KubeletConfiguration it was started with; "" for the defaults
  std::vector<std::string> warnings;  ///< found at the start
};

/// Thread: the functions from any thread but the loop's; `manager` and `events` are only touched by the loop. `history`
/// may be null, `calls` is where there is no container runtime.
class LocalApi final : public api::Backend {
 public:
  LocalApi(Mailbox& mailbox, const PodManager& manager, const EventLog& events, history::History* history,
           ContainerCalls* calls, PodFolder folder, DaemonFacts facts)
      : mailbox_(mailbox),
        manager_(manager),
        events_(events),
        history_(history),
        calls_(calls),
        folder_(std::move(folder)),
        facts_(std::move(facts)) {}

  Result<codec::Json> Status() override;
  Result<codec::Json> Machine() override;
  Result<codec::Json> Node() override;
  Result<codec::Json> Ledger() override;
  Result<codec::Json> Pods() override;
  Result<codec::Json> Tree() override;
  Result<codec::Json> Pod(const std::string& namespace_, const std::string& name) override;
  Result<codec::Json> ApplyPods(const std::string& manifests) override;
  Result<codec::Json> DeletePod(const std::string& namespace_, const std::string& name) override;
  Result<codec::Json> Explain(const std::string& manifest) override;
  Result<codec::Json> Events(const api::EventQuery& query) override;
  Result<codec::Json> Logs(const api::LogQuery& query) override;
  Result<codec::Json> Exec(const api::ExecQuery& query) override;
  Result<codec::Json> Images() override;

 private:
  /// The pod of that name, or of that name with the node's appended. Loop's thread.
  Result<const ManagedPod*> Find(const std::string& namespace_, const std::string& name) const;
  /// The runtime's id of a container that runs. Loop's thread.
  Result<std::string> FindRunning(const api::ExecQuery& query) const;
  /// Errors: kUnsupported: there is no container runtime, and so no `what`.
  Result<ContainerCalls*> Calls(const std::string& what) const;
  /// Log of one attempt of a container.
  struct FoundLog {
    std::string path;
    bool running = false;
  };
  /// Loop's thread.
  Result<FoundLog> FindLog(const api::LogQuery& query) const;
  Result<codec::Json> FollowLog(const api::LogQuery& query);

  Mailbox& mailbox_;
  const PodManager& manager_;
  const EventLog& events_;
  history::History* history_;
  ContainerCalls* calls_;
  PodFolder folder_;
  DaemonFacts facts_;
  FollowedLogs followed_;
};

/// RFC 3339, or a duration back from `now`: "90s", "10m", "2h", "1h30m". Errors: kInvalid.
Result<os::WallTime> ParseSince(std::string_view text, os::WallTime now);

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_LOCAL_API_H_
