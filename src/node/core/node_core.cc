#include "node/core/node_core.h"

#include <set>
#include <utility>

#include "base/text.h"

namespace berth::core {

void NodeOptions::LeaveToKubelet() {
  ownership = &cgroup_manager::OwnsCpusets();
  reconciler.cpus.partition.clear();
  reconciler.eviction.reset();
  slice /= 5;  // a runtime that waits for an answer waits for what is under way, too
}

Node::Node(const NodeParts& parts, const allocator::Node& node, NodeOptions options)
    : parts_(parts),
      options_(std::move(options)),
      allocations_({.store = parts.store, .executor = parts.executor, .events = parts.events, .clock = parts.clock},
                   node,
                   {.node_name = options_.pods.node_name,
                    .boot_id = options_.boot.boot_id,
                    .machine_fingerprint = options_.boot.machine_fingerprint}),
      groups_(parts.tree, node, options_.cgroup_names, *options_.ownership),
      pods_(options_.pods, options_.boot.boot_id, parts.runtime, parts.clock),
      devices_(parts.plugins),
      held_devices_(allocations_, devices_, parts.events),
      recovery_(allocations_, groups_, pods_, parts.events, parts.clock),
      reconciler_(allocations_, groups_, pods_, parts.runtime, parts.events, parts.clock, parts.executor,
                  options_.reconciler) {
  allocations_.set_on_change([this] { pool().Changed(); });
}

Result<void> Node::Recover(const std::optional<checkpoint::Saved>& saved, os::MonoTime now) {
  runtime::Runtime& runtime = parts_.runtime;
  auto statuses = runtime.List();
  if (!statuses) return Wrap(std::move(statuses).error(), "look for containers that run");
  for (std::string& problem : checkpoints().Load())
    parts_.events.Warning("PodTimesNotKept", ObjectOfNode(), std::move(problem));
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
  agenda().Clear(now);
  agenda().WakeAt(now);
  return {};
}

void Node::OnGroupsAnswered(os::MonoTime now) {
  pool().Again();
  reconciler_.cpus().CheckSoon(now);
  Changed();
}

Result<Move> Node::MakeMove(const MoveRequest& request) {
  const auto pod = pods().find(request.uid);
  if (pod == pods().end()) return Fail(Code::kNotFound, "no pod with uid " + Printable(request.uid) + " is here");
  pods::ManagedPod& managed = pod->second;
  if (!managed.Is<pods::Admitted>() || managed.saving)
    return Fail(Code::kConflict, "pod " + FullName(managed.pod) + " does not run, or something about it is under way");
  BERTH_TRY(auto proposed, allocations_.ProposeMove(request));
  Move& move = proposed.second;
  Commit(managed, std::move(proposed.first),
         [this, text = MoveText(move)](pods::ManagedPod& moved, const Result<void>& saved) {
           if (!saved) return;
           groups_.cpusets().MoveMemory(moved.pod.uid);
           parts_.events.Normal("Moved", pods::ObjectOf(moved.pod), text);
         });
  if (!managed.saving) return Fail(Code::kBusy, "the ledger cannot be saved now: " + allocations_.problem());
  return std::move(move);
}

bool Node::TakeDevices() {
  if (devices_.plugins() == nullptr) return false;
  for (device_manager::Note& note : devices_.plugins()->TakeNotes())
    parts_.events.Tell(note.warning, std::move(note.reason), ObjectOfNode(), std::move(note.message));
  if (!devices_.Refresh()) return false;
  held_devices_.Look();
  allocations_.NoteFreed();
  return true;
}

void Node::Reload(os::Millis reconcile_period, bool adopt_unknown) {
  options_.reconcile_period = reconcile_period;
  reconciler_.cpus().CheckSoon(parts_.clock.Now());
  reconciler_.groups().SetAdoptUnknown(adopt_unknown);
}

NodeConditions Node::Conditions() const {
  NodeConditions out{.memory_pressure = reconciler_.pressure().memory(),
                     .pid_pressure = reconciler_.pressure().pids(),
                     .ledger_problem = allocations_.problem(),
                     .pool_problem = pool().problem(),
                     .runtime_problem = parts_.runtime.Problem(),
                     .releasing = {}};
  for (const auto& [uid, managed] : pods())
    if (managed.Is<pods::Ending>() && allocations_.ledger().pods.contains(uid))
      out.releasing.push_back(FullName(managed.pod));
  return out;
}

std::vector<std::string> Node::Warnings() const {
  std::vector<std::string> out;
  if (!allocations_.problem().empty()) out.push_back(allocations_.problem());
  if (std::string problem = parts_.runtime.Problem(); !problem.empty())
    out.push_back("RuntimeNotReady: " + std::move(problem));
  for (std::string& warning : reconciler_.Warnings()) out.push_back(std::move(warning));
  return out;
}

}  // namespace berth::core
