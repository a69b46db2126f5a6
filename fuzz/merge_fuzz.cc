// No merge takes more steps than its bound, and on few nodes it equals the walk over all tuples.
#include <cstddef>
#include <cstdint>

#include "allocator/testing/merge_twin.h"
#include "allocator/testing/random_merge.h"
#include "base/result.h"

namespace {

using namespace berth::allocator;

/// Draws numbers from the input; 0 when it is used up.
struct Draw {
  const std::uint8_t* data;
  std::size_t left;
  unsigned operator()(unsigned n) {
    std::uint32_t value = 0;
    for (unsigned most = 1; most < n && left > 0; most *= 256, --left) value = value << 8 | *data++;
    return value % n;
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr double kMostTuples = 20000;
  Draw draw{data, size};
  testing::RandomMerge random(draw);
  const bool many = draw(2) == 0;
  const testing::MergeTwin::Case in = random.Make(many ? 17 + draw(80) : 1 + draw(5), 5);
  const Merged merged = Aligner(in.nodes, in.policy, in.closest, in.distances).Merge(in.lists);
  if (many) {
    // One search for what is preferred, one for each list's narrowest set, one for all others, one to stand in for
    // each.
    BERTH_CHECK(merged.steps <= 16 * (kMostSteps + 200));
    return 0;
  }
  BERTH_CHECK(merged.exact);
  testing::MergeTwin twin(in);
  if (twin.Tuples() > kMostTuples) return 0;
  const auto [hint, admit] = twin.Run();
  BERTH_CHECK(merged.hint == hint && merged.admit == admit);
  return 0;
}
