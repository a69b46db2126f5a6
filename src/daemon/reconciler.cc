#include "daemon/reconciler.h"

#include <malloc.h>
#include <unistd.h>

#include <set>
#include <string>

#include "os/pidfd.h"

namespace berth::daemon {
/// What nothing names is only nobody's when every manifest was read.
Reconciler::Reconciler(const pods::Parts& parts, pods::Rounds& rounds, takeover::Takeover& takeover,
                       guard::Guard& guard)
    : parts_(parts), rounds_(rounds) {
  steps_ = {[this](os::MonoTime now) { rounds_.intake().CompareWithRuntime(now); },
            [&takeover](os::MonoTime now) { takeover.EndForeign(now); },
            [&guard](os::MonoTime now) { guard.LookAtValues(now); },
            [&guard](os::MonoTime) { guard.groups().LookForForeignGroups(); },
            [&guard](os::MonoTime) { guard.groups().LookForForeignContainers(); },
            [this, &guard](os::MonoTime) {
              if (rounds_.manifests().complete()) guard.groups().RemoveUnused();
            },
            [this](os::MonoTime) {
              if (rounds_.manifests().complete()) ForgetGone();
            },
            [this](os::MonoTime) { GiveMemoryBack(); }};
}

void Reconciler::Begin(os::MonoTime now, os::Millis period) {
  period_ = period;
  next_ = now + period;
  MarkMemory();
}

bool Reconciler::Work(os::MonoTime now, const os::Slice& slice) {
  if (step_ == 0 && now < next_) return true;
  next_ = now + period_;
  while (step_ < steps_.size()) {
    steps_[step_++](now);
    if (slice.over() && step_ < steps_.size()) return false;
  }
  step_ = 0;
  return true;
}

void Reconciler::MarkMemory() {
  if (const auto held = os::ResidentMemoryOf(::getpid())) memory_.Mark(*held);
}

/// The allocator keeps what a large manifest or call took. A worker gives it back: that takes some milliseconds.
void Reconciler::GiveMemoryBack() {
  const auto held = os::ResidentMemoryOf(::getpid());
  if (held && memory_.Grown(*held)) parts_.executor.Run("memory", [] { ::malloc_trim(0); }, [this] { MarkMemory(); });
}

/// What is left of pods that are not there any more.
void Reconciler::ForgetGone() {
  std::set<std::string> uids;
  for (const auto& [uid, managed] : parts_.pods) uids.insert(uid);
  std::vector<std::string> gone;
  for (const auto& [uid, statuses] : parts_.records.all())
    if (!uids.contains(uid)) gone.push_back(uid);
  for (const std::string& uid : gone) rounds_.leaving().ForgetRecords(uid);
  parts_.runtime.Retain(uids);
  if (!parts_.groups.site().beside_kubelet()) parts_.lives.Retain(uids);  // a runtime says later which pods are there
  rounds_.leaving().RemoveOrphan();
}

}  // namespace berth::daemon
