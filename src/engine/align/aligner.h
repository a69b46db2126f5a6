// The merge on dense masks, as the rest of the engine uses it. Rules: align/merge.h.
#ifndef BERTH_ENGINE_ALIGN_ALIGNER_H_
#define BERTH_ENGINE_ALIGN_ALIGNER_H_

#include <string>
#include <string_view>
#include <vector>

#include "engine/align/mask.h"
#include "engine/align/merge.h"

namespace berth::engine {

struct MaskHint {
  Mask mask = 0;
  bool any = false;  ///< no mask: any node will do; mask is 0
  bool preferred = false;
  friend bool operator==(const MaskHint&, const MaskHint&) = default;
};

/// What a provider says about one resource.
struct HintList {
  enum class Kind { kNoPreference, kHints };  ///< kHints with an empty list: impossible
  std::string resource;
  Kind kind = Kind::kNoPreference;
  std::vector<MaskHint> hints;
};

struct Merged {
  MaskHint hint;
  bool admit = false;
  std::string_view rule;  ///< which rule decided, for the trace
};

/// Immutable; made once per machine and settings.
class Aligner {
 public:
  Aligner() = default;
  Aligner(std::size_t nodes, TopologyPolicy policy, bool prefer_closest,
          std::vector<std::vector<unsigned>> distances = {})
      : all_(LowBits(nodes)),
        nodes_(nodes),
        policy_(policy),
        closest_(prefer_closest && policy != TopologyPolicy::kSingleNumaNode),
        distances_(std::move(distances)) {}

  TopologyPolicy policy() const { return policy_; }
  Merged Merge(const std::vector<HintList>& lists) const;

 private:
  bool Fitter(Mask a, Mask b) const;
  bool BetterUnpreferred(Mask a, Mask b, int best_not_preferred) const;
  double AverageDistance(Mask mask) const;

  Mask all_ = 0;
  std::size_t nodes_ = 0;
  TopologyPolicy policy_ = TopologyPolicy::kNone;
  bool closest_ = false;
  std::vector<std::vector<unsigned>> distances_;  // by position
};

}  // namespace berth::engine

#endif  // BERTH_ENGINE_ALIGN_ALIGNER_H_
