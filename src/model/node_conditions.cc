#include "model/node_conditions.h"

namespace berth {

bool IsCritical(const Pod& pod) { return PriorityOf(pod) >= kCriticalPriority; }

std::optional<Wait> PressureWait(bool memory_pressure, bool pid_pressure, const Pod& pod) {
  if (IsCritical(pod)) return std::nullopt;
  if (pid_pressure) return Wait{"NodeUnderPressure", "the node had condition: [PIDPressure]"};
  if (memory_pressure && QosOf(pod) == QosClass::kBestEffort)
    return Wait{"NodeUnderPressure", "the node had condition: [MemoryPressure]"};
  return std::nullopt;
}

}  // namespace berth
