// NUMA nodes of one machine as bits: bit i is the i-th node in ascending id order, whatever its id.
//
// The kubelet's masks use the id as the bit, so ids of 64 and more do not fit (spec W-T4). Order, count and "narrower"
// come out the same, because ascending ids have ascending positions.
#ifndef BERTH_ENGINE_ALIGN_MASK_H_
#define BERTH_ENGINE_ALIGN_MASK_H_

#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/id_set.h"

namespace berth::engine {

using Mask = std::uint64_t;

/// Most nodes a mask can hold.
inline constexpr int kMaskNodes = 64;

inline int CountOf(Mask mask) { return std::popcount(mask); }
inline Mask LowBits(std::size_t n) { return n >= 64 ? ~Mask{0} : (Mask{1} << n) - 1; }
/// Spec 3.1: fewer nodes, then the numerically smaller one.
inline bool Narrower(Mask a, Mask b) { return CountOf(a) != CountOf(b) ? CountOf(a) < CountOf(b) : a < b; }

/// Calls visit(position) for every node of the mask, ascending.
template <class Visit>
void ForEachBit(Mask mask, const Visit& visit) {
  for (; mask != 0; mask &= mask - 1) visit(static_cast<std::size_t>(std::countr_zero(mask)));
}

/// The nodes of a machine and their positions.
class NodeIndex {
 public:
  NodeIndex() = default;
  /// Requires: at most kMaskNodes nodes.
  explicit NodeIndex(const NodeSet& nodes) : nodes_(nodes) {
    for (NumaId node : nodes) ids_.push_back(node);
  }

  std::size_t size() const { return ids_.size(); }
  NumaId id(std::size_t position) const { return ids_[position]; }
  const NodeSet& nodes() const { return nodes_; }
  Mask all() const { return LowBits(ids_.size()); }
  std::optional<std::size_t> Find(NumaId id) const {
    for (std::size_t i = 0; i < ids_.size(); ++i)
      if (ids_[i] == id) return i;
    return std::nullopt;
  }
  NodeSet ToNodes(Mask mask) const {
    NodeSet out;
    ForEachBit(mask, [&](std::size_t i) { out.Insert(ids_[i]); });
    return out;
  }
  /// Nodes the machine does not have are dropped.
  Mask ToMask(const NodeSet& nodes) const {
    Mask out = 0;
    for (std::size_t i = 0; i < ids_.size(); ++i)
      if (nodes.Contains(ids_[i])) out |= Mask{1} << i;
    return out;
  }

 private:
  NodeSet nodes_;
  std::vector<NumaId> ids_;
};

}  // namespace berth::engine

#endif  // BERTH_ENGINE_ALIGN_MASK_H_
