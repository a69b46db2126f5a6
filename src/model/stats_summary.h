// Stats summary: usage of node, QoS cgroups, pods and containers, as in a kubelet's /stats/summary. Plain values.
#ifndef BERTH_MODEL_STATS_SUMMARY_H_
#define BERTH_MODEL_STATS_SUMMARY_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/id_set.h"
#include "base/time_text.h"
#include "base/units.h"
#include "model/usage.h"

namespace berth {

struct NamedUsage {
  std::string name;
  std::optional<WallTime> started_at;
  GroupUsage usage;
  std::optional<Bytes> available;  ///< memory that is left
  friend bool operator==(const NamedUsage&, const NamedUsage&) = default;
};

struct PodStats {
  std::string namespace_;
  std::string name;
  std::string uid;
  std::optional<WallTime> started_at;
  GroupUsage usage;
  std::vector<NamedUsage> containers;  ///< that run
  friend bool operator==(const PodStats&, const PodStats&) = default;
};

struct StatsSummary {
  WallTime at{};
  NamedUsage node;
  /// Berthd ("kubelet"), all pods ("pods"), and the tiers "guaranteed", "burstable", "besteffort".
  std::vector<NamedUsage> groups;
  std::vector<PodStats> pods;  ///< by namespace and name
  std::map<NumaId, NumaMemory> numa;
  std::map<CpuId, CpuBusy> cpus;  ///< that are online
  friend bool operator==(const StatsSummary&, const StatsSummary&) = default;
};

}  // namespace berth

#endif  // BERTH_MODEL_STATS_SUMMARY_H_
