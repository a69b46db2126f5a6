// The slow second reading of how hints are merged: the whole product of the lists, every tuple compared as written in
// the spec (cpu-topology-memory 3.1 to 3.5). Never part of a library.
#ifndef BERTH_ALLOCATOR_TESTING_SLOW_MERGE_H_
#define BERTH_ALLOCATOR_TESTING_SLOW_MERGE_H_

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "model/kubelet_config.h"
#include "model/machine.h"

namespace berth::allocator::testing {

using Ids = std::set<unsigned>;

struct SlowHint {
  bool any = false;
  Ids nodes;
  bool preferred = false;
};
using SlowList = std::vector<SlowHint>;
/// One list per resource with an opinion; "no preference" is the list [any, preferred].
using SlowLists = std::vector<SlowList>;

inline const SlowList kNoPreference{{true, {}, true}};

inline Ids ToIds(const NodeSet& nodes) {
  Ids out;
  for (NumaId id : nodes) out.insert(Raw(id));
  return out;
}

inline std::string Text(const Ids& ids) {
  std::string out;
  for (unsigned id : ids) out += (out.empty() ? "" : ",") + std::to_string(id);
  return "{" + out + "}";
}

inline bool Holds(const Ids& outer, const Ids& inner) {
  return std::includes(outer.begin(), outer.end(), inner.begin(), inner.end());
}
inline bool Meets(const Ids& a, const Ids& b) {
  return std::any_of(a.begin(), a.end(), [&](unsigned id) { return b.contains(id); });
}

/// All sets of `ids` that are not empty, narrowest first.
inline std::vector<Ids> Subsets(const Ids& ids) {
  const std::vector<unsigned> list(ids.begin(), ids.end());
  std::vector<Ids> out;
  for (std::size_t size = 1; size <= list.size(); ++size)
    for (std::size_t bits = 1; bits < std::size_t{1} << list.size(); ++bits) {
      Ids set;
      for (std::size_t i = 0; i < list.size(); ++i)
        if ((bits >> i & 1U) != 0) set.insert(list[i]);
      if (set.size() == size) out.push_back(std::move(set));
    }
  return out;
}

/// Numeric order of the masks.
inline bool Below(const Ids& a, const Ids& b) {
  return std::lexicographical_compare(a.rbegin(), a.rend(), b.rbegin(), b.rend());
}
/// 3.1.
inline bool SlowNarrower(const Ids& a, const Ids& b) {
  return a.size() != b.size() ? a.size() < b.size() : Below(a, b);
}

/// One merge. Used once.
class SlowMerge {
 public:
  SlowMerge(const Machine& machine, const KubeletConfiguration& config) : machine_(machine), config_(config) {
    for (const NumaNode& n : machine.nodes) all_.insert(Raw(n.id));
  }

  bool admitted() const { return admitted_; }
  /// All results that are preferred.
  const std::set<Ids>& preferred() const { return preferred_; }

  /// An empty list: impossible.
  SlowHint Merge(SlowLists lists) {
    const bool single = config_.topology_manager_policy == "single-numa-node";
    for (SlowList& list : lists)
      if (list.empty()) list = {{true, {}, false}};  // impossible (3.2)
    if (single)
      for (SlowList& list : lists)
        std::erase_if(list, [](const SlowHint& h) { return !h.preferred || (!h.any && h.nodes.size() != 1); });
    best_narrow_ = 0;
    for (const SlowList& list : lists) {
      std::size_t narrowest = 0;
      for (const SlowHint& h : list)
        if (!h.any && (narrowest == 0 || h.nodes.size() < narrowest)) narrowest = h.nodes.size();
      best_narrow_ = std::max(best_narrow_, narrowest);
    }
    found_ = false;
    best_ = {false, all_, false};
    Walk(lists, 0, {false, all_, true}, nullptr);
    if (single && best_.nodes == all_) best_.any = true;
    admitted_ = config_.topology_manager_policy == "best-effort" || best_.preferred;
    return best_;
  }

 private:
  void Walk(const SlowLists& lists, std::size_t at, const SlowHint& so_far, const Ids* first) {
    if (at == lists.size()) return Compare(so_far);
    for (const SlowHint& h : lists[at]) {
      SlowHint next = so_far;
      next.preferred = next.preferred && h.preferred && (h.any || first == nullptr || *first == h.nodes);
      if (!h.any) std::erase_if(next.nodes, [&](unsigned id) { return !h.nodes.contains(id); });
      Walk(lists, at + 1, next, h.any || first != nullptr ? first : &h.nodes);
    }
  }
  void Compare(const SlowHint& candidate) {
    if (candidate.nodes.empty()) return;
    if (candidate.preferred) preferred_.insert(candidate.nodes);
    if (!found_ || Wins(candidate)) best_ = candidate;
    found_ = true;
  }
  bool Wins(const SlowHint& candidate) const {
    if (candidate.preferred != best_.preferred) return candidate.preferred;
    if (candidate.preferred) return Fitter(candidate.nodes);
    const std::size_t a = best_.nodes.size();
    const std::size_t b = candidate.nodes.size();
    if (a > best_narrow_) return Fitter(candidate.nodes);
    if (a == best_narrow_) return b == best_narrow_ && Fitter(candidate.nodes);
    if (b > best_narrow_) return false;
    if (b == best_narrow_ || b > a) return true;
    return b == a && Fitter(candidate.nodes);
  }
  /// The candidate's mask is fitter than the best one's.
  bool Fitter(const Ids& candidate) const {
    const Ids& best = best_.nodes;
    if (candidate == best) return false;
    const bool closest = config_.topology_manager_policy_options.contains("prefer-closest-numa-nodes") &&
                         config_.topology_manager_policy != "single-numa-node";
    if (!closest || candidate.size() != best.size()) return SlowNarrower(candidate, best);
    const double a = Average(candidate);
    const double b = Average(best);
    return a == b ? Below(candidate, best) : a < b;
  }
  double Average(const Ids& set) const {
    double sum = 0;
    for (unsigned from : set)
      for (unsigned to : set)
        for (const NumaNode& n : machine_.nodes)
          if (Raw(n.id) == from) sum += n.distances[to];
    return sum / static_cast<double>(set.size() * set.size());
  }

  const Machine& machine_;
  const KubeletConfiguration& config_;
  Ids all_;
  std::size_t best_narrow_ = 0;
  std::set<Ids> preferred_;
  bool found_ = false;
  bool admitted_ = false;
  SlowHint best_;
};

}  // namespace berth::allocator::testing

#endif  // BERTH_ALLOCATOR_TESTING_SLOW_MERGE_H_
