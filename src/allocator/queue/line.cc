#include "allocator/queue/line.h"

#include <algorithm>

#include "allocator/queue/queue_decisions.h"
#include "model/resources.h"

namespace berth::allocator {

std::string Line::WhoComesFirst(const NodeNow& now, const Pod& pod, const LedgerDelta& change, const Find& find) const {
  const Pod* const first = find(first_);
  if (first == nullptr && reserved_.empty()) return "";
  Ledger after = now.ledger;
  Apply(after, change);
  const auto leaves_room = [&](const Ledger& ledger, const std::set<std::string>& gone, const Pod& other) {
    return LeavesRoom(now.node, ledger, gone, other, now.inputs);
  };
  for (const auto& [uid, victims] : reserved_) {
    const Pod* const critical = find(uid);
    if (critical != nullptr && uid != pod.uid && !leaves_room(after, victims, *critical)) return FullName(*critical);
  }
  if (first == nullptr || first_ == pod.uid || PriorityOf(pod) > PriorityOf(*first)) return "";
  const bool takes_room = leaves_room(now.ledger, {}, *first) && !leaves_room(after, {}, *first);
  return takes_room || (claims_ && !leaves_room(after, before_, *first)) ? FullName(*first) : "";
}

void Line::Overtakes(const std::string& uid, const Ledger& ledger) {
  if (first_.empty() || uid == first_) return;
  ++overtaken_;
  ClaimIfDue(ledger);
}

void Line::ClaimIfDue(const Ledger& ledger) {
  if (claims_ || overtaken_ < overtakes_) return;
  claims_ = true;
  before_.clear();
  for (const auto& [uid, record] : ledger.pods) before_.insert(uid);
}

bool Line::Leads(const std::string& uid, const Ledger& ledger) {
  if (uid == first_) return false;
  first_ = uid;
  overtaken_ = 0;
  claims_ = false;
  before_.clear();
  if (!first_.empty()) ClaimIfDue(ledger);
  return true;
}

void Line::Reserve(const std::string& critical, const Removal& victims) {
  std::set<std::string>& uids = reserved_[critical];
  for (const PodRef& victim : victims.pods) uids.insert(victim.uid);
}

bool Line::EndReservations(const Find& find) {
  return std::erase_if(reserved_, [&](const auto& entry) { return find(entry.first) == nullptr; }) > 0;
}

Reject OthersComeFirst(const std::string& first) {
  return {.reason = std::string(kOthersComeFirst),
          .message = "it would fit, but then pod " + first + ", which comes first, would not",
          .container = "",
          .details = {}};
}

bool AsksForMore(const PodRecord& before, const PodRecord& after) {
  return ExclusiveCpus(after).Count() > ExclusiveCpus(before).Count() ||
         std::ranges::any_of(after.requests,
                             [&](const auto& entry) { return AmountOf(before.requests, entry.first) < entry.second; });
}

}  // namespace berth::allocator
