#include "frontend/static_pods/pod_admission.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "model/resize_changes.h"

namespace berth::pods {
namespace {

std::string DescribeAdmission(const PodRecord& record, const CpuSet& shared) {
  std::string out;
  for (const Placement& placement : record.placements) {
    std::vector<std::string> parts;
    if (placement.cpus)
      parts.push_back(fmt::format("CPUs {} for itself{}", FormatIds(*placement.cpus),
                                  placement.mixed ? ", the shared pool beside" : ""));
    else if (!placement.pool.empty())
      parts.push_back("a place in " + PoolText(placement.pool));
    else if (!placement.nodes.empty())
      parts.push_back(fmt::format("the CPUs of the pool on node {}", FormatIds(placement.nodes)));
    if (const NodeSet nodes = MemoryNodes(placement); !nodes.empty())
      parts.push_back(fmt::format("memory of {} {}", nodes.Count() == 1 ? "node" : "nodes", FormatIds(nodes)));
    for (const DeviceAssignment& device : placement.devices)
      parts.push_back(fmt::format("{} {}", device.resource, Join(device.ids, ",")));
    if (!parts.empty()) out += fmt::format("{} has {}, ", placement.container, Join(parts, " and "));
  }
  const bool elsewhere =
      !record.placements.empty() &&
      std::ranges::all_of(record.placements, [](const Placement& placement) { return HasCpusApart(placement); });
  const bool exclusive = !ExclusiveCpus(record).empty();
  return out + (exclusive || elsewhere ? "the shared pool is " : "runs in the shared pool ") + FormatIds(shared);
}

/// What a later berthd has to know to tell a resize from another pod.
void NoteAllocated(const ManagedPod& managed, ledger::Proposal& proposal) {
  auto& put = std::get<LedgerDelta>(proposal.change).put;
  if (!put || !put->allocated.empty()) return;
  put->allocated = AllocatedOf(managed.pod);
  put->identity = managed.identity;
}

}  // namespace

/// A job that ran to its end before berthd was restarted is not run again.
bool Admission::FinishedEarlier(ManagedPod& managed, os::MonoTime now) {
  if (!node_.statuses().Knows(managed.pod.uid)) return false;
  managed.lifecycle.emplace(context_.NewLifecycle(managed.pod));
  node_.RestoreLifecycle(managed, now);
  runtime::PodLifecycle probe = *managed.lifecycle;
  // Only what the rules say counts here: leftovers in its groups are killed when these are removed.
  [[maybe_unused]] const runtime::Steps steps = probe.Next(now);
  if (!probe.finished()) return false;
  managed.lifecycle = std::move(probe);
  managed.Move(pod_event::Admit());
  node_.agenda().WakeNow();
  return true;
}

bool Admission::MustWait(ManagedPod& managed, os::MonoTime now) {
  if (now < node_.allocations().next_try()) {
    if (managed.stage == Stage(Waiting(NotDecided()))) NotSaved(managed);
    node_.agenda().WakeAt(node_.allocations().next_try());
    return true;
  }
  const std::string& uid = managed.pod.uid;
  if (node_.allocations().newest().pods.contains(uid) || node_.statuses().RunsSomething(uid)) return false;
  std::string why = node_.WhyNotAdmit(managed.pod);
  if (why.empty()) return false;
  managed.Move(pod_event::Wait{NodeUnderPressure{std::move(why)}});
  return true;
}

void Admission::NotSaved(ManagedPod& managed) const {
  managed.Move(pod_event::Wait{LedgerNotSaved{node_.allocations().problem()}});
}

/// Some hold a place that they are giving back.
bool Admission::OthersAreEnding(const ManagedPod& managed) const {
  return std::ranges::any_of(node_.pods(), [&](const auto& entry) {
    return &entry.second != &managed && entry.second.template Is<Ending>() &&
           node_.allocations().newest().pods.contains(entry.first);
  });
}

/// The engine said no, or somebody comes first.
void Admission::NoRoom(ManagedPod& managed, const berth::Reject& reject, os::MonoTime now) {
  if (OthersAreEnding(managed)) return Reject(managed, reject, now);
  if (!WaitsAllTheSame(managed, reject, now)) Reject(managed, reject, now);
}

void Admission::WaitForRoom(ManagedPod& managed, const berth::Reject& reject) {
  auto* const rejected = std::get_if<Rejected>(&managed.stage);
  const bool waited = rejected != nullptr && rejected->place > 0;
  const int place = waited ? rejected->place : queue_.size() + 1;
  managed.Move(pod_event::Reject{{.why = {.reason = "WaitingForRoom",
                                          .message = fmt::format("{}: {}", reject.reason, reject.message),
                                          .details = reject.details},
                                  .admitted_at = "",
                                  .freed = node_.allocations().freed(),
                                  .place = place}});
  if (!waited)
    node_.events().Normal("WaitingForRoom", ObjectOf(managed.pod),
                          fmt::format("does not fit now ({}: {}), and waits", reject.reason, reject.message));
}

/// In the queue, or for those who were evicted before or are evicted now for its sake.
bool Admission::WaitsAllTheSame(ManagedPod& managed, const berth::Reject& reject, os::MonoTime now) {
  const allocator::Others others = queue_.OthersThan(&managed);
  const allocator::WithoutPlace next = allocator::DecideWithoutPlace(
      {node_.allocations().node(), node_.allocations().newest(), node_.devices().inputs()}, managed.pod, others);
  std::string awaited;
  switch (next.what) {
    using enum allocator::WithoutPlace::What;
    case kRejected: return false;
    case kWaitsForRoom: WaitForRoom(managed, reject); return true;
    case kAwaitsLeaving: awaited = fmt::format("pod {} was evicted and is ending", others.leaving); break;
    case kOthersGo:
      Preempt(managed, next.victims, now);
      awaited = fmt::format("{} evicted to make room for it", RemovalText(next.victims));
      break;
  }
  managed.Move(pod_event::Wait{WaitingForRelease{.message = std::move(awaited), .details = reject.details}});
  return true;
}

/// Evicts them for a critical pod, and keeps for it what they give back.
void Admission::Preempt(ManagedPod& managed, const Removal& victims, os::MonoTime now) {
  for (const PodRef& victim : victims.pods) {
    ManagedPod& other = node_.pods().find(victim.uid)->second;
    const std::string message = "Preempted in order to admit critical pod " + FullName(managed.pod);
    node_.events().Warning(std::string(kPreemptingReason), ObjectOf(other.pod), message);
    Evict(other, {.reason = std::string(kPreemptingReason), .message = message, .details = {}}, std::nullopt, now);
  }
  queue_.Reserve(managed, victims);
  node_.agenda().WakeNow();
}

void Admission::Reject(ManagedPod& managed, const berth::Reject& reject, os::MonoTime now) {
  if (OthersAreEnding(managed))  // decided again with what they give back
    return managed.Move(pod_event::Wait{WaitingForRelease{.message = reject.message, .details = reject.details}});
  managed.Move(pod_event::Reject{
      {.why = {.reason = reject.reason, .message = reject.message, .details = reject.details},
       .admitted_at = "",
       .freed = context_.IsSetAside(managed.pod) ? std::optional<std::uint64_t>() : node_.allocations().freed()}});
  node_.CountRejection(reject.reason);
  std::string text = reject.message;
  for (const std::string& detail : reject.details) text += "; " + detail;
  node_.events().Warning(reject.reason, ObjectOf(managed.pod), std::move(text));
  if (managed.lifecycle) managed.lifecycle->Terminate(now);  // something of it runs without a place
}

/// Whatever is free. What holds a place has had its decision.
std::optional<berth::Reject> Admission::WhyNotHere(const ManagedPod& managed) const {
  const Ledger& ledger = node_.allocations().newest();
  if (ledger.pods.contains(managed.pod.uid)) return std::nullopt;
  std::vector<const Pod*> placed;
  for (const auto& [uid, other] : node_.pods())
    if (&other != &managed && ledger.pods.contains(uid)) placed.push_back(&other.pod);
  return RefusalOf(managed.pod, context_.options().rules, placed);
}

void Admission::Admit(ManagedPod& managed, os::MonoTime now) {
  const bool blocked = now < node_.allocations().next_try();
  if (!blocked && FinishedEarlier(managed, now)) return;
  if (MustWait(managed, now)) return;
  if (context_.IsSetAside(managed.pod))
    return Reject(managed, {.reason = "SetAside", .message = context_.options().work_notes->Explain("the pod")}, now);
  if (const auto refused = WhyNotHere(managed)) return Reject(managed, *refused, now);
  const os::WorkNotes::Work noted(context_.options().work_notes, context_.WorkKey(managed.pod));
  const std::string& uid = managed.pod.uid;
  if (node_.allocations().newest().pods.contains(uid)) {
    if (grants_.Lacks(uid) && !node_.statuses().RunsSomething(uid)) return Grant(managed);
  } else if (AwaitsPlugin(managed, grants_.AwaitedBy(managed.pod))) {
    return;
  }
  Decide(managed, node_.devices().inputs(), false, now);
}

/// The engine's answer, and no where somebody who waits comes first.
std::variant<ledger::Proposal, berth::Reject> Admission::Propose(const ManagedPod& managed,
                                                                 const allocator::Inputs& inputs, Trace* trace) {
  const ledger::Asked asked = managed.decisions > 1 ? ledger::Asked::kAgain : ledger::Asked::kFirst;
  auto proposed = node_.Admit({.pod = managed.pod, .inputs = inputs}, trace, asked);
  const auto* const proposal = std::get_if<ledger::Proposal>(&proposed);
  if (proposal == nullptr || node_.allocations().newest().pods.contains(managed.pod.uid)) return proposed;
  const std::string first = queue_.WhoComesFirst(managed, std::get<LedgerDelta>(proposal->change));
  if (first.empty()) return proposed;
  return allocator::OthersComeFirst(first);
}

/// `asked`: plug-ins have said what they prefer.
void Admission::Decide(ManagedPod& managed, const allocator::Inputs& inputs, bool asked, os::MonoTime now) {
  managed.trace = Trace();
  ++managed.decisions;
  auto proposed = Propose(managed, inputs, &managed.trace);
  if (const auto* reject = std::get_if<berth::Reject>(&proposed)) return NoRoom(managed, *reject, now);
  const auto& delta = std::get<LedgerDelta>(std::get<ledger::Proposal>(proposed).change);
  const bool is_new = !node_.allocations().newest().pods.contains(managed.pod.uid);
  if (is_new && !asked && grants_.Choosy(*delta.put)) {
    return grants_.AskPreference(managed, *delta.put, [this](ManagedPod& pod, Result<Preferences> answer) {
      Preferred(pod, std::move(answer));
    });
  }
  NoteAllocated(managed, std::get<ledger::Proposal>(proposed));
  node_.Commit(managed, std::get<ledger::Proposal>(std::move(proposed)),
               [this](ManagedPod& pod, const Result<void>& saved) { Decided(pod, saved); });
  if (is_new && managed.saving) queue_.Overtakes(managed);
}

bool Admission::MayReconsider(const ManagedPod& managed) const {
  const auto* const rejected = std::get_if<Rejected>(&managed.stage);
  if (rejected == nullptr || !managed.claimed || managed.saving || managed.lifecycle) return false;
  return (rejected->freed && *rejected->freed != node_.allocations().freed()) ||
         (rejected->registrations && *rejected->registrations != node_.devices().registrations());
}

void Admission::Reconsider(ManagedPod& managed, os::MonoTime now) {
  if (now < node_.allocations().next_try()) return node_.agenda().WakeAt(node_.allocations().next_try());
  if (!node_.WhyNotAdmit(managed.pod).empty()) return;
  auto& rejected = std::get<Rejected>(managed.stage);
  if (rejected.freed) rejected.freed = node_.allocations().freed();
  if (rejected.registrations) rejected.registrations = node_.devices().registrations();
  if (!grants_.AwaitedBy(managed.pod).empty()) return;  // something comes to pass when it is back
  const os::WorkNotes::Work noted(context_.options().work_notes, context_.WorkKey(managed.pod));
  Trace trace;
  ++managed.decisions;
  std::variant<ledger::Proposal, berth::Reject> proposed = berth::Reject{};
  auto refused = WhyNotHere(managed);
  const bool for_room = !refused;
  if (refused)
    proposed = *std::move(refused);
  else
    proposed = Propose(managed, node_.devices().inputs(), &trace);
  managed.trace = std::move(trace);
  if (const auto* reject = std::get_if<berth::Reject>(&proposed)) {
    if (for_room && WaitsAllTheSame(managed, *reject, now)) return;
    rejected.place = 0;
    rejected.why = {.reason = reject->reason, .message = reject->message, .details = reject->details};
    rejected.freed = node_.allocations().freed();
    rejected.registrations.reset();
    return;
  }
  node_.events().Normal("Reconsidered", ObjectOf(managed.pod),
                        rejected.place > 0
                            ? fmt::format("waited for room ({}), and now it fits", rejected.why.message)
                            : fmt::format("was rejected ({}: {}); something was given back since, and now it fits",
                                          rejected.why.reason, rejected.why.message));
  managed.Move(pod_event::Wait());
  if (!DeviceResourcesOf(managed.pod).empty()) return node_.agenda().WakeNow();  // plug-ins are asked first
  NoteAllocated(managed, std::get<ledger::Proposal>(proposed));
  node_.Commit(managed, std::get<ledger::Proposal>(std::move(proposed)),
               [this](ManagedPod& pod, const Result<void>& saved) { Decided(pod, saved); });
  if (managed.saving) queue_.Overtakes(managed);
}

/// Its manifest may be gone meanwhile: then it holds a place, and ends.
void Admission::Decided(ManagedPod& managed, const Result<void>& saved) {
  const std::string& uid = managed.pod.uid;
  const bool waiting = managed.Is<Waiting>();
  if (!saved) {
    if (waiting) NotSaved(managed);
    if (!node_.statuses().RunsSomething(uid)) managed.lifecycle.reset();
    return;
  }
  if (!managed.lifecycle) managed.lifecycle.emplace(context_.NewLifecycle(managed.pod));
  if (waiting && grants_.Lacks(uid) && !node_.statuses().RunsSomething(uid)) return Grant(managed);
  if (waiting)
    managed.Move(pod_event::Admit{os::FormatTime(node_.clock().Wall())});
  else
    managed.lifecycle->Terminate(node_.clock().Now());
  const auto record = node_.allocations().ledger().pods.find(uid);
  if (record != node_.allocations().ledger().pods.end())
    node_.events().Normal("Admitted", ObjectOf(managed.pod),
                          DescribeAdmission(record->second, node_.allocations().SharedCpus()));
}

// ---- device plug-ins ---------------------------------------------------------------------------------------------

/// `resource`: what is not served but waited for; "": nothing.
bool Admission::AwaitsPlugin(ManagedPod& managed, const std::string& resource) const {
  if (resource.empty()) return false;
  const Waiting waiting = WaitingForPlugin{resource};
  if (managed.stage != Stage(waiting))
    node_.events().Normal(std::string(kWaitingForPlugin), ObjectOf(managed.pod), WaitsForPlugin(resource));
  managed.Move(pod_event::Wait{waiting});
  return true;
}

void Admission::Preferred(ManagedPod& managed, Result<Preferences> answer) {
  if (!managed.Is<Waiting>()) return;  // no manifest wants it any more
  if (!answer) {
    if (answer.error().code == Code::kUnreachable) return;  // decided again
    return RefusedByPlugin(managed, answer.error());
  }
  allocator::Inputs inputs = node_.devices().inputs();
  inputs.preferred_devices = *std::move(answer);
  Decide(managed, inputs, true, node_.clock().Now());
}

/// Its place is taken. Nothing of it starts before it is known, and saved, what its devices bring.
void Admission::Grant(ManagedPod& managed) {
  if (!managed.lifecycle) managed.lifecycle.emplace(context_.NewLifecycle(managed.pod));  // it may have to go meanwhile
  if (AwaitsPlugin(managed, grants_.AwaitedFor(managed.pod.uid))) return;
  grants_.AskWhatTheyBring(
      managed, [this, asked = node_.devices().registrations()](
                   ManagedPod& pod, const Result<DeviceGrants::Answers>& answers) { Granted(pod, answers, asked); });
}

/// A plug-in that went while it was asked is asked again, when it is back or at once where it has registered meanwhile,
/// which the loop may not have heard of yet.
void Admission::Granted(ManagedPod& managed, const Result<DeviceGrants::Answers>& answers, std::uint64_t asked) {
  if (!managed.Is<Waiting>()) return;  // it goes, and its place with it
  const std::string& uid = managed.pod.uid;
  if (!answers) {
    const device_manager::Plugins* const plugins = node_.devices().plugins();
    const bool again =
        (plugins != nullptr && plugins->known()->registrations != asked) || !grants_.AwaitedFor(uid).empty();
    if (answers.error().code != Code::kUnreachable || !again) GiveBack(managed, answers.error());
    return;
  }
  if (auto proposal = node_.allocations().ProposeDeviceAnswers(uid, *answers))
    node_.Commit(managed, *std::move(proposal),
                 [this](ManagedPod& pod, const Result<void>& saved) { Decided(pod, saved); });
}

/// Nothing of it runs.
void Admission::GiveBack(ManagedPod& managed, const Error& why) {
  const auto released = [this, why](ManagedPod& pod, const Result<void>& saved) {
    if (!pod.Is<Waiting>()) return;
    if (saved) return RefusedByPlugin(pod, why);
    NotSaved(pod);
  };
  if (!node_.Release(managed, released)) RefusedByPlugin(managed, why);
}

/// Decided again when a plug-in has registered: it may do better.
void Admission::RefusedByPlugin(ManagedPod& managed, const Error& why) {
  std::string message = fmt::format("Allocate failed due to {}, which is unexpected", why.message);
  node_.events().Warning("UnexpectedAdmissionError", ObjectOf(managed.pod), message);
  node_.CountRejection("UnexpectedAdmissionError");
  managed.lifecycle.reset();
  managed.Move(pod_event::Reject{{.why = {.reason = "UnexpectedAdmissionError", .message = std::move(message)},
                                  .admitted_at = "",
                                  .registrations = node_.devices().registrations()}});
}

}  // namespace berth::pods
