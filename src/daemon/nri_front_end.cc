#include "daemon/nri_front_end.h"

#include <utility>

#include "host/os/fs.h"
#include "kubernetes/kube_client/access.h"
#include "kubernetes/pod_resources/pod_resources_client.h"

namespace berth::daemon {
namespace {

/// A runtime asks nobody anything meanwhile, and gives a plug-in up after two seconds.
constexpr os::Millis kSpecPatience{250};

}  // namespace

Result<void> NriFrontEnd::Start(core::Node& node, PodManager&) {
  node_ = &node;
  node.recovery().WatchAll();
  agent_.emplace(node, runtime_,
                 nri_agent::NriAllocatorOptions{.share_unplaced = settings_.nri_unplaced == "share",
                                                .step_aside = settings_.nri_contested == "stepAside",
                                                .endpoint = settings_.nri_socket,
                                                .kubelet_dir = settings_.kubelet_dir,
                                                .spec_patience = settings_.pod_specs ? kSpecPatience : os::Millis(0),
                                                .devices = KubeletsDevices()},
                 [this]() BERTH_REQUIRES(loop_thread) { JoinAnew(); });
  loop_handler_.emplace(loop_, *agent_);
  loop_.Keep(
      "NRI", [this]() BERTH_REQUIRES(loop_thread) { return agent_->next_due(); },
      [this](os::MonoTime now) BERTH_REQUIRES(loop_thread) { agent_->Tick(now); });
  OpenPodSpecs();
  OpenNewGroups();
  return Join();
}

void NriFrontEnd::AddHealth(Health& health) const {
  health.started = agent_->Started();
  for (std::string& why : agent_->NotReady()) health.not_ready.push_back(std::move(why));
}

void NriFrontEnd::Tell(bool warning, const std::string& reason, const std::string& message) {
  node_->events().Tell(warning, reason, node_->ObjectOfNode(), message);
}

void NriFrontEnd::OpenNewGroups() {
  const cgroup_manager::GroupTable& table = node_->groups().table();
  auto opened = nri_agent::NewGroups::Open(
      table.CpusetDir(""), [&table](const std::string& path) { return table.containers().contains(path); },
      [this](const std::string& path) { agent_->Confine(path); },
      [this](const std::string& message) BERTH_REQUIRES(loop_thread) { Tell(true, "NewcomersNotWatched", message); });
  Result<void> watched;
  if (opened) {
    new_groups_.emplace(*std::move(opened));
    watched = loop_.Watch(new_groups_->fd(), "new groups",
                          [this](os::MonoTime) BERTH_REQUIRES(loop_thread) { new_groups_->Take(); });
  } else {
    watched = std::unexpected(std::move(opened).error());
  }
  if (!watched) {
    log_.Warning(watched.error().message + "; containers made while no runtime asks are on any CPUs until it does");
    return new_groups_.reset();
  }
  agent_->set_new_groups(&*new_groups_);
  agent_->KeepNewGroups();
}

void NriFrontEnd::OpenPodSpecs() {
  if (!settings_.pod_specs) return;
  const auto access = [file = settings_.pod_specs->kubeconfig]() -> Result<kube::Access> {
    BERTH_TRY(const std::unique_ptr<os::Fs> fs, os::OpenFs("/"));
    return kube::LoadOwnAccess(*fs, file);
  };
  const PodSpecsSink sink{
      .set = [this](const Pod& pod) BERTH_REQUIRES(loop_thread) { agent_->SetSpec(pod); },
      .gone = [this](const std::string& name_space, const std::string& name)
                  BERTH_REQUIRES(loop_thread) { agent_->ForgetSpec(name_space, name); },
      .follows = [this](bool follows) BERTH_REQUIRES(loop_thread) { agent_->FollowsSpecs(follows); },
      .tell = [this](bool warning, const std::string& reason, const std::string& message)
                  BERTH_REQUIRES(loop_thread) { Tell(warning, reason, message); }};
  pod_specs_ = std::make_unique<PodSpecs>(
      loop_, executor_, PodSpecsOptions{.access = access, .node_name = settings_.node_name, .pace = {}}, sink);
  loop_.Keep(
      "pod specs", [this]() BERTH_REQUIRES(loop_thread) { return pod_specs_->next_due(); },
      [this](os::MonoTime now) BERTH_REQUIRES(loop_thread) { pod_specs_->Tick(now); });
}

nri_agent::DeviceSource NriFrontEnd::KubeletsDevices() const {
  if (settings_.kubelet_dir.empty()) return {};
  const auto client = std::make_shared<pod_resources::PodResourcesClient>(
      settings_.kubelet_dir + "/pod-resources/kubelet.sock", os::SystemClock());
  return {.of_pod = [client](const std::string& name_space, const std::string& name,
                             os::Millis patience) { return client->DevicesOf(name_space, name, patience); },
          .of_all = [client](os::Millis patience) { return client->AllDevices(patience); }};
}

std::vector<std::string> NriFrontEnd::Warnings() const {
  std::vector<std::string> out = agent_->Warnings();
  if (std::string warning = pod_specs_ ? pod_specs_->Warning() : ""; !warning.empty())
    out.push_back(std::move(warning));
  return out;
}

Result<void> NriFrontEnd::Join() {
  BERTH_TRY(plugin_,
            nri::Plugin::Start({.index = settings_.nri_index, .socket = settings_.nri_socket}, *loop_handler_));
  return {};
}

/// The runtime says all there is to whoever joins.
void NriFrontEnd::JoinAnew() {
  plugin_.reset();
  if (auto joined = Join(); !joined) log_.Warning(joined.error().message);
}

}  // namespace berth::daemon
