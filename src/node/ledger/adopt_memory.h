// Memory bookings of a ledger on a node whose memory is not what it was. Part of adopt.h; private to it.
#ifndef BERTH_NODE_LEDGER_ADOPT_MEMORY_H_
#define BERTH_NODE_LEDGER_ADOPT_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/ledger.h"

namespace berth::ledger {

/// Books the blocks of pods, one pod after another, on the counters of an empty node.
class MemoryAdoption {
 public:
  using Nodes = std::map<NumaId, MemoryNodeState>;

  /// `empty`: the node without pods. `saved`: the counters as they were; what was booked on a node stays booked there
  /// as far as the blocks allow. Requires: no more nodes than an allocator::Mask holds, as of every Node.
  MemoryAdoption(const Nodes& empty, const Nodes& saved) : empty_(empty), saved_(saved) {}

  struct Outcome {
    bool kept = true;
    std::string lost;  ///< what was not kept, and why; "": nothing
  };
  /// Takes the pod's blocks if there is room for all that was taken so far and them. Blocks lose nodes that are gone.
  /// When they are not kept, the pod has no bookings afterwards.
  Outcome Take(PodRecord& pod);
  /// Takes bookings away.
  static void Drop(PodRecord& pod);
  /// For taking back what the last Take took.
  std::size_t Mark() const { return blocks_.size(); }
  void BackTo(std::size_t mark) { blocks_.resize(mark); }
  /// The counters with everything that was taken.
  Nodes Counters() const;

 private:
  bool Fits(const std::string& type) const;
  std::map<NumaId, std::int64_t> Seats(const std::string& type) const;

  const Nodes& empty_;
  const Nodes& saved_;
  std::vector<MemoryBlock> blocks_;
};

}  // namespace berth::ledger

#endif  // BERTH_NODE_LEDGER_ADOPT_MEMORY_H_
