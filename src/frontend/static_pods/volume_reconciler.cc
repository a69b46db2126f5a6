#include "frontend/static_pods/volume_reconciler.h"

#include <fmt/core.h>

#include <chrono>
#include <utility>

#include "host/event_loop/executor.h"
#include "host/os/disk_usage.h"

namespace berth::pods {
namespace {

constexpr std::chrono::seconds kGraceOfFull{1};  // as the kubelet's, when local storage runs over

}  // namespace

std::vector<VolumeReconciler::Bounded> VolumeReconciler::All() const {
  std::vector<Bounded> out;
  for (const auto& [uid, managed] : node_.pods()) {
    if (!managed.lifecycle || !managed.Is<Admitted>()) continue;
    for (const Volume& volume : managed.pod.volumes)
      if (volume.kind == Volume::Kind::kEmptyDir && volume.medium.empty() && volume.size_limit &&
          volume.size_limit->Sign() > 0)
        out.push_back({.uid = uid,
                       .volume = volume.name,
                       .path = fmt::format("{}/{}/{}", context_.options().volumes.disk, uid, volume.name),
                       .limit = {volume.size_limit->Value()},
                       .shown = volume.size_limit->ToString()});
  }
  return out;
}

void VolumeReconciler::Look() {
  if (looking_ || !context_.makes_volumes()) return;
  if (!node_.allocations().node().config().local_storage_capacity_isolation) return;
  std::vector<Bounded> all = All();
  if (all.empty()) return;
  looking_ = true;
  const auto measure = [all = std::move(all)]() -> Result<std::vector<Bounded>> {
    std::vector<Bounded> over;
    for (const Bounded& volume : all) {
      const auto used = os::DiskUsage(volume.path, volume.limit);
      if (used && volume.limit < *used) over.push_back(volume);
    }
    return over;
  };
  event_loop::Submit<std::vector<Bounded>>(node_.executor(), "volumes", measure,
                                           [this](Result<std::vector<Bounded>> over) {
                                             looking_ = false;
                                             if (over) EvictAll(*std::move(over));
                                           });
}

void VolumeReconciler::EvictAll(const std::vector<Bounded>& over) {
  for (const Bounded& volume : over) Evict(volume);
}

void VolumeReconciler::Evict(const Bounded& volume) {
  const auto found = node_.pods().find(volume.uid);
  if (found == node_.pods().end() || !found->second.lifecycle || !found->second.Is<Admitted>()) return;
  ManagedPod& managed = found->second;
  const std::string message =
      fmt::format("Usage of EmptyDir volume \"{}\" exceeds the limit \"{}\".", volume.volume, volume.shown);
  pods::Evict(managed, message, kGraceOfFull, node_.clock().Now());
  node_.events().Warning(std::string(kEvictedReason), ObjectOf(managed.pod), message);
  node_.agenda().WakeNow();
}

}  // namespace berth::pods
