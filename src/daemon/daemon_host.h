// Host of a daemon: whose cgroups and containers it works with: this machine's own, those of a kubelet, or ones in
// memory.
#ifndef BERTH_DAEMON_DAEMON_HOST_H_
#define BERTH_DAEMON_DAEMON_HOST_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/loop_thread.h"
#include "base/result.h"
#include "daemon/apply_check.h"
#include "daemon/container_calls.h"
#include "daemon/front_end.h"
#include "daemon/node_devices.h"
#include "daemon/settings.h"
#include "daemon/tree_status.h"
#include "frontend/nri_agent/watched_runtime.h"
#include "frontend/static_pods/static_pod_options.h"
#include "host/cgroup/cgroup.h"
#include "host/cgroup/cgroup_names.h"
#include "host/os/clock.h"
#include "host/os/fs.h"
#include "manifest/pod_options.h"
#include "model/machine.h"
#include "node/checkpoint/store.h"
#include "node/core/node_core.h"
#include "rpc/http/call.h"
#include "runtime/cri/cri_client.h"
#include "runtime/lifecycle/runtime.h"

namespace berth::daemon {

/// What settings and host say to the node core and to the static pods on it.
struct NodeSetup {
  core::NodeOptions node;
  pods::StaticPodOptions static_pods;
};

/// Destroyed after everything that works with its tree and its runtime. Thread: the loop's only, but for what Door()
/// returns.
class DaemonHost {
 public:
  DaemonHost(const DaemonHost&) = delete;
  DaemonHost& operator=(const DaemonHost&) = delete;
  virtual ~DaemonHost() = default;

  cgroup::Tree& tree() { return *tree_; }
  const cgroup::Names& names() const { return names_; }  ///< of the tree's root
  runtime::Runtime& runtime() { return *runtime_; }
  /// As berthd's status says it.
  const std::string& runtime_name() const { return runtime_name_; }
  const std::string& runtime_endpoint() const { return runtime_endpoint_; }  ///< its socket; "": there is none
  const cri::Features& features() const { return features_; }                ///< of the container runtime
  ContainerCalls* calls() { return calls_.get(); }                           ///< nullptr: no container runtime
  const CallLimits& limits() const { return limits_; }
  const ProfilePlaces& profiles() const { return profiles_; }
  /// The file system "/"; nullptr: nothing of a host is touched.
  os::Fs* root() { return root_.get(); }
  bool played() const { return root_ == nullptr; }
  /// How strictly pods for it are read.
  manifest::PodOptions HowPodsAreRead() const;
  device_manager::Plugins* plugins() { return devices_ ? devices_->plugins() : nullptr; }  ///< from OpenDevices on
  /// Commands in containers and calls of plug-ins under way come back at once.
  void GiveUp();

  /// Opens the front end that brings its pods.
  virtual Result<std::unique_ptr<FrontEnd>> OpenFrontEnd(const FrontEndParts& parts);
  /// Devices of its pods are Berth's to give; else nothing is opened. As NodeDevices.
  virtual void OpenDevices(const Machine&, const std::optional<checkpoint::Saved>&, const http::LostSocketTeller&,
                           std::vector<std::string>&) {}

  /// What a node on it has to know of it.
  virtual void Describe(NodeSetup& out) const = 0;
  /// The node was made of tree and runtime, and not recovered yet; it outlives what is called below.
  virtual void Connect(core::Node&) BERTH_REQUIRES(loop_thread) {}
  /// The node was recovered: groups of the host get what is reserved for them. Errors: as EnforceReserved.
  virtual Result<void> EnforceReservations() BERTH_REQUIRES(loop_thread) { return {}; }
  /// Puts berthd and the host's processes back into their groups, where that is due.
  virtual void KeepPlaces(os::MonoTime) BERTH_REQUIRES(loop_thread) {}
  virtual os::MonoTime next_places() const BERTH_REQUIRES(loop_thread) { return os::MonoTime::max(); }
  /// At the end, when nothing runs any more: leaves no group behind. Errors: the first that occurred.
  virtual Result<void> RemoveGroups() BERTH_REQUIRES(loop_thread) { return {}; }
  /// For the API's threads, which look with trees of their own.
  virtual TreeDoor Door() const = 0;

 protected:
  /// `settings` outlive it.
  explicit DaemonHost(const Settings& settings) : settings_(settings) {}
  /// A door to the groups of a real host.
  TreeDoor DoorToHost() const;
  /// What Describe says on a real host, whoever runs its pods.
  void DescribeHost(NodeSetup& out) const;

  const Settings& settings_;
  std::unique_ptr<os::Fs> root_;
  std::unique_ptr<cgroup::Tree> tree_;
  cgroup::Names names_;
  std::unique_ptr<runtime::Runtime> runtime_;
  std::string runtime_name_ = "process";
  std::string runtime_endpoint_;
  cri::Features features_;
  ProfilePlaces profiles_;
  std::unique_ptr<ContainerCalls> calls_;
  CallLimits limits_;
  std::optional<NodeDevices> devices_;  // nullopt: its pods are not Berth's
};

/// Groups and containers in memory.
class DryRunHost final : public DaemonHost {
 public:
  /// `settings` outlive it. Errors: as eventfd(2).
  static Result<std::unique_ptr<DryRunHost>> Open(const Settings& settings, const Machine& machine);

  void Describe(NodeSetup& out) const override;
  TreeDoor Door() const override;

 private:
  using DaemonHost::DaemonHost;
};

/// A node whose kubelet runs the pods: of their groups Berth writes CPUs and memory nodes, and nothing else.
class KubeletHost final : public DaemonHost {
 public:
  /// `settings` outlive it.
  static Result<std::unique_ptr<KubeletHost>> Open(const Settings& settings);

  Result<std::unique_ptr<FrontEnd>> OpenFrontEnd(const FrontEndParts& parts) override;
  void Describe(NodeSetup& out) const override;
  TreeDoor Door() const override { return DoorToHost(); }

 private:
  using DaemonHost::DaemonHost;

  nri_agent::WatchedRuntime* watched_ = nullptr;  // runtime()
};

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_DAEMON_HOST_H_
