// Moves of containers that make room on a node for a pod that does not fit.
#ifndef BERTH_MODEL_DEFRAG_H_
#define BERTH_MODEL_DEFRAG_H_

#include <string>
#include <vector>

#include "base/id_set.h"
#include "base/units.h"
#include "model/explanation.h"
#include "model/placement.h"

namespace berth {

/// What one move takes where: a container, or under topology scope pod all containers of a pod together.
struct MoveRequest {
  std::string uid;
  std::string container;  ///< "": all of the pod
  NodeSet nodes;          ///< NUMA nodes it is to have all it holds on
  friend bool operator==(const MoveRequest&, const MoveRequest&) = default;
};

struct MovedContainer {
  Placement from;
  Placement to;
  friend bool operator==(const MovedContainer&, const MovedContainer&) = default;
};

/// One step: it is one record in the ledger.
struct Move {
  MoveRequest request;
  std::string pod;  ///< namespace/name
  std::vector<MovedContainer> containers;
  Bytes bytes{};  ///< booked memory that goes to other NUMA nodes: the most that can have to be migrated
  friend bool operator==(const Move&, const Move&) = default;
};

/// "CPUs 4-5 -> 1-2, memory of NUMA nodes 1 -> 0"; of a whole move with the containers' names.
std::string MoveText(const MovedContainer& moved);
std::string MoveText(const Move& move);

/// A pod that fits once these moves were made, in this order.
struct Room {
  PodRef pod;
  std::vector<Move> moves;  ///< empty: it fits as it is
  Bytes bytes{};            ///< of all moves
  bool fewest = true;       ///< fewer moves do not do; false: the search ended at its limit before that was known
  friend bool operator==(const Room&, const Room&) = default;
};

/// For pods that cannot be helped: why.
struct NoRoom {
  PodRef pod;
  bool never = false;       ///< it would not fit on the empty node either
  bool exhaustive = false;  ///< every series of so many moves was tried; false: the search ended at its limit
  friend bool operator==(const NoRoom&, const NoRoom&) = default;
};

struct DefragPlan {
  int most_moves = 0;           ///< in all
  std::vector<Room> rooms;      ///< in the order in which they are to be made: each goes on from the ones before
  std::vector<NoRoom> without;  ///< pods that were asked for and get no room
  friend bool operator==(const DefragPlan&, const DefragPlan&) = default;
};

}  // namespace berth

#endif  // BERTH_MODEL_DEFRAG_H_
