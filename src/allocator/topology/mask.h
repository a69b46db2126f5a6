// NUMA nodes of one machine as bits: bit i is the i-th node in ascending id order, whatever its id.
//
// The kubelet's masks use the id as the bit, so ids of 64 and more do not fit (rules/topology#sets-of-nodes). Order,
// count and "narrower" come out the same, because ascending ids have ascending positions.
#ifndef BERTH_ALLOCATOR_TOPOLOGY_MASK_H_
#define BERTH_ALLOCATOR_TOPOLOGY_MASK_H_

#include <algorithm>
#include <array>
#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/id_set.h"

namespace berth::allocator {

/// A set of positions below kNodes. No heap; cheap to copy.
class Mask {
 public:
  static constexpr std::size_t kWords = 16;
  static constexpr std::size_t kNodes = 64 * kWords;  ///< most nodes a mask can hold

  constexpr Mask() = default;
  static constexpr Mask Of(std::size_t node) {
    Mask out;
    out.Add(node);
    return out;
  }
  /// The first n positions.
  static constexpr Mask Low(std::size_t n) {
    Mask out;
    for (; 64 * out.used_ < n; ++out.used_) {
      const std::size_t left = n - 64 * out.used_;
      out.words_[out.used_] = left >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << left) - 1;
    }
    return out;
  }

  constexpr void Add(std::size_t node) {
    words_[node / 64] |= std::uint64_t{1} << node % 64;
    used_ = std::max(used_, node / 64 + 1);
  }
  constexpr void Drop(std::size_t node) { words_[node / 64] &= ~(std::uint64_t{1} << node % 64); }
  constexpr bool Has(std::size_t node) const { return (words_[node / 64] >> node % 64 & 1) != 0; }
  constexpr bool empty() const {
    for (std::size_t i = 0; i < used_; ++i)
      if (words_[i] != 0) return false;
    return true;
  }
  constexpr int Count() const {
    int out = 0;
    for (std::size_t i = 0; i < used_; ++i) out += std::popcount(words_[i]);
    return out;
  }
  /// Lowest position. Requires: not empty.
  constexpr std::size_t First() const {
    std::size_t i = 0;
    while (words_[i] == 0) ++i;
    return 64 * i + static_cast<std::size_t>(std::countr_zero(words_[i]));
  }
  constexpr bool Within(const Mask& o) const {
    for (std::size_t i = 0; i < used_; ++i)
      if ((words_[i] & ~o.words_[i]) != 0) return false;
    return true;
  }
  constexpr bool Meets(const Mask& o) const {
    for (std::size_t i = 0; i < std::min(used_, o.used_); ++i)
      if ((words_[i] & o.words_[i]) != 0) return true;
    return false;
  }

  constexpr Mask& operator&=(const Mask& o) {
    for (std::size_t i = 0; i < used_; ++i) words_[i] &= o.words_[i];
    used_ = std::min(used_, o.used_);
    return *this;
  }
  constexpr Mask& operator|=(const Mask& o) {
    for (std::size_t i = 0; i < o.used_; ++i) words_[i] |= o.words_[i];
    used_ = std::max(used_, o.used_);
    return *this;
  }
  constexpr Mask& operator-=(const Mask& o) {
    for (std::size_t i = 0; i < used_; ++i) words_[i] &= ~o.words_[i];
    return *this;
  }
  friend constexpr Mask operator&(Mask a, const Mask& b) { return a &= b; }
  friend constexpr Mask operator|(Mask a, const Mask& b) { return a |= b; }
  /// Nodes of a that are not in b.
  friend constexpr Mask operator-(Mask a, const Mask& b) { return a -= b; }
  friend constexpr bool operator==(const Mask& a, const Mask& b) {
    for (std::size_t i = 0; i < std::max(a.used_, b.used_); ++i)
      if (a.words_[i] != b.words_[i]) return false;
    return true;
  }
  /// As numbers.
  friend constexpr std::strong_ordering operator<=>(const Mask& a, const Mask& b) {
    for (std::size_t i = std::max(a.used_, b.used_); i-- > 0;)
      if (a.words_[i] != b.words_[i]) return a.words_[i] <=> b.words_[i];
    return std::strong_ordering::equal;
  }

  /// Calls visit(position) for every node, ascending.
  template <class Visit>
  void ForEach(const Visit& visit) const {
    for (std::size_t i = 0; i < used_; ++i)
      for (std::uint64_t word = words_[i]; word != 0; word &= word - 1)
        visit(64 * i + static_cast<std::size_t>(std::countr_zero(word)));
  }

 private:
  std::array<std::uint64_t, kWords> words_{};
  std::size_t used_ = 0;  // words from here on are 0; machines with up to 64 nodes need one
};

/// rules/topology#sets-of-nodes: fewer nodes, then the numerically smaller one.
inline bool Narrower(const Mask& a, const Mask& b) {
  const int ca = a.Count();
  const int cb = b.Count();
  return ca != cb ? ca < cb : a < b;
}

/// Calls visit(mask) for every set of the nodes in `within`, the empty one left out, in ascending order. `visit`
/// returns false to stop. For few nodes only: 2^n calls.
template <class Visit>
void ForEachSubset(const Mask& within, const Visit& visit) {
  std::vector<std::size_t> nodes;
  within.ForEach([&](std::size_t node) { nodes.push_back(node); });
  Mask mask;
  while (true) {
    std::size_t i = 0;
    for (; i < nodes.size() && mask.Has(nodes[i]); ++i) mask.Drop(nodes[i]);
    if (i == nodes.size()) return;
    mask.Add(nodes[i]);
    if (!visit(static_cast<const Mask&>(mask))) return;
  }
}

/// The nodes of a machine and their positions.
class NodeIndex {
 public:
  NodeIndex() = default;
  /// Requires: at most Mask::kNodes nodes.
  explicit NodeIndex(const NodeSet& nodes) : nodes_(nodes) {
    for (NumaId node : nodes) ids_.push_back(node);
  }

  std::size_t size() const { return ids_.size(); }
  NumaId id(std::size_t position) const { return ids_[position]; }
  const NodeSet& nodes() const { return nodes_; }
  Mask all() const { return Mask::Low(ids_.size()); }
  std::optional<std::size_t> Find(NumaId id) const {
    for (std::size_t i = 0; i < ids_.size(); ++i)
      if (ids_[i] == id) return i;
    return std::nullopt;
  }
  NodeSet ToNodes(const Mask& mask) const {
    NodeSet out;
    mask.ForEach([&](std::size_t i) { out.Insert(ids_[i]); });
    return out;
  }
  /// Nodes the machine does not have are dropped.
  Mask ToMask(const NodeSet& nodes) const {
    Mask out;
    for (std::size_t i = 0; i < ids_.size(); ++i)
      if (nodes.Contains(ids_[i])) out.Add(i);
    return out;
  }

 private:
  NodeSet nodes_;
  std::vector<NumaId> ids_;
};

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_TOPOLOGY_MASK_H_
