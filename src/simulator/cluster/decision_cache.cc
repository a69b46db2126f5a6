#include "simulator/cluster/decision_cache.h"

#include <utility>

namespace berth::cluster {

Shaped& Answers::Of(const Pod& pod, std::size_t nodes) {
  std::string key = ShapeKey(pod);
  if (const auto known = by_key_.find(key); known != by_key_.end()) {
    shapes_.splice(shapes_.begin(), shapes_, known->second);
  } else {
    if (shapes_.size() >= kMostShapes) {
      by_key_.erase(shapes_.back().shape.key);
      shapes_.pop_back();
    }
    shapes_.emplace_front().shape = ShapeOf(pod, std::move(key));
    by_key_.emplace(shapes_.front().shape.key, shapes_.begin());
  }
  Shaped& out = shapes_.front();
  constexpr std::size_t kFew = 1024;
  if (out.answers.size() > 2 * nodes + kFew || out.asks.size() > nodes + kFew) {
    // Most are of states and kinds that no node is in any more.
    out.answers.clear();
    out.texts.clear();
    out.asks.clear();
    out.seen.clear();
  }
  return out;
}

}  // namespace berth::cluster
