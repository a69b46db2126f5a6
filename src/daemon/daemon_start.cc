// Daemon: opening everything in an order in which nothing is touched before all that can fail beforehand was tried.
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "daemon/daemon.h"
#include "daemon/event_list.h"
#include "daemon/machine_fingerprint.h"
#include "daemon/machine_looks.h"
#include "daemon/own_host.h"
#include "daemon/worker_lanes.h"
#include "host/os/host.h"
#include "host/os/lock_file.h"
#include "host/os/node_addresses.h"
#include "host/os/path.h"

namespace berth::daemon {
namespace {

constexpr unsigned kPublic = 0755;

NodeSetup SetupOf(const Settings& settings, const Machine& machine, const DaemonHost& host) {
  NodeSetup out;
  core::NodeOptions& node = out.node;
  node.cgroup_names = host.names();
  node.reconciler.cpus.partition = settings.berth.cpu_partition;
  node.pods.node_name = settings.berth.node_name;
  node.reconciler.eviction->ignores_cache = settings.berth.eviction_ignores_page_cache;
  node.reconcile_period = settings.reconcile_period;
  node.reconciler.adopt_unknown = settings.berth.unknown_pods == "adopt";
  if (machine.this_host) node.reconciler.machine = LooksAtMachine(settings);
  node.boot = {.boot_id = machine.boot_id, .machine_fingerprint = MachineFingerprint(machine)};
  pods::StaticPodOptions& pods = out.static_pods;
  pods.node_addresses = settings.berth.node_ips.empty() ? os::NodeAddresses() : settings.berth.node_ips;
  pods.log_dir = PodLogsOf(settings);
  pods.seccomp_default = settings.kubelet.seccomp_default;
  const auto waiting = settings.berth.waiting.value_or(config::WaitingSettings{.max = 0, .overtakes = 0});
  pods.queue.most_waiting = waiting.max;
  pods.queue.overtakes = waiting.overtakes;
  pods.queue.preempt_for_critical = settings.berth.preemption == "critical";
  pods.rules.restart_rules = FeatureEnabled(settings.kubelet, "ContainerRestartRules", settings.kubelet_version);
  pods.rules.unsafe_sysctls = settings.kubelet.allowed_unsafe_sysctls;
  pods.rules.runtime_classes = settings.berth.runtime_classes;
  pods.rules.has_sandboxes = host.HowPodsAreRead().run_by == manifest::RunBy::kCri;
  pods.rules.strict_groups = host.features().strict_groups;
  pods.rules.recursive_read_only = host.features().recursive_read_only;
  pods.volumes = {.disk = settings.berth.state_dir + "/volumes",
                  .memory = settings.berth.run_dir + "/volumes",
                  .pins = settings.berth.run_dir + "/subpaths"};
  pods.log_max_bytes = LongestLogOf(settings);
  pods.log_max_files = settings.kubelet.container_log_max_files;
  host.Describe(out);
  return out;
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
  start_warnings_ = settings_.warnings;
  start_warnings_.insert(start_warnings_.end(), parts.warnings.begin(), parts.warnings.end());
  BERTH_TRY(store_, checkpoint::Store::Open(settings_.berth.state_dir));
  BERTH_TRY(const std::optional<checkpoint::Saved> saved, store_->Load(&start_warnings_));
  BERTH_RETURN_IF_ERROR(os::MakeDirs(settings_.berth.run_dir, kPublic));
  BERTH_RETURN_IF_ERROR(os::MakeDirs(os::FolderOf(settings_.berth.socket), kPublic));
  BERTH_TRY(loop_, event_loop::Loop::Open(os::SystemClock()));
  BERTH_TRY(pool_, event_loop::WorkerPool::Start(*loop_, WorkerLanes(settings_.berth.publish.has_value())));
  BERTH_RETURN_IF_ERROR(OpenHost(parts.node.machine(), parts.dry_run));
  // The runtime has the folder's lock.
  BERTH_TRY(work_notes_, os::WorkNotes::Open(settings_.berth.run_dir, &start_warnings_));
  BERTH_TRY(front_end_, host_->OpenFrontEnd({.settings = settings_,
                                             .loop = *loop_,
                                             .executor = pool_->lane(kDiskLane),
                                             .log = log_,
                                             .work_notes = *work_notes_,
                                             .saved = saved,
                                             .warnings = start_warnings_}));
  BERTH_RETURN_IF_ERROR(OpenManager(parts.node, saved));
  BERTH_RETURN_IF_ERROR(OpenApi(version, started_at));
  OpenPublishers(version);
  BERTH_RETURN_IF_ERROR(WatchAll());
  BERTH_RETURN_IF_ERROR(front_end_->Start(*node_, *manager_));
  snapshots_->AddWarnings([this]() BERTH_REQUIRES(loop_thread) { return front_end_->Warnings(); });
  return {};
}

/// Of servers' threads to the loop. The servers end before it.
http::LostSocketTeller Daemon::LostSocketTeller() {
  return [this](const std::string& socket, const Result<void>& again) {
    std::string message = again
                              ? "the socket " + socket + " was removed; berthd listens there again"
                              : "the socket " + socket + " is lost, nobody can connect there: " + again.error().message;
    loop_->Post("lost socket", [this, message = std::move(message)]()
                                   BERTH_REQUIRES(loop_thread) { TellOfNode(true, "SocketLost", message); });
  };
}

/// Thread: the loop's.
Health Daemon::HealthNow() const {
  Health out{.started = true, .not_ready = {}};
  const NodeConditions conditions = node_->Conditions();
  for (const std::string& problem : {conditions.ledger_problem, conditions.pool_problem, conditions.runtime_problem})
    if (!problem.empty()) out.not_ready.push_back(problem);
  front_end_->AddHealth(out);
  return out;
}

Result<void> Daemon::OpenApi(const std::string& version, os::WallTime started_at) {
  DaemonFacts facts{.version = version,
                    .started_at = started_at,
                    .runtime = host_->runtime_name(),
                    .runtime_endpoint = host_->runtime_endpoint(),
                    .pod_folder = settings_.pod_dir,
                    .kubelet_text = settings_.kubelet_text,
                    .warnings = start_warnings_};
  snapshots_ = std::make_unique<SnapshotBuilder>(*manager_, *events_, std::move(facts));
  published_ = std::make_unique<Published<LoopState>>(snapshots_->Build());
  servers_ = std::make_unique<ApiServers>(
      ApiServersParts{.settings = settings_,
                      .loop = *loop_,
                      .published = *published_,
                      .node = *node_,
                      .manager = *manager_,
                      .host = *host_,
                      .history = *history_,
                      .log = log_,
                      .health = [this]() BERTH_REQUIRES(loop_thread) { return HealthNow(); },
                      .on_lost_socket = LostSocketTeller()});
  return servers_->Open();  // after an error the destructor closes the loop before it ends them
}

Result<void> Daemon::OpenHost(const Machine& machine, bool dry_run) {
  if (dry_run) {
    BERTH_TRY(host_, DryRunHost::Open(settings_, machine));
  } else if (BesideKubelet(settings_)) {
    BERTH_TRY(host_, KubeletHost::Open(settings_));
  } else {
    BERTH_TRY(
        host_,
        OwnHost::Open(
            {.settings = settings_, .executor = pool_->lane(kDiskLane), .log = log_, .warnings = start_warnings_}));
  }
  return {};
}

void Daemon::OpenPublishers(const std::string& version) {
  if (!settings_.berth.publish) return;
  publishers_ = std::make_unique<ClusterPublishers>(
      *settings_.berth.publish, settings_.berth.node_name, version, *loop_, pool_->lane(kPublishingLane),
      [this](bool warning, const std::string& reason, const std::string& message)
          BERTH_REQUIRES(loop_thread) { TellOfNode(warning, reason, message); });
  snapshots_->AddWarnings([this]() BERTH_REQUIRES(loop_thread) { return publishers_->Warnings(); });
  snapshots_->set_published([this]() BERTH_REQUIRES(loop_thread) { return publishers_->Figures(); });
  publishers_->Publish(published_->Get());
}

Result<void> Daemon::OpenEvents() {
  const auto kept = static_cast<std::size_t>(settings_.berth.max_events);
  BERTH_TRY(history_, history::History::Start({.folder = settings_.berth.state_dir + "/history", .max_entries = kept}));
  events_ = std::make_unique<events::EventLog>(os::SystemClock(), &log_, std::min(kept, events::kEventsInMemory));
  events_->set_sink([this](const Event& event) BERTH_REQUIRES(loop_thread) { untold_.push_back(event); });
  return {};
}

Result<void> Daemon::OpenManager(const allocator::Node& node, const std::optional<checkpoint::Saved>& saved) {
  BERTH_RETURN_IF_ERROR(OpenEvents());
  log_.Info(fmt::format("decides as kubelet {}: {}", Name(settings_.kubelet_version), settings_.kubelet_version_from));
  host_->OpenDevices(node.machine(), saved, LostSocketTeller(), start_warnings_);
  NodeSetup setup = SetupOf(settings_, node.machine(), *host_);
  setup.static_pods.work_notes = work_notes_.get();
  node_ = std::make_unique<core::Node>(core::NodeParts{.store = *store_,
                                                       .tree = host_->tree(),
                                                       .runtime = host_->runtime(),
                                                       .events = *events_,
                                                       .clock = os::SystemClock(),
                                                       .executor = pool_->lane(kDiskLane),
                                                       .plugins = host_->plugins()},
                                       node, std::move(setup.node));
  manager_ = std::make_unique<PodManager>(
      *node_, std::move(setup.static_pods),
      pods::PodExecutors{
          .probes = pool_->lane(kProbeLane), .hooks = pool_->lane(kHookLane), .plugins = pool_->lane(kPluginLane)});
  OpenHostWatches();
  host_->Connect(*node_);
  for (const std::string& warning : start_warnings_) log_.Warning(warning);
  BERTH_RETURN_IF_ERROR(manager_->Start(saved, os::SystemClock().Now()));
  return host_->EnforceReservations();
}

}  // namespace berth::daemon
