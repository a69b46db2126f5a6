// A host whose pods Berth runs itself: cgroups claimed and made, berthd and the host's processes kept in theirs, and
// the runtime that starts containers.
#ifndef BERTH_DAEMON_OWN_HOST_H_
#define BERTH_DAEMON_OWN_HOST_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/loop_thread.h"
#include "base/result.h"
#include "daemon/daemon_host.h"
#include "daemon/host_groups.h"
#include "host/cgroup/root_claim.h"
#include "host/event_loop/executor.h"
#include "model/tree_view.h"
#include "telemetry/events/log.h"

namespace berth::daemon {

/// What it is opened with. `settings` outlive it; none of the executor's ends may come when it is gone; `log` and
/// `warnings` are used in Open only.
struct OwnHostParts {
  const Settings& settings;
  event_loop::Executor& executor;
  events::Log& log;
  std::vector<std::string>& warnings;  ///< what an operator should know is added
};

class OwnHost final : public DaemonHost {
 public:
  ~OwnHost() override { runtime_.reset(); }  // while the claim is held

  /// Claims the cgroup root, moves this process into its own group, and opens the runtime. Nothing that runs is
  /// touched. Errors: kInUse (another berthd), kInvalid (settings), kPermission, kUnsupported, kIo.
  static Result<std::unique_ptr<OwnHost>> Open(const OwnHostParts& parts);

  void OpenDevices(const Machine& machine, const std::optional<checkpoint::Saved>& saved,
                   const http::LostSocketTeller& on_lost_socket, std::vector<std::string>& warnings) override;
  void Describe(NodeSetup& out) const override;
  void Connect(core::Node& node) override BERTH_REQUIRES(loop_thread);
  Result<void> EnforceReservations() override BERTH_REQUIRES(loop_thread);
  void KeepPlaces(os::MonoTime now) override BERTH_REQUIRES(loop_thread);
  os::MonoTime next_places() const override BERTH_REQUIRES(loop_thread) { return next_places_; }
  Result<void> RemoveGroups() override BERTH_REQUIRES(loop_thread);
  TreeDoor Door() const override;

 private:
  OwnHost(const Settings& settings, event_loop::Executor& executor) : DaemonHost(settings), executor_(executor) {}
  Result<void> OpenGroups(const OwnHostParts& parts);
  Result<void> PrepareGroups();
  Result<void> OpenSystemGroup(events::Log& log);
  Result<void> OpenRuntime(std::vector<std::string>& warnings);
  Result<void> OpenCri(std::vector<std::string>& warnings);
  events::EventLog& event_log() const { return node_->events(); }
  /// What a container runtime leaves of a group.
  void RemoveLeftovers(const std::string& path);
  void ReturnToOwnGroup() BERTH_REQUIRES(loop_thread);
  void ClearRootGroup(int passes) BERTH_REQUIRES(loop_thread);
  void TakeMoved(Result<SystemProcesses::Moved> moved) BERTH_REQUIRES(loop_thread);
  /// Values of reserved groups that somebody changed.
  struct ReservedEdits {
    std::vector<std::pair<std::string, ValueLine>> list;  // by path
    std::string problem;                                  // why a group could not be looked at
  };
  void RepairReserved() BERTH_REQUIRES(loop_thread);
  void TakeReserved(const ReservedEdits& edits) BERTH_REQUIRES(loop_thread);

  event_loop::Executor& executor_;
  core::Node* node_ = nullptr;  // from Connect on
  cgroup::RootClaim claim_;
  const cgroup_manager::Ownership* ownership_ = &cgroup_manager::OwnsContainers();
  std::vector<std::string> home_groups_;   // where berthd was started
  std::optional<SystemProcesses> system_;  // nullopt: systemCgroups is not set
  std::string system_problem_;             // who could not be moved there last
  std::vector<cgroup::ReservedGroup> reserved_;
  std::string reserved_problem_;  // told last
  os::MonoTime next_places_ BERTH_GUARDED_BY(loop_thread){};
};

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_OWN_HOST_H_
