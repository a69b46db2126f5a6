#include "node/ledger/placement_batch.h"

#include <utility>
#include <variant>

namespace berth::ledger {
namespace {

const Placement* PlacementIn(const Ledger& ledger, const PlacementRequest& request) {
  const auto record = ledger.pods.find(request.pod.uid);
  return record == ledger.pods.end() ? nullptr : FindPlacement(record->second, request.container);
}

}  // namespace

PlacementBatch::PlacementBatch(const NodeAllocations& allocations)
    : allocations_(&allocations),
      node_(allocations.newest_node()),
      ledger_(allocations.newest()),
      base_(allocations.number()) {}

Decision PlacementBatch::Decide(const PlacementRequest& request, Trace* trace) {
  Decision out = ledger::Decide(node_, ledger_, request, trace);
  if (const auto* const admit = std::get_if<Admit>(&out)) Apply(ledger_, admit->delta);
  return out;
}

void PlacementBatch::Release(const std::string& uid) {
  if (ledger_.pods.contains(uid)) Apply(ledger_, allocator::Release(node_, ledger_, uid, nullptr));
}

void PlacementBatch::Follow(const PlacementRequest& request) {
  if (base_ + 1 != allocations_->number()) return;
  const Placement* const placed = PlacementIn(allocations_->newest(), request);
  if (placed == nullptr || IsOwn(placed)) return;
  const Decision here = ledger::Decide(node_, ledger_, request, nullptr);
  const auto* const admit = std::get_if<Admit>(&here);
  if (admit == nullptr || !admit->delta.put) return;
  const Placement* const same = FindPlacement(*admit->delta.put, request.container);
  if (same == nullptr || *same != *placed) return;
  Apply(ledger_, admit->delta);
  base_ = allocations_->number();
}

std::optional<Proposal> PlacementBatch::Propose(std::string object) && {
  const Ledger& newest = allocations_->newest();
  if (ledger_.pods == newest.pods) return std::nullopt;
  ledger_.revision = newest.revision + 1;
  return allocations_->ProposeLedger(std::move(object), std::move(ledger_));
}

}  // namespace berth::ledger
