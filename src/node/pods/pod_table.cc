#include "node/pods/pod_table.h"

namespace berth::pods {

void PodTable::RestoreLifecycle(ManagedPod& managed, os::MonoTime now) const {
  statuses_.Recover(managed, now);
  const PodCheckpoint* const life = checkpoints_.Find(managed.pod.uid);
  if (life != nullptr && managed.lifecycle) managed.lifecycle->Restore(life->times);
  managed.kept.reset();
}

}  // namespace berth::pods
