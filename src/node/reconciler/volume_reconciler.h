// Volumes that hold more than their sizeLimit.
#ifndef BERTH_NODE_RECONCILER_VOLUME_RECONCILER_H_
#define BERTH_NODE_RECONCILER_VOLUME_RECONCILER_H_

#include <string>
#include <vector>

#include "base/units.h"
#include "node/pods/parts.h"

namespace berth::reconciler {

/// An emptyDir on disk is measured, on another thread, and its pod evicted when it is over; the kernel keeps those with
/// a file system of their own from growing.
///
/// Thread: the loop's only.
class VolumeReconciler {
 public:
  explicit VolumeReconciler(const pods::Parts& parts) : parts_(parts) {}

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

  pods::Parts parts_;
  bool looking_ = false;
};

}  // namespace berth::reconciler

#endif  // BERTH_NODE_RECONCILER_VOLUME_RECONCILER_H_
