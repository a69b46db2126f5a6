// The engine: decisions about pods on one node. Pure: no I/O, clock, environment, globals or logging; the same input
// gives the same bytes. Every choice can say why through the Trace.
//
// The room's door: what other rooms need of it. Its floors are in docs/design/engine.md.
#ifndef BERTH_ENGINE_ENGINE_H_
#define BERTH_ENGINE_ENGINE_H_

#include "engine/books/inputs.h"               // Inputs, CheckDevices
#include "engine/decision/decide.h"            // Decide
#include "engine/decision/decide_container.h"  // DecideContainer, AsksForOwn
#include "engine/decision/release.h"           // Release, ContainerStarted
#include "engine/defrag/defrag_plan.h"         // PlanDefrag
#include "engine/defrag/move.h"                // PlanMove
#include "engine/node/engine_node.h"           // Node, EngineOptions
#include "engine/queue/line.h"                 // Line
#include "engine/queue/queue_decisions.h"      // NeverFits, LeavesRoom, WhoHasToGo
#include "engine/resize/resize_decision.h"     // Resize

#endif  // BERTH_ENGINE_ENGINE_H_
