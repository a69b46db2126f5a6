#include "daemon/daemon_host.h"

#include <utility>

#include "daemon/dry_run.h"
#include "daemon/host_groups.h"
#include "daemon/manifest_front_end.h"
#include "daemon/node_storage.h"
#include "daemon/nri_front_end.h"
#include "host/cgroup/systemd.h"
#include "host/os/capabilities.h"
#include "host/os/host.h"

namespace berth::daemon {
namespace {

/// What a runtime that is played can do is not known: all that some version can.
cri::Features FeaturesPlayed(const Settings& settings) {
  cri::Features out{.recursive_read_only = {""},
                    .strict_groups = true,
                    .cni_reads_annotations = true,
                    .cni_limits_bandwidth = true,
                    .cdi = std::nullopt};
  for (const auto& [name, handler] : settings.berth.runtime_classes) out.recursive_read_only.insert(handler);
  return out;
}

}  // namespace

manifest::PodOptions DaemonHost::HowPodsAreRead() const {
  manifest::PodOptions out = PodRules(settings_, played());
  out.cni_reads_annotations = features_.cni_reads_annotations;
  out.cni_limits_bandwidth = features_.cni_limits_bandwidth;
  return out;
}

void DaemonHost::GiveUp() {
  if (calls_) calls_->GiveUp();
  if (devices_) devices_->GiveUp();
}

Result<std::unique_ptr<FrontEnd>> DaemonHost::OpenFrontEnd(const FrontEndParts& parts) {
  return ManifestFrontEnd::Open(parts, *runtime_, HowPodsAreRead());
}

TreeDoor DaemonHost::DoorToHost() const {
  return {.open = [layout = tree_->layout(), root = names_.root()]() -> Result<std::unique_ptr<cgroup::Tree>> {
            BERTH_TRY(std::unique_ptr<os::Fs> fs, os::OpenFs("/"));
            return cgroup::Tree::OpenToLook(std::move(fs), layout, root);
          },
          .host_groups = HostGroupsOf(settings_, names_),
          .driver = names_.driver(),
          .reserved = {}};
}

void DaemonHost::DescribeHost(NodeSetup& out) const {
  out.static_pods.storage = StorageForPods(settings_.kubelet, settings_.berth.state_dir);
  out.static_pods.rules.capabilities = os::OwnCapabilities();
  out.static_pods.rules.app_armor = os::HasAppArmor();
  out.node.pods.checkpoints = settings_.berth.run_dir + "/pods";
}

// ---- in memory ---------------------------------------------------------------------------------------------------

Result<std::unique_ptr<DryRunHost>> DryRunHost::Open(const Settings& settings, const Machine& machine) {
  std::unique_ptr<DryRunHost> out(new DryRunHost(settings));
  out->tree_ = std::make_unique<DryRunTree>(machine);
  BERTH_TRY(out->runtime_, DryRunRuntime::Open(os::SystemClock()));
  out->runtime_name_ = "dry-run";
  out->features_ = FeaturesPlayed(settings);
  out->profiles_ = {.seccomp = "", .app_armor = ""};
  const std::string why = "this berthd plays a machine (--machine): nothing runs, so there are no ";
  out->limits_ = {
      .logs = why + "logs", .images = why + "images", .exec = why + "containers that take a command from outside"};
  return out;
}

void DryRunHost::Describe(NodeSetup& out) const {
  out.static_pods.rules.capabilities = os::kAllCapabilities;
  out.static_pods.rules.app_armor = true;  // of a machine that is played it is not known
}

TreeDoor DryRunHost::Door() const {
  return {.open = [tree = static_cast<const DryRunTree*>(tree_.get())]() -> Result<std::unique_ptr<cgroup::Tree>> {
            return tree->Copy();
          },
          .host_groups = {},
          .driver = names_.driver(),
          .reserved = {}};
}

// ---- a kubelet's -------------------------------------------------------------------------------------------------

/// Whatever the driver, files of the kernel are written: the runtime tells systemd.
Result<std::unique_ptr<KubeletHost>> KubeletHost::Open(const Settings& settings) {
  std::unique_ptr<KubeletHost> out(new KubeletHost(settings));
  BERTH_TRY(out->root_, os::OpenFs("/"));
  BERTH_TRY(std::unique_ptr<os::Fs> tree_fs, os::OpenFs("/"));
  BERTH_TRY(cgroup::Layout layout, cgroup::DiscoverLayout(*out->root_));
  BERTH_TRY(out->names_, cgroup::Names::Make(cgroup::Driver::kCgroupfs, settings.cgroup_root, true));
  BERTH_TRY(out->tree_,
            cgroup::OpenTree(cgroup::Driver::kCgroupfs, std::move(tree_fs), std::move(layout), out->names_.root()));
  BERTH_TRY(std::unique_ptr<nri_agent::WatchedRuntime> watched, nri_agent::WatchedRuntime::Open());
  out->watched_ = watched.get();
  out->runtime_ = std::move(watched);
  out->runtime_name_ = kBesideKubelet;
  out->runtime_endpoint_ = settings.berth.nri_socket;
  out->profiles_ = {.seccomp = settings.berth.seccomp_dir};
  const std::string why = "the pods of this node are a kubelet's: use kubectl";
  out->limits_ = {.changes = why, .images = why, .exec = why};
  return out;
}

Result<std::unique_ptr<FrontEnd>> KubeletHost::OpenFrontEnd(const FrontEndParts& parts) {
  return std::make_unique<NriFrontEnd>(parts, *watched_);
}

void KubeletHost::Describe(NodeSetup& out) const {
  DescribeHost(out);
  out.node.LeaveToKubelet();
}

}  // namespace berth::daemon
