// The engine: decisions about pods on one node. Pure: no I/O, clock, environment, globals or logging; the same input
// gives the same bytes. Every choice can say why through the Trace.
//
// What other components need of the allocator. Its layers are in docs/design/engine.md.
#ifndef BERTH_ALLOCATOR_ENGINE_H_
#define BERTH_ALLOCATOR_ENGINE_H_

#include "allocator/allocation_state/inputs.h"    // Inputs, CheckDevices
#include "allocator/decision/decide.h"            // Decide
#include "allocator/decision/decide_container.h"  // DecideContainer, AsksForOwn
#include "allocator/decision/release.h"           // Release, ContainerStarted
#include "allocator/defrag/defrag_plan.h"         // PlanDefrag
#include "allocator/defrag/move.h"                // PlanMove
#include "allocator/node/engine_node.h"           // Node, EngineOptions
#include "allocator/queue/line.h"                 // Line
#include "allocator/queue/no_place.h"             // DecideWithoutPlace
#include "allocator/queue/queue_decisions.h"      // NeverFits, LeavesRoom, WhoHasToGo
#include "allocator/resize/resize_decision.h"     // Resize

#endif  // BERTH_ALLOCATOR_ENGINE_H_
