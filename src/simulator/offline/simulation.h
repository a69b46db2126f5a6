// Simulation of one node: pods that come and go, step by step.
#ifndef BERTH_SIMULATOR_OFFLINE_SIMULATION_H_
#define BERTH_SIMULATOR_OFFLINE_SIMULATION_H_

#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <variant>
#include <vector>

#include "api/codec/codec.h"
#include "base/result.h"
#include "model/decision.h"
#include "model/ledger.h"
#include "model/pod.h"
#include "simulator/offline/offline_node.h"
#include "view/table.h"

namespace berth::offline {

struct AddStep {
  std::string file;
  Pod pod;
};
struct RemoveStep {
  std::string full_name;
};
/// A pod that is there is to be as the manifest says, while it runs (rules/resize).
struct ResizeStep {
  AddStep wanted;
};
using Step = std::variant<AddStep, RemoveStep, ResizeStep>;

/// What a step came to.
struct Outcome {
  int number = 0;
  std::string pod;                   ///< namespace/name
  std::optional<AddStep> added;      ///< the manifest of a pod that was added or resized
  std::optional<Decision> decision;  ///< likewise
  bool resized = false;              ///< the pod was there before
  bool was_there = false;            ///< removal: it held something
  bool waited = false;               ///< admitted or removed, it was in the queue before
  int place = 0;                     ///< rejected: its place in the queue, from 1; 0: it does not wait
  std::string evicted_for{};         ///< it was evicted for this pod (namespace/name), and is no step's own
};

/// The rejection of an added or resized pod; nullptr when it was admitted, or for a removal.
const Reject* Rejection(const Outcome& outcome);

/// Reads the steps in order: a manifest file ("-": standard input) whose pods are added, "resize:FILE" whose pods are
/// there already and are resized, or "remove:NAMESPACE/NAME" ("remove:NAME": namespace default). Warnings go to `err`.
/// Pods without a uid get a fresh one.
/// Errors: as LoadPods; kInvalid for no step at all, a pod that is there already (in `ledger` or by an earlier step),
/// a removal or resize of one that is not, and a resize that changes more than amounts. So a step that makes no sense
/// is found before the first one is taken.
Result<std::vector<Step>> ReadSteps(const std::vector<std::string>& words, const Ledger& ledger, std::ostream& err);

/// Gives an admitted pod its place, and starts its containers in order. Changes node.ledger.
void Place(const Pod& pod, const LedgerDelta& admission, OfflineNode& node);
/// Takes one step, whatever waits (simulator/offline/queueing.h): decides and places; resizes; or releases. Changes
/// node.ledger.
Outcome TakeStep(const Step& step, int number, OfflineNode& node);

/// How many copies of a pod found a place one after the other.
struct Fit {
  std::string pod;  ///< namespace/name, as in the manifest
  int asked = 0;    ///< copies that were tried at most
  int fit = 0;
  std::optional<Reject> next;  ///< why one more did not; nullopt: as many as were asked for fit
};
/// Adds copies of the step's pod, NAME-0, NAME-1, ..., until one is rejected or `asked` are there. `progress` is told
/// how many are. Changes node.ledger.
Fit AddCopies(const AddStep& step, int asked, OfflineNode& node, const std::function<void(int fit)>& progress);
view::Table FitTable(const std::vector<Fit>& fits);
codec::Json ToJson(const Fit& fit);

/// An empty table for AddRows.
view::Table OutcomeTable();
/// What came of a step that gave no places.
view::Cell ResultCell(const Outcome& outcome);
void AddRows(const Outcome& outcome, view::Table& table);
/// Why the step's pod was rejected, as lines behind the table; "" when it was not.
std::string ReasonsText(const Outcome& outcome);

/// One entry of `steps` (docs/how-to/simulate.md).
codec::Json ToJson(const Outcome& outcome);

}  // namespace berth::offline

#endif  // BERTH_SIMULATOR_OFFLINE_SIMULATION_H_
