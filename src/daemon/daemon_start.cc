// Daemon: opening everything in an order in which nothing is touched before all that can fail beforehand was tried.
#include <sys/stat.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/quantity.h"
#include "base/text.h"
#include "daemon/cgroup_driver.h"
#include "daemon/daemon.h"
#include "daemon/dry_run.h"
#include "daemon/event_list.h"
#include "daemon/host_check.h"
#include "daemon/host_groups.h"
#include "daemon/kept_reservations.h"
#include "daemon/machine_fingerprint.h"
#include "daemon/machine_looks.h"
#include "daemon/node_storage.h"
#include "daemon/own_group.h"
#include "daemon/reserved_groups.h"
#include "host/cgroup/leftover_groups.h"
#include "host/cgroup/systemd.h"
#include "host/machine/local_hardware.h"
#include "host/os/host.h"
#include "host/os/lock_file.h"
#include "host/os/node_addresses.h"
#include "host/os/path.h"
#include "host/seccomp/profile.h"
#include "runtime/cri/cri_runtime.h"
#include "runtime/process/process_runtime.h"
#include "runtime/process/process_spec.h"

namespace berth::daemon {
namespace {

constexpr unsigned kPublic = 0755;
constexpr std::size_t kMostProbes = 64;       // under way at a time; each holds up a thread
constexpr std::size_t kMostHooks = 64;        // likewise
constexpr std::size_t kMostPluginCalls = 64;  // likewise; one for each resource

Result<void> PrepareGroups(cgroup::RootClaim& claim, cgroup::Tree& tree, const cgroup::Names& names) {
  if (names.per_qos()) BERTH_RETURN_IF_ERROR(tree.Create(names.Qos(QosClass::kGuaranteed)));
  BERTH_RETURN_IF_ERROR(claim.Take(tree.layout(), names));
  auto made = tree.Create(names.Own());
  if (made) made = tree.Create(names.Runtime());
  return made;
}

std::uint64_t LongestLog(const Settings& settings) {
  const auto size = Quantity::Parse(settings.kubelet.container_log_max_size);
  return size && size->Value() > 0 ? static_cast<std::uint64_t>(size->Value()) : pods::PodOptions().log_max_bytes;
}

core::NodeOptions OptionsOf(const Settings& settings, const Machine& machine, const cgroup::Names& names,
                            bool dry_run) {
  core::NodeOptions out;
  out.cgroup_names = names;
  out.cpus.partition = settings.berth.cpu_partition;
  out.pods.node_name = settings.berth.node_name;
  out.pods.node_addresses = settings.berth.node_ips.empty() ? os::NodeAddresses() : settings.berth.node_ips;
  if (!dry_run) out.pods.storage = StorageForPods(settings.kubelet, settings.berth.state_dir);
  out.pods.log_dir = PodLogsOf(settings);
  out.pods.seccomp_default = settings.kubelet.seccomp_default;
  const auto waiting = settings.berth.waiting.value_or(config::WaitingSettings{.max = 0, .overtakes = 0});
  out.pods.queue.most_waiting = waiting.max;
  out.pods.queue.overtakes = waiting.overtakes;
  out.pods.eviction_ignores_cache = settings.berth.eviction_ignores_page_cache;
  out.pods.queue.preempt_for_critical = settings.berth.preemption == "critical";
  out.pods.rules = {.restart_rules = FeatureEnabled(settings.kubelet, "ContainerRestartRules"),
                    .capabilities = dry_run ? os::kAllCapabilities : os::OwnCapabilities(),
                    .has_sandboxes = settings.berth.runtime == "cri" && (!dry_run || PlaysRuntime(settings)),
                    .unsafe_sysctls = settings.kubelet.allowed_unsafe_sysctls,
                    .runtime_classes = settings.berth.runtime_classes,
                    .app_armor = dry_run || os::HasAppArmor()};  // of a machine that is played it is not known
  out.pods.volumes = {.disk = settings.berth.state_dir + "/volumes",
                      .memory = settings.berth.run_dir + "/volumes",
                      .pins = settings.berth.run_dir + "/subpaths"};
  const bool ours = !dry_run && !BesideKubelet(settings);
  if (ours) out.pods.notes = settings.berth.state_dir + "/pods";
  if (ours) out.pods.pool = settings.berth.run_dir + "/cpus";
  if (ours) out.pods.value_settings = settings.berth.run_dir + "/group-values";
  if (!dry_run) out.pods.checkpoints = settings.berth.run_dir + "/pods";
  out.pods.log_max_bytes = LongestLog(settings);
  out.pods.log_max_files = settings.kubelet.container_log_max_files;
  out.reconcile_period = settings.reconcile_period;
  out.adopt_unknown = settings.berth.unknown_pods == "adopt";
  if (machine.this_host) out.machine = LooksAtMachine(settings);
  out.boot = {.boot_id = machine.boot_id, .machine_fingerprint = MachineFingerprint(machine)};
  return out;
}

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

/// Profiles are read anew for each start, on the thread that starts.
runtime::SeccompCompiler SeccompOf(std::string folder) {
  return [folder = std::move(folder)](const std::string& type, const std::string& profile,
                                      os::CapabilitySet capabilities) {
    return type == "Localhost" ? seccomp::Localhost(folder, profile, capabilities)
                               : seccomp::RuntimeDefault(capabilities);
  };
}

}  // namespace

Daemon::Daemon(CommandLine line, Settings settings, Notifier notifier, events::Log& log)
    : line_(std::move(line)), settings_(std::move(settings)), notifier_(notifier), log_(log) {}

Daemon::~Daemon() { EndCalls(); }

Result<std::unique_ptr<Daemon>> Daemon::Make(CommandLine line, Settings settings, const std::string& version,
                                             Notifier notifier, events::Log& log) {
  std::unique_ptr<Daemon> out(new Daemon(std::move(line), std::move(settings), notifier, log));
  BERTH_RETURN_IF_ERROR(out->OpenAll(version));
  return out;
}

Result<void> Daemon::OpenAll(const std::string& version) {
  const os::WallTime started_at = os::SystemClock().Wall();
  BERTH_TRY(NodeParts parts, LoadNode(settings_));
  dry_run_ = parts.dry_run;
  start_warnings_ = settings_.warnings;
  start_warnings_.insert(start_warnings_.end(), parts.warnings.begin(), parts.warnings.end());
  BERTH_TRY(store_, checkpoint::Store::Open(settings_.berth.state_dir));
  BERTH_TRY(const std::optional<checkpoint::Saved> saved, store_->Load(&start_warnings_));
  BERTH_RETURN_IF_ERROR(os::MakeDirs(settings_.berth.run_dir, kPublic));
  BERTH_RETURN_IF_ERROR(os::MakeDirs(os::FolderOf(settings_.berth.socket), kPublic));
  BERTH_TRY(loop_, event_loop::Loop::Open(os::SystemClock()));
  BERTH_TRY(workers_, event_loop::Workers::Start(*loop_, {}));
  BERTH_TRY(hooks_, event_loop::Workers::Start(*loop_, {.most_threads = kMostHooks}));
  BERTH_TRY(plugin_calls_, event_loop::Workers::Start(*loop_, {.most_threads = kMostPluginCalls}));
  BERTH_TRY(probes_, event_loop::Workers::Start(*loop_, {.most_threads = kMostProbes}));
  BERTH_RETURN_IF_ERROR(OpenCgroups(parts.node.machine()));
  BERTH_RETURN_IF_ERROR(OpenRuntime());
  // The runtime has the folder's lock.
  BERTH_TRY(work_notes_, os::WorkNotes::Open(settings_.berth.run_dir, &start_warnings_));
  if (!beside_kubelet()) {
    BERTH_RETURN_IF_ERROR(MakePodFolder(saved));
    BERTH_RETURN_IF_ERROR(OpenSources(saved));
  }
  BERTH_RETURN_IF_ERROR(OpenManager(parts.node, saved));
  BERTH_RETURN_IF_ERROR(OpenApi(version, started_at));
  BERTH_RETURN_IF_ERROR(OpenPublishers(version));
  BERTH_RETURN_IF_ERROR(WatchAll());
  return beside_kubelet() ? OpenNriFrontEnd() : Result<void>();
}

/// Of servers' threads to the loop. The servers end before it.
http::LostSocketTeller Daemon::LostSocketTeller() {
  return [this](const std::string& socket, const Result<void>& again) {
    std::string message = again
                              ? "the socket " + socket + " was removed; berthd listens there again"
                              : "the socket " + socket + " is lost, nobody can connect there: " + again.error().message;
    loop_->Post("lost socket", [this, message = std::move(message)] { TellOfNode(true, "SocketLost", message); });
  };
}

/// The API's threads look with trees of their own.
TreeDoor Daemon::Door() const {
  TreeDoor out{
      .open = nullptr,
      .host_groups = dry_run_ ? std::vector<std::pair<std::string, std::string>>() : HostGroupsOf(settings_, names_),
      .driver = names_.driver(),
      .reserved = reserved_};
  if (dry_run_)
    out.open = [tree = tree_.get()]() -> Result<std::unique_ptr<cgroup::Tree>> {
      return static_cast<const DryRunTree*>(tree)->Copy();
    };
  else
    out.open = [layout = tree_->layout(), root = names_.root()]() -> Result<std::unique_ptr<cgroup::Tree>> {
      BERTH_TRY(std::unique_ptr<os::Fs> fs, os::OpenFs("/"));
      return cgroup::Tree::OpenToLook(std::move(fs), layout, root);
    };
  return out;
}

/// Thread: the loop's.
Health Daemon::HealthNow() const {
  Health out{.started = true, .not_ready = {}};
  const NodeConditions conditions = node_->Conditions();
  for (const std::string& problem : {conditions.ledger_problem, conditions.pool_problem, conditions.runtime_problem})
    if (!problem.empty()) out.not_ready.push_back(problem);
  if (!nri_) return out;
  out.started = nri_->Started();
  for (std::string& why : nri_->NotReady()) out.not_ready.push_back(std::move(why));
  return out;
}

Result<void> Daemon::OpenApi(const std::string& version, os::WallTime started_at) {
  DaemonFacts facts{.version = version,
                    .started_at = started_at,
                    .runtime = dry_run_ ? "dry-run" : runtime_name_,
                    .runtime_endpoint = calls_             ? calls_->socket()
                                        : beside_kubelet() ? settings_.berth.nri_socket
                                                           : "",
                    .pod_folder = settings_.pod_dir,
                    .kubelet_text = settings_.kubelet_text,
                    .warnings = start_warnings_};
  snapshots_ = std::make_unique<SnapshotBuilder>(*manager_, *events_, std::move(facts));
  published_ = std::make_unique<Published<LoopState>>(snapshots_->Build());
  OpenPodResources();  // who finds the API finds it too
  const RestartDoor restart = [this](const std::string& uid) {
    return manager_->Restart(uid, os::SystemClock().Now());
  };
  const MoveDoor move = [this](const MoveRequest& request) { return node_->MakeMove(request); };
  api_ = std::make_unique<LocalApi>(
      *published_, *loop_, restart, move, [this] { return HealthNow(); }, Door(), history_.get(), calls_.get(),
      pod_resources_.get(), PodFolder(settings_.pod_dir, settings_.berth.node_name),
      ApplyRules{.pods = HowPodsAreRead(),
                 .node = node_->options().pods.rules,
                 .profiles = dry_run_ ? ProfilePlaces{.seccomp = "", .app_armor = ""}
                                      : ProfilePlaces{.seccomp = settings_.berth.seccomp_dir},
                 .node_name = settings_.berth.node_name,
                 .cluster_domain = settings_.kubelet.cluster_domain});
  BERTH_TRY(server_, api::StartServer({.socket = settings_.berth.socket,
                                       .group = settings_.berth.socket_group,
                                       .on_lost_socket = LostSocketTeller()},
                                      *api_));
  OpenWeb();
  const auto metrics = config::ParseTcpAddress(settings_.berth.metrics_address);
  if (!metrics) return {};
  auto started = api::StartMetricsServer(metrics->address, metrics->port, *api_);
  if (!started) return Wrap(std::move(started).error(), "metricsAddress");
  metrics_server_ = *std::move(started);
  return {};
}

manifest::PodOptions Daemon::HowPodsAreRead() const {
  manifest::PodOptions out = PodRules(settings_, dry_run_);
  out.cni_reads_annotations = features_.cni_reads_annotations;
  out.cni_limits_bandwidth = features_.cni_limits_bandwidth;
  return out;
}

/// Thread: any.
std::shared_ptr<const NodeSnapshot> Daemon::NewestSnapshot() const {
  const std::shared_ptr<const LoopState> state = published_->Get();
  return {state, &state->node};
}

/// Who only wants to look does not keep pods from running: without its socket berthd goes on.
void Daemon::OpenPodResources() {
  if (settings_.berth.pod_resources_socket.empty()) return;
  auto service = pod_resources::Service::Start(
      {.socket = settings_.berth.pod_resources_socket,
       .only_active = FeatureEnabled(settings_.kubelet, "KubeletPodResourcesListUseActivePods"),
       .on_lost_socket = LostSocketTeller()},
      [this] { return NewestSnapshot(); });
  if (service) {
    pod_resources_ = *std::move(service);
    return;
  }
  events_->Warning("PodResourcesUnavailable", "node/" + settings_.berth.node_name,
                   "the pod resources API is not served: " + service.error().message);
}

/// The folder is there in any case: the API stores its manifests in it.
Result<void> Daemon::OpenSources(const std::optional<checkpoint::Saved>& saved) {
  std::set<std::string> running;
  if (saved)
    for (const auto& [uid, record] : saved->ledger.pods) running.insert({uid, record.identity, FullName(record)});
  std::vector<std::unique_ptr<pod_sources::Source>> sources(1);
  BERTH_TRY(sources.front(), pod_sources::OpenFolder({.path = settings_.pod_dir,
                                                      .node_name = settings_.berth.node_name,
                                                      .period = settings_.kubelet.file_check_frequency,
                                                      .only_trusted = settings_.berth.manifest_owners == "root",
                                                      .running = running,
                                                      .notes = work_notes_.get(),
                                                      .pods = HowPodsAreRead()}));
  if (!settings_.kubelet.static_pod_url.empty()) {
    pod_sources::HttpOptions options = UrlOptions(settings_);
    options.notes = work_notes_.get();
    options.pods = HowPodsAreRead();
    BERTH_TRY(sources.emplace_back(), pod_sources::OpenHttp(std::move(options)));
  }
  BERTH_TRY(auto joined, pod_sources::JoinSources(std::move(sources), std::move(running)));
  feed_ = std::make_unique<SourceFeed>(*loop_, *workers_, std::move(joined), [this](auto snapshot, os::MonoTime) {
    manager_->OnSnapshot(std::move(snapshot));
  });
  return {};
}

/// A folder that cannot be made is looked for again by the source. While pods are held it is not made: an empty folder
/// would end them all, and it may only have been moved away, or not be mounted yet.
Result<void> Daemon::MakePodFolder(const std::optional<checkpoint::Saved>& saved) {
  struct stat info{};
  if (::stat(settings_.pod_dir.c_str(), &info) == 0) return {};
  BERTH_TRY(const std::vector<runtime::ContainerStatus> records, runtime_->List());
  if ((saved && !saved->ledger.pods.empty()) || !records.empty()) {
    start_warnings_.push_back("the pod folder " + settings_.pod_dir +
                              " is missing although pods of this node are known; they stay until it is back. If they "
                              "are to end, make an empty folder");
    return {};
  }
  if (auto made = os::MakeDirs(settings_.pod_dir, kPublic); !made) start_warnings_.push_back(made.error().message);
  return {};
}

Result<void> Daemon::OpenCgroups(const Machine& machine) {
  if (dry_run_) {
    tree_ = std::make_unique<DryRunTree>(machine);
    return {};
  }
  BERTH_TRY(root_fs_, os::OpenFs("/"));
  BERTH_TRY(std::unique_ptr<os::Fs> tree_fs, os::OpenFs("/"));
  BERTH_TRY(cgroup::Layout layout, cgroup::DiscoverLayout(*root_fs_));
  if (beside_kubelet()) return OpenKubeletsGroups(std::move(layout), std::move(tree_fs));
  BERTH_TRY(const cgroup::Driver driver, FindDriver(*root_fs_, layout, settings_));
  for (const std::string& warning : layout.warnings) start_warnings_.push_back(warning);
  BERTH_TRY(const std::string own, root_fs_->Read("proc/self/cgroup"));
  home_groups_ = CurrentGroups(layout, own);
  BERTH_TRY(names_, NamesOf(settings_, driver));
  HostFindings found = CheckHost(*root_fs_, settings_, layout, driver);
  if (!found.problems.empty()) return Fail(Code::kInvalid, Join(found.problems, "\n"));
  start_warnings_.insert(start_warnings_.end(), found.warnings.begin(), found.warnings.end());
  BERTH_RETURN_IF_ERROR(claim_.Take(layout, names_));  // before anything is made there
  BERTH_TRY(tree_, cgroup::OpenTree(driver, std::move(tree_fs), std::move(layout), names_.root()));
  // Before anything else: a group left by an earlier berthd keeps us off exclusive CPUs from here on.
  BERTH_RETURN_IF_ERROR(PrepareGroups(claim_, *tree_, names_));
  auto moved = MoveSelf(*root_fs_, tree_->Dirs(names_.Own()).dirs);
  tree_->LetGo(names_.Own());  // a group for the supervisors alone is kept until berthd ends
  BERTH_RETURN_IF_ERROR(moved);
  return OpenSystemGroup();
}

/// Whatever the driver, files of the kernel are written: the runtime tells systemd.
Result<void> Daemon::OpenKubeletsGroups(cgroup::Layout layout, std::unique_ptr<os::Fs> tree_fs) {
  BERTH_TRY(names_, cgroup::Names::Make(cgroup::Driver::kCgroupfs, settings_.cgroup_root, true));
  BERTH_TRY(tree_, cgroup::OpenTree(cgroup::Driver::kCgroupfs, std::move(tree_fs), std::move(layout), names_.root()));
  return {};
}

Result<void> Daemon::OpenRuntime() {
  if (dry_run_) {
    BERTH_TRY(runtime_, DryRunRuntime::Open(os::SystemClock()));
    features_ = FeaturesPlayed(settings_);
    return {};
  }
  if (settings_.berth.runtime == "cri") return OpenCriRuntime();
  if (beside_kubelet()) return OpenWatchedRuntime();
  BERTH_TRY(runtime_, runtime::OpenProcessRuntime({.run_dir = settings_.berth.run_dir,
                                                   .shim_path = settings_.shim,
                                                   .shim_cgroup = tree_->Dirs(names_.Runtime()),
                                                   .executor = *workers_,
                                                   .seccomp = SeccompOf(settings_.berth.seccomp_dir)}));
  return {};
}

Result<void> Daemon::OpenWatchedRuntime() {
  BERTH_TRY(std::unique_ptr<nri_agent::WatchedRuntime> watched, nri_agent::WatchedRuntime::Open());
  watched_ = watched.get();
  runtime_ = std::move(watched);
  runtime_name_ = kBesideKubelet;
  return {};
}

Result<void> Daemon::OpenNriFrontEnd() {
  BERTH_TRY(nri_, NriFrontEnd::Open({.settings = settings_.berth,
                                     .loop = *loop_,
                                     .executor = *workers_,
                                     .node = *node_,
                                     .runtime = *watched_,
                                     .log = log_}));
  snapshots_->AddWarnings([this] { return nri_->Warnings(); });
  return {};
}

Result<void> Daemon::OpenCriRuntime() {
  BERTH_TRY(const std::string socket, cri::SocketOf(settings_.kubelet.container_runtime_endpoint));
  BERTH_TRY(cri::OpenedRuntime opened,
            cri::OpenCriRuntime({.socket = socket,
                                 .cgroup_driver = std::string(cgroup::Name(names_.driver())),
                                 .owner = settings_.cgroup_root,
                                 .timeouts = {.usual = settings_.kubelet.runtime_request_timeout},
                                 .log_max_bytes = LongestLog(settings_),
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
  features_ = std::move(opened.features);
  runtime_name_ = opened.version.name + " " + opened.version.version;
  for (const std::string& problem : opened.not_ready)
    start_warnings_.push_back("the container runtime is not ready: " + problem);
  return {};
}

Result<void> Daemon::OpenEvents() {
  const auto kept = static_cast<std::size_t>(settings_.berth.max_events);
  BERTH_TRY(history_, history::History::Start({.folder = settings_.berth.state_dir + "/history", .max_entries = kept}));
  events_ = std::make_unique<events::EventLog>(os::SystemClock(), &log_, std::min(kept, events::kEventsInMemory));
  events_->set_sink([this](const Event& event) { untold_.push_back(event); });
  return {};
}

/// A node without devices goes on: what cannot be opened is somebody else's, or wrong in its settings.
void Daemon::OpenDevices(const Machine& machine, const std::optional<checkpoint::Saved>& saved) {
  if (dry_run_ || beside_kubelet()) return;
  OpenPlugins(machine, saved);
  if (settings_.berth.local_devices.empty()) return;
  if (const auto opened = OpenLocalDevices(); !opened)
    start_warnings_.push_back("no devices of localDevices: " + opened.error().message);
}

Result<void> Daemon::OpenLocalDevices() {
  const std::vector<LocalDeviceRule>& rules = settings_.berth.local_devices;
  BERTH_TRY(LocalHardware hardware, machine::ReadLocalHardware(*root_fs_, rules));
  BERTH_TRY(with_local_, device_manager::WithLocalDevices(plugins_.get(), rules, std::move(hardware)));
  return {};
}

void Daemon::OpenPlugins(const Machine& machine, const std::optional<checkpoint::Saved>& saved) {
  const std::string folder = config::DevicePluginDir(settings_.berth);
  if (folder.empty()) return;
  device_manager::ServerOptions options{.folder = folder,
                                        .registry = device_manager::RegistryBeside(folder),
                                        .nodes = {},
                                        .awaited = {},
                                        .patience = {},
                                        .on_lost_socket = LostSocketTeller()};
  for (const NumaNode& node : machine.nodes) options.nodes.Insert(node.id);
  if (saved)
    for (const auto& [uid, record] : saved->ledger.pods)
      for (const Placement& placement : record.placements)
        for (const DeviceAssignment& devices : placement.devices) options.awaited.insert(devices.resource);
  auto opened = device_manager::PluginServer::Start(std::move(options));
  if (opened)
    plugins_ = *std::move(opened);
  else
    start_warnings_.push_back("no devices of plug-ins: " + opened.error().message);
}

Result<void> Daemon::OpenManager(const allocator::Node& node, const std::optional<checkpoint::Saved>& saved) {
  BERTH_RETURN_IF_ERROR(OpenEvents());
  OpenDevices(node.machine(), saved);
  core::NodeOptions options = OptionsOf(settings_, node.machine(), names_, dry_run_);
  options.pods.work_notes = work_notes_.get();
  options.pods.rules.strict_groups = features_.strict_groups;
  options.pods.rules.recursive_read_only = features_.recursive_read_only;
  options.beside_kubelet = beside_kubelet();
  if (options.beside_kubelet)
    options.slice /= 5;  // a runtime that waits for an answer waits for what is under way, too
  node_ = std::make_unique<core::Node>(core::NodeParts{.store = *store_,
                                                       .tree = *tree_,
                                                       .runtime = *runtime_,
                                                       .events = *events_,
                                                       .clock = os::SystemClock(),
                                                       .executor = *workers_,
                                                       .plugins = AllPlugins()},
                                       node, std::move(options));
  manager_ = std::make_unique<PodManager>(
      *node_, pods::PodExecutors{.probes = *probes_, .hooks = *hooks_, .plugins = *plugin_calls_});
  OpenWriters();
  if (runtime_->makes_groups())
    node_->groups().pod_groups().set_on_removed(
        [this](const std::string& path) { cgroup::RemoveLeftoverGroups(*root_fs_, names_.FromTop(path)); });
  for (const std::string& warning : start_warnings_) log_.Warning(warning);
  BERTH_RETURN_IF_ERROR(manager_->Start(saved, os::SystemClock().Now()));
  return dry_run_ || beside_kubelet() ? Result<void>() : EnforceReservations();
}

Result<void> Daemon::EnforceReservations() {
  BERTH_TRY(reserved_, node_->groups().ReservedGroups());
  const std::string node = "node/" + settings_.berth.node_name;
  KeptReservations kept(settings_.berth.run_dir + "/reserved-groups", names_.driver(), reserved_);
  for (std::string& problem : kept.GiveBack([] { return os::OpenFs("/"); }, tree_->layout()))
    events_->Warning("FailedNodeAllocatableEnforcement", node, std::move(problem));
  for (const cgroup::ReservedGroup& group : reserved_) {
    BERTH_TRY([[maybe_unused]] const auto changed, EnforceReserved("/", tree_->layout(), names_.driver(), group));
    events_->Normal("NodeAllocatableEnforced", node, "updated limits on " + group.what + " cgroup " + group.group);
  }
  if (auto saved = kept.Enforced(); !saved)
    events_->Warning("FailedNodeAllocatableEnforcement", node,
                     "keep what is reserved for groups of the host: " + saved.error().message);
  return {};
}

}  // namespace berth::daemon
