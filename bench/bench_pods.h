// Pods of the benchmarks: how many, and one that sleeps.
#ifndef BERTH_BENCH_BENCH_PODS_H_
#define BERTH_BENCH_BENCH_PODS_H_

#include <cstdlib>
#include <string>

#include "base/text.h"

namespace berth::bench {

/// BERTH_BENCH_PODS, or `usual` where it is unset or no number.
inline int WantedPods(int usual) {
  const char* const pods = std::getenv("BERTH_BENCH_PODS");
  return pods == nullptr ? usual : ParseDecimal<int>(pods).value_or(usual);
}

/// Manifest of a BestEffort pod that sleeps until it is ended, and is killed at once then.
inline std::string Sleeper(const std::string& name) {
  return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name +
         "}\nspec:\n  terminationGracePeriodSeconds: 0\n  containers:\n  - name: app\n    image: none\n"
         "    command: [\"/bin/sleep\", \"100000\"]\n";
}

}  // namespace berth::bench

#endif  // BERTH_BENCH_BENCH_PODS_H_
