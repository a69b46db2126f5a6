#include "allocator/defrag/defrag_plan.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "allocator/decision/decide.h"
#include "allocator/defrag/move.h"
#include "allocator/node/node_tables.h"

namespace berth::allocator {
namespace {

/// Sets of nodes one unit is tried on.
constexpr std::size_t kMostTargets = 128;

/// Every set of at most `most` of the nodes, the narrowest first.
void AddSets(const Mask& all, int size, Mask chosen, std::size_t from, std::vector<Mask>& out) {
  if (chosen.Count() == size) {
    out.push_back(chosen);
    return;
  }
  all.ForEach([&](std::size_t node) {
    if (node < from || out.size() >= kMostTargets) return;
    Mask wider = chosen;
    wider.Add(node);
    AddSets(all, size, wider, node + 1, out);
  });
}

std::vector<Mask> TargetsOf(const NodeTables& tables, const MoveUnit& unit) {
  std::vector<Mask> out;
  for (int size = 1; size <= unit.nodes.Count() && out.size() < kMostTargets; ++size)
    AddSets(tables.nodes.all(), size, {}, 0, out);
  return out;
}

Ledger After(const Ledger& ledger, const LedgerDelta& delta) {
  Ledger out = ledger;
  Apply(out, delta);
  return out;
}

/// The search for one pod's room: for growing numbers of moves, all groups of units that are in its way together, and
/// for each all series of moves of them.
class RoomSearch {
 public:
  RoomSearch(const Node& node, const Ledger& ledger, const Pod& pod, const Inputs& inputs, int tries)
      : node_(node), ledger_(ledger), pod_(pod), inputs_(inputs), left_(tries), units_(MovableUnits(node, ledger)) {
    // Who has least to migrate is tried first.
    std::ranges::stable_sort(units_, {}, [](const MoveUnit& unit) { return unit.booked.v; });
    for (const MoveUnit& unit : units_) targets_.push_back(TargetsOf(node.tables(), unit));
  }

  bool exhausted() const { return left_ <= 0; }

  /// nullopt: not with so many moves, or not found out (exhausted).
  std::optional<std::vector<Move>> Find(int most_moves) {
    if (Admits(ledger_)) return std::vector<Move>();
    const auto most = std::min(static_cast<std::size_t>(most_moves), units_.size());
    if (most == 0 || !AdmitsWithoutAny()) return std::nullopt;
    for (std::size_t size = 1; size <= most && !exhausted(); ++size) {
      groups_.clear();
      std::vector<std::size_t> chosen;
      Gather(size, 0, ledger_, chosen);
      std::ranges::stable_sort(groups_, {}, [&](const auto& group) { return BytesOf(group); });
      for (const std::vector<std::size_t>& group : groups_) {
        moves_.clear();
        if (MoveAll(ledger_, group)) return moves_;
      }
    }
    return std::nullopt;
  }

 private:
  bool Spend() { return left_ > 0 && left_-- > 0; }

  bool Admits(const Ledger& ledger) {
    return Spend() && std::holds_alternative<Admit>(Decide(node_, ledger, pod_, inputs_, nullptr));
  }

  std::int64_t BytesOf(const std::vector<std::size_t>& group) const {
    std::int64_t out = 0;
    for (const std::size_t unit : group) out += units_[unit].booked.v;
    return out;
  }

  /// Groups of units without which the pod fits.
  void Gather(std::size_t size, std::size_t from, const Ledger& lifted, std::vector<std::size_t>& chosen) {
    if (chosen.size() == size) {
      if (Admits(lifted)) groups_.push_back(chosen);
      return;
    }
    for (std::size_t i = from; i < units_.size() && !exhausted(); ++i) {
      chosen.push_back(i);
      Gather(size, i + 1, After(lifted, LiftOff(node_, lifted, units_[i])), chosen);
      chosen.pop_back();
    }
  }

  /// Each of them is moved once, in any order; what was moved may be in the way of nobody.
  bool MoveAll(const Ledger& ledger, const std::vector<std::size_t>& group) {
    if (group.empty()) return Admits(ledger);
    if (!AdmitsWithout(ledger, group)) return false;
    for (const std::size_t unit : group) {
      std::vector<std::size_t> rest = group;
      std::erase(rest, unit);
      for (const Mask& target : targets_[unit]) {
        if (!Spend()) return false;
        auto moved = PlanMove(node_, ledger, RequestOf(units_[unit], target));
        if (!moved) continue;
        moves_.push_back(std::move(moved->move));
        if (MoveAll(After(ledger, moved->delta), rest)) return true;
        moves_.pop_back();
      }
    }
    return false;
  }

  bool AdmitsWithoutAny() {
    std::vector<std::size_t> all(units_.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    return AdmitsWithout(ledger_, all);
  }

  bool AdmitsWithout(const Ledger& ledger, const std::vector<std::size_t>& group) {
    Ledger lifted = ledger;
    for (const std::size_t unit : group) Apply(lifted, LiftOff(node_, lifted, units_[unit]));
    return Admits(lifted);
  }

  MoveRequest RequestOf(const MoveUnit& unit, const Mask& target) const {
    return {.uid = unit.uid, .container = unit.container, .nodes = node_.tables().nodes.ToNodes(target)};
  }

  const Node& node_;
  const Ledger& ledger_;
  const Pod& pod_;
  const Inputs& inputs_;
  int left_;
  std::vector<MoveUnit> units_;
  std::vector<std::vector<Mask>> targets_;        // by unit
  std::vector<std::vector<std::size_t>> groups_;  // of units, of the size that is looked at
  std::vector<Move> moves_;
};

class DefragSearch {
 public:
  DefragSearch(const Node& node, const Ledger& ledger, const std::vector<Pod>& pods, const Inputs& inputs,
               const DefragLimits& limits)
      : node_(node), ledger_(ledger), inputs_(inputs), limits_(limits), moves_left_(limits.moves) {
    out_.most_moves = limits.moves;
    for (const Pod& pod : pods) open_.push_back(&pod);
    std::ranges::stable_sort(open_, {}, [](const Pod* pod) { return -std::int64_t{PriorityOf(*pod)}; });
  }

  DefragPlan Run() && {
    while (!open_.empty()) {
      const std::optional<Room> best = BestOfEquals();
      if (best) Make(*best);
    }
    return std::move(out_);
  }

 private:
  /// Of the most important pods that are left; nullopt: none of them can be helped, and they are done with.
  std::optional<Room> BestOfEquals() {
    const auto priority = PriorityOf(*open_.front());
    const auto end = std::ranges::find_if(open_, [&](const Pod* pod) { return PriorityOf(*pod) != priority; });
    std::optional<Room> best;
    std::vector<NoRoom> without;
    for (auto pod = open_.begin(); pod != end; ++pod) {
      RoomSearch search(node_, ledger_, **pod, inputs_, limits_.tries);
      auto moves = search.Find(moves_left_);
      if (!moves) {
        without.push_back({.pod = RefOf(**pod), .never = NeverFits(**pod), .exhaustive = !search.exhausted()});
        continue;
      }
      Room room{.pod = RefOf(**pod), .moves = *std::move(moves), .bytes = {}, .fewest = true};
      for (const Move& move : room.moves) room.bytes += move.bytes;
      room.fewest = room.moves.size() <= 1 || !search.exhausted();
      if (!best || Rank(room) < Rank(*best)) best = std::move(room);
    }
    if (best) return best;
    out_.without.insert(out_.without.end(), without.begin(), without.end());
    open_.erase(open_.begin(), end);
    return std::nullopt;
  }

  /// The pod has its place from now on, for those after it.
  void Make(const Room& room) {
    for (const Move& move : room.moves)
      if (auto moved = PlanMove(node_, ledger_, move.request)) Apply(ledger_, moved->delta);
    const auto pod = std::ranges::find_if(open_, [&](const Pod* open) { return RefOf(*open) == room.pod; });
    const Decision decision = Decide(node_, ledger_, **pod, inputs_, nullptr);
    if (const auto* const admit = std::get_if<Admit>(&decision)) Apply(ledger_, admit->delta);
    moves_left_ -= static_cast<int>(room.moves.size());
    out_.rooms.push_back(room);
    open_.erase(pod);
  }

  bool NeverFits(const Pod& pod) const {
    return std::holds_alternative<Reject>(Decide(node_, node_.EmptyLedger(), pod, inputs_, nullptr));
  }

  static std::pair<std::size_t, std::int64_t> Rank(const Room& room) { return {room.moves.size(), room.bytes.v}; }
  static PodRef RefOf(const Pod& pod) { return {pod.uid, FullName(pod)}; }

  const Node& node_;
  Ledger ledger_;
  const Inputs& inputs_;
  const DefragLimits limits_;
  int moves_left_;
  std::vector<const Pod*> open_;
  DefragPlan out_;
};

}  // namespace

DefragPlan PlanDefrag(const Node& node, const Ledger& ledger, const std::vector<Pod>& pods, const Inputs& inputs,
                      const DefragLimits& limits) {
  return DefragSearch(node, ledger, pods, inputs, limits).Run();
}

}  // namespace berth::allocator
