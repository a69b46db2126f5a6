// The best set of nodes that several resources together can leave over: docs/design/alignment.md.
#ifndef BERTH_ALLOCATOR_TOPOLOGY_MANAGER_PACK_H_
#define BERTH_ALLOCATOR_TOPOLOGY_MANAGER_PACK_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "allocator/topology_manager/family.h"
#include "allocator/topology_manager/search.h"

namespace berth::allocator {

/// A search among the sets that come out of AND-ing one set of each family. Every node that is to vanish must be left
/// out by at least one family, and each can only leave out as much as its needs allow: the nodes are packed into the
/// families like things into bins.
///
/// Nodes are decided from the highest down and left out first. A branch is left where the nodes left out would not fit
/// into the bins, by their sizes or by a search for a packing. Of exchangeable nodes the highest are left out.
class Pack {
 public:
  /// Requires: all families have the universe `within` (Family::Within), and at least one node is left over.
  Pack(const std::vector<Family>& bins, const Mask& within, const Distances* distances, Steps& steps);

  /// The best set of exactly `count` nodes; nullopt if there is none or the steps ran out before any was found.
  std::optional<Mask> Exactly(int count);
  /// For when the steps ran out: keeps the `count` nodes that fill most of a bin, and puts the others, hardest first,
  /// each into the bin with the most room. nullopt if they do not fit in that way.
  std::optional<Mask> KeepHardest(int count);

 private:
  // One need of one bin.
  struct Slot {
    std::size_t bin;
    const Need* need;
    std::int64_t slack;  // how much of it may be left out
  };
  // A row of slacks_ and outs_.
  struct Packing {
    std::int64_t* slack;  // by slot
    Mask* out;            // by bin: what it leaves out
  };

  void FillSlots();
  void FillRatios();
  double Ratio(std::size_t position, std::size_t bin) const;
  bool SameKind(std::size_t a, std::size_t b) const;
  Packing Row(std::size_t n) { return {&slacks_[n * slots_.size()], &outs_[n * bins_.size()]}; }
  void Empty(const Packing& packing) const;
  void Copy(const Packing& from, const Packing& to) const;
  bool Fits(const Packing& packing, std::size_t bin, std::size_t node) const;
  std::int64_t Loss(const Packing& packing, const Slot& slot, std::size_t node) const;
  void Put(const Packing& packing, std::size_t bin, std::size_t node) const;
  void Remove(const Packing& packing, std::size_t bin, std::size_t node) const;
  bool PutSomewhere(const Packing& packing, std::size_t node) const;
  bool Repack(const Packing& packing, const Mask& nodes);
  bool Place(const Packing& packing, std::size_t i, const Mask& nodes, std::size_t last_kind, std::size_t last_bin);
  bool LooksLike(const Packing& packing, std::size_t bin, std::size_t earlier) const;
  bool PackAll(std::size_t n);
  bool Walk(std::size_t n, int keep, double load, Closest& closest);

  const std::vector<Family>& bins_;
  Mask within_;
  const Distances* distances_;
  Steps& steps_;
  std::vector<std::size_t> nodes_;
  std::vector<Slot> slots_;
  std::vector<std::size_t> first_slot_;  // by bin, one more behind
  std::vector<std::size_t> twin_;        // by bin: the first one with the same family
  std::vector<std::size_t> kinds_;       // by position
  std::vector<std::size_t> hardest_;     // positions, hardest to place first, kinds together
  std::vector<double> ratio_;            // by position: least part of a bin it fills
  std::vector<double> lightest_;         // [n][k]: the k smallest ratios of the first n nodes together
  std::vector<int> kept_of_kind_;
  // A packing of what is left out for each number of undecided nodes, and one more to work on.
  std::vector<std::int64_t> slacks_;
  std::vector<Mask> outs_;
  Mask mask_;  // kept
  Mask out_;   // left out
};

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_TOPOLOGY_MANAGER_PACK_H_
