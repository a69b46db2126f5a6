#include "frontend/static_pods/pod_queue.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "model/node_conditions.h"

namespace berth::pods {
namespace {

int* QueuePlaceOf(ManagedPod& managed) {
  auto* const rejected = std::get_if<Rejected>(&managed.stage);
  return rejected != nullptr && rejected->place > 0 ? &rejected->place : nullptr;
}

}  // namespace

const Pod* Queue::FindWaiting(const std::string& uid) const {
  const auto pod = parts_.pods.find(uid);
  if (pod == parts_.pods.end()) return nullptr;
  const bool waits = pod->second.Is<Waiting>() || QueuePlaceOf(pod->second) != nullptr;
  return waits ? &pod->second.pod : nullptr;
}

int Queue::size() const {
  return static_cast<int>(
      std::ranges::count_if(parts_.pods, [](auto& entry) { return QueuePlaceOf(entry.second) != nullptr; }));
}

bool Queue::Takes(const ManagedPod& managed) const {
  if (parts_.options.queue.most_waiting == 0) return false;
  const auto* const rejected = std::get_if<Rejected>(&managed.stage);
  const int others = size() - (rejected != nullptr && rejected->place > 0 ? 1 : 0);
  return others < parts_.options.queue.most_waiting &&
         !allocator::NeverFits(parts_.allocations.node(), managed.pod, parts_.devices.inputs());
}

std::string Queue::WhoComesFirst(const ManagedPod& managed, const LedgerDelta& admission) const {
  return line_.WhoComesFirst({parts_.allocations.node(), parts_.allocations.newest(), parts_.devices.inputs()},
                             managed.pod, admission, [this](const std::string& uid) { return FindWaiting(uid); });
}

void Queue::Overtakes(const ManagedPod& managed) {
  line_.Overtakes(managed.pod.uid, parts_.allocations.newest());
  if (size() > 0) parts_.allocations.NoteFreed();
}

void Queue::Number() {
  const auto still_waits = [&](const std::string& uid) {
    const auto critical = parts_.pods.find(uid);
    return critical != parts_.pods.end() && critical->second.Is<Waiting>() ? &critical->second.pod : nullptr;
  };
  if (line_.EndReservations(still_waits)) parts_.allocations.NoteFreed();  // who was kept from it
  std::vector<ManagedPod*> queue;
  for (auto& [uid, managed] : parts_.pods)
    if (QueuePlaceOf(managed) != nullptr) queue.push_back(&managed);
  std::ranges::sort(queue, {}, [](const ManagedPod* pod) { return allocator::OrderInLine(pod->pod, pod->arrival); });
  for (std::size_t i = 0; i < queue.size(); ++i) *QueuePlaceOf(*queue[i]) = static_cast<int>(i) + 1;
  if (!line_.Leads(queue.empty() ? "" : queue.front()->pod.uid, parts_.allocations.newest())) return;
  parts_.allocations.NoteFreed();  // who had to stay behind the one before
  parts_.agenda.WakeNow();
}

std::optional<Removal> Queue::VictimsFor(const ManagedPod& managed) const {
  if (!parts_.options.queue.preempt_for_critical || !IsCritical(managed.pod)) return std::nullopt;
  std::vector<allocator::Candidate> candidates;
  for (const auto& [uid, other] : parts_.pods)
    if (other.Is<Admitted>() && other.lifecycle) candidates.push_back({uid, PriorityOf(other.pod)});
  return allocator::WhoHasToGo(parts_.allocations.node(), parts_.allocations.newest(), managed.pod,
                               parts_.devices.inputs(), candidates);
}

void Queue::Reserve(const ManagedPod& managed, const Removal& victims) { line_.Reserve(managed.pod.uid, victims); }

}  // namespace berth::pods
