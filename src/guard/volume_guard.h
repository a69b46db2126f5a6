// Volumes that hold more than their sizeLimit.
#ifndef BERTH_GUARD_VOLUME_GUARD_H_
#define BERTH_GUARD_VOLUME_GUARD_H_

#include <string>
#include <vector>

#include "base/units.h"
#include "pods/parts.h"

namespace berth::guard {

/// An emptyDir on disk is measured, on another thread, and its pod evicted when it is over; the kernel keeps those with
/// a file system of their own from growing.
///
/// Thread: the loop's only.
class VolumeGuard {
 public:
  explicit VolumeGuard(const pods::Parts& parts) : parts_(parts) {}

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

}  // namespace berth::guard

#endif  // BERTH_GUARD_VOLUME_GUARD_H_
