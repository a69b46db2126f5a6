#include "node/pods/parts.h"

namespace berth::pods {

void Parts::Recover(ManagedPod& managed, os::MonoTime now) const {
  records.Recover(managed, now);
  const PodCheckpoint* const life = checkpoints.Find(managed.pod.uid);
  if (life != nullptr && managed.lifecycle) managed.lifecycle->Restore(life->times);
  managed.kept.reset();
}

}  // namespace berth::pods
