#include "daemon/periodic_checks.h"

#include <malloc.h>
#include <unistd.h>

#include <set>
#include <string>

#include "host/os/pidfd.h"

namespace berth::daemon {
/// What nothing names is only nobody's when every manifest was read.
PeriodicChecks::PeriodicChecks(core::Node& node, pods::SyncLoop& sync_loop) : node_(node), sync_loop_(sync_loop) {
  recovery::StartupRecovery& recovery = node.recovery();
  reconciler::Reconciler& reconciler = node.reconciler();
  steps_ = {[this](os::MonoTime now)
                BERTH_REQUIRES(loop_thread) { sync_loop_.runtime_events().CompareWithRuntime(now); },
            [&recovery](os::MonoTime now) { recovery.EndForeign(now); },
            [this, &reconciler](os::MonoTime now) BERTH_REQUIRES(loop_thread) {
              reconciler.LookAtValues(now);
              sync_loop_.volumes().Look();
            },
            [&reconciler](os::MonoTime) { reconciler.groups().LookForForeignGroups(); },
            [&reconciler](os::MonoTime) { reconciler.groups().LookForForeignContainers(); },
            [this, &reconciler](os::MonoTime) BERTH_REQUIRES(loop_thread) {
              if (sync_loop_.manifests().complete()) reconciler.groups().RemoveUnused();
            },
            [this](os::MonoTime) BERTH_REQUIRES(loop_thread) {
              if (sync_loop_.manifests().complete()) ForgetGone();
            },
            [this](os::MonoTime) BERTH_REQUIRES(loop_thread) { node_.checkpoints().KeepAgain(); },
            [this](os::MonoTime) BERTH_REQUIRES(loop_thread) { GiveMemoryBack(); }};
}

void PeriodicChecks::Begin(os::MonoTime now, os::Millis period) {
  period_ = period;
  next_ = now + period;
  MarkMemory();
}

void PeriodicChecks::SetPeriod(os::Millis period) {
  next_ += period - period_;
  period_ = period;
}

bool PeriodicChecks::Work(os::MonoTime now, const os::Slice& slice) {
  if (step_ == 0 && now < next_) return true;
  next_ = now + period_;
  while (step_ < steps_.size()) {
    steps_[step_++](now);
    if (slice.over() && step_ < steps_.size()) return false;
  }
  step_ = 0;
  return true;
}

void PeriodicChecks::MarkMemory() {
  if (const auto held = os::ResidentMemoryOf(::getpid())) memory_.Mark(*held);
}

/// malloc keeps what a large manifest or call took. A worker gives it back: that takes some milliseconds.
void PeriodicChecks::GiveMemoryBack() {
  const auto held = os::ResidentMemoryOf(::getpid());
  if (held && memory_.Grown(*held))
    node_.executor().Run("memory", [] { ::malloc_trim(0); }, [this]() BERTH_REQUIRES(loop_thread) { MarkMemory(); });
}

/// What is left of pods that are not there any more.
void PeriodicChecks::ForgetGone() {
  std::set<std::string> uids;
  for (const auto& [uid, managed] : node_.pods()) uids.insert(uid);
  std::vector<std::string> gone;
  for (const auto& [uid, statuses] : node_.statuses().all())
    if (!uids.contains(uid)) gone.push_back(uid);
  for (const std::string& uid : gone) sync_loop_.cleanup().ForgetRecords(uid);
  node_.runtime().Retain(uids);
  node_.checkpoints().Retain(uids);
  sync_loop_.cleanup().RemoveOrphan();
}

}  // namespace berth::daemon
