#include "allocator/explain/attempt.h"

#include <algorithm>
#include <variant>

#include "allocator/decision/decide_logged.h"
#include "allocator/decision/release.h"

namespace berth::allocator {

/// Requires: tries are left.
bool Attempt::Try(const Ledger& ledger, const Pod& pod) const {
  int ahead = 0;
  const Decision decision = DecideLogged(node_, ledger, pod, inputs_, DecisionLog(), &ahead);
  const int cost = 1 + (ahead_per_try_ > 0 ? ahead / ahead_per_try_ : 0);
  left_ = std::max(0, left_ - cost);
  dearest_ = std::max(dearest_, cost);
  return std::holds_alternative<Admit>(decision);
}

bool Attempt::Admits(const Pod& pod) const { return left_ > 0 && Try(ledger_, pod); }

bool Attempt::AdmitsWithout(const Pod& pod, const std::vector<std::string>& uids) const {
  if (left_ <= 0) return false;
  Ledger left = ledger_;
  for (const std::string& uid : uids) Apply(left, Release(node_, left, uid, nullptr));
  return Try(left, pod);
}

}  // namespace berth::allocator
