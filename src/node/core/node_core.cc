#include "node/core/node_core.h"

#include <set>
#include <utility>

#include "base/text.h"

namespace berth::core {
namespace {

/// In one move: the kernel migrates before a write returns, and the loop does nothing else meanwhile.
constexpr Bytes kMostMigrated = GiB(1);

cgroup_manager::Ownership OwnershipOf(const NodeOptions& options, const runtime::Runtime& runtime) {
  using enum cgroup_manager::Ownership;
  if (!options.owns_pods) return kNone;
  return runtime.makes_groups() ? kPods : kAll;
}

}  // namespace

Node::Node(const NodeParts& parts, const allocator::Node& node, NodeOptions options)
    : options_(std::move(options)),
      allocations_({.store = parts.store, .executor = parts.executor, .events = parts.events, .clock = parts.clock},
                   node,
                   {.node_name = options_.pods.node_name,
                    .boot_id = options_.boot.boot_id,
                    .machine_fingerprint = options_.boot.machine_fingerprint}),
      groups_(parts.tree, node, options_.cgroup_names, OwnershipOf(options_, parts.runtime)),
      records_(parts.runtime, parts.clock),
      checkpoints_(options_.pods.checkpoints, options_.boot.boot_id),
      devices_(parts.plugins),
      shared_{.allocations = allocations_,
              .groups = groups_,
              .tree = parts.tree,
              .runtime = parts.runtime,
              .events = parts.events,
              .clock = parts.clock,
              .executor = parts.executor,
              .options = options_.pods,
              .agenda = agenda_,
              .pods = pods_,
              .records = records_,
              .checkpoints = checkpoints_,
              .devices = devices_},
      held_devices_(shared_),
      recovery_(shared_),
      reconciler_(shared_, options_.cpus, options_.machine, options_.adopt_unknown) {
  allocations_.set_on_change([this] { pool().Changed(); });
}

Result<void> Node::Recover(const std::optional<checkpoint::Saved>& saved, os::MonoTime now) {
  runtime::Runtime& runtime = shared_.runtime;
  auto statuses = runtime.List();
  if (!statuses) return Wrap(std::move(statuses).error(), "look for containers that run");
  for (std::string& problem : checkpoints_.Load())
    shared_.events.Warning("PodTimesNotKept", shared_.ObjectOfNode(), std::move(problem));
  recovery_.TakeLedger(saved, options_.boot, *statuses);
  std::set<std::string> known;
  for (const runtime::ContainerStatus& status : *statuses) {
    known.insert(status.pod_uid);
    groups_.table().KnowId(status.pod_uid, status.container, status.id);
  }
  for (const auto& [id, uid] : runtime.Sandboxes()) groups_.table().KnowId(uid, "", id);
  if (auto prepared = groups_.Prepare(allocations_.ledger(), known); !prepared)
    return Wrap(std::move(prepared).error(), "prepare Berth's cgroups");
  BERTH_RETURN_IF_ERROR(reconciler_.Begin(now));
  recovery_.TakeRunning(*statuses, now);
  if (devices_.plugins() != nullptr) held_devices_.Look();  // those that need no plug-in are known by now
  pool().Apply(now, {});
  agenda_.Clear(now);
  agenda_.WakeAt(now);
  return {};
}

void Node::OnGroupsAnswered(os::MonoTime now) {
  pool().Again();
  reconciler_.cpus().CheckSoon(now);
  Changed();
}

Result<Move> Node::MakeMove(const MoveRequest& request) {
  const auto pod = pods_.find(request.uid);
  if (pod == pods_.end()) return Fail(Code::kNotFound, "no pod with uid " + Printable(request.uid) + " is here");
  pods::ManagedPod& managed = pod->second;
  if (!managed.Is<pods::Admitted>() || managed.saving)
    return Fail(Code::kConflict, "pod " + FullName(managed.pod) + " does not run, or something about it is under way");
  BERTH_TRY(auto proposed, allocations_.ProposeMove(request));
  Move& move = proposed.second;
  if (move.bytes > kMostMigrated)
    return Fail(Code::kUnsupported, "pod " + FullName(managed.pod) + " has more memory to migrate than " +
                                        std::to_string(kMostMigrated.v >> 30) +
                                        " GiB, for which berthd would have to wait");
  pods::CommitFor(shared_, managed, std::move(proposed.first),
                  [this, text = MoveText(move)](pods::ManagedPod& moved, const Result<void>& saved) {
                    if (!saved) return;
                    groups_.cpusets().MoveMemory(moved.pod.uid);
                    shared_.events.Normal("Moved", pods::ObjectOf(moved.pod), text);
                  });
  if (!managed.saving) return Fail(Code::kBusy, "the ledger cannot be saved now: " + allocations_.problem());
  return std::move(move);
}

bool Node::TakeDevices() {
  if (devices_.plugins() == nullptr) return false;
  for (device_manager::Note& note : devices_.plugins()->TakeNotes())
    shared_.events.Tell(note.warning, std::move(note.reason), shared_.ObjectOfNode(), std::move(note.message));
  if (!devices_.Refresh()) return false;
  held_devices_.Look();
  allocations_.NoteFreed();
  return true;
}

void Node::Reload(os::Millis reconcile_period, bool adopt_unknown) {
  options_.reconcile_period = reconcile_period;
  reconciler_.cpus().CheckSoon(shared_.clock.Now());
  reconciler_.groups().SetAdoptUnknown(adopt_unknown);
}

NodeConditions Node::Conditions() const {
  NodeConditions out{.memory_pressure = reconciler_.pressure().memory(),
                     .pid_pressure = reconciler_.pressure().pids(),
                     .ledger_problem = allocations_.problem(),
                     .pool_problem = pool().problem(),
                     .runtime_problem = shared_.runtime.Problem(),
                     .releasing = {}};
  for (const auto& [uid, managed] : pods_)
    if (managed.Is<pods::Ending>() && allocations_.ledger().pods.contains(uid))
      out.releasing.push_back(FullName(managed.pod));
  return out;
}

std::vector<std::string> Node::Warnings() const {
  std::vector<std::string> out;
  if (!allocations_.problem().empty()) out.push_back(allocations_.problem());
  if (std::string problem = shared_.runtime.Problem(); !problem.empty())
    out.push_back("RuntimeNotReady: " + std::move(problem));
  for (std::string& warning : reconciler_.Warnings()) out.push_back(std::move(warning));
  return out;
}

}  // namespace berth::core
