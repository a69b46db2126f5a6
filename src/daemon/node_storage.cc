#include "daemon/node_storage.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <system_error>

#include "model/eviction_threshold.h"

namespace berth {

ResourceList StorageForPods(const KubeletConfiguration& config, Bytes capacity) {
  constexpr const char* kStorage = "ephemeral-storage";
  constexpr const char* kSignal = "nodefs.available";
  std::int64_t left = capacity.v;
  for (const ResourceList* const reserved : {&config.system_reserved, &config.kube_reserved})
    if (const auto found = reserved->find(kStorage); found != reserved->end()) left -= found->second.Value();
  auto hard = HardEviction(config);
  if (!config.eviction_hard || config.merge_default_eviction_settings) hard.emplace(kSignal, "10%");  // as a kubelet
  if (const auto found = hard.find(kSignal); found != hard.end())
    if (const auto threshold = ParseEvictionThreshold("evictionHard", kSignal, found->second); threshold && *threshold)
      left -= (*threshold)->share ? ShareOf(*(*threshold)->share, capacity.v) : (*threshold)->amount.Value();
  return {{kStorage, Quantity::FromBytes({std::max<std::int64_t>(left, 0)})}};
}

ResourceList StorageForPods(const KubeletConfiguration& config, const std::string& folder) {
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(folder, error);
  if (error) return {};
  return StorageForPods(config, Bytes{static_cast<std::int64_t>(space.capacity)});
}

}  // namespace berth
