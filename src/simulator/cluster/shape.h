// Pod shape, the part of a pod that a decision depends on: pods of one shape get one answer where ledgers are equal.
#ifndef BERTH_SIMULATOR_CLUSTER_SHAPE_H_
#define BERTH_SIMULATOR_CLUSTER_SHAPE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/quantity.h"
#include "model/pod.h"
#include "simulator/cluster/kind.h"

namespace berth::cluster {

/// Equal for pods that differ in nothing a decision looks at or names: containers' kinds and resources in order (and
/// their names, where several have devices or annotations ask for something), overhead, pod-level resources, the class
/// their status names.
std::string ShapeKey(const Pod& pod);

/// Thousandths for cpu, whole units otherwise.
std::int64_t AmountIn(std::string_view resource, const Quantity& quantity);

/// One resource of the sum of a pod's requests. Amounts as AmountIn.
struct Asked {
  std::string resource;
  std::int64_t amount = 0;  ///< > 0
};

/// A resource of a kind, for one request of a shape.
enum class Concern {
  kNobodys,  ///< the node does not know it: it is not looked at
  kLimited,
  kHeldOnly,  ///< no plug-in has registered it: it is short where somebody holds it, else not looked at
};
struct Limit {
  Concern concern = Concern::kNobodys;
  std::int64_t amount = 0;
};

/// What a shape asks of nodes of one kind, and what these have at all.
struct Ask {
  std::vector<Limit> limits;        ///< of Shape::asked
  std::int64_t exclusive_cpus = 0;  ///< that the pod's containers hold at one time; 0 under CPU policy none
};

struct Shape {
  std::string key;
  Pod pod;                     ///< a pod of this shape, with nothing else in it
  std::vector<Asked> asked;    ///< in the order in which a node looks at them
  std::int64_t cpu_milli = 0;  ///< of these, for scores
  std::int64_t memory = 0;
};

Shape ShapeOf(const Pod& pod, std::string key);
Ask AskOf(const Shape& shape, const Kind& kind);

}  // namespace berth::cluster

#endif  // BERTH_SIMULATOR_CLUSTER_SHAPE_H_
