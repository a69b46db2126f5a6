// Decide with a log instead of a trace, for Explain.
#ifndef BERTH_ENGINE_DECIDE_H_
#define BERTH_ENGINE_DECIDE_H_

#include "engine/engine.h"
#include "engine/log.h"

namespace berth::engine {

/// As Decide.
Decision DecideLogged(const Node& node, const Ledger& ledger, const Pod& pod, const Inputs& inputs, const Log& log);

}  // namespace berth::engine

#endif  // BERTH_ENGINE_DECIDE_H_
