#include "allocator/decision/decide.h"

#include <optional>
#include <utility>

#include "allocator/admission/admission.h"
#include "allocator/admission/node_fit.h"
#include "allocator/decision/decide_logged.h"
#include "allocator/node/node_tables.h"

namespace berth::allocator {
namespace {

/// A pod that is already placed keeps what it has, whatever a fresh decision would say now.
Admit Kept(const Ledger& ledger, const PodRecord& record) {
  Admit out;
  out.delta.put = record;
  out.delta.shared = ledger.shared;
  return out;
}

}  // namespace

Decision Decide(const Node& node, const Ledger& ledger, const Pod& pod, const Inputs& inputs, Trace* trace) {
  return DecideLogged(node, ledger, pod, inputs, DecisionLog(trace));
}

Decision DecideLogged(const Node& node, const Ledger& ledger, const Pod& pod, const Inputs& inputs,
                      const DecisionLog& log, int* ahead) {
  if (ahead != nullptr) *ahead = 0;
  if (const auto known = ledger.pods.find(pod.uid); known != ledger.pods.end()) {
    if (log) log.Add("allocate", "", "", "the pod is already placed and keeps what it has");
    return Kept(ledger, known->second);
  }
  Admission admission(node, ledger, pod, inputs, log);
  if (node.options().node_fit)
    if (auto reject = CheckKnown(pod, inputs, admission.books(), log)) return *std::move(reject);
  std::optional<Reject> refused = admission.Run();
  if (ahead != nullptr) *ahead = admission.tried_ahead();
  if (refused) return *std::move(refused);
  if (auto reject = CheckSharedPool(admission.books(), log)) return *std::move(reject);
  if (node.options().node_fit)
    if (auto reject = CheckNodeFit(admission.books(), log)) return *std::move(reject);
  return Admit{admission.TakeDelta()};
}

}  // namespace berth::allocator
