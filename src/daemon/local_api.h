// The local API's answers: what needs the loop's state asks the loop, the rest is done on the server's thread.
#ifndef BERTH_DAEMON_LOCAL_API_H_
#define BERTH_DAEMON_LOCAL_API_H_

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/backend.h"
#include "daemon/event_list.h"
#include "daemon/events.h"
#include "daemon/mailbox.h"
#include "daemon/pod_folder.h"
#include "daemon/pod_manager.h"

namespace berth::daemon {

/// What stays the same while berthd runs.
struct DaemonFacts {
  std::string version;
  std::string started_at;
  std::string runtime;                ///< "process", "dry-run"
  std::string kubelet_text;           ///< the KubeletConfiguration it was started with; "" for the defaults
  std::vector<std::string> warnings;  ///< found at the start
};

/// Thread: the functions from any thread but the loop's; `manager` and `events` are only touched by the loop. `history`
/// may be null.
class LocalApi final : public api::Backend {
 public:
  LocalApi(Mailbox& mailbox, const PodManager& manager, const EventLog& events, history::History* history,
           PodFolder folder, DaemonFacts facts)
      : mailbox_(mailbox),
        manager_(manager),
        events_(events),
        history_(history),
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

 private:
  /// The pod of that name, or of that name with the node's appended. Loop's thread.
  Result<const ManagedPod*> Find(const std::string& namespace_, const std::string& name) const;
  Result<std::string> LogPath(const api::LogQuery& query) const;

  Mailbox& mailbox_;
  const PodManager& manager_;
  const EventLog& events_;
  history::History* history_;
  PodFolder folder_;
  DaemonFacts facts_;
};

/// RFC 3339, or a duration back from `now`: "90s", "10m", "2h", "1h30m". Errors: kInvalid.
Result<os::WallTime> ParseSince(std::string_view text, os::WallTime now);

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_LOCAL_API_H_
