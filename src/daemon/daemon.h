// berthd: opens its parts and tells the loop what each of them waits for.
#ifndef BERTH_DAEMON_DAEMON_H_
#define BERTH_DAEMON_DAEMON_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/loop_thread.h"
#include "base/result.h"
#include "daemon/api_servers.h"
#include "daemon/cluster_publishers.h"
#include "daemon/daemon_host.h"
#include "daemon/front_end.h"
#include "daemon/notify.h"
#include "daemon/pod_manager.h"
#include "daemon/published.h"
#include "daemon/settings.h"
#include "daemon/snapshot_builder.h"
#include "host/event_loop/loop.h"
#include "host/event_loop/worker_pool.h"
#include "host/os/unique_fd.h"
#include "host/os/work_notes.h"
#include "host/os/write_watch.h"
#include "node/checkpoint/store.h"
#include "node/core/node_core.h"
#include "telemetry/events/event_log.h"
#include "telemetry/events/log.h"
#include "telemetry/history/history.h"

namespace berth::daemon {

/// Blocks the signals the loop reads (HUP, TERM, INT) and ignores SIGPIPE. Call before any thread is started.
void PrepareSignals();

/// Thread: Make and Run from one thread, which becomes the loop's.
class Daemon {
 public:
  /// Opens everything, takes over what runs, and serves the API. `line` is kept for reloads; `log` outlives the daemon.
  /// Errors: one sentence with the cure: kInUse (another berthd), kInvalid (settings), kPermission, kUnsupported
  /// (cgroups), kIo. Nothing that runs was touched then.
  static Result<std::unique_ptr<Daemon>> Make(CommandLine line, Settings settings, const std::string& version,
                                              Notifier notifier, events::Log& log) BERTH_ASSERTS(loop_thread);
  ~Daemon();

  /// Until SIGTERM or SIGINT. Errors: as Loop::Run.
  Result<void> Run() BERTH_REQUIRES(loop_thread);

 private:
  Daemon(CommandLine line, Settings settings, Notifier notifier, events::Log& log);

  // daemon_start.cc
  Result<void> OpenAll(const std::string& version);
  Result<void> OpenHost(const Machine& machine, bool dry_run);
  void OpenPublishers(const std::string& version) BERTH_REQUIRES(loop_thread);
  Result<void> OpenEvents() BERTH_REQUIRES(loop_thread);
  Result<void> OpenManager(const allocator::Node& node, const std::optional<checkpoint::Saved>& saved)
      BERTH_REQUIRES(loop_thread);
  Result<void> OpenApi(const std::string& version, os::WallTime started_at) BERTH_REQUIRES(loop_thread);
  http::LostSocketTeller LostSocketTeller();
  Health HealthNow() const BERTH_REQUIRES(loop_thread);

  // daemon.cc
  Result<void> WatchAll() BERTH_REQUIRES(loop_thread);
  void TakeWrites(os::MonoTime now) BERTH_REQUIRES(loop_thread);
  void OpenHostWatches() BERTH_REQUIRES(loop_thread);
  void TakeSignal(int signal) BERTH_REQUIRES(loop_thread);
  void Reload() BERTH_REQUIRES(loop_thread);
  void TakeSettings(Result<Settings> loaded) BERTH_REQUIRES(loop_thread);
  void BeginStop() BERTH_REQUIRES(loop_thread);
  void EndCalls();
  bool Stopped() const BERTH_REQUIRES(loop_thread);
  void Publish() BERTH_REQUIRES(loop_thread);
  void TellStatus() BERTH_REQUIRES(loop_thread);
  void GiveSignOfLife(os::MonoTime now) BERTH_REQUIRES(loop_thread);
  void RemoveGroups() BERTH_REQUIRES(loop_thread);
  void TellOfNode(bool warning, const std::string& reason, const std::string& message) BERTH_REQUIRES(loop_thread);
  void TakeHistoryNotes() BERTH_REQUIRES(loop_thread);

  CommandLine line_;
  Settings settings_;
  Notifier notifier_;
  events::Log& log_;
  std::vector<std::string> start_warnings_;

  // Destroyed in reverse order: the API first, the state directory's lock and the loop last.
  std::unique_ptr<event_loop::Loop> loop_;
  std::unique_ptr<checkpoint::Store> store_;
  std::unique_ptr<os::WorkNotes> work_notes_;
  std::unique_ptr<DaemonHost> host_;
  std::unique_ptr<history::History> history_;
  std::unique_ptr<events::EventLog> events_;
  std::vector<Event> untold_ BERTH_GUARDED_BY(loop_thread);  // that the history was not told yet
  std::optional<os::WriteWatch> writers_;  // nullopt: foreign writers are not named, their writes seen a little later
  std::unique_ptr<core::Node> node_;
  std::unique_ptr<PodManager> manager_;
  std::unique_ptr<SnapshotBuilder> snapshots_;
  std::unique_ptr<Published<LoopState>> published_;
  std::unique_ptr<event_loop::WorkerPool> pool_;   // its jobs and ends are of the parts above
  std::unique_ptr<ClusterPublishers> publishers_;  // null: nothing is published
  std::unique_ptr<ApiServers> servers_;            // look at what the above counted
  std::unique_ptr<FrontEnd> front_end_;

  os::UniqueFd pressure_;  // not valid where the kernel does not tell
  os::MonoTime next_sign_of_life_ BERTH_GUARDED_BY(loop_thread){};
  os::MonoTime next_publishing_ BERTH_GUARDED_BY(loop_thread){};
  std::string last_status_ BERTH_GUARDED_BY(loop_thread);
  bool stopping_ BERTH_GUARDED_BY(loop_thread) = false;     // a signal came
  bool ending_pods_ BERTH_GUARDED_BY(loop_thread) = false;  // stopping, and containers are to be stopped first
};

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_DAEMON_H_
