#include "engine/explanation/attempt.h"

#include <variant>

#include "engine/decision/decide.h"
#include "engine/decision/release.h"

namespace berth::engine {

bool Attempt::Admits(const Pod& pod) const {
  return Spend() && std::holds_alternative<Admit>(Decide(node_, ledger_, pod, inputs_, nullptr));
}

bool Attempt::AdmitsWithout(const Pod& pod, const std::vector<std::string>& uids) const {
  if (!Spend()) return false;
  Ledger left = ledger_;
  for (const std::string& uid : uids) Apply(left, Release(node_, left, uid, nullptr));
  return std::holds_alternative<Admit>(Decide(node_, left, pod, inputs_, nullptr));
}

}  // namespace berth::engine
