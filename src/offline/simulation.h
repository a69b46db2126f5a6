// Pods that come and go on a node on paper, step by step.
#ifndef BERTH_OFFLINE_SIMULATION_H_
#define BERTH_OFFLINE_SIMULATION_H_

#include <optional>
#include <ostream>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "codec/codec.h"
#include "model/decision.h"
#include "model/ledger.h"
#include "model/pod.h"
#include "offline/node.h"
#include "view/table.h"

namespace berth::offline {

struct AddStep {
  std::string file;
  Pod pod;
};
struct RemoveStep {
  std::string full_name;
};
using Step = std::variant<AddStep, RemoveStep>;

/// What a step came to.
struct Outcome {
  int number = 0;
  std::string pod;  ///< namespace/name
  std::optional<AddStep> added;
  std::optional<Decision> decision;  ///< of an added pod
  bool was_there = false;            ///< removal: it held something
};

/// The rejection of an added pod; nullptr when it was admitted, or for a removal.
const Reject* Rejection(const Outcome& outcome);

/// Reads the steps in order: a manifest file ("-": standard input), or "remove:NAMESPACE/NAME" ("remove:NAME":
/// namespace default). Warnings go to `err`. Pods without a uid get a fresh one.
/// Errors: as LoadPods; kInvalid for no step at all, a pod that is there already (in `ledger` or by an earlier step)
/// and a removal of one that is not. So a step that makes no sense is found before the first one is taken.
Result<std::vector<Step>> ReadSteps(const std::vector<std::string>& words, const Ledger& ledger, std::ostream& err);

/// Takes one step: decides, and starts the containers of an admitted pod in order; or releases. Changes node.ledger.
Outcome TakeStep(const Step& step, int number, OfflineNode& node);

/// An empty table for AddRows.
view::Table OutcomeTable();
void AddRows(const Outcome& outcome, view::Table& table);
/// Why the step's pod was rejected, as lines behind the table; "" when it was not.
std::string ReasonsText(const Outcome& outcome);

/// One entry of `steps` (docs/how-to/simulate.md).
codec::Json ToJson(const Outcome& outcome);

}  // namespace berth::offline

#endif  // BERTH_OFFLINE_SIMULATION_H_
