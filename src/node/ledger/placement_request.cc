#include "node/ledger/placement_request.h"

#include <variant>

namespace berth::ledger {

Decision Decide(const allocator::Node& node, const Ledger& ledger, const PlacementRequest& request, Trace* trace) {
  if (request.container.empty()) return allocator::Decide(node, ledger, request.pod, request.inputs, trace);
  Decision out = allocator::DecideContainer(node, ledger, request.pod, request.container, request.inputs, trace);
  auto* const admit = std::get_if<Admit>(&out);
  if (admit == nullptr || !admit->delta.put || !request.kubelets) return out;
  PodRecord& record = *admit->delta.put;
  record.qos = *request.kubelets;
  for (Placement& placement : record.placements) placement.devices.clear();
  record.reusable.devices.clear();
  return out;
}

bool IsOwn(const Placement* placement) {
  return placement != nullptr &&
         ((placement->cpus && !placement->cpus->empty()) || !placement->pool.empty() || placement->memory);
}

}  // namespace berth::ledger
