// Answers that were worked out, kept within bounds: by shape of the pod and state of the node.
#ifndef BERTH_SIMULATOR_CLUSTER_DECISION_CACHE_H_
#define BERTH_SIMULATOR_CLUSTER_DECISION_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "simulator/cluster/node_score.h"
#include "simulator/cluster/shape.h"

namespace berth::cluster {

/// What the engine says to a shape on a state.
struct Answer {
  bool admitted = false;
  Fitness fitness;     ///< where it is admitted
  std::string reason;  ///< where it is not
  friend bool operator<(const Answer& a, const Answer& b) {
    const auto key = [](const Answer& o) {
      return std::tie(o.admitted, o.fitness.in_zones, o.fitness.loss, o.fitness.imbalance, o.reason);
    };
    return key(a) < key(b);
  }
};

/// Why a node says what it says.
enum class Why : std::uint8_t {
  kDecided,     ///< by the engine
  kThere,       ///< the pod has its place there
  kTooMany,     ///< as many pods as there may be
  kRequested,   ///< what is not requested by others is not enough
  kTooFewCpus,  ///< fewer CPUs are free than its containers need for themselves
};

/// A shape with what is known of it.
struct Shaped {
  /// What a node said when it was in a version.
  struct Seen {
    std::uint64_t version = 0;
    const Answer* answer = nullptr;
    std::uint16_t asked = 0;
    Why why = Why::kDecided;
    bool admitted = false;
  };
  /// Whether its sums left enough when it was in a version.
  struct Sums {
    std::uint64_t version = 0;
    bool fits = false;
  };
  Shape shape;
  std::unordered_map<std::uint32_t, Ask> asks;               ///< by kind
  std::unordered_map<std::uint64_t, const Answer*> answers;  ///< by state
  std::set<Answer> texts;                                    ///< what `answers` point to: equal ones are one
  std::vector<Seen> seen;                                    ///< by node
  std::vector<Sums> sums;                                    ///< by node
};

class Answers {
 public:
  /// The shape of `pod`, which is looked at last from now on; the one that was not looked at for the longest time goes
  /// where there would be too many. `nodes`: as many answers as there are nodes, and a few, are kept of a shape.
  Shaped& Of(const Pod& pod, std::size_t nodes);

  static constexpr std::size_t kMostShapes = 32;

 private:
  std::list<Shaped> shapes_;                                                  // the latest first
  std::unordered_map<std::string_view, std::list<Shaped>::iterator> by_key_;  // of Shape::key
};

}  // namespace berth::cluster

#endif  // BERTH_SIMULATOR_CLUSTER_DECISION_CACHE_H_
