#include "frontend/static_pods/driver.h"

#include <fmt/core.h>

#include <algorithm>
#include <csignal>
#include <iterator>
#include <utility>
#include <vector>

#include "frontend/static_pods/volumes.h"
#include "host/os/signal_names.h"

namespace berth::pods {
namespace {

bool HasCpusApart(const Ledger& ledger, const std::string& uid, std::string_view container) {
  const auto record = ledger.pods.find(uid);
  if (record == ledger.pods.end()) return false;
  const Placement* placement = FindPlacement(record->second, container);
  return placement != nullptr && HasCpusApart(*placement);
}

}  // namespace

Driver::Driver(StaticPodContext& context, RuntimeEvents& runtime_events, Health& health, DeviceGrants& grants,
               event_loop::Executor& hooks)
    : context_(context),
      node_(context.node()),
      runtime_events_(runtime_events),
      health_(health),
      grants_(grants),
      hooks_(context, hooks,
             [this](const std::string& uid, const std::string& container, const std::string& id) {
               const auto pod = node_.pods().find(uid);
               if (pod != node_.pods().end() && pod->second.lifecycle)
                 Ask(pod->second, container, id, false, node_.clock().Now());
             }),
      termination_messages_(context),
      starter_(context) {}

/// What no manifest stands behind is only watched, until it has to go; what waits for a place is not started.
bool Driver::IsDriven(const ManagedPod& managed) const {
  if (!managed.lifecycle || managed.PlaceIsFree() || managed.Is<Waiting>()) return false;
  return managed.claimed || managed.Is<Ending>() || managed.Is<Rejected>();
}

bool Driver::Drive(ManagedPod& managed, os::MonoTime now, const os::Slice& slice) {
  if (managed.claimed) termination_messages_.Look(managed);
  if (!IsDriven(managed)) return true;
  if (managed.Is<Admitted>() && context_.StateOf(managed.pod.uid).documents != context_.documents().revision())
    TakeDocuments(managed);
  const bool done = DriveOn(managed, now, slice);
  hooks_.Look(managed, now);
  health_.Look(managed, now);
  return done;
}

/// Containers that wait for a document are tried at once, and volumes show what documents say now.
void Driver::TakeDocuments(ManagedPod& managed) const {
  context_.StateOf(managed.pod.uid).documents = context_.documents().revision();
  if (!TakesDocuments(managed.pod) || !context_.makes_volumes()) return;
  managed.lifecycle->RetryNow();
  const auto refresh = [pod = managed.pod, folders = context_.options().volumes,
                        facts = context_.FactsFor(managed.pod)] {
    return Result<std::vector<std::string>>(RefreshVolumes(pod, folders, facts));
  };
  event_loop::Submit<std::vector<std::string>>(
      node_.executor(), VolumeQueue(managed.pod.uid), refresh,
      [&events = node_.events(), object = ObjectOf(managed.pod)](const Result<std::vector<std::string>>& problems) {
        for (const std::string& problem : problems.value_or(std::vector<std::string>()))
          events.Warning("FailedMount", object, problem);
      });
}

bool Driver::DriveOn(ManagedPod& managed, os::MonoTime now, const os::Slice& slice) {
  constexpr int kMaxSteps = 100;  // containers that end at once lead to new steps
  for (int step = 0; step < kMaxSteps; ++step) {
    bool worked = !managed.due.empty();  // goes on where the time was over
    if (managed.due.empty()) {
      const bool overdue_before = managed.lifecycle->overdue();
      runtime::Steps steps = managed.lifecycle->Next(now);
      if (steps.wake_at) node_.agenda().WakeAt(*steps.wake_at);
      TellOverdue(managed, overdue_before);
      managed.due = {std::move_iterator(steps.actions.begin()), std::move_iterator(steps.actions.end())};
    }
    // Before anything is asked for: the ending with its deadline, the restart that is counted.
    if (!managed.due.empty() || managed.kept != managed.lifecycle->changes()) context_.Keep(managed);
    while (!managed.due.empty()) {
      if (worked && slice.over()) {
        context_.Keep(managed);
        return false;
      }
      const runtime::Action action = std::move(managed.due.front());
      managed.due.pop_front();
      if (Postponed(managed, action)) continue;
      worked = Perform(managed, action, now) || worked;
    }
    if (!worked) return true;
    context_.Keep(managed);  // after it was: a TERM that is not known to be sent is sent once more
  }
  return true;
}

void Driver::TellOverdue(const ManagedPod& managed, bool before) {
  if (!before && managed.lifecycle->overdue())
    node_.events().Normal("DeadlineExceeded", ObjectOf(managed.pod), std::string(kOverdueMessage));
}

/// The kernel may still let others onto these CPUs; or it is too late, because the pod has to go since it was named.
bool Driver::Postponed(const ManagedPod& managed, const runtime::Action& action) const {
  if (action.kind != runtime::Action::Kind::kStart) return false;
  if (managed.Is<Ending>() || managed.Is<Rejected>()) return true;
  return !node_.pool().in_force() && HasCpusApart(node_.allocations().ledger(), managed.pod.uid, action.container);
}

/// False: nothing came of it yet, and it will be named again.
bool Driver::Perform(ManagedPod& managed, const runtime::Action& action, os::MonoTime now) {
  switch (action.kind) {
    case runtime::Action::Kind::kStart: return Start(managed, action, now);
    case runtime::Action::Kind::kTerm: Stop(managed, action, now); return true;
    case runtime::Action::Kind::kKill: Kill(managed, action); return true;
  }
  return true;
}

/// What is dying is looked at again before anything else; it is told when that takes long.
void Driver::Kill(const ManagedPod& managed, const runtime::Action& action) {
  node_.runtime().Kill(action.id);
  const auto killed = node_.groups().pod_groups().KillContainer(managed.pod, action.container);
  if (killed || (killed.error().code == Code::kBusy && action.killing < runtime::kSlowDeath)) return;
  node_.events().Warning("FailedKillPod", ObjectOf(managed.pod),
                         fmt::format("container {}: {}{}", action.container, killed.error().message,
                                     killed.error().code == Code::kBusy
                                         ? "; they wait in the kernel (state D) or are frozen, and keep their CPUs and "
                                           "devices until they end"
                                         : ""));
}

void Driver::Stop(ManagedPod& managed, const runtime::Action& action, os::MonoTime now) {
  const bool again = action.asked_at.has_value();
  if (!again && !action.unhealthy)  // what a probe ends was told by it
    node_.events().Normal("Killing", ObjectOf(managed.pod), "stopping container " + action.container);
  const FoundContainer found = FindContainer(managed.pod, action.container);
  const auto slept = std::chrono::floor<std::chrono::seconds>(now - action.asked_at.value_or(now));
  if (!action.asked && found.container != nullptr &&
      hooks_.BeginPreStop(managed, *found.container, action.id, managed.lifecycle->GraceLeft(action.container, now),
                          slept, now))
    return;
  Ask(managed, action.container, action.id, again, now);
}

void Driver::Ask(ManagedPod& managed, const std::string& container, const std::string& id, bool before,
                 os::MonoTime now) {
  runtime::StopRequest request{.id = id, .grace = managed.lifecycle->GraceLeft(container, now), .asked_before = before};
  if (const FoundContainer found = FindContainer(managed.pod, container); found.container != nullptr) {
    const auto own = os::SignalNumber(found.container->stop_signal);
    request.signal = own.value_or(SIGTERM);
    request.signal_is_its_own = own.has_value();
  }
  if (auto sent = node_.runtime().Stop(request); !sent)
    node_.events().Warning("FailedKillPod", ObjectOf(managed.pod), sent.error().message);
  managed.lifecycle->Asked(id, now);
}

/// The ordinary init containers before this one are over: their memory is free from here on.
void Driver::TakeBackInitMemory(const Pod& pod, const std::string& container, os::MonoTime now) {
  if (now < node_.allocations().next_try()) return;  // kept a little longer
  auto proposal = node_.allocations().ProposeContainerStart(pod.uid, container);
  if (proposal && !node_.Commit(*std::move(proposal), [](const Result<void>&) {})) node_.agenda().WakeAt(now);
}

bool Driver::Start(ManagedPod& managed, const runtime::Action& action, os::MonoTime now) {
  const FoundContainer found = FindContainer(managed.pod, action.container);
  if (found.container == nullptr) return false;
  if (grants_.Lacks(managed.pod.uid) && !node_.statuses().RunsSomething(managed.pod.uid)) {
    managed.Move(pod_event::Wait());  // an earlier berthd had not asked yet
    managed.due.clear();
    node_.agenda().WakeNow();
    return false;
  }
  const Result<bool> may_start = grants_.MayStart(managed, action.container, action.attempt);
  if (!may_start) NotStarted(managed, action.container, may_start.error(), now);
  if (!may_start || !*may_start) return !may_start;
  TakeBackInitMemory(managed.pod, action.container, now);
  auto status = starter_.Start(managed, found, action.attempt, now);
  if (!status) {
    NotStarted(managed, action.container, status.error(), now);
    return true;
  }
  if (*status) runtime_events_.Take(**status, now);
  return status->has_value();
}

void Driver::NotStarted(ManagedPod& managed, const std::string& container, const Error& why, os::MonoTime now) const {
  StaticPodState& state = context_.StateOf(managed.pod.uid);
  state.pre_starts.erase(container);
  state.mounting.erase(container);
  const bool missing = why.code == Code::kNotFound;  // something it names is not there (yet), in the kubelet's word
  managed.lifecycle->StartFailed(container, why, now, missing ? "CreateContainerConfigError" : "CreateContainerError");
  node_.events().Warning("FailedCreatePodContainer", ObjectOf(managed.pod),
                         fmt::format("container {}: {}", container, why.message));
}

}  // namespace berth::pods
