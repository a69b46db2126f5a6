// Daemon: beside a kubelet, as a plug-in of its container runtime.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cgroup/systemd.h"
#include "daemon/daemon.h"
#include "kube/access.h"
#include "podresources/pod_resources_client.h"

namespace berth::daemon {
namespace {

/// A runtime asks nobody anything meanwhile, and gives a plug-in up after two seconds.
constexpr os::Millis kSpecPatience{250};

}  // namespace

/// Whatever the driver, files of the kernel are written: the runtime tells systemd.
Result<void> Daemon::OpenKubeletsGroups(cgroup::Layout layout, std::unique_ptr<os::Fs> tree_fs) {
  BERTH_TRY(names_, cgroup::Names::Make(cgroup::Driver::kCgroupfs, settings_.cgroup_root, true));
  BERTH_TRY(tree_, cgroup::OpenTree(cgroup::Driver::kCgroupfs, std::move(tree_fs), std::move(layout), names_.root()));
  return {};
}

Result<void> Daemon::OpenWatchedRuntime() {
  BERTH_TRY(std::unique_ptr<beside::WatchedRuntime> watched, beside::WatchedRuntime::Open());
  watched_ = watched.get();
  runtime_ = std::move(watched);
  runtime_name_ = kBesideKubelet;
  return {};
}

Result<void> Daemon::OpenNri() {
  const beside::Helpers helpers{.apply_pool = [this](os::MonoTime now) { PutAllInForce(now); },
                                .narrow_pool = [this] { return manager_->pool().Narrow(); },
                                .narrow_ahead = [this] { manager_->pool().NarrowAhead(); },
                                .pool_changed = [this] { manager_->pool().Changed(); },
                                .pool_in_force = [this] { return manager_->pool().in_force(); },
                                .pool_problem = [this] { return manager_->pool().problem(); },
                                .changed = [this] { manager_->Sync(); },
                                .join_anew = [this] { JoinAnew(); },
                                .watch_newcomers =
                                    [this](bool all_known) {
                                      if (newcomers_) newcomers_->Begin(all_known);
                                    },
                                .forget_newcomers =
                                    [this] {
                                      if (newcomers_) newcomers_->End();
                                    }};
  attendant_ = std::make_unique<beside::Attendant>(
      manager_->parts(), *watched_,
      beside::AttendantOptions{.share_unplaced = settings_.berth.nri_unplaced == "share",
                               .step_aside = settings_.berth.nri_contested == "stepAside",
                               .endpoint = settings_.berth.nri_socket,
                               .kubelet_dir = settings_.berth.kubelet_dir,
                               .spec_patience = settings_.berth.pod_specs ? kSpecPatience : os::Millis(0),
                               .devices = KubeletsDevices()},
      helpers);
  snapshots_->AddWarnings([this] { return attendant_->Warnings(); });
  door_ = std::make_unique<beside::Door>(*loop_, *attendant_);
  loop_->Keep("NRI", [this] { return attendant_->next_due(); }, [this](os::MonoTime now) { attendant_->Tick(now); });
  OpenPodSpecs();
  OpenNewcomers();
  return JoinRuntime();
}

/// Until the runtime has said what there is.
void Daemon::OpenNewcomers() {
  const enforce::GroupTable& table = manager_->groups().table();
  auto opened = beside::Newcomers::Open(
      table.CpusetDir(""), [&table](const std::string& path) { return table.containers().contains(path); },
      [this](const std::string& path) { attendant_->Confine(path); },
      [this](const std::string& message) { TellOfNode(true, "NewcomersNotWatched", message); });
  Result<void> watched;
  if (opened) {
    newcomers_.emplace(*std::move(opened));
    watched = loop_->Watch(newcomers_->fd(), "new groups", [this](os::MonoTime) { newcomers_->Take(); });
  } else {
    watched = std::unexpected(std::move(opened).error());
  }
  if (!watched) {
    log_.Warning(watched.error().message + "; containers made while no runtime asks are on any CPUs until it does");
    return newcomers_.reset();
  }
  attendant_->KeepNewcomers();
}

void Daemon::OpenPodSpecs() {
  if (!settings_.berth.pod_specs) return;
  const auto access = [file = settings_.berth.pod_specs->kubeconfig]() -> Result<kube::Access> {
    BERTH_TRY(const std::unique_ptr<os::Fs> fs, os::OpenFs("/"));
    return kube::LoadOwnAccess(*fs, file);
  };
  const PodSpecsSink sink{.set = [this](const Pod& pod) { attendant_->SetSpec(pod); },
                          .gone = [this](const std::string& name_space,
                                         const std::string& name) { attendant_->ForgetSpec(name_space, name); },
                          .follows = [this](bool follows) { attendant_->FollowsSpecs(follows); },
                          .tell = [this](bool warning, const std::string& reason,
                                         const std::string& message) { TellOfNode(warning, reason, message); }};
  pod_specs_ = std::make_unique<PodSpecs>(
      *loop_, *workers_, PodSpecsOptions{.access = access, .node_name = settings_.berth.node_name, .pace = {}}, sink);
  snapshots_->AddWarnings([this] {
    const std::string warning = pod_specs_->Warning();
    return warning.empty() ? std::vector<std::string>() : std::vector{warning};
  });
  loop_->Keep(
      "pod specs", [this] { return pod_specs_->next_due(); }, [this](os::MonoTime now) { pod_specs_->Tick(now); });
}

beside::DeviceSource Daemon::KubeletsDevices() const {
  if (settings_.berth.kubelet_dir.empty()) return {};
  const auto client = std::make_shared<podresources::PodResourcesClient>(
      settings_.berth.kubelet_dir + "/pod-resources/kubelet.sock", os::SystemClock());
  return {.of_pod = [client](const std::string& name_space, const std::string& name,
                             os::Millis patience) { return client->DevicesOf(name_space, name, patience); },
          .of_all = [client](os::Millis patience) { return client->AllDevices(patience); }};
}

Result<void> Daemon::JoinRuntime() {
  BERTH_TRY(nri_,
            nri::Plugin::Start({.index = settings_.berth.nri_index, .socket = settings_.berth.nri_socket}, *door_));
  return {};
}

/// The runtime says all there is to whoever joins.
void Daemon::JoinAnew() {
  nri_.reset();
  if (auto joined = JoinRuntime(); !joined) log_.Warning(joined.error().message);
}

void Daemon::PutAllInForce(os::MonoTime now) {
  while (!manager_->pool().Apply(now, {})) {
  }
}

}  // namespace berth::daemon
