#include "conformance/recorded_node.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "allocator/admission/admission.h"
#include "allocator/cpu_manager/cpu_policy.h"
#include "allocator/decision/release_pod.h"
#include "allocator/memory_manager/memory_policy.h"
#include "allocator/node/node_tables.h"

namespace berth::conformance {
namespace {

Placement& PlacementOf(PodRecord& pod, const std::string& container) {
  for (Placement& placement : pod.placements)
    if (placement.container == container) return placement;
  Placement& added = pod.placements.emplace_back();
  added.container = container;
  return added;
}

void Forget(const allocator::Node& node, Ledger& ledger, std::string_view uid) {
  if (const auto known = ledger.pods.find(uid); known != ledger.pods.end())
    Apply(ledger, ReleasePod(node, ledger, known->second, allocator::DecisionLog(), allocator::Missing::kLose));
}

/// Some container of these pods holds the device.
template <class Placements>
bool Holds(const Placements& placements, const std::string& resource, const std::string& id) {
  return std::ranges::any_of(placements, [&](const Placement& placement) {
    return std::ranges::any_of(placement.devices, [&](const DeviceAssignment& given) {
      return given.resource == resource && std::ranges::binary_search(given.ids, id);
    });
  });
}

}  // namespace

std::string DevicePlace(const std::string& resource, const NodeSet& nodes) {
  std::string out;
  for (NumaId node : nodes) out += (out.empty() ? "" : "+") + std::to_string(Raw(node));
  return resource + "@" + (out.empty() ? "any" : out);
}

/// What the recorder does to the books of an admission, and what it keeps from pod to pod.
class RecorderHabits final : public allocator::BookKeeper {
 public:
  bool loose_reserved = false;           ///< RecordedNode::Reserved::kAsRecorded
  bool stale_devices = false;            ///< the device table still has entries of pods that are gone
  std::vector<DeviceAssignment> leaked;  ///< marked as taken, though nobody holds them
  // Of one admission:
  const DeviceWishes* wishes = nullptr;
  bool cpus_swept = false;    ///< the CPU manager was asked
  bool memory_swept = false;  ///< the memory manager was asked
  /// The last placement with devices that was swept.
  std::optional<Placement> last_with_devices;

  void Open(allocator::PodBooks& books) override {
    cpus_swept = memory_swept = false;
    last_with_devices.reset();
    for (const DeviceAssignment& lost : leaked) books.devices.SetTaken(lost.resource, lost.ids, true);
  }
  void BeforeHints(allocator::PodBooks& books) override {
    SweepDevices(books);
    BeforeCpus(books);
    BeforeMemory(books);
  }
  void BeforeDevices(allocator::PodBooks& books, const allocator::ContainerDemand& demand) override {
    if (std::ranges::any_of(demand.devices, [&](const auto& need) { return books.devices.Find(need.resource); }))
      SweepDevices(books);
    for (const allocator::DeviceNeed& need : demand.devices)
      if (allocator::DevicePool* pool = books.devices.Find(need.resource))
        pool->order = OrderOf(*pool, need, demand.container->name);
  }
  void BeforeCpus(allocator::PodBooks& books) override {
    cpus_swept = true;
    for (Placement& earlier : books.record.placements) {
      ReleaseCpus(books, books.record, earlier);
      earlier.cpus.reset();
    }
    if (loose_reserved) books.may_complete_cores = books.tables->settings.reserved_cpus - ExclusiveCpus(*books.ledger);
  }
  void BeforeMemory(allocator::PodBooks& books) override {
    memory_swept = true;
    for (Placement& earlier : books.record.placements) {
      ReleaseMemory(books, earlier);
      earlier.memory.reset();
    }
  }

  /// After a rejection: what is taken on the books and held by nobody.
  void AddLeaks(const allocator::PodBooks& books) {
    books.devices.ForEachOpen([&](const std::string& resource, const allocator::DevicePool& pool) {
      DeviceAssignment lost{.resource = resource};
      for (std::size_t i = 0; i < pool.devices.size(); ++i)
        if (pool.taken[i] != 0 && !HeldBySomebody(books, resource, pool.devices[i]->id))
          lost.ids.push_back(pool.devices[i]->id);
      if (!lost.ids.empty()) leaked.push_back(std::move(lost));
    });
  }

 private:
  void SweepDevices(allocator::PodBooks& books) {
    bool dropped = stale_devices;
    for (Placement& earlier : books.record.placements) {
      if (earlier.devices.empty()) continue;
      dropped = true;
      last_with_devices = earlier;
      for (const DeviceAssignment& given : earlier.devices) books.devices.SetTaken(given.resource, given.ids, false);
      earlier.devices.clear();
    }
    // Only if an entry was dropped does the recorder work out anew which devices are taken.
    if (!dropped) return;
    stale_devices = false;
    for (const DeviceAssignment& lost : leaked) books.devices.SetTaken(lost.resource, lost.ids, false);
    leaked.clear();
  }

  /// The wished ones first, each part by id. What the container takes over from init containers grants no wish.
  std::vector<std::size_t> OrderOf(const allocator::DevicePool& pool, const allocator::DeviceNeed& need,
                                   const std::string& container) const {
    if (wishes == nullptr || !wishes->contains(container)) return {};
    std::map<std::string, int> left = wishes->find(container)->second;
    std::int64_t taken_over = 0;
    std::vector<std::size_t> wished;
    std::vector<std::size_t> others;
    for (std::size_t i = 0; i < pool.devices.size(); ++i) {
      const bool reused = pool.reusable[i] != 0 && taken_over < need.count;
      if (reused) ++taken_over;
      const auto wish = left.find(DevicePlace(need.resource, pool.devices[i]->nodes));
      const bool granted = !reused && pool.Available(i) && wish != left.end() && wish->second-- > 0;
      (granted ? wished : others).push_back(i);
    }
    wished.insert(wished.end(), others.begin(), others.end());
    return wished;
  }

  bool HeldBySomebody(const allocator::PodBooks& books, const std::string& resource, const std::string& id) const {
    const auto holds = [&](const PodEntry& pod) { return Holds(pod.second.placements, resource, id); };
    return Holds(books.record.placements, resource, id) || std::ranges::any_of(books.ledger->pods, holds) ||
           std::ranges::any_of(leaked, [&](const DeviceAssignment& lost) {
             return lost.resource == resource && std::ranges::binary_search(lost.ids, id);
           });
  }
};

RecordedNode::RecordedNode(allocator::Node node, allocator::Inputs inputs, Reserved reserved)
    : node_(std::move(node)),
      inputs_(std::move(inputs)),
      ledger_(node_.EmptyLedger()),
      habits_(std::make_unique<RecorderHabits>()) {
  habits_->loose_reserved = reserved == Reserved::kAsRecorded;
}
RecordedNode::~RecordedNode() = default;
RecordedNode::RecordedNode(RecordedNode&&) noexcept = default;
RecordedNode& RecordedNode::operator=(RecordedNode&&) noexcept = default;

bool RecordedNode::HasLeakedDevices() const { return !habits_->leaked.empty(); }

/// The books as they are once every manager has swept away what pods left that were not admitted.
Ledger RecordedNode::Swept() const {
  Ledger out = ledger_;
  for (const std::string& uid : rejected_) Forget(node_, out, uid);
  return out;
}

/// Puts back what a manager that was not asked has not swept. It was not asked, so its part of the books has not
/// changed.
void RecordedNode::KeepUnswept(const Ledger& before) {
  if (!habits_->memory_swept) ledger_.memory = before.memory;
  for (const std::string& uid : rejected_) {
    const auto known = before.pods.find(uid);
    if (known == before.pods.end()) continue;
    PodRecord left = known->second;
    for (Placement& placement : left.placements) {
      if (habits_->cpus_swept) placement.cpus.reset();
      if (habits_->memory_swept) placement.memory.reset();
      if (placement.cpus) ledger_.shared -= *placement.cpus;
    }
    std::erase_if(left.placements, [](const Placement& p) { return !p.cpus && !p.memory; });
    if (!left.placements.empty()) ledger_.pods.insert_or_assign(uid, std::move(left));
  }
  std::erase_if(rejected_, [&](const std::string& uid) { return !ledger_.pods.contains(uid); });
}

void RecordedNode::WriteDeviceCheckpoint(const Pod& pod, const Placement& placement) {
  device_checkpoint_.clear();
  for (const auto& [uid, record] : ledger_.pods)
    for (const Placement& held : record.placements)
      if (!held.devices.empty()) device_checkpoint_[uid][held.container] = held.devices;
  device_checkpoint_[pod.uid][placement.container] = placement.devices;
}

RecordedNode::Step RecordedNode::Add(const Pod& pod, Trace* trace, const DeviceWishes* wishes) {
  const Ledger before = std::exchange(ledger_, Swept());
  habits_->wishes = wishes;
  allocator::Admission admission(node_, ledger_, pod, inputs_, allocator::DecisionLog(trace), habits_.get());
  std::optional<Reject> reject = admission.Run();
  if (reject) habits_->AddLeaks(admission.books());
  LedgerDelta delta = admission.TakeDelta();
  for (const Placement& placement : delta.put->placements)
    if (!placement.devices.empty()) habits_->last_with_devices = placement;
  if (const auto& given = habits_->last_with_devices) WriteDeviceCheckpoint(pod, *given);
  Step out;
  if (!reject)
    for (const Placement& placement : delta.put->placements)
      if (placement.hint) out.hints.emplace(placement.container, *placement.hint);
  if (reject) {
    out.admit = false;
    out.reason = std::move(reject->reason);
    out.message = std::move(reject->message);
    for (Placement& placement : delta.put->placements) {
      habits_->stale_devices = habits_->stale_devices || !placement.devices.empty();
      placement.devices.clear();
    }
  }
  std::erase_if(delta.put->placements,
                [](const Placement& p) { return !p.cpus && !p.memory && p.devices.empty() && p.pool.empty(); });
  Apply(ledger_, delta);
  KeepUnswept(before);
  if (reject) rejected_.insert(pod.uid);
  return out;
}

void RecordedNode::Remove(std::string_view uid) {
  ledger_ = Swept();
  rejected_.clear();
  if (const auto known = ledger_.pods.find(uid); known != ledger_.pods.end())
    for (const Placement& placement : known->second.placements)
      habits_->stale_devices = habits_->stale_devices || !placement.devices.empty();
  Forget(node_, ledger_, uid);
}

void RecordedNode::Restart(bool cpus_swept) {
  const Ledger before = std::exchange(ledger_, Swept());
  habits_->cpus_swept = cpus_swept;
  habits_->memory_swept = false;
  KeepUnswept(before);
  habits_->leaked.clear();
  habits_->stale_devices = true;
  for (const std::string& uid : rejected_) device_checkpoint_.erase(uid);
  for (auto& [uid, pod] : ledger_.pods) {
    pod.reusable = Reusable();
    for (Placement& placement : pod.placements) placement.devices.clear();
    const auto known = device_checkpoint_.find(uid);
    if (known == device_checkpoint_.end()) continue;
    for (const auto& [container, devices] : known->second) PlacementOf(pod, container).devices = devices;
  }
}

}  // namespace berth::conformance
