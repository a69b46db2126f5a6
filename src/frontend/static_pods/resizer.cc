#include "frontend/static_pods/resizer.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "allocator/engine.h"
#include "base/text.h"
#include "model/pod_wishes.h"
#include "model/resize_changes.h"
#include "model/resources.h"

namespace berth::pods {
namespace {

using State = PendingResize::State;

/// Between two decisions, and two tries to write what the kernel refused.
constexpr os::Millis kAgain{1'000};

std::string AmountsText(const Pod& before, const Pod& after) {
  const AllocatedResources had = AllocatedOf(before);
  std::vector<std::string> out;
  ForEachContainer(after, [&](const Container& container, ContainerKind) {
    const auto known = had.find(container.name);
    if (known == had.end()) return;
    for (const auto& [resource, amount] : container.resources.requests)
      if (const Quantity old = AmountOf(known->second.requests, resource); old != amount)
        out.push_back(
            fmt::format("{}: {} {} instead of {}", container.name, resource, amount.ToString(), old.ToString()));
    for (const auto& [resource, amount] : container.resources.limits)
      if (const Quantity old = AmountOf(known->second.limits, resource);
          old != amount && AmountOf(container.resources.requests, resource) != amount)
        out.push_back(fmt::format("{}: limit of {} {} instead of {}", container.name, resource, amount.ToString(),
                                  old.ToString()));
  });
  const auto own = [](const Pod& pod) {
    const auto found = pod.annotations.find(std::string(kCpusAnnotation));
    return found == pod.annotations.end() ? std::string() : found->second;
  };
  if (own(before) != own(after))
    out.push_back(
        fmt::format("{} \"{}\" instead of \"{}\"", kCpusAnnotation, Printable(own(after)), Printable(own(before))));
  return Join(out, ", ");
}

/// Ids of the attempts that run and have to be others for `wanted`.
std::set<std::string> RestartsFor(const ManagedPod& managed, const Pod& wanted) {
  std::set<std::string> out;
  const auto restarted = RestartedByResize(managed.pod, wanted);
  for (const runtime::ContainerView& view : managed.lifecycle->containers())
    if (restarted.contains(view.name) && view.last && managed.lifecycle->RestartsUnhealthy(view.last->id))
      out.insert(view.last->id);
  return out;
}

}  // namespace

std::optional<ResizeView> ResizeOf(const ManagedPod& managed) {
  if (!managed.resize || managed.resize->state == State::kNew) return std::nullopt;
  const PendingResize& resize = *managed.resize;
  return ResizeView{.in_progress = resize.state == State::kInProgress,
                    .reason = resize.why.reason,
                    .message = resize.why.message,
                    .details = resize.why.details,
                    .requests = PodRequests(resize.wanted)};
}

void Resizer::Look(ManagedPod& managed, os::MonoTime now) {
  if (managed.saving || !managed.Is<Admitted>()) return;
  if (NoteAllocated(managed, now) || !managed.resize) return;
  if (!managed.lifecycle || managed.lifecycle->ending()) return;
  if (managed.resize->state == State::kInProgress) return PutInForce(managed, now);
  if (MayDecide(*managed.resize, now)) Decide(managed, now);
}

/// True: it is being saved. A ledger of a berthd that resized nothing holds pods that are as their manifests say; the
/// next berthd could not tell a changed manifest from another pod.
bool Resizer::NoteAllocated(ManagedPod& managed, os::MonoTime now) const {
  if (!managed.claimed || managed.identity.empty() || now < node_.allocations().next_try()) return false;
  auto proposal = node_.allocations().ProposeAllocated(managed.pod, managed.identity);
  if (!proposal) return false;
  node_.Commit(managed, *std::move(proposal), [](ManagedPod&, const Result<void>&) {});
  return managed.saving;
}

bool Resizer::MayDecide(PendingResize& resize, os::MonoTime now) const {
  if (now < node_.allocations().next_try()) {
    node_.agenda().WakeAt(node_.allocations().next_try());
    return false;
  }
  if (resize.state == State::kNew) return true;
  if (resize.freed == node_.allocations().freed() && !resize.next_try) return false;
  if (!resize.next_try || now >= *resize.next_try) return true;
  node_.agenda().WakeAt(*resize.next_try);
  return false;
}

void Resizer::Decide(ManagedPod& managed, os::MonoTime now) {
  const Pod wanted = managed.resize->wanted;
  managed.resize->freed = node_.allocations().freed();
  managed.resize->next_try.reset();
  if (const auto never = WhyNotResizable(managed.pod, wanted))
    return Refuse(managed, State::kInfeasible,
                  {.reason = std::string(allocator::kInfeasible), .message = never->path + ": " + never->why}, now);
  if (std::string used = WhatIsInUse(managed); !used.empty()) {
    managed.resize->next_try = now + kAgain;
    node_.agenda().WakeAt(*managed.resize->next_try);
    return Refuse(managed, State::kDeferred, {.reason = std::string(allocator::kDeferred), .message = std::move(used)},
                  now);
  }
  const os::WorkNotes::Work noted(context_.options().work_notes, context_.WorkKey(wanted));
  Trace trace;
  auto proposed = node_.allocations().ProposeResize(wanted, node_.devices().inputs(), &trace);
  managed.trace = std::move(trace);
  ++managed.decisions;
  if (const auto* reject = std::get_if<berth::Reject>(&proposed))
    return Refuse(managed, reject->reason == allocator::kDeferred ? State::kDeferred : State::kInfeasible,
                  {.reason = reject->reason, .message = reject->message, .details = reject->details}, now);
  auto& delta = std::get<LedgerDelta>(std::get<ledger::Proposal>(proposed).change);
  if (const std::string first = WhoComesFirst(managed, delta); !first.empty())
    return Refuse(managed, State::kDeferred,
                  {.reason = std::string(allocator::kDeferred), .message = allocator::OthersComeFirst(first).message},
                  now);
  PodRecord& record = *delta.put;
  record.allocated = AllocatedOf(wanted);
  record.identity = managed.identity;
  record.restarts = RestartsFor(managed, wanted);
  node_.Commit(managed, std::get<ledger::Proposal>(std::move(proposed)),
               [this, wanted](ManagedPod& pod, const Result<void>& saved) { Saved(pod, wanted, saved); });
}

/// Told once, until it is another answer. What is given back often does not have it decided more often.
void Resizer::Refuse(ManagedPod& managed, PendingResize::State state, Why why, os::MonoTime now) const {
  PendingResize& resize = *managed.resize;
  const bool news = resize.state != state || resize.why.message != why.message;
  resize.state = state;
  resize.why = std::move(why);
  if (!news) return;
  std::string text = resize.why.message;
  for (const std::string& detail : resize.why.details) text += "; " + detail;
  node_.events().Warning(state == State::kDeferred ? "ResizeDeferred" : "ResizeInfeasible", ObjectOf(managed.pod),
                         AmountsText(managed.pod, resize.wanted) + ": " + text);
  node_.agenda().WakeAt(now);
}

/// Who waits for room may be before a pod that grows, never before one that gives something back. "": nobody is.
std::string Resizer::WhoComesFirst(const ManagedPod& managed, const LedgerDelta& resize) const {
  const auto now = node_.allocations().newest().pods.find(managed.pod.uid);
  if (now == node_.allocations().newest().pods.end()) return "";
  return allocator::AsksForMore(now->second, *resize.put) ? queue_.WhoComesFirst(managed, resize) : "";
}

/// Memory that a lower limit would not leave: the kernel would end processes for it, or refuses. "": there is none.
std::string Resizer::WhatIsInUse(const ManagedPod& managed) const {
  const AllocatedResources before = AllocatedOf(managed.pod);
  const auto restarted = RestartedByResize(managed.pod, managed.resize->wanted);
  std::string out;
  ForEachContainer(managed.resize->wanted, [&](const Container& container, ContainerKind) {
    const auto known = before.find(container.name);
    const std::int64_t limit = AmountOf(container.resources.limits, "memory").Value();
    if (known == before.end() || limit >= AmountOf(known->second.limits, "memory").Value()) return;
    if (!out.empty() || restarted.contains(container.name)) return;
    const auto used =
        node_.groups().site().tree().WorkingSet(node_.groups().table().ContainerPathOf(managed.pod, container.name));
    if (used && *used && (*used)->v > limit)
      out = fmt::format("attempting to decrease the memory limit of container {} to {} bytes, and it uses {} bytes",
                        container.name, limit, (*used)->v);
  });
  return out;
}

void Resizer::Saved(ManagedPod& managed, const Pod& pod, const Result<void>& saved) {
  if (!managed.resize) return;
  if (!saved) {
    managed.resize->state = State::kDeferred;
    managed.resize->why = {.reason = "LedgerNotSaved", .message = node_.allocations().problem()};
    managed.resize->next_try = node_.allocations().next_try();
    return;
  }
  PendingResize now{.wanted = pod, .state = State::kInProgress};
  if (managed.lifecycle) now.restarts = RestartsFor(managed, pod);
  node_.events().Normal("ResizeStarted", ObjectOf(pod), AmountsText(managed.pod, pod));
  managed.pod = pod;
  context_.StateOf(pod.uid).words.reset();
  managed.resize = std::move(now);
}

/// False: some container that has to be replaced for the resize still runs.
bool Resizer::Restarted(ManagedPod& managed, os::MonoTime now) const {
  std::erase_if(managed.resize->restarts, [&](const std::string& id) { return !managed.lifecycle->Runs(id); });
  for (const std::string& id : managed.resize->restarts) {
    if (managed.lifecycle->Restart(id, now))
      node_.events().Normal("Killing", ObjectOf(managed.pod),
                            "a container is restarted because its resizePolicy says so for what has changed");
  }
  return managed.resize->restarts.empty();
}

void Resizer::PutInForce(ManagedPod& managed, os::MonoTime now) {
  PendingResize& resize = *managed.resize;
  if (resize.next_try && now < *resize.next_try) return node_.agenda().WakeAt(*resize.next_try);
  if (!Restarted(managed, now) || !node_.pool().in_force()) return;
  const auto put = node_.groups().values().Put(node_.allocations().ledger(), managed.pod);
  if (!put && node_.groups().site().IsUnderWay(put.error())) return;
  if (!put) {
    if (resize.why.message != put.error().message)
      node_.events().Warning("ResizeError", ObjectOf(managed.pod), put.error().message + "; tried again");
    resize.why = {.reason = "Error", .message = put.error().message};
    resize.next_try = now + kAgain;
    return node_.agenda().WakeAt(*resize.next_try);
  }
  TellRuntime(managed.pod);
  const auto record = node_.allocations().ledger().pods.find(managed.pod.uid);
  std::string text = "done";
  if (record != node_.allocations().ledger().pods.end())
    for (const Placement& placement : record->second.placements)
      if (placement.cpus)
        text += fmt::format(", {} has CPUs {} for itself", placement.container, FormatIds(*placement.cpus));
  node_.events().Normal("ResizeCompleted", ObjectOf(managed.pod), std::move(text));
  managed.resize.reset();
  node_.agenda().WakeAt(now);  // its manifest may say something else by now
}

void Resizer::TellRuntime(const Pod& pod) const {
  ForEachContainer(pod, [&](const Container& container, ContainerKind kind) {
    if (kind == ContainerKind::kInit) return;
    if (auto values = node_.groups().pod_groups().ValuesNow(pod, container, node_.allocations().ledger()))
      node_.runtime().SetValues({.pod_uid = pod.uid,
                                 .container = container.name,
                                 .values = *std::move(values),
                                 .v2 = node_.groups().site().v2()});
  });
}

}  // namespace berth::pods
