#include "node/ledger/node_allocations.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <utility>

#include "model/resize_changes.h"

namespace berth::ledger {
namespace {

constexpr os::Millis kFirstRetry{1'000};
constexpr os::Millis kLastRetry{30'000};
constexpr std::array kSaveBounds = {0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0};

std::string ObjectOf(const PodRecord& record) { return "pod/" + FullName(record); }

/// Anything but that a pod is admitted.
bool MayFree(const Ledger& before, const Proposal& proposal) {
  const auto* const delta = std::get_if<LedgerDelta>(&proposal.change);
  return delta == nullptr || !delta->put || before.pods.contains(delta->put->uid);
}

void Take(Ledger& ledger, const Proposal& proposal) {
  if (const auto* delta = std::get_if<LedgerDelta>(&proposal.change))
    Apply(ledger, *delta);
  else if (const auto* change = std::get_if<NodeChange>(&proposal.change))
    ledger = change->ledger;
  else
    ledger = std::get<Ledger>(proposal.change);
}

/// The shared pool as the proposal leaves it.
CpuSet& PoolAfter(Proposal& proposal) {
  if (auto* delta = std::get_if<LedgerDelta>(&proposal.change)) return delta->shared;
  if (auto* change = std::get_if<NodeChange>(&proposal.change)) return change->ledger.shared;
  return std::get<Ledger>(proposal.change).shared;
}

}  // namespace

NodeAllocations::NodeAllocations(const NodeAllocationsParts& parts, allocator::Node node,
                                 NodeAllocationsOptions options)
    : parts_(parts),
      node_(std::move(node)),
      fingerprint_(options.machine_fingerprint),
      newest_node_(node_),
      newest_fingerprint_(fingerprint_),
      options_(std::move(options)) {
  saves_.save_seconds = Histogram(kSaveBounds);
}

void NodeAllocations::Open(Ledger ledger, bool changed) {
  ledger_ = std::move(ledger);
  newest_ = ledger_;
  durable_ = !changed;
}

// ---- proposals ---------------------------------------------------------------------------------------------------

std::variant<Proposal, Reject> NodeAllocations::Propose(const PlacementRequest& request, Trace* trace, Asked asked) {
  const os::MonoTime begin = parts_.clock.Now();
  Decision decision = Decide(newest_node_, newest_, request, trace);
  const auto time = parts_.clock.Now() - begin;
  if (asked == Asked::kFirst)
    decisions_.Count(newest_node_, request.pod, decision, time);
  else
    decisions_.CountAgain(time);
  if (auto* reject = std::get_if<Reject>(&decision)) return std::move(*reject);
  return Proposal{"pod/" + FullName(request.pod), number_, std::move(std::get<Admit>(decision).delta)};
}

std::variant<Proposal, Reject> NodeAllocations::ProposeResize(const Pod& pod, const allocator::Inputs& inputs,
                                                              Trace* trace) const {
  Decision decision = allocator::Resize(newest_node_, newest_, pod, inputs, trace);
  if (auto* reject = std::get_if<Reject>(&decision)) return std::move(*reject);
  return Proposal{"pod/" + FullName(pod), number_, std::move(std::get<Admit>(decision).delta)};
}

std::optional<Proposal> NodeAllocations::ProposeRelease(const std::string& uid) const {
  const auto record = newest_.pods.find(uid);
  if (record == newest_.pods.end()) return std::nullopt;
  return Proposal{ObjectOf(record->second), number_, allocator::Release(newest_node_, newest_, uid, nullptr)};
}

std::optional<Proposal> NodeAllocations::ProposeContainerStart(const std::string& uid,
                                                               std::string_view container) const {
  LedgerDelta delta = allocator::ContainerStarted(newest_node_, newest_, uid, container, nullptr);
  if (!delta.put) return std::nullopt;
  return Proposal{ObjectOf(*delta.put), number_, std::move(delta)};
}

std::optional<Proposal> NodeAllocations::ProposeDeviceAnswers(const std::string& uid,
                                                              const std::vector<AnsweredDevices>& answers) const {
  const auto known = newest_.pods.find(uid);
  if (known == newest_.pods.end()) return std::nullopt;
  LedgerDelta delta;
  delta.shared = newest_.shared;
  PodRecord& record = delta.put.emplace(known->second);
  for (const AnsweredDevices& answer : answers) {
    const auto placement = std::ranges::find(record.placements, answer.container, &Placement::container);
    if (placement == record.placements.end()) return std::nullopt;
    const auto held = std::ranges::find(placement->devices, answer.devices.resource, &DeviceAssignment::resource);
    if (held == placement->devices.end() || held->ids != answer.devices.ids) return std::nullopt;
    held->answer = answer.devices.answer;
  }
  return Proposal{ObjectOf(record), number_, std::move(delta)};
}

std::optional<Proposal> NodeAllocations::ProposeAllocated(const Pod& pod, const std::string& identity) const {
  const auto known = newest_.pods.find(pod.uid);
  if (known == newest_.pods.end() || known->second.partial || !known->second.allocated.empty()) return std::nullopt;
  LedgerDelta delta;
  delta.shared = newest_.shared;
  PodRecord& record = delta.put.emplace(known->second);
  record.allocated = AllocatedOf(pod);
  record.identity = identity;
  return Proposal{ObjectOf(record), number_, std::move(delta)};
}

Result<std::pair<Proposal, Move>> NodeAllocations::ProposeMove(const MoveRequest& request) const {
  BERTH_TRY(allocator::MovedBooks moved, allocator::PlanMove(newest_node_, newest_, request));
  Proposal proposal{"pod/" + moved.move.pod, number_, std::move(moved.delta)};
  return std::pair(std::move(proposal), std::move(moved.move));
}

Proposal NodeAllocations::ProposeLedger(std::string object, Ledger ledger) const {
  return {std::move(object), number_, std::move(ledger)};
}

/// The pool leaves out what is offline, which a machine that is as it was does not say: that alone is no loss.
NodeProposal NodeAllocations::ProposeNode(allocator::Node node, std::string machine_fingerprint) const {
  Adoption fitted = Adopt(node, newest_);
  fitted.ledger.revision = newest_.revision + 1;
  std::erase_if(fitted.notes, [](const AdoptionNote& note) { return note.pod.empty(); });
  return {
      {ObjectOfNode(), number_, NodeChange{std::move(node), std::move(machine_fingerprint), std::move(fitted.ledger)}},
      std::move(fitted.notes)};
}

void NodeAllocations::FollowOnline() {
  CpuSet pool = PoolOf(newest_node_, newest_, online_);
  if (pool == newest_.shared || parts_.clock.Now() < next_try_) return;
  LedgerDelta delta;
  delta.shared = std::move(pool);
  [[maybe_unused]] const bool committed = Commit({ObjectOfNode(), number_, std::move(delta)}, [](const auto&) {});
}

// ---- saving ------------------------------------------------------------------------------------------------------

bool NodeAllocations::Commit(Proposal proposal, Then then) {
  if (proposal.base != number_ || parts_.clock.Now() < next_try_) return false;
  ++number_;
  Take(newest_, proposal);
  if (const auto* const change = std::get_if<NodeChange>(&proposal.change)) {
    newest_node_ = change->node;
    newest_fingerprint_ = change->machine_fingerprint;
  }
  newest_.shared = PoolOf(newest_node_, newest_, online_);
  PoolAfter(proposal) = newest_.shared;  // the same again when it comes into force
  waiting_.push_back({std::move(proposal), std::move(then)});
  if (!saving()) StartSaving();
  return true;
}

void NodeAllocations::Settle() {
  if (durable_ || saving() || parts_.clock.Now() < next_try_) return;
  [[maybe_unused]] const bool committed = Commit(ProposeLedger(ObjectOfNode(), newest_), [](const auto&) {});
}

void NodeAllocations::StartSaving() {
  under_way_ = std::exchange(waiting_, {});
  saving_since_ = parts_.clock.Now();
  checkpoint::Saved saved{newest_, options_.boot_id, newest_fingerprint_};
  tasks_.Submit<void>(
      "ledger", [&store = parts_.store, saved = std::move(saved)] { return store.Save(saved); },
      [this](const Result<void>& done) { done ? Saved() : NotSaved(done.error()); });
}

void NodeAllocations::Saved() {
  const std::vector<Change> done = std::exchange(under_way_, {});
  const CpuSet pool = ledger_.shared;
  for (const Change& change : done) {
    if (MayFree(ledger_, change.proposal)) ++freed_;
    Take(ledger_, change.proposal);
    if (const auto* const other = std::get_if<NodeChange>(&change.proposal.change)) {
      node_ = other->node;
      fingerprint_ = other->machine_fingerprint;
    }
  }
  ++saves_.saves.tried;
  saves_.save_seconds.Add(std::chrono::duration<double>(parts_.clock.Now() - saving_since_).count());
  if (pool != ledger_.shared) ++saves_.pool_changes;
  durable_ = true;
  next_try_ = {};
  delay_ = os::Millis(0);
  if (!std::exchange(problem_, {}).empty())
    parts_.events.Normal("LedgerSaved", ObjectOfNode(), "the ledger can be saved again");
  if (!waiting_.empty()) StartSaving();
  changed_();
  for (const Change& change : done) change.then({});
}

/// Tried again with growing delays, by those who want something.
void NodeAllocations::NotSaved(const Error& error) {
  ++saves_.saves.tried;
  ++saves_.saves.failed;
  std::vector<Change> failed = std::exchange(under_way_, {});
  std::ranges::move(std::exchange(waiting_, {}), std::back_inserter(failed));
  newest_ = ledger_;
  newest_node_ = node_;
  newest_fingerprint_ = fingerprint_;
  ++number_;
  delay_ = std::clamp(delay_ * 2, kFirstRetry, kLastRetry);
  next_try_ = parts_.clock.Now() + delay_;
  problem_ = error.message + "; no pod is started and no CPUs are given back before the ledger can be saved";
  parts_.events.Warning("LedgerNotSaved", failed.front().proposal.object, problem_);
  for (const Change& change : failed) change.then(std::unexpected(error));
}

}  // namespace berth::ledger
