// An explanation in words and as JSON.
#ifndef BERTH_OFFLINE_EXPLANATION_H_
#define BERTH_OFFLINE_EXPLANATION_H_

#include <string>

#include "codec/codec.h"
#include "engine/explanation/explain.h"
#include "model/pod.h"
#include "view/table.h"

namespace berth::offline {

/// docs/how-to/explain.md lists the fields.
codec::Json ToJson(const engine::Explanation& explanation);

/// The whole answer for people, ending in a newline. `trace`: also every step of the decision.
struct ExplanationStyle {
  view::TableOptions table;
  bool trace = false;
};
std::string FormatExplanation(const engine::Explanation& explanation, const Pod& pod, const ExplanationStyle& style);

}  // namespace berth::offline

#endif  // BERTH_OFFLINE_EXPLANATION_H_
