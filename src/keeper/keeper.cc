#include "keeper/keeper.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <utility>

namespace berth::keeper {
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
  else
    ledger = std::get<Ledger>(proposal.change);
}

}  // namespace

Keeper::Keeper(const KeeperParts& parts, engine::Node node, KeeperOptions options)
    : parts_(parts), node_(std::move(node)), options_(std::move(options)) {
  saves_.save_seconds = Histogram(kSaveBounds);
}

void Keeper::Open(Ledger ledger, bool changed) {
  ledger_ = std::move(ledger);
  newest_ = ledger_;
  durable_ = !changed;
}

// ---- proposals ---------------------------------------------------------------------------------------------------

std::variant<Proposal, Reject> Keeper::ProposeAdmission(const Pod& pod, const engine::Inputs& inputs, Trace* trace) {
  const os::MonoTime begin = parts_.clock.Now();
  return Decided(pod, engine::Decide(node_, newest_, pod, inputs, trace), begin);
}

std::variant<Proposal, Reject> Keeper::ProposeContainer(const Pod& pod, std::string_view container,
                                                        const engine::Inputs& inputs, Trace* trace) {
  const os::MonoTime begin = parts_.clock.Now();
  return Decided(pod, engine::DecideContainer(node_, newest_, pod, container, inputs, trace), begin);
}

std::variant<Proposal, Reject> Keeper::Decided(const Pod& pod, Decision decision, os::MonoTime begin) {
  decisions_.Count(node_, pod, decision, parts_.clock.Now() - begin);
  if (auto* reject = std::get_if<Reject>(&decision)) return std::move(*reject);
  return Proposal{"pod/" + FullName(pod), number_, std::move(std::get<Admit>(decision).delta)};
}

std::optional<Proposal> Keeper::ProposeRelease(const std::string& uid) const {
  const auto record = newest_.pods.find(uid);
  if (record == newest_.pods.end()) return std::nullopt;
  return Proposal{ObjectOf(record->second), number_, engine::Release(node_, newest_, uid, nullptr)};
}

std::optional<Proposal> Keeper::ProposeContainerStart(const std::string& uid, std::string_view container) const {
  LedgerDelta delta = engine::ContainerStarted(node_, newest_, uid, container, nullptr);
  if (!delta.put) return std::nullopt;
  return Proposal{ObjectOf(*delta.put), number_, std::move(delta)};
}

std::optional<Proposal> Keeper::ProposeDeviceAnswers(const std::string& uid,
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

Proposal Keeper::ProposeLedger(std::string object, Ledger ledger) const {
  return {std::move(object), number_, std::move(ledger)};
}

void Keeper::FollowOnline() {
  CpuSet pool = PoolOf(node_, newest_, online_);
  if (pool == newest_.shared || parts_.clock.Now() < next_try_) return;
  LedgerDelta delta;
  delta.shared = std::move(pool);
  [[maybe_unused]] const bool committed = Commit({ObjectOfNode(), number_, std::move(delta)}, [](const auto&) {});
}

// ---- saving ------------------------------------------------------------------------------------------------------

bool Keeper::Commit(Proposal proposal, Then then) {
  if (proposal.base != number_ || parts_.clock.Now() < next_try_) return false;
  ++number_;
  Take(newest_, proposal);
  newest_.shared = PoolOf(node_, newest_, online_);
  if (auto* delta = std::get_if<LedgerDelta>(&proposal.change))  // the same again when it comes into force
    delta->shared = newest_.shared;
  else
    std::get<Ledger>(proposal.change).shared = newest_.shared;
  waiting_.push_back({std::move(proposal), std::move(then)});
  if (!saving()) StartSaving();
  return true;
}

void Keeper::Settle() {
  if (durable_ || saving() || parts_.clock.Now() < next_try_) return;
  [[maybe_unused]] const bool committed = Commit(ProposeLedger(ObjectOfNode(), newest_), [](const auto&) {});
}

void Keeper::StartSaving() {
  under_way_ = std::exchange(waiting_, {});
  saving_since_ = parts_.clock.Now();
  state::Saved saved{newest_, options_.boot_id, options_.machine_fingerprint};
  loop::Submit<void>(
      parts_.executor, "ledger", [&store = parts_.store, saved = std::move(saved)] { return store.Save(saved); },
      [this](const Result<void>& done) { done ? Saved() : NotSaved(done.error()); });
}

void Keeper::Saved() {
  const std::vector<Change> done = std::exchange(under_way_, {});
  const CpuSet pool = ledger_.shared;
  for (const Change& change : done) {
    if (MayFree(ledger_, change.proposal)) ++freed_;
    Take(ledger_, change.proposal);
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
void Keeper::NotSaved(const Error& error) {
  ++saves_.saves.tried;
  ++saves_.saves.failed;
  std::vector<Change> failed = std::exchange(under_way_, {});
  std::ranges::move(std::exchange(waiting_, {}), std::back_inserter(failed));
  newest_ = ledger_;
  ++number_;
  delay_ = std::clamp(delay_ * 2, kFirstRetry, kLastRetry);
  next_try_ = parts_.clock.Now() + delay_;
  problem_ = error.message + "; no pod is started and no CPUs are given back before the ledger can be saved";
  parts_.events.Warning("LedgerNotSaved", failed.front().proposal.object, problem_);
  for (const Change& change : failed) change.then(std::unexpected(error));
}

void Keeper::SetNode(engine::Node node, std::string machine_fingerprint) {
  node_ = std::move(node);
  options_.machine_fingerprint = std::move(machine_fingerprint);
  ++freed_;
}

}  // namespace berth::keeper
