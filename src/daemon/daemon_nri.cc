// Daemon: beside a kubelet, as a plug-in of its container runtime.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/daemon.h"
#include "host/cgroup/systemd.h"
#include "kubernetes/kube_client/access.h"
#include "kubernetes/pod_resources/pod_resources_client.h"

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
  BERTH_TRY(std::unique_ptr<nri_agent::WatchedRuntime> watched, nri_agent::WatchedRuntime::Open());
  watched_ = watched.get();
  runtime_ = std::move(watched);
  runtime_name_ = kBesideKubelet;
  return {};
}

Result<void> Daemon::OpenNri() {
  agent_ = std::make_unique<nri_agent::NriAllocator>(
      *node_, *watched_,
      nri_agent::NriAllocatorOptions{.share_unplaced = settings_.berth.nri_unplaced == "share",
                                     .step_aside = settings_.berth.nri_contested == "stepAside",
                                     .endpoint = settings_.berth.nri_socket,
                                     .kubelet_dir = settings_.berth.kubelet_dir,
                                     .spec_patience = settings_.berth.pod_specs ? kSpecPatience : os::Millis(0),
                                     .devices = KubeletsDevices()},
      [this] { JoinAnew(); });
  snapshots_->AddWarnings([this] { return agent_->Warnings(); });
  loop_handler_ = std::make_unique<nri_agent::LoopHandler>(*loop_, *agent_);
  loop_->Keep("NRI", [this] { return agent_->next_due(); }, [this](os::MonoTime now) { agent_->Tick(now); });
  OpenPodSpecs();
  OpenNewGroups();
  return JoinRuntime();
}

void Daemon::OpenNewGroups() {
  const cgroup_manager::GroupTable& table = node_->groups().table();
  auto opened = nri_agent::NewGroups::Open(
      table.CpusetDir(""), [&table](const std::string& path) { return table.containers().contains(path); },
      [this](const std::string& path) { agent_->Confine(path); },
      [this](const std::string& message) { TellOfNode(true, "NewcomersNotWatched", message); });
  Result<void> watched;
  if (opened) {
    new_groups_.emplace(*std::move(opened));
    agent_->set_new_groups(&*new_groups_);
    watched = loop_->Watch(new_groups_->fd(), "new groups", [this](os::MonoTime) { new_groups_->Take(); });
  } else {
    watched = std::unexpected(std::move(opened).error());
  }
  if (!watched) {
    log_.Warning(watched.error().message + "; containers made while no runtime asks are on any CPUs until it does");
    agent_->set_new_groups(nullptr);
    return new_groups_.reset();
  }
  agent_->KeepNewGroups();
}

void Daemon::OpenPodSpecs() {
  if (!settings_.berth.pod_specs) return;
  const auto access = [file = settings_.berth.pod_specs->kubeconfig]() -> Result<kube::Access> {
    BERTH_TRY(const std::unique_ptr<os::Fs> fs, os::OpenFs("/"));
    return kube::LoadOwnAccess(*fs, file);
  };
  const PodSpecsSink sink{
      .set = [this](const Pod& pod) { agent_->SetSpec(pod); },
      .gone = [this](const std::string& name_space, const std::string& name) { agent_->ForgetSpec(name_space, name); },
      .follows = [this](bool follows) { agent_->FollowsSpecs(follows); },
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

nri_agent::DeviceSource Daemon::KubeletsDevices() const {
  if (settings_.berth.kubelet_dir.empty()) return {};
  const auto client = std::make_shared<pod_resources::PodResourcesClient>(
      settings_.berth.kubelet_dir + "/pod-resources/kubelet.sock", os::SystemClock());
  return {.of_pod = [client](const std::string& name_space, const std::string& name,
                             os::Millis patience) { return client->DevicesOf(name_space, name, patience); },
          .of_all = [client](os::Millis patience) { return client->AllDevices(patience); }};
}

Result<void> Daemon::JoinRuntime() {
  BERTH_TRY(nri_, nri::Plugin::Start({.index = settings_.berth.nri_index, .socket = settings_.berth.nri_socket},
                                     *loop_handler_));
  return {};
}

/// The runtime says all there is to whoever joins.
void Daemon::JoinAnew() {
  nri_.reset();
  if (auto joined = JoinRuntime(); !joined) log_.Warning(joined.error().message);
}

}  // namespace berth::daemon
