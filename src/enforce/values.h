// Values of groups other than CPUs and memory nodes: compared with the plan, shown, and put right.
#ifndef BERTH_ENFORCE_VALUES_H_
#define BERTH_ENFORCE_VALUES_H_

#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "cgroup/value_lines.h"
#include "enforce/cpusets.h"
#include "enforce/planner.h"
#include "enforce/tiers.h"

namespace berth::enforce {

/// A group as it is.
struct GroupState {
  PlannedGroup plan;
  std::vector<ValueLine> values;
  std::string problem;  ///< why it could not be read; empty otherwise
};

/// Thread: the loop's only.
class Values {
 public:
  Values(const Site& site, const GroupTable& table, const Planner& planner, const Partitions& partitions, Tiers& tiers)
      : site_(site), table_(table), planner_(planner), partitions_(partitions), tiers_(tiers) {}

  /// What every group holds now, CPUs and memory nodes too, beside what Planner::Plan says. Changes nothing.
  std::vector<GroupState> Inspect(const Ledger& ledger, const std::vector<const Pod*>& pods) const;
  /// Puts values right that somebody else changed, except CPUs and memory nodes (Cpusets::Repair) and the CPU quota of
  /// pods and containers: who edits that by hand means it. A quota that systemd has rounded is not somebody's edit.
  /// `only`: the groups to look at; empty: all. Errors: the first; the rest was tried.
  Result<std::vector<Repaired>> Repair(const Ledger& ledger, const std::vector<const Pod*>& pods,
                                       const std::set<std::string>& only = {});

 private:
  const Site& site_;
  const GroupTable& table_;
  const Planner& planner_;
  const Partitions& partitions_;
  Tiers& tiers_;
};

}  // namespace berth::enforce

#endif  // BERTH_ENFORCE_VALUES_H_
