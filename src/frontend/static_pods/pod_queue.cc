#include "frontend/static_pods/pod_queue.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace berth::pods {
namespace {

int* QueuePlaceOf(ManagedPod& managed) {
  auto* const rejected = std::get_if<Rejected>(&managed.stage);
  return rejected != nullptr && rejected->place > 0 ? &rejected->place : nullptr;
}

/// In the queue, or for what others are giving back.
bool Waits(ManagedPod& managed) { return managed.Is<Waiting>() || QueuePlaceOf(managed) != nullptr; }

}  // namespace

const Pod* Queue::FindWaiting(const std::string& uid) const {
  const auto pod = node_.pods().find(uid);
  return pod != node_.pods().end() && Waits(pod->second) ? &pod->second.pod : nullptr;
}

int Queue::size() const {
  return static_cast<int>(
      std::ranges::count_if(node_.pods(), [](auto& entry) { return QueuePlaceOf(entry.second) != nullptr; }));
}

allocator::Others Queue::OthersThan(const ManagedPod* managed) const {
  allocator::Others out{.rules = context_.options().queue};
  for (auto& [uid, other] : node_.pods()) {
    if (&other != managed && QueuePlaceOf(other) != nullptr) ++out.waiting;
    if (!out.rules.preempt_for_critical || !other.lifecycle) continue;
    if (other.Is<Admitted>())
      out.may_go.push_back({uid, PriorityOf(other.pod)});
    else if (other.Is<Rejected>() && out.leaving.empty() && node_.allocations().newest().pods.contains(uid))
      out.leaving = FullName(other.pod);
  }
  return out;
}

allocator::QueueNow Queue::Now() const {
  allocator::QueueNow out{.line = line_, .others = OthersThan(nullptr)};
  for (auto& [uid, managed] : node_.pods())
    if (Waits(managed)) out.waiting.insert(uid);
  return out;
}

std::string Queue::WhoComesFirst(const ManagedPod& managed, const LedgerDelta& admission) const {
  return line_.WhoComesFirst({node_.allocations().node(), node_.allocations().newest(), node_.devices().inputs()},
                             managed.pod, admission, [this](const std::string& uid) { return FindWaiting(uid); });
}

void Queue::Overtakes(const ManagedPod& managed) {
  line_.Overtakes(managed.pod.uid, node_.allocations().newest());
  if (size() > 0) node_.NoteFreed();
}

void Queue::Number() {
  const auto still_waits = [&](const std::string& uid) {
    const auto critical = node_.pods().find(uid);
    return critical != node_.pods().end() && critical->second.Is<Waiting>() ? &critical->second.pod : nullptr;
  };
  if (line_.EndReservations(still_waits)) node_.NoteFreed();  // who was kept from it
  std::vector<ManagedPod*> queue;
  for (auto& [uid, managed] : node_.pods())
    if (QueuePlaceOf(managed) != nullptr) queue.push_back(&managed);
  std::ranges::sort(queue, {}, [](const ManagedPod* pod) { return allocator::OrderInLine(pod->pod, pod->arrival); });
  for (std::size_t i = 0; i < queue.size(); ++i) *QueuePlaceOf(*queue[i]) = static_cast<int>(i) + 1;
  if (!line_.Leads(queue.empty() ? "" : queue.front()->pod.uid, node_.allocations().newest())) return;
  node_.NoteFreed();  // who had to stay behind the one before
  node_.agenda().WakeNow();
}

void Queue::Reserve(const ManagedPod& managed, const Removal& victims) { line_.Reserve(managed.pod.uid, victims); }

}  // namespace berth::pods
