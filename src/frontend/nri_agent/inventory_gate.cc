#include "frontend/nri_agent/inventory_gate.h"

#include <string>
#include <utility>
#include <variant>

#include "frontend/nri_agent/placement_texts.h"
#include "frontend/nri_agent/translate.h"

namespace berth::nri_agent {
namespace {

constexpr int kMostBegunAgain = 3;  // then nobody is let through, so that the decision ends

}  // namespace

/// A container that is asked for meanwhile does not wait where the books, which have all that others were given before,
/// have a place for it: who came while berthd was away gets CPUs of his own, if any, after it. One with CPUs of its own
/// waits until all groups are known that are to leave these.
bool InventoryGate::LetsThrough(const nri::Pod& pod, const nri::Container& container) {
  Synchronizing* const deciding = session_.deciding();
  if (deciding == nullptr || !IsSane(pod, container)) return false;
  const std::string uid = UidOf(pod);
  bool& passes = deciding->asked[{uid, container.name}];
  passes = false;
  if (deciding->begun_again >= kMostBegunAgain) return false;
  if (specs_.Lacks(uid)) return false;
  pods_.Track(pod, container);
  const allocator::Node& node = node_.allocations().newest_node();
  const Decision would = ledger::Decide(node, node_.allocations().newest(),
                                        placer_.RequestFor(node_.pods()[uid], container.name, node, nullptr), nullptr);
  const auto* const admit = std::get_if<Admit>(&would);
  passes = admit != nullptr && admit->delta.put &&
           (deciding->pods_known || !ledger::IsOwn(FindPlacement(*admit->delta.put, container.name)));
  return passes;
}

bool InventoryGate::HasLetThrough(const nri::Pod& pod, const nri::Container& container) const {
  const auto* const synchronizing = session_.As<Synchronizing>();
  if (synchronizing == nullptr) return false;
  const auto asked = synchronizing->asked.find({UidOf(pod), container.name});
  return asked != synchronizing->asked.end() && asked->second;
}

bool InventoryGate::Holds(Call call) {
  if (session_.deciding() == nullptr) return false;
  calls_.push_back(std::move(call));
  return true;
}

void InventoryGate::Release() {
  for (Call& call : std::exchange(calls_, {})) call();
}

}  // namespace berth::nri_agent
