// One container (or pod) taken elsewhere on its node while it runs: rules/defrag#moves.
#ifndef BERTH_ALLOCATOR_DEFRAG_MOVE_H_
#define BERTH_ALLOCATOR_DEFRAG_MOVE_H_

#include <string>
#include <vector>

#include "allocator/node/engine_node.h"
#include "allocator/topology/mask.h"
#include "base/result.h"
#include "model/defrag.h"
#include "model/ledger.h"

namespace berth::allocator {

/// What can be moved on its own.
struct MoveUnit {
  std::string uid;
  std::string container;  ///< "": all of the pod
  Mask nodes;             ///< where what it holds lies
  Bytes booked{};         ///< of pinned memory
};

/// In order of admission. Left out is what stays where it is: containers with devices, pods whose ordinary init
/// containers hold something, and what is not known whole.
std::vector<MoveUnit> MovableUnits(const Node& node, const Ledger& ledger);

struct MovedBooks {
  LedgerDelta delta;
  Move move;
};

/// What it would have on these NUMA nodes, by the rules of an admission with them as its hint, and the books then: as
/// much of everything, on no more NUMA nodes than now, all of it on the named ones, and not what it has already.
/// Errors: kNotFound: there is no such pod or container; kInvalid: it cannot be moved, no nodes; kExhausted: it does
/// not fit there. Each in an operator's words.
Result<MovedBooks> PlanMove(const Node& node, const Ledger& ledger, const MoveRequest& request);

/// The books while it holds nothing: for a look at what it stands in the way of. Requires: it is one of MovableUnits.
LedgerDelta LiftOff(const Node& node, const Ledger& ledger, const MoveUnit& unit);

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_DEFRAG_MOVE_H_
