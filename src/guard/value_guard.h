// Values of groups other than CPUs and memory nodes.
#ifndef BERTH_GUARD_VALUE_GUARD_H_
#define BERTH_GUARD_VALUE_GUARD_H_

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "pods/parts.h"

namespace berth::guard {

/// Thread: the loop's only.
class ValueGuard {
 public:
  explicit ValueGuard(const pods::Parts& parts) : parts_(parts) {}

  /// The memory limit of all pods together; tried again until it is what the settings say.
  void LimitAllPods();
  /// Why it is not; "": it is.
  const std::string& limit_problem() const { return limit_problem_; }
  /// systemd wrote to the group with this cpuset directory: not on our behalf, perhaps, and whatever somebody told it,
  /// it writes all values it knows. They are looked at soon. False: it is none of our groups.
  bool OnSystemdWrite(std::string_view cpuset_dir);
  /// Puts right what systemd may have changed.
  void RepairRetold();
  /// Puts right what anybody changed, now and then.
  void Repair(os::MonoTime now);

 private:
  void RepairOnly(const std::set<std::string>& only);

  pods::Parts parts_;
  std::string limit_problem_;
  std::set<std::string> retold_;  // groups that systemd wrote to since the last look
  os::MonoTime next_repair_{};
};

/// What every group holds, and should hold for the pods of now.
std::vector<enforce::GroupState> InspectGroups(const pods::Pods& pods, const enforce::Enforcer& groups,
                                               const Ledger& ledger);

}  // namespace berth::guard

#endif  // BERTH_GUARD_VALUE_GUARD_H_
