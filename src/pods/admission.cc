#include "pods/admission.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"

namespace berth::pods {
namespace {

std::string DescribeAdmission(const PodRecord& record, const CpuSet& shared) {
  std::string out;
  for (const Placement& placement : record.placements) {
    std::vector<std::string> parts;
    if (placement.cpus) parts.push_back(fmt::format("CPUs {} for itself", FormatIds(*placement.cpus)));
    if (const NodeSet nodes = MemoryNodes(placement); !nodes.empty())
      parts.push_back(fmt::format("memory of {} {}", nodes.Count() == 1 ? "node" : "nodes", FormatIds(nodes)));
    for (const DeviceAssignment& device : placement.devices)
      parts.push_back(fmt::format("{} {}", device.resource, Join(device.ids, ",")));
    if (!parts.empty()) out += fmt::format("{} has {}, ", placement.container, Join(parts, " and "));
  }
  const bool exclusive = !ExclusiveCpus(record).empty();
  return out + (exclusive ? "the shared pool is " : "runs in the shared pool ") + FormatIds(shared);
}

}  // namespace

/// A job that ran to its end before berthd was restarted is not run again.
bool Admission::FinishedEarlier(ManagedPod& managed, os::MonoTime now) {
  if (!parts_.records.Knows(managed.pod.uid)) return false;
  managed.lifecycle.emplace(parts_.NewLifecycle(managed.pod));
  parts_.Recover(managed, now);
  runtime::PodLifecycle probe = *managed.lifecycle;
  // Only what the rules say counts here: leftovers in its groups are killed when these are removed.
  [[maybe_unused]] const runtime::Steps steps = probe.Next(now);
  if (!probe.finished()) return false;
  managed.lifecycle = std::move(probe);
  managed.stage = Admitted{};
  parts_.agenda.WakeNow();
  return true;
}

bool Admission::MustWait(ManagedPod& managed, os::MonoTime now) {
  auto& waiting = std::get<Waiting>(managed.stage);
  if (now < parts_.keeper.next_try()) {
    if (waiting.why.reason.empty()) NotSaved(waiting);
    parts_.agenda.WakeAt(parts_.keeper.next_try());
    return true;
  }
  const std::string& uid = managed.pod.uid;
  if (parts_.keeper.newest().pods.contains(uid) || parts_.records.RunsSomething(uid)) return false;
  std::string why = pressure_(managed.pod);
  if (why.empty()) return false;
  waiting.why = {.reason = "NodeUnderPressure", .message = std::move(why)};
  return true;
}

/// Nothing is started and nothing given back meanwhile.
void Admission::NotSaved(Waiting& waiting) const {
  waiting.why = {.reason = "LedgerNotSaved", .message = parts_.keeper.problem()};
}

void Admission::Reject(ManagedPod& managed, const berth::Reject& reject, os::MonoTime now) {
  const bool others_are_ending = std::ranges::any_of(parts_.pods, [&](const auto& entry) {
    return &entry.second != &managed && entry.second.template Is<Ending>() &&
           parts_.keeper.newest().pods.contains(entry.first);
  });
  if (others_are_ending) {  // decided again with what they give back
    managed.stage = Waiting{{.reason = "WaitingForRelease", .message = reject.message, .details = reject.details}};
    return;
  }
  managed.stage =
      Rejected{.why = {.reason = reject.reason, .message = reject.message, .details = reject.details},
               .admitted_at = "",
               .freed = parts_.IsSetAside(managed.pod) ? std::optional<std::uint64_t>() : parts_.keeper.freed()};
  parts_.keeper.CountRejection(reject.reason);
  std::string text = reject.message;
  for (const std::string& detail : reject.details) text += "; " + detail;
  parts_.events.Warning(reject.reason, ObjectOf(managed.pod), std::move(text));
  if (managed.lifecycle) managed.lifecycle->Terminate(now);  // something of it runs without a place
}

/// Whatever is free. What holds a place has had its decision.
std::optional<berth::Reject> Admission::WhyNotHere(const ManagedPod& managed) const {
  const Ledger& ledger = parts_.keeper.newest();
  if (ledger.pods.contains(managed.pod.uid)) return std::nullopt;
  if (auto refused = WhyRefused(managed.pod, parts_.options.rules)) return std::move(refused->why);
  for (const auto& [uid, other] : parts_.pods) {
    if (&other == &managed || !ledger.pods.contains(uid)) continue;
    if (const std::string port = SharedHostPort(managed.pod, other.pod); !port.empty())
      return berth::Reject{.reason = "NodePorts",
                           .message = "Node didn't have free ports for the requested pod ports",
                           .container = "",
                           .details = {fmt::format("host port {} is pod {}'s", port, FullName(other.pod))}};
  }
  return std::nullopt;
}

void Admission::Admit(ManagedPod& managed, os::MonoTime now) {
  const bool blocked = now < parts_.keeper.next_try();
  if (!blocked && FinishedEarlier(managed, now)) return;
  if (MustWait(managed, now)) return;
  if (parts_.IsSetAside(managed.pod))
    return Reject(managed, {.reason = "SetAside", .message = parts_.options.work_notes->Explain("the pod")}, now);
  if (const auto refused = WhyNotHere(managed)) return Reject(managed, *refused, now);
  const os::WorkNotes::Work noted(parts_.options.work_notes, parts_.WorkKey(managed.pod));
  const std::string& uid = managed.pod.uid;
  if (parts_.keeper.newest().pods.contains(uid)) {
    if (grants_.Lacks(uid) && !parts_.records.RunsSomething(uid)) return Grant(managed);
  } else if (AwaitsPlugin(managed, grants_.AwaitedBy(managed.pod))) {
    return;
  }
  Decide(managed, parts_.devices.inputs(), false, now);
}

/// `asked`: plug-ins have said what they prefer.
void Admission::Decide(ManagedPod& managed, const engine::Inputs& inputs, bool asked, os::MonoTime now) {
  managed.trace = Trace();
  ++managed.decisions;
  auto proposed = parts_.keeper.ProposeAdmission(managed.pod, inputs, &managed.trace);
  if (const auto* reject = std::get_if<berth::Reject>(&proposed)) return Reject(managed, *reject, now);
  const auto& delta = std::get<LedgerDelta>(std::get<keeper::Proposal>(proposed).change);
  const bool is_new = !parts_.keeper.newest().pods.contains(managed.pod.uid);
  if (is_new && !asked && grants_.Choosy(*delta.put)) {
    std::get<Waiting>(managed.stage).why = {.reason = "AskingPlugin",
                                            .message = "a device plug-in is asked which devices it prefers"};
    return grants_.AskPreference(managed, *delta.put, [this](ManagedPod& pod, Result<Preferences> answer) {
      Preferred(pod, std::move(answer));
    });
  }
  CommitFor(parts_, managed, std::get<keeper::Proposal>(std::move(proposed)),
            [this](ManagedPod& pod, const Result<void>& saved) { Decided(pod, saved); });
}

bool Admission::MayReconsider(const ManagedPod& managed) const {
  const auto* const rejected = std::get_if<Rejected>(&managed.stage);
  if (rejected == nullptr || !managed.claimed || managed.saving || managed.lifecycle) return false;
  return (rejected->freed && *rejected->freed != parts_.keeper.freed()) ||
         (rejected->registrations && *rejected->registrations != parts_.devices.registrations());
}

void Admission::Reconsider(ManagedPod& managed, os::MonoTime now) {
  if (now < parts_.keeper.next_try()) return parts_.agenda.WakeAt(parts_.keeper.next_try());
  if (!pressure_(managed.pod).empty()) return;
  auto& rejected = std::get<Rejected>(managed.stage);
  if (rejected.freed) rejected.freed = parts_.keeper.freed();
  if (rejected.registrations) rejected.registrations = parts_.devices.registrations();
  if (!grants_.AwaitedBy(managed.pod).empty()) return;  // something comes to pass when it is back
  const os::WorkNotes::Work noted(parts_.options.work_notes, parts_.WorkKey(managed.pod));
  Trace trace;
  ++managed.decisions;
  std::variant<keeper::Proposal, berth::Reject> proposed = berth::Reject{};
  if (auto refused = WhyNotHere(managed))
    proposed = *std::move(refused);
  else
    proposed = parts_.keeper.ProposeAdmission(managed.pod, parts_.devices.inputs(), &trace);
  managed.trace = std::move(trace);
  if (const auto* reject = std::get_if<berth::Reject>(&proposed)) {
    rejected.why = {.reason = reject->reason, .message = reject->message, .details = reject->details};
    rejected.freed = parts_.keeper.freed();
    rejected.registrations.reset();
    return;
  }
  parts_.events.Normal("Reconsidered", ObjectOf(managed.pod),
                       fmt::format("was rejected ({}: {}); something was given back since, and now it fits",
                                   rejected.why.reason, rejected.why.message));
  managed.stage = Waiting{};
  if (!DeviceResourcesOf(managed.pod).empty()) return parts_.agenda.WakeNow();  // plug-ins are asked first
  CommitFor(parts_, managed, std::get<keeper::Proposal>(std::move(proposed)),
            [this](ManagedPod& pod, const Result<void>& saved) { Decided(pod, saved); });
}

/// Its manifest may be gone meanwhile: then it holds a place, and ends.
void Admission::Decided(ManagedPod& managed, const Result<void>& saved) {
  const std::string& uid = managed.pod.uid;
  auto* const waiting = std::get_if<Waiting>(&managed.stage);
  if (!saved) {
    if (waiting != nullptr) NotSaved(*waiting);
    if (!parts_.records.RunsSomething(uid)) managed.lifecycle.reset();
    return;
  }
  if (!managed.lifecycle) managed.lifecycle.emplace(parts_.NewLifecycle(managed.pod));
  if (waiting != nullptr && grants_.Lacks(uid) && !parts_.records.RunsSomething(uid)) return Grant(managed);
  if (waiting != nullptr)
    managed.stage = Admitted{.at = os::FormatTime(parts_.clock.Wall())};
  else
    managed.lifecycle->Terminate(parts_.clock.Now());
  const auto record = parts_.keeper.ledger().pods.find(uid);
  if (record != parts_.keeper.ledger().pods.end())
    parts_.events.Normal("Admitted", ObjectOf(managed.pod),
                         DescribeAdmission(record->second, parts_.keeper.SharedCpus()));
}

// ---- device plug-ins ---------------------------------------------------------------------------------------------

/// `resource`: what is not served but waited for; "": nothing.
bool Admission::AwaitsPlugin(ManagedPod& managed, const std::string& resource) const {
  if (resource.empty()) return false;
  std::get<Waiting>(managed.stage).why = {
      .reason = "WaitingForPlugin",
      .message = fmt::format("the device plug-in of {} is not there, and is waited for", resource)};
  return true;
}

void Admission::Preferred(ManagedPod& managed, Result<Preferences> answer) {
  if (!managed.Is<Waiting>()) return;  // no manifest wants it any more
  if (!answer) {
    if (answer.error().code == Code::kUnreachable) return;  // decided again
    return RefusedByPlugin(managed, answer.error());
  }
  engine::Inputs inputs = parts_.devices.inputs();
  inputs.preferred_devices = *std::move(answer);
  Decide(managed, inputs, true, parts_.clock.Now());
}

/// Its place is taken. Nothing of it starts before it is known, and saved, what its devices bring.
void Admission::Grant(ManagedPod& managed) {
  if (!managed.lifecycle) managed.lifecycle.emplace(parts_.NewLifecycle(managed.pod));  // it may have to go meanwhile
  if (AwaitsPlugin(managed, grants_.AwaitedFor(managed.pod.uid))) return;
  std::get<Waiting>(managed.stage).why = {.reason = "AllocatingDevices",
                                          .message = "device plug-ins are asked for its devices"};
  grants_.AskWhatTheyBring(
      managed, [this, asked = parts_.devices.registrations()](
                   ManagedPod& pod, const Result<DeviceGrants::Answers>& answers) { Granted(pod, answers, asked); });
}

/// A plug-in that went while it was asked is asked again, when it is back or at once where it has registered meanwhile.
void Admission::Granted(ManagedPod& managed, const Result<DeviceGrants::Answers>& answers, std::uint64_t asked) {
  if (!managed.Is<Waiting>()) return;  // it goes, and its place with it
  const std::string& uid = managed.pod.uid;
  if (!answers) {
    const bool again = parts_.devices.registrations() != asked || !grants_.AwaitedFor(uid).empty();
    if (answers.error().code != Code::kUnreachable || !again) GiveBack(managed, answers.error());
    return;
  }
  if (auto proposal = parts_.keeper.ProposeDeviceAnswers(uid, *answers))
    CommitFor(parts_, managed, *std::move(proposal),
              [this](ManagedPod& pod, const Result<void>& saved) { Decided(pod, saved); });
}

/// Nothing of it runs.
void Admission::GiveBack(ManagedPod& managed, const Error& why) {
  auto proposal = parts_.keeper.ProposeRelease(managed.pod.uid);
  if (!proposal) return RefusedByPlugin(managed, why);
  CommitFor(parts_, managed, *std::move(proposal), [this, why](ManagedPod& pod, const Result<void>& saved) {
    if (!pod.Is<Waiting>()) return;
    if (saved) return RefusedByPlugin(pod, why);
    NotSaved(std::get<Waiting>(pod.stage));
  });
}

/// Decided again when a plug-in has registered: it may do better.
void Admission::RefusedByPlugin(ManagedPod& managed, const Error& why) {
  std::string message = fmt::format("Allocate failed due to {}, which is unexpected", why.message);
  parts_.events.Warning("UnexpectedAdmissionError", ObjectOf(managed.pod), message);
  parts_.keeper.CountRejection("UnexpectedAdmissionError");
  managed.lifecycle.reset();
  managed.stage = Rejected{.why = {.reason = "UnexpectedAdmissionError", .message = std::move(message)},
                           .admitted_at = "",
                           .registrations = parts_.devices.registrations()};
}

}  // namespace berth::pods
