// Volumes that hold more than their sizeLimit.
#ifndef BERTH_FRONTEND_STATIC_PODS_VOLUME_RECONCILER_H_
#define BERTH_FRONTEND_STATIC_PODS_VOLUME_RECONCILER_H_

#include <string>
#include <vector>

#include "base/units.h"
#include "frontend/static_pods/static_pod_context.h"

namespace berth::pods {

/// An emptyDir on disk is measured, on another thread, and its pod evicted when it is over; the kernel keeps those with
/// a file system of their own from growing.
///
/// Thread: the loop's only.
class VolumeReconciler {
 public:
  /// `context` outlives this.
  explicit VolumeReconciler(const StaticPodContext& context) : context_(context), node_(context.node()) {}

  /// Measures all of them, unless that is under way.
  void Look();

 private:
  struct Bounded {
    std::string uid;
    std::string volume;
    std::string path;
    Bytes limit;
    std::string shown;  ///< the limit as the manifest has it
  };
  std::vector<Bounded> All() const;
  void EvictAll(const std::vector<Bounded>& over);
  void Evict(const Bounded& volume);

  const StaticPodContext& context_;
  core::Node& node_;
  bool looking_ = false;
};

}  // namespace berth::pods

#endif  // BERTH_FRONTEND_STATIC_PODS_VOLUME_RECONCILER_H_
