#include "daemon/snapshot_builder.h"

#include <unistd.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace berth::daemon {
namespace {

/// `before` as long as it is equal.
template <class T>
std::shared_ptr<const T> Shared(const std::shared_ptr<const T>& before, const T& now) {
  return before && *before == now ? before : std::make_shared<const T>(now);
}

int PlaceInQueue(const ManagedPod& managed) {
  const auto* const rejected = std::get_if<pods::Rejected>(&managed.stage);
  return rejected != nullptr ? rejected->place : 0;
}

PodPhase PhaseOf(const ManagedPod& managed) {
  const auto* ending = std::get_if<pods::Ending>(&managed.stage);
  if (PlaceInQueue(managed) > 0) return PodPhase::kPending;
  if (managed.Is<pods::Rejected>() || (ending != nullptr && ending->rejected)) return PodPhase::kFailed;
  if (managed.Is<pods::Waiting>() || !managed.lifecycle) return PodPhase::kPending;
  return managed.lifecycle->phase();
}

std::string SourceOf(const Pod& pod) {
  const auto it = pod.annotations.find("kubernetes.io/config.source");
  return it != pod.annotations.end() ? it->second : "";
}

/// Beside a kubelet the ledger has none, and the kubelet says which.
void AddReportedDevices(const pods::Reported& reported, const std::string& container, ContainerPlace& out) {
  const auto given = reported.devices.find(container);
  if (given == reported.devices.end() || !out.known) return;
  out.devices_reported = true;
  for (const auto& [resource, devices] : given->second) {
    DeviceAssignment& of = out.devices.emplace_back(DeviceAssignment{.resource = resource});
    for (const Device& device : devices) of.ids.push_back(device.id);
  }
}

ContainerPlace PlaceOf(const core::Node& node, const ManagedPod& managed, const PodRecord& record,
                       const std::string& name) {
  ContainerPlace out;
  if (const Placement* placement = FindPlacement(record, name); placement != nullptr) {
    out.cpus = placement->cpus;
    out.mixed = placement->mixed;
    out.node_cpus = placement->node_cpus;
    if (const CpuPool* const pool = FindPool(node.allocations().ledger(), *placement); pool != nullptr) {
      out.pool = placement->pool;
      out.pool_cpus = pool->cpus;
    }
    out.memory_nodes = MemoryNodes(*placement);
    out.devices = placement->devices;
    out.hint = placement->hint;
  } else {
    out.known = false;
  }
  AddReportedDevices(managed.reported, name, out);
  out.cgroup = node.groups().table().ContainerPathOf(managed.pod, name);
  return out;
}

/// How it runs.
void AddLife(const runtime::ContainerView& life, ContainerView& out) {
  out.phase = life.state;
  out.reason = life.reason;
  out.message = life.message;
  out.restarts = life.restarts;
  out.started = life.started;
  out.ready = life.ready;
  if (!life.last) return;
  const bool runs = life.state == ContainerPhase::kRunning;
  out.id = life.last->id;
  out.last = ContainerRun{.pid = runs ? life.last->pid : 0,
                          .exit_code = life.last->exit_code,
                          .started_at = life.last->started_at,
                          .finished_at = life.last->finished_at,
                          .log_path = life.last->log_path};
  if (life.last_end.empty()) return;
  out.last_end = ContainerEnd{.attempt = life.last->attempt,
                              .exit_code = life.last->exit_code,
                              .reason = life.last_end,
                              .message = life.last->message,
                              .finished_at = life.last->finished_at};
}

std::string ImageOf(const Pod& pod, std::string_view container) {
  std::string image;
  ForEachContainer(pod, [&](const Container& wanted, ContainerKind) {
    if (wanted.name == container) image = wanted.image;
  });
  return image;
}

std::vector<ContainerView> ContainersOf(const ManagedPod& managed) {
  std::vector<ContainerView> out;
  if (!managed.lifecycle) {  // nothing was started: only what the manifest says
    ForEachContainer(managed.pod, [&](const Container& container, ContainerKind kind) {
      out.push_back({.name = container.name, .kind = kind, .image = container.image});
    });
    return out;
  }
  for (const runtime::ContainerView& life : managed.lifecycle->containers()) {
    out.push_back({.name = life.name, .kind = life.kind, .image = ImageOf(managed.pod, life.name)});
    AddLife(life, out.back());
  }
  return out;
}

const PodRecord* RecordOf(const Ledger& ledger, const std::string& uid) {
  const auto found = ledger.pods.find(uid);
  return found != ledger.pods.end() ? &found->second : nullptr;
}

bool SameRecord(const PodRecord* a, const PodRecord* b) { return a == b || (a != nullptr && b != nullptr && *a == *b); }

/// Of the whole pod. Of other resources than these a container without a limit gets nothing.
ResourceList LimitsOf(const Pod& pod) {
  ResourceList out = PodLimits(pod);
  for (const char* const resource : {"cpu", "memory", "ephemeral-storage"})
    if (!IsLimited(pod, resource)) out.erase(resource);
  return out;
}

/// Nobody but an API server's clients could set the conditions that readiness gates name.
bool IsReady(const PodView& view, const Pod& pod) {
  return view.phase == PodPhase::kRunning && pod.readiness_gates.empty() &&
         std::ranges::all_of(view.containers, [](const ContainerView& container) { return container.ready; });
}

PodView ViewOf(const PodManager& manager, const ManagedPod& managed) {
  const core::Node& node = manager.node();
  const Pod& pod = managed.pod;
  const PodRecord* const record = RecordOf(node.allocations().ledger(), pod.uid);
  PodView out;
  out.namespace_ = pod.namespace_;
  out.name = pod.name;
  out.uid = pod.uid;
  out.labels = pod.labels;
  out.source = SourceOf(pod);
  out.file = managed.file;
  out.qos = QosOf(pod);
  out.phase = PhaseOf(managed);
  pods::Why why = managed.why();
  out.reason = managed.Is<pods::Ending>() ? "Terminating" : std::move(why.reason);
  out.message = std::move(why.message);
  out.details = std::move(why.details);
  out.queue_place = PlaceInQueue(managed);
  out.admitted_at = ParseTime(managed.admitted_at());
  out.requests = record != nullptr && !managed.reported.spec ? record->requests : PodRequests(pod);
  out.limits = LimitsOf(pod);
  if (managed.Is<pods::Foreign>())
    out.requests_from = managed.reported.spec ? RequestsFrom::kApiServer : RequestsFrom::kRuntime;
  if (managed.lifecycle && managed.lifecycle->overdue() && out.reason.empty()) {
    out.reason = pods::kOverdueReason;
    out.message = pods::kOverdueMessage;
  }
  if (!managed.PlaceIsFree()) out.addresses = manager.static_pods().AddressesOf(pod);
  out.containers = ContainersOf(managed);
  out.ready = IsReady(out, pod);
  out.resize = pods::ResizeOf(managed);
  if (record != nullptr)
    for (ContainerView& container : out.containers) container.place = PlaceOf(node, managed, *record, container.name);
  return out;
}

}  // namespace

DaemonStatus SnapshotBuilder::Status() const {
  const cgroup::Tree& tree = node_.groups().site().tree();
  const cgroup::Names& names = node_.options().cgroup_names;
  DaemonStatus out;
  out.version = facts_.version;
  out.node_name = node_.options().pods.node_name;
  out.pid = ::getpid();
  out.started_at = facts_.started_at;
  out.cgroup_version = cgroup::Name(tree.layout().version);
  out.runtime = facts_.runtime;
  out.runtime_endpoint = facts_.runtime_endpoint;
  out.machine_source = node_.allocations().node().machine().source;
  out.ledger_revision = node_.allocations().ledger().revision;
  out.pods = node_.pods().size();
  out.cgroup_writes = tree.writes();
  out.runtime_calls = node_.runtime().Calls();
  out.pod_folder = facts_.pod_folder;
  out.cgroup_root = names.root();
  out.cgroup_driver = cgroup::Name(names.driver());
  out.warnings = facts_.warnings;
  for (std::string& warning : manager_.Warnings()) out.warnings.push_back(std::move(warning));
  for (const auto& more : more_warnings_)
    for (std::string& warning : more()) out.warnings.push_back(std::move(warning));
  return out;
}

NodeView SnapshotBuilder::Node() const {
  const allocator::Node& node = node_.allocations().node();
  const KubeletConfiguration& config = node.config();
  ResourceList capacity = node.capacity();
  ResourceList allocatable = node.allocatable();
  capacity.insert(node_.devices().capacity().begin(), node_.devices().capacity().end());
  allocatable.insert(node_.devices().allocatable().begin(), node_.devices().allocatable().end());
  return {.capacity = std::move(capacity),
          .allocatable = std::move(allocatable),
          .reserved_cpus = node.reserved_cpus(),
          .all_cpus = node.all_cpus(),
          .cpu_policy = config.cpu_manager_policy,
          .memory_policy = config.memory_manager_policy,
          .topology_policy = config.topology_manager_policy,
          .topology_scope = config.topology_manager_scope,
          .kubelet_version = node.options().kubelet_version,
          .node_fit = node.options().node_fit,
          .whole_cores = node.options().whole_cores,
          .close_devices = node.options().close_devices,
          .judge_by_free_memory = node.options().judge_by_free_memory,
          .memory_groups_overlap = node.options().memory_groups_overlap,
          .pod_falls_back = node.options().pod_falls_back,
          .keep_rest_aligned = node.options().keep_rest_aligned,
          .look_ahead = node.options().look_ahead,
          .preempts_for_critical = manager_.static_pods().options().queue.preempt_for_critical,
          .own = node.options().own,
          .kubelet_configuration = facts_.kubelet_text,
          .conditions = node_.Conditions()};
}

NodeFigures SnapshotBuilder::Figures() const {
  const device_manager::Plugins* const plugins = node_.devices().plugins();
  return {.decisions = node_.allocations().decisions(),
          .ledger = node_.allocations().saves(),
          .devices = plugins != nullptr ? plugins->figures() : DeviceFigures(),
          .published = published_ ? published_() : std::map<std::string, PublishFigures>(),
          .answer_seconds = node_.runtime().AnswerTimes(),
          .events = events_.counts()};
}

/// Paths of its containers'.
std::vector<std::string> SnapshotBuilder::GroupsOf(const ManagedPod& managed) const {
  std::vector<std::string> out;
  ForEachContainer(managed.pod, [&](const Container& container, ContainerKind) {
    out.push_back(node_.groups().table().ContainerPathOf(managed.pod, container.name));
  });
  return out;
}

/// What its view is made of, but for ledger and manifest.
SnapshotBuilder::Seen SnapshotBuilder::See(const ManagedPod& managed) const {
  return {.stage = managed.stage,
          .life = managed.lifecycle ? managed.lifecycle->version() : 0,
          .file = managed.file,
          .groups = GroupsOf(managed),
          .resize = pods::ResizeOf(managed),
          .reported = managed.reported};
}

/// Nothing of it is copied for that but paths, and these only where some group is another one.
bool SnapshotBuilder::IsAsSeen(const ManagedPod& managed, const Seen& seen) const {
  return seen.life == (managed.lifecycle ? managed.lifecycle->version() : 0) && managed.stage == seen.stage &&
         managed.file == seen.file && pods::ResizeOf(managed) == seen.resize && managed.reported == seen.reported &&
         (same_groups_ || GroupsOf(managed) == seen.groups);
}

/// Looks at what the view is made of; makes it anew where that is another. True: its name may be another one.
bool SnapshotBuilder::Refresh(const ManagedPod& managed, bool same_record, Known& known) {
  PodSnapshot& pod = known.pod;
  const bool same_manifest = pod.manifest && *pod.manifest == managed.pod;
  if (!same_manifest) pod.manifest = manager_.Share(managed);
  if (const bool same = pod.view && IsAsSeen(managed, known.seen); !same || !same_manifest || !same_record) {
    known.seen = See(managed);
    ++seen_;
    pod.view = Shared(pod.view, ViewOf(manager_, managed));
  }
  if (!pod.trace || known.decisions != managed.decisions) pod.trace = std::make_shared<const Trace>(managed.trace);
  pod.claimed = managed.claimed;
  known.decisions = managed.decisions;
  return !same_manifest;
}

/// `ledger_before`: of the last snapshot; nullptr: it is the one of now.
std::vector<PodSnapshot> SnapshotBuilder::Pods(const Ledger* ledger_before) {
  const pods::Pods& pods = node_.pods();
  const Ledger& ledger = node_.allocations().ledger();
  const bool same_pools = ledger_before == nullptr || ledger_before->pools == ledger.pools;
  bool reorder = std::erase_if(known_, [&](const auto& entry) { return !pods.contains(entry.first); }) > 0;
  for (const auto& [uid, managed] : pods) {
    const bool same_record =
        ledger_before == nullptr || (same_pools && SameRecord(RecordOf(*ledger_before, uid), RecordOf(ledger, uid)));
    if (Refresh(managed, same_record, known_[uid])) reorder = true;
  }
  if (reorder) {
    order_.clear();
    for (const auto& [uid, known] : known_) order_.push_back(&known);
    std::ranges::sort(order_, {},
                      [](const Known* known) { return std::tie(known->pod.view->namespace_, known->pod.view->name); });
  }
  std::vector<PodSnapshot> out;
  out.reserve(order_.size());
  for (const Known* const known : order_) out.push_back(known->pod);
  return out;
}

/// A node that was looked at again has another machine.
std::shared_ptr<const allocator::Node> SnapshotBuilder::Engine() const {
  const allocator::Node& now = node_.allocations().node();
  return last_ && &last_->engine->machine() == &now.machine() ? last_->engine
                                                              : std::make_shared<const allocator::Node>(now);
}

std::shared_ptr<const cgroup_manager::Picture> SnapshotBuilder::Groups() {
  const std::uint64_t changes = node_.groups().table().changes();
  same_groups_ = last_ && changes == last_groups_;
  last_groups_ = changes;
  return same_groups_ ? last_->groups : std::make_shared<const cgroup_manager::Picture>(node_.groups().picture());
}

std::shared_ptr<const LoopState> SnapshotBuilder::Build() {
  DaemonStatus status = Status();
  NodeView node = Node();
  const NodeFigures figures = Figures();
  if (last_ && manager_.turns() == last_turn_ && events_.added() == last_event_ && *last_->node.status == status &&
      *last_->node.node == node && *last_->node.figures == figures)
    return nullptr;
  const std::shared_ptr<const LoopState> last = last_;
  const NodeSnapshot none;
  const NodeSnapshot& before = last ? last->node : none;
  auto out = std::make_shared<LoopState>();
  out->engine = Engine();
  out->groups = Groups();
  out->storage = manager_.storage();
  out->held_bytes = manager_.held_bytes();
  out->node.machine = std::shared_ptr<const Machine>(out->engine, &out->engine->machine());
  out->node.node = Shared(before.node, node);
  out->node.ledger = Shared(before.ledger, node_.allocations().ledger());
  out->node.shared = node_.allocations().SharedCpus();
  out->node.devices = node_.devices().inventory();
  out->plugins = node_.devices().SharedKnown();
  out->queue = manager_.WhoWaits();
  out->node.pods = Pods(out->node.ledger == before.ledger ? nullptr : before.ledger.get());
  out->node.files = Shared(before.files, manager_.files());
  out->node.events = before.events && events_.added() == last_event_
                         ? before.events
                         : std::make_shared<const std::vector<std::shared_ptr<const Event>>>(events_.Shared());
  out->node.status = Shared(before.status, status);
  out->node.figures = Shared(before.figures, figures);
  last_turn_ = manager_.turns();
  last_event_ = events_.added();
  last_ = std::move(out);
  return last_;
}

}  // namespace berth::daemon
