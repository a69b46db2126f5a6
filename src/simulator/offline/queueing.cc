#include "simulator/offline/queueing.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "allocator/queue/line.h"
#include "model/node_conditions.h"

namespace berth::offline {

std::vector<Outcome> Queueing::Take(const Step& step, int number) {
  outcomes_.clear();
  changed_ = false;
  if (const auto* add = std::get_if<AddStep>(&step))
    Add(*add, number);
  else if (const auto* resize = std::get_if<ResizeStep>(&step))
    Resize(*resize, number);
  else
    Remove(std::get<RemoveStep>(step), number);
  DecideQueue(number);
  return std::move(outcomes_);
}

std::vector<std::string> Queueing::Waiting() const {
  std::vector<std::string> out;
  for (const AddStep& one : queue_) out.push_back(FullName(one.pod));
  return out;
}

const Pod* Queueing::FindWaiting(const std::string& uid) const {
  const auto found = std::ranges::find(queue_, uid, [](const AddStep& one) { return one.pod.uid; });
  return found == queue_.end() ? nullptr : &found->pod;
}

bool Queueing::Leave(const std::string& uid) {
  return std::erase_if(queue_, [&](const AddStep& one) { return one.pod.uid == uid; }) > 0;
}

allocator::Others Queueing::OthersNow() const {
  allocator::Others out{.rules = node_.queue, .waiting = static_cast<int>(queue_.size())};
  if (out.rules.preempt_for_critical)
    for (const auto& [uid, priority] : priorities_) out.may_go.push_back({uid, priority});
  return out;
}

std::string Queueing::WhoComesFirst(const Pod& pod, const LedgerDelta& change) const {
  return line_.WhoComesFirst(Now(), pod, change, [this](const std::string& uid) { return FindWaiting(uid); });
}

/// The engine's answer, and no where somebody who waits comes first. nullopt: a critical pod had others evicted; it is
/// decided again.
std::optional<Outcome> Queueing::Admit(const AddStep& add, int number, bool waited) {
  Outcome out{.number = number, .pod = FullName(add.pod), .added = add, .waited = waited};
  out.decision = allocator::Decide(node_.node, node_.ledger, add.pod, node_.inputs, nullptr);
  if (const auto* admit = std::get_if<berth::Admit>(&*out.decision)) {
    const std::string first = WhoComesFirst(add.pod, admit->delta);
    if (!first.empty()) out.decision = allocator::OthersComeFirst(first);
  }
  const auto* admit = std::get_if<berth::Admit>(&*out.decision);
  if (admit == nullptr) {
    const std::optional<Removal> victims = allocator::WhoGoesFor(Now(), add.pod, OthersNow());
    if (!victims) return out;
    Evict(*victims, add.pod, number);
    return std::nullopt;
  }
  Place(add.pod, admit->delta, node_);
  line_.Overtakes(add.pod.uid, node_.ledger);
  changed_ = true;
  return out;
}

void Queueing::Evict(const Removal& victims, const Pod& pod, int number) {
  for (const PodRef& victim : victims.pods) {
    outcomes_.push_back({.number = number, .pod = victim.pod, .evicted_for = FullName(pod)});
    Apply(node_.ledger, allocator::Release(node_.node, node_.ledger, victim.uid, nullptr));
  }
  changed_ = true;
}

void Queueing::Add(const AddStep& add, int number) {
  priorities_[add.pod.uid] = PriorityOf(add.pod);
  std::optional<Outcome> out;
  while (!out) out = Admit(add, number, false);
  if (Rejection(*out) != nullptr && allocator::MayWait(Now(), add.pod, OthersNow())) out->place = Join(add);
  outcomes_.push_back(*std::move(out));
}

/// Behind those of its priority. Its place from then on, from 1.
int Queueing::Join(const AddStep& add) {
  const auto order = [](const AddStep& one) { return allocator::OrderInLine(one.pod, 0); };
  const auto place = queue_.insert(std::ranges::upper_bound(queue_, order(add), {}, order), add);
  return static_cast<int>(place - queue_.begin()) + 1;
}

/// What waits holds nothing: with other amounts it is decided anew, as the last that came.
void Queueing::Resize(const ResizeStep& resize, int number) {
  const Pod& wanted = resize.wanted.pod;
  if (Leave(wanted.uid)) return Add(resize.wanted, number);
  Outcome out{.number = number, .pod = FullName(wanted), .added = resize.wanted, .resized = true};
  out.decision = allocator::Resize(node_.node, node_.ledger, wanted, node_.inputs, nullptr);
  if (const auto* admit = std::get_if<berth::Admit>(&*out.decision)) {
    const bool more = allocator::AsksForMore(node_.ledger.pods.find(wanted.uid)->second, *admit->delta.put);
    const std::string first = more ? WhoComesFirst(wanted, admit->delta) : "";
    if (first.empty()) {
      Apply(node_.ledger, admit->delta);
      changed_ = true;
    } else {
      Reject later = allocator::OthersComeFirst(first);
      later.reason = allocator::kDeferred;
      out.decision = std::move(later);
    }
  }
  outcomes_.push_back(std::move(out));
}

void Queueing::Remove(const RemoveStep& remove, int number) {
  const auto found = std::ranges::find(queue_, remove.full_name, [](const AddStep& one) { return FullName(one.pod); });
  if (found != queue_.end()) {
    queue_.erase(found);
    outcomes_.push_back({.number = number, .pod = remove.full_name, .waited = true});
    return;
  }
  outcomes_.push_back(TakeStep(remove, number, node_));
  changed_ = outcomes_.back().was_there;
}

/// Everybody in the queue's order, as long as the books have changed since or another one leads. An admission can make
/// another's hints better.
void Queueing::DecideQueue(int number) {
  for (;;) {
    const bool leads = line_.Leads(queue_.empty() ? "" : queue_.front().pod.uid, node_.ledger);
    if (!std::exchange(changed_, false) && !leads) return;
    for (const AddStep& add : std::vector<AddStep>(queue_)) {
      std::optional<Outcome> out;
      while (!out) out = Admit(add, number, true);
      if (Rejection(*out) != nullptr) continue;
      Leave(add.pod.uid);
      outcomes_.push_back(*std::move(out));
    }
  }
}

}  // namespace berth::offline
