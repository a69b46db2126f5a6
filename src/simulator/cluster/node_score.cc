#include "simulator/cluster/node_score.h"

#include <algorithm>
#include <cmath>

namespace berth::cluster {
namespace {

float PartOf(std::int64_t amount, std::int64_t all) {
  return all <= 0 ? 0.0F : static_cast<float>(static_cast<double>(amount) / static_cast<double>(all));
}

/// What falls when a part that was free is taken: large free parts are worth more than their sum in small ones.
float Loss(float before, float after) { return before * before - after * after; }

}  // namespace

Fitness FitnessOf(const Kind& kind, const Spare& before, const Spare& after) {
  Fitness out;
  int zones = 0;
  for (std::size_t i = 0; i < kind.zones.size(); ++i) {
    const ZoneSpare& was = before.zones[i];
    const ZoneSpare& is = after.zones[i];
    if (was.cpus == is.cpus && was.memory == is.memory) continue;
    const int all = kind.zones[i].cpus.Count();
    const float cpus = PartOf(is.cpus, all);
    const float memory = PartOf(is.memory, kind.zones[i].memory);
    const float loss_of_cpus = Loss(PartOf(was.cpus, all), cpus);
    const float loss_of_memory = Loss(PartOf(was.memory, kind.zones[i].memory), memory);
    ++zones;
    out.loss += std::max(loss_of_cpus, loss_of_memory);
    if (is.memory >= 0) out.imbalance += std::abs(cpus - memory);
  }
  if (zones == 0) return out;
  out.in_zones = true;
  out.loss /= static_cast<float>(zones);
  out.imbalance /= static_cast<float>(zones);
  return out;
}

int ScoreOf(Preference preference, const Fitness& fitness, const Load& load) {
  const float sums = (load.cpu + load.memory) / 2;
  float good = 0;
  switch (preference) {
    case Preference::kPacked: good = sums; break;
    case Preference::kSpread: good = 1 - sums; break;
    case Preference::kTight:
    case Preference::kBalanced: {
      const float sums_loss =
          std::max(Loss(1 - load.cpu_before, 1 - load.cpu), Loss(1 - load.memory_before, 1 - load.memory));
      constexpr float kZones = 0.8F;
      good = 1 - (fitness.in_zones ? kZones * fitness.loss + (1 - kZones) * sums_loss : sums_loss);
      constexpr float kBalance = 0.25F;
      if (preference == Preference::kBalanced)
        good = (1 - kBalance) * good +
               kBalance * (1 - (fitness.in_zones ? fitness.imbalance : std::abs(load.cpu - load.memory)));
      break;
    }
  }
  return std::clamp(static_cast<int>(std::lround(good * static_cast<float>(kBestScore))), 0, kBestScore);
}

}  // namespace berth::cluster
