#include "daemon/own_host.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "daemon/cgroup_driver.h"
#include "daemon/host_check.h"
#include "daemon/kept_reservations.h"
#include "daemon/own_group.h"
#include "daemon/reserved_groups.h"
#include "host/cgroup/leftover_groups.h"
#include "host/cgroup/systemd.h"
#include "host/os/host.h"
#include "host/seccomp/profile.h"
#include "runtime/cri/cri_runtime.h"
#include "runtime/process/process_runtime.h"
#include "runtime/process/process_spec.h"

namespace berth::daemon {
namespace {

constexpr os::Millis kPlacePeriod{60'000};
constexpr int kFirstPasses = 11;  // as often as the kubelet tries when it starts
constexpr std::size_t kMostNamed = 5;

/// Profiles are read anew for each start, on the thread that starts.
runtime::SeccompCompiler SeccompOf(std::string folder) {
  return [folder = std::move(folder)](const std::string& type, const std::string& profile,
                                      os::CapabilitySet capabilities) {
    return type == "Localhost" ? seccomp::Localhost(folder, profile, capabilities)
                               : seccomp::RuntimeDefault(capabilities);
  };
}

}  // namespace

Result<std::unique_ptr<OwnHost>> OwnHost::Open(const OwnHostParts& parts) {
  std::unique_ptr<OwnHost> out(new OwnHost(parts.settings, parts.executor));
  BERTH_RETURN_IF_ERROR(out->OpenGroups(parts));
  BERTH_RETURN_IF_ERROR(out->OpenRuntime(parts.warnings));
  out->profiles_ = {.seccomp = parts.settings.berth.seccomp_dir};
  return out;
}

Result<void> OwnHost::OpenGroups(const OwnHostParts& parts) {
  BERTH_TRY(root_, os::OpenFs("/"));
  BERTH_TRY(std::unique_ptr<os::Fs> tree_fs, os::OpenFs("/"));
  BERTH_TRY(cgroup::Layout layout, cgroup::DiscoverLayout(*root_));
  BERTH_TRY(const cgroup::Driver driver, FindDriver(*root_, layout, settings_));
  for (const std::string& warning : layout.warnings) parts.warnings.push_back(warning);
  BERTH_TRY(const std::string own, root_->Read("proc/self/cgroup"));
  home_groups_ = CurrentGroups(layout, own);
  BERTH_TRY(names_, NamesOf(settings_, driver));
  HostFindings found = CheckHost(*root_, settings_, layout, driver);
  if (!found.problems.empty()) return Fail(Code::kInvalid, Join(found.problems, "\n"));
  parts.warnings.insert(parts.warnings.end(), found.warnings.begin(), found.warnings.end());
  BERTH_RETURN_IF_ERROR(claim_.Take(layout, names_));  // before anything is made there
  BERTH_TRY(tree_, cgroup::OpenTree(driver, std::move(tree_fs), std::move(layout), names_.root()));
  // Before anything else: a group left by an earlier berthd keeps us off exclusive CPUs from here on.
  BERTH_RETURN_IF_ERROR(PrepareGroups());
  auto moved = MoveSelf(*root_, tree_->Dirs(names_.Own()).dirs);
  tree_->LetGo(names_.Own());  // a group for the supervisors alone is kept until berthd ends
  BERTH_RETURN_IF_ERROR(moved);
  return OpenSystemGroup(parts.log);
}

Result<void> OwnHost::PrepareGroups() {
  if (names_.per_qos()) BERTH_RETURN_IF_ERROR(tree_->Create(names_.Qos(QosClass::kGuaranteed)));
  BERTH_RETURN_IF_ERROR(claim_.Take(tree_->layout(), names_));
  auto made = tree_->Create(names_.Own());
  if (made) made = tree_->Create(names_.Runtime());
  return made;
}

Result<void> OwnHost::OpenRuntime(std::vector<std::string>& warnings) {
  if (settings_.berth.runtime == "cri") return OpenCri(warnings);
  BERTH_TRY(runtime_, runtime::OpenProcessRuntime({.run_dir = settings_.berth.run_dir,
                                                   .shim_path = settings_.shim,
                                                   .shim_cgroup = tree_->Dirs(names_.Runtime()),
                                                   .executor = executor_,
                                                   .seccomp = SeccompOf(settings_.berth.seccomp_dir)}));
  const std::string why = "this berthd runs containers as plain processes (runtime: process)";
  limits_ = {.images = why + ": there are no images, which are a container runtime's (runtime: cri)",
             .exec = why +
                     "; in these it runs the commands of probes and hooks, and other commands only in those of a "
                     "container runtime (runtime: cri)"};
  return {};
}

Result<void> OwnHost::OpenCri(std::vector<std::string>& warnings) {
  BERTH_TRY(const std::string socket, cri::SocketOf(settings_.kubelet.container_runtime_endpoint));
  BERTH_TRY(cri::OpenedRuntime opened,
            cri::OpenCriRuntime({.socket = socket,
                                 .cgroup_driver = std::string(cgroup::Name(names_.driver())),
                                 .owner = settings_.cgroup_root,
                                 .timeouts = {.usual = settings_.kubelet.runtime_request_timeout},
                                 .log_max_bytes = LongestLogOf(settings_),
                                 .log_max_files = settings_.kubelet.container_log_max_files,
                                 .log_check = settings_.kubelet.container_log_monitor_interval,
                                 .log_dir = PodLogsOf(settings_),
                                 .log_links = LogLinksOf(settings_),
                                 .pod_files = settings_.berth.state_dir + "/volumes",
                                 .dns = {.cluster_servers = settings_.kubelet.cluster_dns,
                                         .cluster_domain = settings_.kubelet.cluster_domain,
                                         .resolv_conf = settings_.kubelet.resolv_conf},
                                 .seccomp_dir = settings_.berth.seccomp_dir,
                                 .runtime_handlers = settings_.berth.runtime_classes,
                                 .se_linux = os::HasSeLinux()}));
  runtime_ = std::move(opened.runtime);
  BERTH_TRY(calls_, ContainerCalls::Open(socket));
  ownership_ = &cgroup_manager::OwnsPods();
  runtime_endpoint_ = socket;
  features_ = std::move(opened.features);
  runtime_name_ = opened.version.name + " " + opened.version.version;
  for (const std::string& problem : opened.not_ready)
    warnings.push_back("the container runtime is not ready: " + problem);
  return {};
}

void OwnHost::OpenDevices(const Machine& machine, const std::optional<checkpoint::Saved>& saved,
                          const http::LostSocketTeller& on_lost_socket, std::vector<std::string>& warnings) {
  devices_.emplace(settings_, machine, *root_, saved, on_lost_socket, warnings);
}

void OwnHost::Describe(NodeSetup& out) const {
  DescribeHost(out);
  out.node.ownership = ownership_;
  out.static_pods.notes = settings_.berth.state_dir + "/pods";
  out.node.pods.pool = settings_.berth.run_dir + "/cpus";
  out.node.pods.value_settings = settings_.berth.run_dir + "/group-values";
}

void OwnHost::Connect(core::Node& node) {
  node_ = &node;
  node.groups().pod_groups().set_on_removed([this](const std::string& path) { RemoveLeftovers(names_.FromTop(path)); });
}

TreeDoor OwnHost::Door() const {
  TreeDoor out = DoorToHost();
  out.reserved = reserved_;
  return out;
}

void OwnHost::RemoveLeftovers(const std::string& path) {
  if (calls_) cgroup::RemoveLeftoverGroups(*root_, path);
}

Result<void> OwnHost::RemoveGroups() {
  const std::string all = names_.Qos(QosClass::kGuaranteed);
  const std::string tier = all.empty() ? "" : names_.FromTop(all);
  BERTH_RETURN_IF_ERROR(MoveSelf(*root_, home_groups_));
  BERTH_RETURN_IF_ERROR(node_->groups().qos_cgroups().RemoveAll());
  RemoveLeftovers(tier);
  tree_->RemoveRoot();
  RemoveLeftovers(names_.root());
  return {};
}

Result<void> OwnHost::EnforceReservations() {
  BERTH_TRY(reserved_, node_->groups().ReservedGroups());
  const std::string node = "node/" + settings_.berth.node_name;
  KeptReservations kept(settings_.berth.run_dir + "/reserved-groups", names_.driver(), reserved_);
  for (std::string& problem : kept.GiveBack([] { return os::OpenFs("/"); }, tree_->layout()))
    event_log().Warning("FailedNodeAllocatableEnforcement", node, std::move(problem));
  for (const cgroup::ReservedGroup& group : reserved_) {
    BERTH_TRY([[maybe_unused]] const auto changed, EnforceReserved("/", tree_->layout(), names_.driver(), group));
    event_log().Normal("NodeAllocatableEnforced", node, "updated limits on " + group.what + " cgroup " + group.group);
  }
  if (auto saved = kept.Enforced(); !saved)
    event_log().Warning("FailedNodeAllocatableEnforcement", node,
                        "keep what is reserved for groups of the host: " + saved.error().message);
  return {};
}

/// After berthd has left the root cgroup itself.
Result<void> OwnHost::OpenSystemGroup(events::Log& log) {
  const std::string score = std::to_string(settings_.kubelet.oom_score_adj);
  if (auto set = root_->Write("/proc/self/oom_score_adj", score); !set)
    log.Info("oomScoreAdj: " + set.error().message + "; berthd keeps the one it was started with");
  const std::string& group = settings_.kubelet.system_cgroups;
  if (group.empty()) return {};
  system_.emplace(*root_, tree_->layout(), group);
  BERTH_TRY(const bool there, system_->GroupsExist());
  if (there) return {};
  BERTH_TRY(std::unique_ptr<os::Fs> fs, os::OpenFs("/"));
  if (auto made = cgroup::Tree::Open(std::move(fs), tree_->layout(), group); !made)
    return Wrap(std::move(made).error(), "systemCgroups: make " + group);
  return {};
}

void OwnHost::KeepPlaces(os::MonoTime now) {
  const bool first = next_places_ == os::MonoTime();
  next_places_ = now + kPlacePeriod;
  ReturnToOwnGroup();
  if (system_) ClearRootGroup(first ? kFirstPasses : 1);
  if (!first) RepairReserved();
}

/// Of these groups only the values are Berth's, and nothing tells when others write to them.
void OwnHost::RepairReserved() {
  if (reserved_.empty()) return;
  const auto look = [layout = tree_->layout(), driver = names_.driver(),
                     groups = reserved_]() -> Result<ReservedEdits> {
    ReservedEdits out;
    for (const cgroup::ReservedGroup& group : groups) {
      const auto path = PathOfReserved(driver, group);
      auto edited = EnforceReserved("/", layout, driver, group);
      if (!edited)
        out.problem = edited.error().message;
      else
        for (ValueLine& line : *edited) out.list.emplace_back(path.value_or(group.group), std::move(line));
    }
    return out;
  };
  event_loop::Submit<ReservedEdits>(executor_, "places", look,
                                    [this](Result<ReservedEdits> edits) BERTH_REQUIRES(loop_thread) {
                                      if (edits) TakeReserved(*edits);
                                    });
}

void OwnHost::TakeReserved(const ReservedEdits& edits) {
  for (const auto& [path, line] : edits.list)
    event_log().Warning("CgroupRepaired", "cgroup" + path,
                        fmt::format("{} was {}, must be {}; put right", line.file, line.found, line.wanted));
  if (!edits.problem.empty() && edits.problem != reserved_problem_)
    event_log().Warning("FailedNodeAllocatableEnforcement", "node/" + settings_.berth.node_name, edits.problem);
  reserved_problem_ = edits.problem;
}

/// Whoever moved berthd elsewhere may have put it onto CPUs of containers.
void OwnHost::ReturnToOwnGroup() {
  const auto text = root_->Read("proc/self/cgroup");
  if (!text) return;
  std::vector<std::string> now = CurrentGroups(tree_->layout(), *text);
  std::vector<std::string> own = tree_->Dirs(names_.Own()).dirs;
  std::ranges::sort(now);
  std::ranges::sort(own);
  if (std::ranges::includes(own, now)) return;
  const std::string object = "cgroup/" + names_.Own();
  if (auto moved = MoveSelf(*root_, tree_->Dirs(names_.Own()).dirs); !moved) {
    event_log().Warning("FailedCgroupUpdate", object, "berthd was moved out of its group: " + moved.error().message);
  } else {
    event_log().Warning("CgroupRepaired", object, fmt::format("berthd was in {}; put right", Join(now, ", ")));
  }
}

/// Who is where is read from /proc, process by process.
void OwnHost::ClearRootGroup(int passes) {
  event_loop::Submit<SystemProcesses::Moved>(
      executor_, "places", [this, passes] { return system_->Move(passes); },
      [this](auto moved) BERTH_REQUIRES(loop_thread) { TakeMoved(std::move(moved)); });
}

void OwnHost::TakeMoved(Result<SystemProcesses::Moved> moved) {
  const std::string object =
      "cgroup" + (settings_.kubelet.system_cgroups.starts_with('/') ? settings_.kubelet.system_cgroups
                                                                    : "/" + settings_.kubelet.system_cgroups);
  std::string problem;
  if (!moved) {
    problem = moved.error().message;
  } else {
    if (moved->count > 0)
      event_log().Normal("SystemProcessesMoved", object,
                         fmt::format("{} processes were moved here from the root cgroup", moved->count));
    const std::size_t count = moved->refused.size();
    moved->refused.resize(std::min(count, kMostNamed));
    if (count > 0) problem = fmt::format("{} processes stay in the root cgroup: {}", count, Join(moved->refused, "; "));
  }
  if (!problem.empty() && problem != system_problem_) event_log().Warning("SystemProcessesNotMoved", object, problem);
  system_problem_ = std::move(problem);
}

}  // namespace berth::daemon
