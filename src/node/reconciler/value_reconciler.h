// Values of groups other than CPUs and memory nodes.
#ifndef BERTH_NODE_RECONCILER_VALUE_RECONCILER_H_
#define BERTH_NODE_RECONCILER_VALUE_RECONCILER_H_

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "host/os/clock.h"
#include "node/cgroup_manager/cpusets.h"
#include "node/cgroup_manager/enforcer.h"
#include "node/ledger/node_allocations.h"
#include "node/pods/pod_table.h"
#include "telemetry/events/event_log.h"

namespace berth::reconciler {

/// Thread: the loop's only.
class ValueReconciler {
 public:
  explicit ValueReconciler(ledger::NodeAllocations& allocations, cgroup_manager::Enforcer& groups, pods::PodTable& pods,
                           events::EventLog& events)
      : allocations_(allocations), groups_(groups), pods_(pods), events_(events) {}

  /// At the start: values of pods that the ledger has may follow from other settings than these. What differs then is
  /// written, and what these settings do not write is given back; it is nobody's edit.
  void FindBehind();
  /// The memory limit of all pods together; tried again until it is what the settings say.
  void LimitAllPods(std::vector<cgroup_manager::Repaired>* edited = nullptr);
  /// Why it is not; "": it is.
  const std::string& limit_problem() const { return limit_problem_; }
  /// Process 1 wrote to the group with this cpuset directory. When that is systemd: not on our behalf, perhaps, and
  /// whatever somebody told it, it writes all values it knows. They are looked at soon. False: none of our groups.
  bool OnSystemdWrite(std::string_view cpuset_dir);
  /// It is time to look at what systemd may have changed.
  void LookAtRetold();
  /// It is time to look at what anybody may have changed, if that is long enough ago.
  void LookAtAll(os::MonoTime now);
  /// The node is another: what follows from its CPUs and memory is written, which is nobody's edit.
  void NodeChanged();
  /// Looks, and puts right, as far as the slice goes.
  void Work(const os::Slice& slice);
  /// There is more to look at, at once.
  bool working() const { return look_.has_value(); }

 private:
  /// The look that is under way.
  struct Look {
    std::set<std::string> only;  // empty: all groups
    std::string done;            // uid of the last pod
    bool failed = false;         // that was told
    bool quiet = false;          // what differs is not told
  };
  void Begin(std::set<std::string> only, bool quiet = false);
  void LookAt(const Pod& pod);
  std::string Settings() const;
  void KeepSettings();
  void Tell(const std::vector<cgroup_manager::Repaired>& repairs);
  void Report(const Result<void>& done);

  ledger::NodeAllocations& allocations_;
  cgroup_manager::Enforcer& groups_;
  pods::PodTable& pods_;
  events::EventLog& events_;
  std::string limit_problem_;
  std::set<std::string> retold_;  // groups that systemd wrote to since the last look
  std::optional<Look> look_;
  std::string kept_;              // settings that all values follow, as PodOptions::value_settings holds them
  bool unwritten_ = false;        // it does not, because it could not be written, and that was told
  std::set<std::string> behind_;  // uids of pods whose values may follow others
  os::MonoTime next_repair_{};
};

}  // namespace berth::reconciler

#endif  // BERTH_NODE_RECONCILER_VALUE_RECONCILER_H_
