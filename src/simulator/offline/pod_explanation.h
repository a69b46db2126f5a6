// Admission dry run of a pod (`berth explain`): decision, reasons and what it would wait for; one answer for a running
// node and for an offline one.
#ifndef BERTH_SIMULATOR_OFFLINE_POD_EXPLANATION_H_
#define BERTH_SIMULATOR_OFFLINE_POD_EXPLANATION_H_

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "allocator/engine.h"
#include "model/decision.h"
#include "model/explanation.h"
#include "model/ledger.h"
#include "model/node_conditions.h"
#include "model/pod.h"
#include "view/table.h"

namespace berth::offline {

/// The names a pod may have on the node and in a manifest: static pods get "-<node>" at the end. `node_name` "": only
/// its own.
std::vector<std::string> NamesOf(const std::string& full_name, const std::string& node_name);

/// What the admission of a pod on a running node depends on beside ledger and conditions; a simulated node has none of
/// it.
struct LiveNode {
  std::optional<Reject> refused{};  ///< the node does not take the pod, whatever is free
  std::optional<Wait> plugin{};     ///< a device plug-in of the pod's is waited for
  allocator::QueueNow queue{};      ///< without the pod, unless that has its uid
  allocator::Line::Find find = [](const std::string&) -> const Pod* { return nullptr; };  ///< of queue.waiting
  std::set<std::string> choosy{};  ///< device resources whose plug-ins are asked which devices they prefer
};

/// Decides `pod` on a node with these books, in this state, in the order in which berthd does. A pod of one of its
/// names that is there already is left out first: the answer is the one it would get now. Takes as long as trying what
/// would help. Where others would be evicted for a critical pod, the removal is theirs.
Outlook ExplainNow(const allocator::Node& node, Ledger ledger, const NodeConditions& conditions, Pod pod,
                   const allocator::Inputs& inputs, const std::string& node_name, const LiveNode& live = {});

/// The whole answer for people, ending in a newline. `trace`: also every step of the decision.
struct ExplanationStyle {
  view::TableOptions table;
  bool trace = false;
};
std::string FormatOutlook(const Outlook& outlook, const ExplanationStyle& style);

}  // namespace berth::offline

#endif  // BERTH_SIMULATOR_OFFLINE_POD_EXPLANATION_H_
